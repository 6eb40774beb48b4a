"""The live page of a served drive: over HTTP, and in Chromium."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import flashkeep as fk
import pytest
from flashkeep.serving.page import parse_address, read_verb
from flashkeep.serving.sampling import COLUMNS, KEPT, Sampler, Totals, sample
from nbd_client import WRITE, Client

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DRIVE = {"base": "tlc-client", "flash": {"channels": 2, "chips_per_channel": 1, "blocks_per_plane": 64,
                                         "pages_per_block": 96}}  # fmt: skip
"""Small, so that it starts quickly."""

KEY = "X-Flashkeep-Key"
FLASHKEEP = (sys.executable, "-m", "flashkeep")


def load(served: fk.Served, writes: int = 100) -> None:
    """Writes of 4 KiB."""
    with Client(served.uri.partition("socket=")[2]) as client:
        for at in range(writes):
            assert client.call(WRITE, 4096 * at, 4096, bytes([at % 255 + 1]) * 4096).error == 0


def ask(served: fk.Served, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
    """Status and answer; JSON is read."""
    parts = urlsplit(served.http_url or "")
    with_dashes = {name.replace("_", "-"): value for name, value in headers.items()}
    connection = HTTPConnection(str(parts.hostname), parts.port, timeout=20)
    try:
        connection.request(method, path, body, with_dashes)
        answer = connection.getresponse()
        found = answer.read()
        is_json = answer.headers["Content-Type"] == "application/json"
        return answer.status, json.loads(found) if is_json else found.decode()
    finally:
        connection.close()


def carry_out(served: fk.Served, verb: str, *arguments: str, **headers: str) -> tuple[int, Any]:
    key = urlsplit(served.http_url or "").fragment
    body = json.dumps({"verb": verb, "arguments": arguments}).encode()
    return ask(served, "POST", "/control", body, **{KEY.replace("-", "_"): key, **headers})


def figures(served: fk.Served, enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The figures once they suffice."""
    until = time.monotonic() + 30
    while True:
        status, found = ask(served, "GET", "/figures")
        assert status == 200
        if enough(found):
            return dict(found)
        assert time.monotonic() < until, found
        time.sleep(0.1)


@pytest.fixture
def served() -> Iterator[fk.Served]:
    with fk.serve(DRIVE, time="no-wait", http="127.0.0.1:0") as served:
        yield served


def test_figures_count_the_requests_of_clients(served: fk.Served) -> None:
    figures(served, lambda found: len(found["samples"]) > 0)
    load(served)
    found = figures(served, lambda found: found["now"] and found["now"]["serve"]["requests"] >= 100)
    assert found["columns"] == list(COLUMNS)
    assert found["now"]["requests"]["writes"] == 100
    assert found["now"]["capacity_bytes"] == served.size
    assert found["problem"] == ""
    last = dict(zip(COLUMNS, found["samples"][-1], strict=True))
    assert last["mean_us"] > 0
    assert last["p50_us"] <= last["p99_us"]
    later = ask(served, "GET", f"/figures?after={found['next']}")[1]
    assert len(later["samples"]) <= 1


def test_drives_without_the_page_have_no_address() -> None:
    with fk.serve(DRIVE, time="no-wait") as served:
        assert served.http_url is None


def test_a_verb_is_carried_out_and_noted(served: fk.Served) -> None:
    assert carry_out(served, "fail", "chip:0.0", "transient")[1]["ok"] is True
    status, refused = carry_out(served, "fail", "chop:0")
    assert status == 200
    assert refused["ok"] is False
    assert "chop:0" in refused["error"]
    actions = ask(served, "GET", "/figures")[1]["actions"]
    assert [(one["verb"], one["arguments"], one["ok"]) for one in actions] == [
        ("fail", ["chip:0.0", "transient"], True), ("fail", ["chop:0"], False),
    ]  # fmt: skip
    assert actions[0]["told"].startswith("virtual time  ")


def test_other_sites_and_users_without_the_key_are_refused(served: fk.Served) -> None:
    for headers, reason in (
        ({"Origin": "http://evil.example"}, "Origin: found `http://evil.example`"),
        ({"Origin": "null"}, "Origin: found `null`"),
        ({"Host": "evil.example"}, "Host: found `evil.example`"),
        ({KEY.replace("-", "_"): "wrong"}, KEY),
    ):
        status, answer = carry_out(served, "cut", **headers)
        assert status == 403
        assert reason in answer["error"]
    status, answer = ask(served, "POST", "/control", b'{"verb": "cut"}')
    assert (status, answer["ok"]) == (403, False)
    for path in ("/", "/figures"):
        assert ask(served, "GET", path, Host="evil.example")[0] == 403
    assert served.control("stats")["summary"]["integrity"]["power_cuts"] == 0
    own = (served.http_url or "").partition("/#")[0]
    assert carry_out(served, "flush", Origin=own)[1]["ok"] is True


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"{", 400, "is accepted"),
        (b"[1]", 400, "is accepted"),
        (b'{"verb": 1}', 400, "is accepted"),
        (b'{"verb": "cut", "more": 1}', 400, "is accepted"),
        (b'{"verb": "cut", "arguments": {}}', 400, "a list of texts and numbers"),
        (b'{"verb": "cut", "arguments": [true]}', 400, "a list of texts and numbers"),
        (b"[" * 50_000, 400, "is accepted"),
        (b"x" * 70_000, 413, "a body of 70000 bytes; 65536 are accepted"),
    ],
)
def test_bad_bodies_are_refused(served: fk.Served, body: bytes, status: int, reason: str) -> None:
    key = urlsplit(served.http_url or "").fragment
    found, answer = ask(served, "POST", "/control", body, **{KEY.replace("-", "_"): key})
    assert found == status
    assert reason in answer["error"]
    assert carry_out(served, "flush")[1]["ok"] is True


def test_unknown_places_and_numbers_are_refused(served: fk.Served) -> None:
    assert ask(served, "GET", "/etc/passwd")[0] == 404
    assert carry_out(served, "flush")[0] == 200
    assert ask(served, "POST", "/figures", b"{}")[0] == 404
    assert ask(served, "GET", "/figures?after=-1")[0] == 400
    assert ask(served, "GET", "/figures?after=999999")[0] == 200
    status, answer = ask(served, "DELETE", "/")
    assert (status, answer["error"]) == (501, "Unsupported method ('DELETE')")


@pytest.mark.parametrize(
    "sent", [b"\r\n\r\n", b"\0" * 100 + b"\r\n", b"GET /\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"a" * 70_000,
             b"POST /control HTTP/1.1\r\nHost: [\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n"],
)  # fmt: skip
def test_malformed_requests_end_their_connection_only(
    served: fk.Served, sent: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    parts = urlsplit(served.http_url or "")
    with socket.create_connection((parts.hostname, parts.port or 0), 5) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        assert b"flashkeep serves" not in client.recv(100_000)
    assert ask(served, "GET", "/figures")[0] == 200
    assert capfd.readouterr().err == ""


def test_a_silent_connection_blocks_no_other(served: fk.Served) -> None:
    parts = urlsplit(served.http_url or "")
    with socket.create_connection((parts.hostname, parts.port or 0), 5):
        assert ask(served, "GET", "/figures")[0] == 200


def test_the_page_ends_with_the_server(served: fk.Served) -> None:
    served.stop()
    with pytest.raises(ConnectionRefusedError):
        ask(served, "GET", "/figures")


def test_the_page_changes_no_response_time(tmp_path: Path) -> None:
    session = tmp_path / "session"
    with fk.serve(DRIVE, time="no-wait", http="127.0.0.1:0", session=session) as served:
        load(served)
        figures(served, lambda found: found["next"] >= 2)
        load(served)
    assert fk.run(DRIVE, session, existing="none").response_us == served.result.response_us


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("8080", "--http: found `8080`; 127.0.0.1:PORT is accepted"),
        ("127.0.0.1:http", "--http: found `127.0.0.1:http`"),
        ("127.0.0.1:70000", "--http: found `127.0.0.1:70000`"),
        ("example.org:80", "--http: found the host `example.org`"),
        ("0.0.0.0:0", "--http: other machines could reach 0.0.0.0:0"),
    ],
)
def test_bad_addresses_are_refused(address: str, message: str) -> None:
    with pytest.raises(fk.OptionError) as refused:
        parse_address(address, allow_remote=False)
    assert message in str(refused.value)


def test_addresses_of_this_machine_are_accepted() -> None:
    assert parse_address("localhost:0", allow_remote=False) == ("localhost", 0)
    assert parse_address("[::1]:8080", allow_remote=False) == ("::1", 8080)
    assert parse_address("0.0.0.0:8080", allow_remote=True) == ("0.0.0.0", 8080)
    assert read_verb(b'{"verb": "slow", "arguments": ["chip:0.0", 10, "5s"]}') == ("slow", ["chip:0.0", "10", "5s"])


def test_a_port_in_use_ends_the_command_with_a_message() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        done = subprocess.run([*FLASHKEEP, "serve", "tlc-client", "--http", address], capture_output=True, text=True,
                              timeout=30, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"flashkeep: --http: {address}: Address already in use\n"


def test_the_command_tells_the_address_of_the_page(tmp_path: Path) -> None:
    command = [*FLASHKEEP, "serve", "tlc-client", "--http", "127.0.0.1:0", "--json", "--listen",
               f"unix:{tmp_path}/nbd.sock", "--control", f"{tmp_path}/control.sock"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            url = urlsplit(json.loads(process.stdout.readline())["http"])
            connection = HTTPConnection("127.0.0.1", url.port, timeout=20)
            connection.request("GET", "/")
            assert b"<title>A drive that flashkeep serves</title>" in connection.getresponse().read()
            connection.close()
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
            assert process.returncode == 0
        finally:
            process.kill()


def stats(virtual_s: float, requests: int, mean_us: float, written: int, waf: float) -> dict[str, Any]:
    """As much of an answer of `stats` as a sample needs."""
    none = {"gc": 0, "parity_gc": 0}
    return {
        "time_ns": round(virtual_s * 1e9),
        "serve": {"late_replies": 0, "failed_requests": 0, "outstanding": 3},
        "summary": {
            "response_us": {"all": {"count": requests, "mean": mean_us, "p50": 1.0, "p99": 2.0}},
            "operations": dict.fromkeys(("read", "program", "erase", "copyback"), none),
            "workload": {"bytes_written": written},
            "waf_bytes": waf, "wear": {}, "fill": None,
        },
    }  # fmt: skip


def test_a_sample_has_the_figures_of_its_interval() -> None:
    before, now = stats(1.0, 100, 10.0, 1000, 1.0), stats(3.0, 300, 30.0, 3000, 2.0)
    found = dict(zip(COLUMNS, sample(7.0, now, Totals(before), None), strict=True))
    assert found["requests_s"] == pytest.approx(100)
    assert found["mean_us"] == pytest.approx(40)  # (300 · 30 − 100 · 10) / 200
    assert found["outstanding_mean"] == pytest.approx(0.004)
    assert found["waf"] == pytest.approx(2.5)
    assert found["gc_s"] is None, "without flash there is no garbage collection"
    still = dict(zip(COLUMNS, sample(8.0, now, Totals(now), None), strict=True))
    assert [still[name] for name in ("requests_s", "mean_us", "waf")] == [None, None, None]


def test_samples_of_ten_minutes_are_kept(monkeypatch: pytest.MonkeyPatch, served: fk.Served) -> None:
    sampler = Sampler(served.control_socket)
    for _ in range(5):
        sampler._take()
    first = served.control("stats")
    monkeypatch.setattr("flashkeep.serving.sampling.ask", lambda _, verb: first if verb == "stats" else {"bytes": 0})
    for _ in range(KEPT):
        sampler._take()
    assert len(sampler.figures(0)["samples"]) == KEPT
    assert len(sampler.figures(KEPT)["samples"]) == 5
    assert sampler.figures(KEPT + 5)["samples"] == []
    assert len(sampler.figures(KEPT + 6)["samples"]) == KEPT, "the page knows another server's samples"


@contextmanager
def opened(browser: Browser, served: fk.Served, scheme: str = "light", width: int = 1280) -> Iterator[Page]:
    """The page, which asks for nothing elsewhere and complains of nothing."""
    from browsing import watch

    dark = scheme == "dark"
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
    page = context.new_page()
    asked, wrong = watch(page)
    url = served.http_url or ""
    page.goto(url, wait_until="load")
    yield page
    own = url.partition("#")[0]
    assert [one for one in asked if not one.startswith((own, "data:"))] == []
    assert wrong == []
    context.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_the_page_shows_figures_after_a_load(browser: Browser, served: fk.Served, scheme: str, width: int) -> None:
    from browsing import brightness, shows_all_text

    with opened(browser, served, scheme, width) as page:
        load(served)
        page.locator("#counts li", has_text=re.compile("^100writes$")).wait_for()
        page.locator("#charts .legend", has_text=re.compile("p99 since the start: [0-9]")).wait_for()
        chart = page.locator("#charts figure:visible svg[role=img]").first
        assert page.locator("#charts figure:visible").count() >= 7
        assert shows_all_text(chart)
        page.locator("#charts .chart").first.hover()
        page.locator("#charts h3", has_text=re.compile("virtual time [0-9.]+ s")).first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        ground = brightness(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        ink = brightness(chart.locator("text").first.evaluate("text => getComputedStyle(text).fill"))
        assert (ground < 60 and ink > 180) if scheme == "dark" else (ground > 230 and ink < 80), (ground, ink)


def test_buttons_carry_out_verbs_and_tell_refusals(browser: Browser, served: fk.Served) -> None:
    from playwright.sync_api import expect

    load(served)
    with opened(browser, served) as page:
        expect(page.locator("form[data-verb=fail] input[name=what]")).to_have_value("chip:0.0")
        page.locator("form[data-verb=cut] button").click()
        page.locator("form[data-verb=cut] output", has_text="done at virtual time").wait_for()
        assert served.control("stats")["summary"]["integrity"]["power_cuts"] == 1
        page.locator("#counts li", has_text="power cuts").get_by_text("1", exact=True).wait_for()
        page.locator("form[data-verb=fail] input[name=what]").fill("chop:0")
        page.locator("form[data-verb=fail] button").click()
        page.locator("form[data-verb=fail] output", has_text="refused: fail: chop:0: found `chop:0`").wait_for()
        page.locator("#actions tr.bad", has_text="fail chop:0").wait_for()
        page.locator("#phases tr", has_text="power at").wait_for()


def test_without_the_key_the_page_only_shows(browser: Browser, served: fk.Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto((served.http_url or "").partition("#")[0], wait_until="load")
    page.locator("#locked").wait_for()
    assert page.locator("#verbs button:disabled").count() == page.locator("#verbs button").count() > 5
    context.close()


def test_an_array_has_a_table_of_members(browser: Browser, tmp_path: Path) -> None:
    drive = tmp_path / "member.toml"
    drive.write_text('base = "tlc-client"\n[flash]\nchannels = 2\nchips_per_channel = 1\nblocks_per_plane = 64\n'
                     "pages_per_block = 96\n")  # fmt: skip
    array = tmp_path / "array.toml"
    array.write_text('members = ["4 * member.toml"]\n[redundancy]\nscheme = "raid5"\nstripe_kib = 64\n')
    with fk.serve(array, time="no-wait", http="127.0.0.1:0") as served:
        load(served)
        served.control("fail", "member:2")
        with opened(browser, served) as page:
            page.locator("#members-title", has_text="Members: raid5, survives 1 failure of a member").wait_for()
            page.locator("#members tbody tr", has_text="member:2 at").wait_for()
            assert page.locator("#members tbody tr").count() == 4
            page.locator("#counts li.bad", has_text="degraded").wait_for()
            assert page.locator("#phases tbody tr").last.locator("td").all_text_contents()[3] == "now"


def test_the_page_says_that_the_server_has_ended(browser: Browser, served: fk.Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.http_url or "", wait_until="load")
    page.locator("#counts li").first.wait_for()
    served.stop()
    page.locator("#problem", has_text="The server has not answered since").wait_for()
    page.locator("form[data-verb=flush] button").click()
    page.locator("form[data-verb=flush] output", has_text="no answer: the server has ended").wait_for()
    context.close()

"""Placement handles: data with different lifetimes in blocks of their own, and what that saves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from conftest import Command
from nbd_client import WRITE, Client

PLANE = """\
name = "plane"
[flash]
channels = 1
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 1024
pages_per_block = 64
page_kib = 4
[ftl.gc]
threshold = 0.0
[start]
existing = "all"
"""
"""One plane, as the closed forms of greedy collection have it."""

SMALL = """\
name = "small"
[flash]
channels = 4
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 48
pages_per_block = 16
page_kib = 4
[ftl]
over_provisioning = 0.9
handles = 3
[start]
existing = "all"
"""

GREEDY = {0.07: 7.010, 0.15: 3.800, 0.28: 2.403}
"""Pages programmed for each page written at random with greedy collection, by spare share: the finite-block mean field
at 64 pages a block (as in crates/flashkeep/tests/it/ftl/closed_forms.rs)."""


def file_of(tmp_path: Path, text: str, **keys: Any) -> fk.Drive:
    path = tmp_path / "drive.toml"
    path.write_text(text)
    return fk.drive(path).replace(**{key.replace("__", "."): value for key, value in keys.items()})


def totals(summary: dict[str, Any], page: int, block: int) -> tuple[int, int]:
    """Bytes programmed and erased, from the counts of operations."""
    counts = {kind: sum(summary["operations"][kind].values()) for kind in ("program", "copyback", "erase")}
    return (counts["program"] + counts["copyback"]) * page, counts["erase"] * block


def assert_conserved(summary: dict[str, Any], page: int = 4096, block: int = 16 * 4096) -> None:
    rows = summary["handles"]
    media, erased = totals(summary, page, block)
    assert sum(row["media_bytes"] for row in rows) == media
    assert sum(row["erased_bytes"] for row in rows) == erased
    host = [row for row in rows if row["data"] == "host"]
    assert [row["handle"] for row in host] == list(range(len(host)))
    assert all(row["handle"] is None and row["host_bytes"] == 0 for row in rows if row["data"] != "host")
    assert sum(row["host_bytes"] for row in host) == sum(
        flow["bytes_written"] for flow in summary["flows"]) if summary["flows"] else True  # fmt: skip
    for row in host:
        assert row["waf"] == (pytest.approx(row["media_bytes"] / row["host_bytes"]) if row["host_bytes"] else None)


def mixed(requests: int = 6000, rate: str = "20k") -> dict[str, str]:
    """Three tenants, a handle each, on parts of the drive."""
    return {
        "log": f"synth:sequential,requests={requests},write=1,size=8KiB,footprint=1MiB,rate={rate},handle=0",
        "db": f"synth:random,requests={requests},write=0.7,size=4KiB,offset=1MiB,footprint=2MiB,rate={rate},handle=1",
        "kv": f"synth:zipf,requests={requests},write=0.8,trim=0.05,size=4KiB/6KiB:1,offset=3MiB,footprint=1MiB,"
              f"rate={rate},handle=2".replace("4KiB/6KiB:1", "4KiB:0.5/6KiB:0.5"),
    }  # fmt: skip


@pytest.mark.parametrize("spare", GREEDY)
@pytest.mark.parametrize("rates", [(1, 1), (1, 4)], ids=["equal rates", "one four times as fast"])
def test_two_uniform_flows_match_the_closed_form_of_greedy(
    tmp_path: Path, spare: float, rates: tuple[int, int]
) -> None:
    # A block of each handle is kept back for collection. Greedy takes the same number of valid pages from both.
    logical = int((1024 - 2) * 64 / (1 + spare))
    drive = file_of(tmp_path, PLANE, ftl__over_provisioning=1024 * 64 / logical - 1, ftl__handles=2,
                    ftl__handle_isolation="persistently")  # fmt: skip
    half, requests = logical // 2 * 4096, logical * 16 // sum(rates)
    flow = "synth:random,requests={},write=1,size=4KiB,offset={},footprint={},rate={},handle={}"
    flows = {
        f"handle {at}": flow.format(requests * rate, at * half, half, 10 * rate, at) for at, rate in enumerate(rates)
    }
    summary = fk.run(drive, flows=flows, untimed=True, warmup="60%").to_dict()
    assert_conserved(summary, block=64 * 4096)
    for row in summary["handles"]:
        assert row["waf"] == pytest.approx(GREEDY[spare], rel=0.02)


@pytest.mark.parametrize("isolation", ["initially", "persistently"])
@pytest.mark.parametrize("untimed", [True, False])
def test_a_sequential_flow_beside_a_random_one_is_written_once(tmp_path: Path, isolation: str, untimed: bool) -> None:
    # As in a cache with large and small objects: the random part is smaller than the spare flash, so that its blocks
    # have next to no valid page when they are collected, and collection never turns to a block of the sequential part.
    # The drive is new: data from before time 0 would have the first handle.
    keys = {"ftl.over_provisioning": 0.15, "ftl.handles": 2, "ftl.handle_isolation": isolation,
            "flash.blocks_per_plane": 256, "start.existing": "none"}  # fmt: skip
    drive = file_of(tmp_path, PLANE).replace(**keys)
    small = drive.capacity_bytes // 25 // 4096 * 4096
    flows = {
        "ring": f"synth:sequential,requests=80k,write=1,size=4KiB,offset={small},rate=2k,handle=0",
        "random": f"synth:random,requests=20k,write=1,size=4KiB,footprint={small},rate=500,handle=1",
    }
    options: dict[str, Any] = {"untimed": untimed, "warmup": "40%"}
    separated = fk.run(drive, flows=flows, **options).to_dict()
    together = fk.run(drive.replace(**{"ftl.handles": 1}), flows=flows, ignore_handles=True, **options).to_dict()
    assert_conserved(separated, block=64 * 4096)
    assert separated["handles"][0]["waf"] == pytest.approx(1, abs=0.005)
    assert separated["handles"][1]["waf"] == pytest.approx(1.005, abs=0.01)
    assert "handles" not in together
    assert together["waf_bytes"] > 1.5


def test_one_handle_is_the_drive_without_handles(tmp_path: Path) -> None:
    drive = file_of(tmp_path, SMALL, ftl__handles=1)
    plain = {name: workload.rpartition(",handle=")[0] for name, workload in mixed().items()}
    one = fk.run(drive, flows=plain).to_dict()
    isolated = drive.replace(**{"ftl.handle_isolation": "persistently"})
    named: dict[str, dict[str, object]] = {
        name: {"workload": workload, "handle": 0} for name, workload in plain.items()
    }
    for found in (
        fk.run(isolated, flows=plain).to_dict(),
        fk.run(drive, flows=mixed(), ignore_handles=True).to_dict(),
        fk.run(drive, flows=named).to_dict(),
    ):
        assert found["digest"] == one["digest"]
        assert "handles" not in found


@pytest.mark.parametrize("keys", [
    {}, {"ftl.handle_isolation": "persistently"},
    {"ftl.handle_isolation": "persistently", "ftl.gc.separate": True},
    {"ftl.streams": 2, "flash.blocks_per_plane": 80}, {"ftl.map": "dftl", "ftl.cache_kib": 2},
    {"flash.slc.blocks": 4, "ftl.slc.idle_us": 50}, {"ftl.allocation": "CWDP"}, {"buffer.dram_mib": 0.25},
    {"redundancy.scheme": "raid5"}, {"redundancy.scheme": "mirror", "flash.blocks_per_plane": 80},
    {"ftl.gc.copyback": "on", "ftl.wear.levelling": "migration", "ftl.wear.erase_budget": 3000},
    {"ftl.pool": "gang"}, {"flash.planes_per_die": 2, "flash.commands.multi_plane": "match"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"untimed": True}, {"warmup": "30%"}], ids=str)
def test_bytes_are_conserved(tmp_path: Path, keys: dict[str, Any], options: dict[str, Any]) -> None:
    drive = file_of(tmp_path, SMALL).replace(**keys)
    summary = fk.run(drive, flows=mixed(2500), verify=not options, **options).to_dict()
    rows = {row["data"]: row for row in summary["handles"]}
    assert ("parity" in rows) == (keys.get("redundancy.scheme") == "raid5")
    if "flash.slc.blocks" in keys:
        media, _ = totals(summary, 4096, 0)
        assert sum(row["media_bytes"] for row in summary["handles"]) == media
    else:
        assert_conserved(summary)
    if rows.keys() == {"host"}:
        assert summary["waf_bytes"] == pytest.approx(
            sum(row["media_bytes"] for row in summary["handles"]) / sum(row["host_bytes"] for row in summary["handles"])
        )


@pytest.mark.parametrize(("scheme", "parity"), [("raid5", True), ("mirror", False), ("raid6", True), ("none", False)])
def test_an_array_passes_handles_on(tmp_path: Path, scheme: str, parity: bool) -> None:
    file_of(tmp_path, SMALL)
    array = tmp_path / "array.toml"
    array.write_text(f'members = ["4 * drive.toml"]\n[redundancy]\nscheme = "{scheme}"\n')
    summary = fk.run(array, flows=mixed(2000)).to_dict()
    assert_conserved(summary)
    assert [row["data"] for row in summary["handles"]] == ["host"] * 3 + ["parity"] * parity
    members = [member["handles"] for member in summary["members"]]
    for at, row in enumerate(summary["handles"]):
        for figure in ("media_bytes", "erased_bytes"):
            assert row[figure] == sum(rows[at][figure] for rows in members)
    copies = 2 if scheme == "mirror" else 1
    for at in range(3):
        assert sum(rows[at]["host_bytes"] for rows in members) >= copies * summary["handles"][at]["host_bytes"]
        assert summary["handles"][at]["waf"] >= copies


def test_an_array_has_the_handles_of_all_members(tmp_path: Path, flashkeep: Command) -> None:
    file_of(tmp_path, SMALL)
    array = tmp_path / "array.toml"
    array.write_text('members = ["drive.toml", "drive.toml,ftl.handles=2", "st3500630a"]\n')
    code, _, err = flashkeep("run", array, "synth:random,requests=9,write=1,handle=2")
    assert code == 2
    assert "request 1 has the placement handle 2; 0 to 1 are accepted with ftl.handles = 2" in err


def test_a_trace_has_a_column_of_handles(tmp_path: Path, flashkeep: Command) -> None:
    drive = file_of(tmp_path, SMALL)
    trace = tmp_path / "trace.csv"
    lines = [
        f"{n * 10_000},0,{'WRT'[n % 3]},{n % 200 * 4096},4096,{n % 3 * (n % 3 == 0) + n // 3 % 3}" for n in range(600)
    ]
    trace.write_text("time_ns,device,op,offset_B,size_B,handle\n" + "\n".join(lines) + "\n")
    summary = fk.run(drive, trace).to_dict()
    assert [row["host_bytes"] for row in summary["handles"]] == [67 * 4096, 67 * 4096, 66 * 4096]
    copy = tmp_path / "copy.csv"
    assert flashkeep("trace", "convert", trace, copy, "--to", "csv")[0] == 0
    assert fk.run(drive, copy).to_dict()["digest"] == summary["digest"]
    # Other formats cannot say it, and a trace without handles has five columns.
    code, out, err = flashkeep("trace", "convert", trace, tmp_path / "trace.fio", "--to", "fio")
    assert code == 0
    assert "133 writes lost their placement handle, which fio cannot say" in out + err
    plain = tmp_path / "plain.csv"
    assert flashkeep("trace", "synth", "synth:random,requests=9,footprint=1MiB,write=1", plain)[0] == 0
    assert plain.read_text().splitlines()[0] == "time_ns,device,op,offset_B,size_B"
    named = tmp_path / "named.csv"
    assert flashkeep("trace", "synth", "synth:random,requests=9,footprint=1MiB,write=1,handle=2", named)[0] == 0
    assert all(line.endswith(",2") for line in named.read_text().splitlines()[1:])


@pytest.mark.parametrize(("line", "said"), [
    ("1,0,W,0,512,8", "trace.csv:2: handle: found `8`; accepted: a placement handle from 0 to 7"),
    ("1,0,W,0,512,x", "trace.csv:2: handle: found `x`"),
    ("1,0,W,0,4096,5", "trace.csv: handle: request 1 has the placement handle 5; 0 to 2 are accepted with ftl.handles"),
])  # fmt: skip
def test_a_handle_that_the_drive_lacks_is_refused(tmp_path: Path, flashkeep: Command, line: str, said: str) -> None:
    file_of(tmp_path, SMALL)
    trace = tmp_path / "trace.csv"
    trace.write_text(f"time_ns,device,op,offset_B,size_B,handle\n{line}\n2,0,W,0,4096,1\n")
    code, _, err = flashkeep("run", "./drive.toml", trace.name, cwd=tmp_path)
    assert code == 2
    assert said in err
    code, out, _ = flashkeep("run", "./drive.toml", trace.name, "--bad-records", "skip", "--json", cwd=tmp_path)
    assert code == 0
    assert json.loads(out)["workload"]["skipped"] == 1
    code, _, err = flashkeep("run", "./drive.toml", "synth:random,requests=9,handle=9", cwd=tmp_path)
    assert code == 2
    assert "handle: found `9`; accepted: a placement handle from 0 to 7" in err


def test_a_flow_has_a_handle(tmp_path: Path, flashkeep: Command) -> None:
    drive = file_of(tmp_path, SMALL)
    flows: dict[str, str | dict[str, object]] = {
        "a": {"workload": "synth:random,requests=500,write=1,size=4KiB", "handle": 2},
        "b": "synth:random,requests=300,write=1,size=4KiB,handle=1",
    }
    summary = fk.run(drive, flows=flows).to_dict()
    assert [row["host_bytes"] // 4096 for row in summary["handles"]] == [0, 300, 500]
    code, _, err = flashkeep("run", "./drive.toml", "--flow", "a=synth:random,handle=3", cwd=tmp_path)
    assert code == 2
    assert '--flow 1 (a): handle: found "3"; 0 to 2 are accepted with ftl.handles = 3' in err.replace(
        "found 3", 'found "3"'
    )
    code, out, _ = flashkeep(
        "run", "./drive.toml", "--flow", "a=synth:random;requests=2k;write=1,handle=2", cwd=tmp_path
    )
    assert code == 0
    assert "Placement handles" in out


def test_what_cannot_have_handles_says_why(tmp_path: Path) -> None:
    drive = file_of(tmp_path, SMALL)
    for keys, said in (({"ftl.map": "hybrid"}, "the address of a page decides"),
                       ({"redundancy.scheme": "dvs"}, "fill the blocks of all members in order")):  # fmt: skip
        with pytest.raises(fk.DriveError, match=said):
            fk.run(drive.replace(**keys), "synth:random,requests=9")
    with pytest.raises(fk.DriveError, match=r"ftl\.handles"):
        fk.run(drive.replace(**{"ftl.handles": 9}), "synth:random,requests=9")


def test_a_trim_takes_only_the_pages_that_it_names(tmp_path: Path) -> None:
    drive = file_of(tmp_path, SMALL, start__existing="none")
    trace = tmp_path / "trace.csv"
    pages = 256
    lines = [f"{n * 100_000},0,W,{n * 4096},4096,{n % 3}" for n in range(pages)]
    lines += [f"{(pages + n) * 100_000},0,T,{n * 4096},4096," for n in range(1, pages, 3)]
    lines += [f"{(3 * pages + n) * 100_000},0,R,{n * 4096},4096," for n in range(pages)]
    trace.write_text("time_ns,device,op,offset_B,size_B,handle\n" + "\n".join(lines) + "\n")
    summary = fk.run(drive, trace, verify=True).to_dict()
    assert summary["integrity"]["wrong_reads"] == 0
    assert summary["unmapped_reads"] == len(range(1, pages, 3))
    assert [row["host_bytes"] // 4096 for row in summary["handles"]] == [86, 85, 85]
    assert [row["erased_bytes"] for row in summary["handles"]] == [0, 0, 0]


@pytest.mark.parametrize("isolation", ["initially", "persistently"])
def test_a_saved_drive_keeps_the_handles_of_its_pages(tmp_path: Path, isolation: str) -> None:
    drive = file_of(tmp_path, SMALL, ftl__handle_isolation=isolation)
    first, second, aged = mixed(1500), mixed(1500), tmp_path / "aged.fk"
    fk.run(drive, flows=first, untimed=True, save_aged=aged)
    found = fk.run(drive, flows=second, aged=aged).to_dict()
    assert_conserved(found)
    assert fk.run(drive, flows=second, aged=aged).to_dict()["digest"] == found["digest"]
    # A read moves nothing between handles, and collection of a saved drive finds pages of all of them.
    assert all(row["erased_bytes"] > 0 for row in found["handles"])
    with pytest.raises(fk.OptionError, match="handles"):
        fk.run(drive.replace(**{"ftl.handles": 2}), "synth:random,requests=9", aged=aged)


@pytest.mark.parametrize("keys", [{}, {"buffer.dram_mib": 0.25}, {"redundancy.scheme": "raid5"}], ids=str)
def test_a_power_cut_loses_no_page_of_any_handle(tmp_path: Path, keys: dict[str, Any]) -> None:
    drive = file_of(tmp_path, SMALL, ftl__handle_isolation="persistently").replace(**keys)
    summary = fk.run(drive, flows=mixed(4000), verify=True, fail=["power@60ms", "power@120ms"]).to_dict()
    assert summary["integrity"]["power_cuts"] == 2
    assert summary["integrity"]["wrong_reads"] == summary["integrity"]["lost_pages"] == 0
    rows = summary["handles"]
    assert sum(row["media_bytes"] for row in rows) == totals(summary, 4096, 0)[0]


def test_observers_do_not_change_the_figures(tmp_path: Path) -> None:
    drive, flows = file_of(tmp_path, SMALL), mixed(1500)
    plain = fk.run(drive, flows=flows).to_dict()
    observed = fk.run(drive, flows=flows, series="10ms", timeline=tmp_path / "timeline.json",
                      operations=tmp_path / "operations.csv").to_dict()  # fmt: skip
    assert observed["handles"] == plain["handles"]
    assert observed["digest"] == plain["digest"]


def test_tables_have_handles(tmp_path: Path) -> None:
    drive = file_of(tmp_path, SMALL)
    table = {"time_us": [0, 1, 2, 3], "op": ["W", "W", "R", "WF"], "offset": [0, 4096, 0, 8192], "size": [4096] * 4,
             "handle": [2, 1, 1, 2]}  # fmt: skip
    summary = fk.run(drive, table).to_dict()
    assert [row["host_bytes"] // 4096 for row in summary["handles"]] == [0, 1, 2]
    with pytest.raises(
        fk.TraceError, match="row 1, column 'handle': found 8; accepted: a placement handle from 0 to 7"
    ):
        fk.trace({**table, "handle": [2, 8, 1, 2]})


def test_advice_compares_placements(tmp_path: Path, flashkeep: Command) -> None:
    file_of(tmp_path, PLANE, ftl__handles=1)
    path = tmp_path / "drive.toml"
    path.write_text(PLANE.replace("blocks_per_plane = 1024", "blocks_per_plane = 128"))
    trace = tmp_path / "trace.csv"
    workload = "synth:zipf,requests=60k,write=0.9,size=4KiB,theta=1.1,footprint=24MiB"
    assert flashkeep("trace", "synth", workload, trace)[0] == 0
    code, out, err = flashkeep("advise", trace, "--drives", path, "--handles", 2, "--json")
    assert code == 0, err
    found = json.loads(out)
    rows = {(row["placement"], row["isolation"]): row for row in found["rows"]}
    assert list(rows) == [("mixed", None), ("heat", "initially"), ("heat", "persistently")]
    assert rows["heat", "initially"]["waf"] < 0.9 * rows["mixed", None]["waf"]
    cold, hot = (row["host_bytes"] for row in rows["heat", "initially"]["handles"] if row["data"] == "host")
    assert cold == pytest.approx(hot, rel=0.25)
    assert found["saved"]["from"] == rows["mixed", None]["waf"]
    advice = fk.advise_handles(trace, str(path), 2, progress=False)
    assert advice.to_dict() == found
    assert [row.waf for row in advice] == [row["waf"] for row in found["rows"]]
    assert advice.saved.to == found["saved"]["to"]
    code, out, _ = flashkeep("advise", trace, "--drives", path, "--handles", 2, "--quiet")
    assert code == 0
    assert "Separation by heat" in out
    assert repr(advice) in out
    with pytest.raises(fk.OptionError, match="2 to 8 are accepted"):
        fk.advise_handles(trace, str(path), 9)
    for wrong, said in (
        (["--handles", 9], "2 to 8 are accepted"),
        (["--handles", 2, "--schemes", "raid5"], "--schemes: is for"),
    ):
        code, _, err = flashkeep("advise", trace, "--drives", path, *wrong)
        assert code == 2
        assert said in err


def test_advice_uses_the_handles_and_devices_of_a_trace(tmp_path: Path, flashkeep: Command) -> None:
    path = tmp_path / "drive.toml"
    path.write_text(PLANE.replace("blocks_per_plane = 1024", "blocks_per_plane = 64"))
    trace = tmp_path / "trace.csv"
    lines = [f"{n},{n % 2},W,{n * 7 % 512 * 4096},4096,{n // 2 % 2}" for n in range(20_000)]
    trace.write_text("time_ns,device,op,offset_B,size_B,handle\n" + "\n".join(lines) + "\n")
    code, out, err = flashkeep("advise", trace, "--drives", path, "--handles", 2, "--json", "--merge-devices")
    assert code == 0, err
    assert [row["placement"] for row in json.loads(out)["rows"]] == [
        "mixed", "given", "given", "heat", "heat",
    ]  # fmt: skip
    code, out, err = flashkeep("advise", trace, "--drives", path, "--handles", 2, "--json", "--compact")
    assert code == 0, err
    assert [row["placement"] for row in json.loads(out)["rows"]][3:5] == ["device", "device"]


def test_a_rebuilt_page_keeps_its_handle(tmp_path: Path) -> None:
    file_of(tmp_path, SMALL.replace("handles = 3", 'handles = 3\nhandle_isolation = "persistently"'))
    array = tmp_path / "array.toml"
    array.write_text('members = ["4 * drive.toml"]\n[redundancy]\nscheme = "raid5"\n')
    fail = "member:1@50ms,replace_after=1ms"
    summary = fk.run(array, flows=mixed(4000), fail=fail, verify=True, stop_rebuild="end").to_dict()
    assert summary["integrity"]["wrong_reads"] == summary["integrity"]["lost_pages"] == 0
    assert summary["operations"]["program"]["rebuild"] > 0
    assert sum(row["media_bytes"] for row in summary["handles"]) == totals(summary, 4096, 0)[0]
    renewed = {row["data"]: row for row in summary["members"][1]["handles"]}
    assert renewed["parity"]["media_bytes"] > 0


def test_addresses_can_have_handles(tmp_path: Path) -> None:
    drive = file_of(tmp_path, SMALL)
    named = {
        "small": "synth:random,requests=2k,write=0.7,size=4KiB,footprint=1MiB,rate=1k,handle=2",
        "large": "synth:sequential,requests=500,write=1,size=16KiB,offset=1MiB,footprint=2MiB,rate=200,handle=1",
    }
    unnamed = {name: workload.rpartition(",")[0] for name, workload in named.items()}
    by_address = fk.run(drive, flows=unnamed, handle=["1MiB..=1", "..1MiB=2"])
    assert by_address.digest == fk.run(drive, flows=named).digest != fk.run(drive, flows=unnamed).digest
    assert by_address.digest == fk.run(drive, flows=named, handle=["1MiB..=1", "..1MiB=2"]).digest


def test_served_addresses_can_have_handles(tmp_path: Path) -> None:
    drive, session = file_of(tmp_path, SMALL), tmp_path / "session"
    where: dict[str, Any] = {"listen": f"unix:{tmp_path}/nbd", "time": "no-wait", "session": session}
    with fk.serve(drive, handle="1MiB..=2", **where) as served, Client(f"{tmp_path}/nbd") as client:
        for at in (0, 2 << 20, 3 << 20):
            assert client.call(WRITE, at, 65536, bytes(65536)).error == 0
    live = served.result.to_dict()
    written = {row["handle"]: row["host_bytes"] for row in live["handles"] if row.get("handle") is not None}
    assert written == {0: 65536, 1: 0, 2: 2 * 65536}
    assert fk.run(drive, session).digest == live["digest"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("1MiB=1", "accepted: two addresses and a handle"),
        ("1MiB..=3", "0 to 2 are accepted with ftl.handles = 3"),
        ("1TiB..=1", "begins after the device's last byte"),
    ],
)
def test_a_wrong_range_is_refused(tmp_path: Path, given: str, why: str) -> None:
    with pytest.raises(fk.OptionError, match=why):
        fk.run(file_of(tmp_path, SMALL), "synth:random,requests=10", handle=given)

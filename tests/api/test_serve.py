"""Drives that are served from Python."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest

DRIVE = {"base": "tlc-client", "flash": {"channels": 2, "chips_per_channel": 1, "blocks_per_plane": 64,
                                         "pages_per_block": 96}}  # fmt: skip
"""Small, so that it starts quickly."""


def test_a_served_drive_has_an_address_a_size_and_a_result() -> None:
    with fk.serve(DRIVE, time="no-wait") as served:
        assert isinstance(served, fk.Served)
        assert re.fullmatch(r"nbd\+unix:///\?socket=/.*/nbd\.sock", served.uri)
        assert served.uris == [served.uri]
        assert served.size == fk.drive(DRIVE).capacity_bytes
        assert served.control("unflushed")["bytes"] == 0
        assert os.stat(served.control_socket).st_mode & 0o777 == 0o600
    assert served.result.workload.requests == 0
    assert not os.path.exists(served.control_socket)
    with pytest.raises(FileNotFoundError, match="no served drive listens"):
        served.control("stats")


def test_clients_connect_to_the_addresses_of_listen(tmp_path: Path) -> None:
    control = tmp_path / "control.sock"
    with fk.serve(DRIVE, listen=["tcp:127.0.0.1:0", f"unix:{tmp_path}/nbd.sock"], control=control) as served:
        for uri in served.uris:
            if uri.startswith("nbd:"):
                client = socket.create_connection(("127.0.0.1", int(uri.rpartition(":")[2])), 5)
            else:
                client = socket.socket(socket.AF_UNIX)
                client.connect(str(tmp_path / "nbd.sock"))
            with client:
                assert client.recv(8) == b"NBDMAGIC"
        assert served.control_socket == str(control)
    with fk.serve(DRIVE, listen="tcp:127.0.0.1:0") as served:
        assert served.uri.startswith("nbd://127.0.0.1:")


def test_a_session_repeats_in_a_run(tmp_path: Path) -> None:
    session = tmp_path / "session.csv"
    with fk.serve(DRIVE, time="no-wait", session=session, seed=3) as served:
        served.control("flush")
        served.control("flush")
    again = fk.run(DRIVE, session, seed=3, existing="none")
    assert again.workload.requests == served.result.workload.requests == 2
    assert again.response_us == served.result.response_us


def test_a_drive_is_saved_and_served_again(tmp_path: Path) -> None:
    aged, store = tmp_path / "aged", tmp_path / "store"
    with fk.serve(DRIVE, time="no-wait", save_aged=aged, store=store) as served:
        served.control("age", "1s")
    assert aged.exists()
    with fk.serve(DRIVE, time="no-wait", aged=aged) as served:
        assert served.control("errors")["lost"] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"verify": True}, r"verify: a served drive does not have this option of a run; existing, .* and aged are"),
        ({"existing": "some"}, "--existing: found `some`; `reads`, "),
        ({"on_cut": "stop"}, "on_cut: found 'stop'; 'fail' and 'wait' are accepted"),
        ({"time": "scale=0"}, "--time: found `scale=0`; `real`, `no-wait` and `scale=N`"),
        ({"time": 3}, "time: found 3; 'real', 'no-wait' and 'scale=N' are accepted"),
        ({"listen": "tcp:0.0.0.0:0"}, "other machines could reach this address"),
        ({"listen": "here"}, "expected unix:PATH or tcp:HOST:PORT"),
        ({"listen": [10809]}, "listen: found 10809; unix:PATH and tcp:"),
        ({"fail": "chop:0@1s"}, "--fail chop:0@1s: found `chop:0`"),
        ({"seed": -1}, "seed: found -1"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(fk.OptionError, match=message):
        fk.serve(DRIVE, **options)


@pytest.mark.parametrize("option", ["session", "store", "save_aged"])
def test_files_that_cannot_be_written_are_refused_at_the_start(option: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=option.replace("_", "-")):
        fk.serve(DRIVE, **{option: tmp_path / "none" / "file"})  # type: ignore[arg-type]


def test_an_unknown_option_is_refused_with_a_suggestion() -> None:
    with pytest.raises(TypeError, match="unexpected option 'exising'; did you mean 'existing'"):
        fk.serve(DRIVE, exising="all")  # type: ignore[call-arg]


def test_a_verb_that_is_refused_names_itself_once() -> None:
    with fk.serve(DRIVE, time="no-wait") as served:
        with pytest.raises(fk.OptionError, match=r"^fail: found 0 arguments; accepted: WHAT"):
            served.control("fail")
        with pytest.raises(fk.OptionError, match=r"^melt: found `melt`; accepted: fail WHAT"):
            served.control("melt")


def test_an_exception_ends_the_server() -> None:
    with pytest.raises(ZeroDivisionError), fk.serve(DRIVE, time="no-wait") as served:
        raise ZeroDivisionError
    assert not os.path.exists(served.control_socket)

"""The commands `serve` and `control`, as a shell calls them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import flashkeep as fk
import pytest
from nbd_client import WRITE, Client
from small_drives import small_drive

DRIVE = "tlc-client,flash.channels=2,flash.chips_per_channel=1,flash.blocks_per_plane=64,flash.pages_per_block=96"
FLASHKEEP = (sys.executable, "-m", "flashkeep")


def control(socket: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*FLASHKEEP, "control", str(socket), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`flashkeep serve --json` in a folder of its own, which listens."""
    command = [*FLASHKEEP, "serve", DRIVE, "--json", "--listen", f"unix:{tmp_path}/nbd.sock",
               "--control", f"{tmp_path}/control.sock", "--session", f"{tmp_path}/session"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        try:
            yield served
        finally:
            served.kill()


def test_serve_says_where_and_ends_at_sigterm_with_its_summary(server: subprocess.Popen[str], tmp_path: Path) -> None:
    assert server.stdout
    found = json.loads(server.stdout.readline())
    assert found["uris"] == [f"nbd+unix:///?socket={tmp_path}/nbd.sock"]
    assert found["control"] == f"{tmp_path}/control.sock"
    assert found["size"] == fk.drive(DRIVE).capacity_bytes
    server.send_signal(signal.SIGTERM)
    out, errors = server.communicate(timeout=30)
    assert (server.returncode, errors) == (0, "")
    assert json.loads(out)["serve"]["requests"] == 0
    assert sorted(os.listdir(tmp_path)) == ["session"]


def test_control_shows_its_answers(server: subprocess.Popen[str], tmp_path: Path) -> None:
    assert server.stdout
    server.stdout.readline()
    socket = tmp_path / "control.sock"
    flushed = control(socket, "flush")
    assert flushed.returncode == 0, flushed.stderr
    assert flushed.stdout.splitlines()[-1].startswith("response_us  ")
    stats = control(socket, "stats").stdout
    assert "\nreads 0  writes 0  trims 0  flushes 1  fua writes 0\n" in stats
    assert len(stats.splitlines()) < 10
    assert json.loads(control(socket, "stats", "--json").stdout)["summary"]["workload"]["flushes"] == 1
    image = tmp_path / "image"
    assert control(socket, "crash-image", str(image), "half", "7").returncode == 0
    assert image.stat().st_size == fk.drive(DRIVE).capacity_bytes
    assert control(socket, "unflushed").stdout.splitlines()[1:] == ["bytes  0", "ranges  0 (0 bytes)"]


def test_control_refuses_what_it_does_not_know(server: subprocess.Popen[str], tmp_path: Path) -> None:
    assert server.stdout
    server.stdout.readline()
    refused = control(tmp_path / "control.sock", "melt")
    assert refused.returncode == 2
    assert refused.stderr.startswith("flashkeep: melt: found `melt`; accepted: fail WHAT")
    absent = control(tmp_path / "absent.sock", "stats")
    assert absent.returncode != 0
    assert "absent.sock: no served drive listens" in absent.stderr


def test_copies_of_a_served_drive_call_classes_in_python(tmp_path: Path) -> None:
    scheme = Path(__file__).parents[2] / "examples/schemes/raid5.py"
    drive = tmp_path / "drive.toml"
    keys = f'[redundancy]\nscheme = "python"\nfile = "{scheme}"\n[buffer]\ndram_mib = 0.25\n'
    drive.write_text(small_drive(channels=4) + keys)
    with (
        fk.serve(drive, listen=[f"unix:{tmp_path}/nbd"], time="no-wait") as served,
        Client(f"{tmp_path}/nbd") as client,
    ):
        for _ in range(5):
            for page in range(20):
                assert not client.call(WRITE, page * 4096, 4096, bytes(4096)).error
            served.control("crash-image", tmp_path / "image", "model", 1)

"""The command as a process: signals, closed pipes, terminals, what it imports."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import COMMAND, Command

LONG = "synth:random,requests=1G,rate=2k"


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("command", ["run", "compare"])
def test_signals_stop_it(
    flashkeep: Command, drive: Path, tmp_path: Path, command: str, sent: signal.Signals, code: int
) -> None:
    order = [drive, LONG] if command == "run" else [LONG, drive, drive]
    out = tmp_path / "out"
    process = flashkeep.start(command, *order, "--out", out)
    try:
        wait_for((out / ".unfinished").is_dir)
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(sent)
        printed, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, printed) == (code, "")
    assert err in ("flashkeep: interrupted\n", "flashkeep: terminated\n")
    assert not out.exists(), "nothing half-written"


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it does not begin"
        time.sleep(0.02)


def test_ctrl_c_is_heard_while_standard_input_is_silent(flashkeep: Command, drive: Path) -> None:
    process = flashkeep.start("run", drive, "-", "--format", "ssdsim")
    time.sleep(1)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    assert process.returncode == 130
    process.communicate()


@pytest.mark.parametrize(
    "arguments", [["schema"], ["drives", "2CM-128"], ["--help"], ["run", "DRIVE", "TRACE", "--json"]]
)
def test_a_closed_pipe_ends_quietly(drive: Path, trace: Path, arguments: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    stand_ins = {"DRIVE": drive, "TRACE": trace}
    words = [stand_ins.get(word, word) for word in arguments]
    done = subprocess.run([COMMAND, *words], stdout=write_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")


def on_a_terminal(*words: object) -> tuple[int, str]:
    """Runs a command with standard error (and output) on a terminal; what it drew there."""
    main, side = pty.openpty()
    process = subprocess.Popen([COMMAND, *map(str, words)], stdin=subprocess.DEVNULL, stdout=side, stderr=side)
    os.close(side)
    drawn = b""
    while True:
        try:
            piece = os.read(main, 4096)
        except OSError:  # Linux says so when the other side is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(main)
    return process.wait(), drawn.decode()


def test_progress_and_colour_on_a_terminal(drive: Path) -> None:
    code, drawn = on_a_terminal("compare", "synth:random,requests=1500k,rate=2k", drive, drive)
    assert code == 0
    assert " requests/s" in drawn
    assert " left" in drawn
    assert "\033[1m" in drawn
    code, drawn = on_a_terminal("run", drive, "synth:random,requests=1500k,rate=2k", "--quiet")
    assert code == 0
    assert " requests/s" not in drawn


WANTED_AT_MOST = {"numpy", "pandas", "polars", "pyarrow", "rich", "typer", "click", "asyncio", "dataclasses", "logging",
                  "importlib.metadata", "inspect", "difflib", "multiprocessing", "concurrent.futures"}  # fmt: skip


def test_run_imports_little(drive: Path, trace: Path) -> None:
    """A short run must not spend its time importing."""
    code = (
        "import sys; from flashkeep.cli import main;"
        f"code = main(['run', {str(drive)!r}, {str(trace)!r}, '--json', '--quiet']);"
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    # -S: what a site's .pth files import is not this program's doing.
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": path}
    )
    imported = set(done.stderr.split())
    assert "flashkeep._flashkeep" in imported
    assert not imported & WANTED_AT_MOST
    assert len(imported) < 96

"""The command as a process: signals, closed pipes, terminals, what it imports."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import COMMAND, Command, rows_of

LONG = "synth:random,requests=1G,rate=2k"


SIGNALS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]


def stopped(process: subprocess.Popen[str], sent: signal.Signals) -> tuple[int, str, str]:
    try:
        assert process.poll() is None
        process.send_signal(sent)
        printed, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, printed, err


@pytest.mark.parametrize(("sent", "code", "word"), SIGNALS)
def test_signals_stop_it(flashkeep: Command, drive: Path, sent: signal.Signals, code: int, word: str) -> None:
    process = flashkeep.start("run", drive, LONG)
    time.sleep(1.5)
    assert stopped(process, sent) == (code, "", f"flashkeep: {word}\n")


@pytest.mark.parametrize(("sent", "code", "word"), SIGNALS)
def test_an_interrupted_run_keeps_what_was_done(
    flashkeep: Command, drive: Path, tmp_path: Path, sent: signal.Signals, code: int, word: str
) -> None:
    out, log = tmp_path / "out", tmp_path / "operations.csv"
    process = flashkeep.start("run", drive, LONG, "--out", out, "--operations", log)
    wait_for((out / ".unfinished").is_dir)
    time.sleep(1.5)
    found, printed, err = stopped(process, sent)
    assert (found, printed) == (code, "")
    assert sorted(path.name for path in out.iterdir()) == ["requests.parquet", "seconds.parquet", "summary.json"]
    summary = json.loads((out / "summary.json").read_text())
    requests = summary["workload"]["requests"]
    assert (
        err == f'flashkeep: {word}; {out} has the first {requests:,} requests (summary.json says "interrupted": true)\n'
    )
    assert summary["interrupted"] is True
    assert summary["warnings"][0] == f"interrupted: the figures are of the first {requests} requests"
    assert len(rows_of(out, "requests")) == requests == summary["response_us"]["all"]["count"]
    assert not log.exists(), "it would pass for that of a whole run"
    whole = flashkeep.json("run", drive, LONG, "--limit", requests)
    assert whole["digest"] == summary["digest"]
    assert "interrupted" not in whole


def test_an_interrupted_comparison_keeps_the_finished_runs(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    workload = "synth:random,requests=300k,rate=2k"
    process = flashkeep.start("compare", workload, *[drive] * 12, "--out", out)
    wait_for((out / ".unfinished" / "02-small" / "seconds.csv.gz").exists)
    time.sleep(0.3)
    code, printed, err = stopped(process, signal.SIGTERM)
    assert (code, printed) == (143, "")
    kept = sorted(path.name for path in out.iterdir() if path.is_dir())
    together = json.loads((out / "summary.json").read_text())
    # Two run at a time, and the later one of them may be the first to finish.
    every = [f"{at:02}-small" for at in range(1, 13)]
    assert set(kept) <= set(every)
    assert 1 <= len(kept) == len(together["runs"]) < 12
    assert together["interrupted"] is True
    assert together["unfinished"] == [name for name in every if name not in kept]
    assert err.startswith(f"flashkeep: terminated; {out} has {len(kept)} of 12 runs; not finished: ")
    assert all("interrupted" not in run for run in together["runs"])
    assert flashkeep("report", out, "-o", tmp_path / "page.html").code == 0


def test_what_has_not_begun_leaves_nothing(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = flashkeep.start("run", drive, "-", "--format", "ssdsim", "--out", out)
    wait_for((out / ".unfinished").is_dir)
    time.sleep(0.5)
    assert stopped(process, signal.SIGINT) == (130, "", f"flashkeep: interrupted; {out}: nothing was finished\n")
    assert not out.exists()


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

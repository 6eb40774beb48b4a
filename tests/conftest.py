"""Common parts of the tests: the command as a user calls it, a small drive, a small trace, the real traces."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[1]
COMMAND = Path(sys.executable).with_name("flashkeep")
"""The command beside the Python that runs the tests."""

# In the background of a shell script, Ctrl-C is ignored, also by the commands that tests interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SMALL_DRIVE = """\
description = "Small enough that collection runs after some thousand writes."

[flash]
channels = 2
chips_per_channel = 2
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 32
pages_per_block = 16
page_kib = 4

[ftl]
over_provisioning = 0.25
"""

TRACE = "".join(f"{at * 100_000} 0 {at % 50 * 8} 8 {at % 2}\n" for at in range(400))
"""SSDSim's format: 400 requests of 4 KiB, ten a millisecond, every other one a write."""


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table that `--out` has written."""
    from pyarrow import parquet

    found: list[dict[str, Any]] = parquet.read_table(folder / f"{table}.parquet").to_pylist()
    return found


class Finished(NamedTuple):
    """What a command left: its exit code and what it said."""

    code: int
    out: str
    err: str


OWN_PROCESS = frozenset({"sweep", "reproduce", "torture", "serve", "control"})
"""Commands that start processes or wait for signals."""
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


def call(arguments: list[str], cwd: Path | None = None, limit_s: float = 400) -> Finished:
    """Calls the command in this process, as a start of Python takes longer than most commands."""
    from flashkeep.cli import main

    def too_late(_number: int, _frame: object) -> None:
        raise TimeoutError(f"{arguments} took more than {limit_s} s")

    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    handlers = [signal.getsignal(number) for number in SIGNALS]
    signal.signal(signal.SIGALRM, too_late)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        with (
            contextlib.chdir(cwd or "."), contextlib.redirect_stdout(streams[0]),
            contextlib.redirect_stderr(streams[1]),
        ):  # fmt: skip
            code = main(arguments)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip(SIGNALS, handlers, strict=True):
            signal.signal(number, handler)
    out, err = (stream.buffer.getvalue().decode() for stream in streams)
    return Finished(code, out, err)


class Command:
    """Calls `flashkeep` as a user would: in a process of its own where that makes a difference."""

    def __call__(self, *arguments: object, stdin: str | None = None, cwd: Path | None = None) -> Finished:
        words = [*map(str, arguments)]
        if stdin is None and "-" not in words and not OWN_PROCESS & set(words[:1]):
            return call(words, cwd)
        done = subprocess.run(
            [COMMAND, *words],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=400,
            cwd=cwd,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def json(self, *arguments: object, **options: Any) -> dict[str, Any]:
        """The one object that a command prints with `--json`."""
        code, out, err = self(*arguments, "--json", **options)
        assert (code, err) == (0, ""), err
        found: dict[str, Any] = json.loads(out)
        return found

    def peak_mib(self, *arguments: object, cwd: Path | None = None) -> float:
        """The peak memory of a run. It would begin with that of its parent process, which is a shell here."""
        words = ["/bin/sh", "-c", '"$@"; exit $?', "sh", str(COMMAND), *map(str, arguments), "--json"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=400, cwd=cwd, check=True)
        found: float = json.loads(done.stdout)["run"]["peak_rss_mib"]
        return found

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """Starts a command and leaves it running."""
        return subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )


@pytest.fixture(scope="session")
def flashkeep() -> Command:
    assert COMMAND.exists(), f"{COMMAND} is missing: make build"
    return Command()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium: the system's, or the one that playwright has installed."""
    from playwright.sync_api import Error, sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    installed = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        try:
            launched = playwright.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        except Error as error:
            pytest.skip(f"no Chromium here (apt-get install chromium): {str(error).splitlines()[0]}")
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drives") / "small.toml"
    path.write_text(SMALL_DRIVE)
    return path


@pytest.fixture(scope="session")
def mirrored(drive: Path) -> Path:
    path = drive.with_name("mirrored.toml")
    path.write_text(SMALL_DRIVE + '\n[redundancy]\nscheme = "mirror"\n')
    return path


@pytest.fixture(scope="session")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "small.ssdsim"
    path.write_text(TRACE)
    return path


@pytest.fixture(scope="session")
def real_traces() -> Path:
    """The folder of real traces beside the project, if there is one."""
    folder = ROOT.parent / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip(f"the real traces are not here ({folder})")
    return folder

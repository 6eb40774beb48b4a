"""The examples run as they stand, say something, and stay short."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from served_ext4 import missing

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("[0-9][0-9]_*.py"))

ARGUMENTS = {"10_database_power_cut": ["3"]}
"""Arguments that make examples quick."""


def name(path: Path) -> str:
    return path.stem


def test_examples_are_numbered_from_1() -> None:
    assert [int(name(path)[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.parametrize("path", EXAMPLES, ids=name)
def test_an_example_is_under_60_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.parametrize("path", EXAMPLES, ids=name)
def test_an_example_runs_anywhere(path: Path, tmp_path: Path) -> None:
    if path.stem == "10_database_power_cut" and missing():
        pytest.skip(f"no served drive can be mounted: {missing()}")
    done = subprocess.run(
        [sys.executable, path, *ARGUMENTS.get(path.stem, ())],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert len(done.stdout.splitlines()) >= 4
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"

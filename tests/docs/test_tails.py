"""The worked examples of docs/tails.md print what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT, Command

TEXT = (ROOT / "docs" / "tails.md").read_text(encoding="utf-8")
RUNS = re.findall(r"^```console\n\$ flashkeep (.+)\n((?:.*\n)+?)```$", TEXT, re.MULTILINE)
FILES = re.findall(r"^```toml\n# ([a-z-]+\.toml)(.*\n(?:.*\n)+?)```$", TEXT, re.MULTILINE)


def test_the_page_begins_with_its_question() -> None:
    assert TEXT.startswith("# Why do some reads take milliseconds?\n")
    assert len(RUNS) == 6
    assert len(FILES) == 3


@pytest.mark.parametrize(("command", "shown"), RUNS, ids=["turns", "never", "array", "slow", "hedged", "slow hedged"])
def test_an_example_prints_what_the_page_shows(flashkeep: Command, tmp_path: Path, command: str, shown: str) -> None:
    for name, text in FILES:
        (tmp_path / name).write_text("#" + text)
    code, out, err = flashkeep(*command.split(), "--quiet", cwd=tmp_path)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for line in shown.splitlines():
        assert any(printed.startswith(line.rstrip()) for printed in lines), line

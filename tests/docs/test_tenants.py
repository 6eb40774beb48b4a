"""The worked example of docs/tenants.md prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT, Command

TEXT = (ROOT / "docs" / "tenants.md").read_text(encoding="utf-8")
RUNS = re.findall(r"^```console\n\$ flashkeep (.+)\n((?:.+\n)+)```$", TEXT, re.MULTILINE)


def test_the_page_begins_with_its_question() -> None:
    assert TEXT.startswith("# Who suffers when the backup runs?\n")
    assert len(RUNS) == 3


@pytest.mark.parametrize(("command", "shown"), RUNS, ids=["default", "priority", "short queue"])
def test_an_example_prints_what_the_page_shows(flashkeep: Command, tmp_path: Path, command: str, shown: str) -> None:
    (tmp_path / "tenants.toml").write_text(re.findall(r"^```toml\n(.+?)^```$", TEXT, re.MULTILINE | re.DOTALL)[0])
    code, out, err = flashkeep(*command.split(), "--quiet", cwd=tmp_path)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for line in shown.splitlines():
        assert any(printed.startswith(line.rstrip()) for printed in lines), line

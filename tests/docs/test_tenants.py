"""The worked example of docs/tenants.md prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT, Command

TEXT = (ROOT / "docs" / "tenants.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```toml\n# (.+)\n((?:.*\n)+?)```$", TEXT, re.MULTILINE))
RUNS = re.findall(r"^```console\n\$ flashkeep (.+)\n((?:.+\n)+)```$", TEXT, re.MULTILINE)


def test_the_page_begins_with_its_question() -> None:
    assert TEXT.startswith("# Who suffers when the backup runs?\n")
    assert len(RUNS) == 4


def with_share() -> tuple[str, str]:
    """The last run again, with the key that its file has as a comment."""
    (shown,) = re.findall(r"^```console\n((?:  log .+\n  batch .+\n)+)```$", TEXT, re.MULTILINE)
    return RUNS[-1][0], shown


@pytest.mark.parametrize(
    ("command", "shown"), [*RUNS, with_share()], ids=["default", "priority", "short queue", "cache", "cache share"]
)
def test_an_example_prints_what_the_page_shows(
    flashkeep: Command, tmp_path: Path, request: pytest.FixtureRequest, command: str, shown: str
) -> None:
    for name, text in FILES.items():
        shares = request.node.callspec.id == "cache share"
        (tmp_path / name).write_text(text.replace("# cache_share", "cache_share") if shares else text)
    code, out, err = flashkeep(*command.split(), "--quiet", cwd=tmp_path)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for line in shown.splitlines():
        assert any(printed.startswith(line.rstrip()) for printed in lines), line

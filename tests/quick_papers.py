"""Papers reproduced at a small scale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import Command

Cells = dict[tuple[str, str, str], dict[str, Any]]
"""Cells by table, row and column."""


def reproduced(flashkeep: Command, paper: str, scale: str, out: Path, files: set[str]) -> Cells:
    """The cells of `flashkeep reproduce`, which also writes these files."""
    code, said, err = flashkeep("reproduce", paper, "--scale", scale, "--out", out)
    assert (code, err) == (0, ""), err
    assert f"{paper}: " in said
    assert files <= {path.name for path in out.rglob("*")}
    found = json.loads((out / f"{paper}.json").read_text(encoding="utf-8"))
    return {(cell["table"], cell["row"], cell["column"]): cell for cell in found["cells"]}


def simulated(cells: Cells, *key: str) -> float:
    """The simulated value of a cell."""
    table, row, column = key
    value: float = cells[table, row, column]["simulated"]
    return value

"""What the tests of `reproduce` share: all papers at a small scale, run once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Command
from flashkeep.reproduce import PAPERS

SCALE = "0.0001"
"""A thousand requests a run: seconds for a paper."""


@pytest.fixture(scope="session")
def small(flashkeep: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of all papers."""
    out = tmp_path_factory.mktemp("papers") / "out"
    code, said, err = flashkeep("reproduce", "all", "--scale", SCALE, "--out", out)
    assert (code, err) == (0, ""), err
    for name in PAPERS:
        assert re.search(rf"^{name}: \d+ agrees, \d+ same shape, \d+ differs \(\d+ runs", said, re.MULTILINE), said
    assert "a quick look: 0.01 % of the requests" in said
    return out

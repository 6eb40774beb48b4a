"""Common parts of the tests of `reproduce`: papers at a small scale, run once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Command
from flashkeep.reproduce import PAPERS

SCALE = "0.0001"
"""A thousand requests a run: seconds for a paper."""

QUICK = "aging"
"""The paper that `make test` runs; tests that need the others are marked `full` and run in `make test-all`."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs all papers. One process runs all of these tests, so that no paper runs twice."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and isinstance(item, pytest.Function):
            if "small" in item.fixturenames:
                item.add_marker(pytest.mark.full)
            if {"small", "aging", "paper", "pages"} & set(item.fixturenames):
                item.add_marker(pytest.mark.xdist_group("papers"))


@pytest.fixture(scope="session")
def small(flashkeep: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of all papers."""
    out = tmp_path_factory.mktemp("papers") / "out"
    run(flashkeep, out, "all", list(PAPERS))
    return out


@pytest.fixture(scope="session")
def aging(flashkeep: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the quickest paper."""
    out = tmp_path_factory.mktemp("aging") / "out"
    run(flashkeep, out, QUICK, [QUICK])
    return out


@pytest.fixture(
    scope="session", params=[pytest.param(name, marks=() if name == QUICK else pytest.mark.full) for name in PAPERS]
)
def paper(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """The name of each paper and its results; one paper in `make test`."""
    return request.param, request.getfixturevalue("aging" if request.param == QUICK else "small")


def run(flashkeep: Command, out: Path, what: str, names: list[str]) -> None:
    code, said, err = flashkeep("reproduce", what, "--scale", SCALE, "--out", out)
    assert (code, err) == (0, ""), err
    for name in names:
        counts = r"\d+ cells? agrees?, \d+ (has|have) the same shape, \d+ differs?\b[^(]* \(\d+ runs"
        assert re.search(f"^{name}: {counts}", said, re.MULTILINE), said
    assert "a quick look: 0.01 % of the requests" in said

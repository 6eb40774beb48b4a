"""The sweep that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command

from sweep_report.made import simulated


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process runs these tests, so that the sweep runs once."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("sweep_report"))


@pytest.fixture(scope="session")
def swept(flashkeep: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a real sweep: 54 cells that ran, 9 that were refused."""
    return simulated(flashkeep, tmp_path_factory.mktemp("sweep"))

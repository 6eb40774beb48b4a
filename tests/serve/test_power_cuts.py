"""SQLite on ext4 on a served drive survives power cuts as its documentation says, and does not if the drive lies.

Example 10 cuts the power; here it makes few cuts. It needs Linux, FUSE, and the Debian packages
libnbd-bin, e2fsprogs and fuse2fs.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from shutil import which
from typing import NamedTuple

import pytest
from conftest import ROOT
from served_ext4 import kernel_mounts, missing

CUTS = 12

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=f"no served drive can be mounted: {missing()}"),
    pytest.mark.xdist_group("power cuts"),
]
DRIVERS = [
    pytest.param("kernel", marks=pytest.mark.skipif(not kernel_mounts(), reason="only root mounts ext4")),
    pytest.param("fuse2fs", marks=pytest.mark.skipif(not which("fuse2fs"), reason="fuse2fs is not installed")),
]


class Row(NamedTuple):
    """A row of the example's table."""

    cuts: int
    damaged: int
    with_loss: int
    most_lost: int


@cache
def table(driver: str) -> dict[tuple[str, str, str], Row]:
    """The example's table, by flush, journal and synchronous."""
    example = ROOT / "examples/10_database_power_cut.py"
    command = [sys.executable, str(example), str(CUTS), driver]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    return {(flush, journal, synchronous): Row(*map(int, found)) for flush, journal, synchronous, *found in rows}


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("mode", [("TRUNCATE", "FULL"), ("WAL", "FULL")], ids="-".join)
def test_acknowledged_rows_survive_power_cuts(mode: tuple[str, str], driver: str) -> None:
    assert table(driver)["obeyed", *mode] == Row(CUTS, 0, 0, 0)


@pytest.mark.parametrize("driver", DRIVERS[:1])
def test_extra_keeps_every_acknowledged_row_without_wal(driver: str) -> None:
    assert table(driver)["obeyed", "DELETE", "EXTRA"] == Row(CUTS, 0, 0, 0)


@pytest.mark.parametrize("driver", DRIVERS[:1])
def test_full_may_lose_the_last_row_without_wal(driver: str) -> None:
    row = table(driver)["obeyed", "DELETE", "FULL"]
    assert (row.cuts, row.damaged) == (CUTS, 0)
    assert row.most_lost == 1
    assert 0 < row.with_loss < CUTS


@pytest.mark.parametrize("driver", DRIVERS)
def test_wal_with_normal_loses_rows_and_keeps_the_database(driver: str) -> None:
    row = table(driver)["obeyed", "WAL", "NORMAL"]
    assert (row.cuts, row.damaged) == (CUTS, 0)
    assert row.with_loss > 0


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("mode", [("DELETE", "FULL"), ("DELETE", "EXTRA")], ids="-".join)
def test_a_drive_that_ignores_flush_loses_the_database(mode: tuple[str, str], driver: str) -> None:
    row = table(driver)["ignored", *mode]
    assert row.cuts == CUTS
    assert row.damaged > 0

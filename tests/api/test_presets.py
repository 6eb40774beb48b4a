"""The presets of modern drives: what they are, published figures, and the tables of two pages of the docs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import flashkeep as fk
import pytest
from conftest import ROOT, Command
from flashkeep import _flashkeep

sys.path.insert(0, str(ROOT / "benches"))
import presets  # type: ignore[import-not-found]

SHEETS = (ROOT / "docs/presets.md").read_text(encoding="utf-8")
CHOICES = (ROOT / "docs/choosing.md").read_text(encoding="utf-8")
MEASURED = [(drive, name) for drive in presets.SHEETS for name in presets.FIGURES]


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Executor]:
    """Another process: large drives would raise the peak memory of this one, which commands started by it inherit."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize(
    ("name", "sectors", "spare"),
    [
        ("tlc-client", 1_000_215_216, 0.076),
        ("tlc-datacenter", 1_875_385_008, 0.079),
        ("tlc-datacenter-3dwpd", 1_562_824_368, 0.28),
        ("qlc-capacity", 7_501_476_528, 0.1457),
    ],
)
def test_capacities_are_those_of_idema(name: str, sectors: int, spare: float) -> None:
    drive = fk.drive(name)
    assert drive.warnings == ()
    assert drive.capacity_bytes == pytest.approx(sectors * 512, rel=1e-4)
    assert drive.resolved.ftl.over_provisioning == pytest.approx(spare, abs=5e-4)


def test_the_list_describes_the_new_ones(flashkeep: Command) -> None:
    listed = dict(line.split("  ", 1) for line in flashkeep("drives").out.splitlines())
    for name in (*presets.SHEETS, "8-tlc-datacenter-raid6", "12-tlc-datacenter-draid2"):
        assert len(listed[name].strip()) > 30, name


def test_an_array_of_eight_survives_two_failures(elsewhere: Executor) -> None:
    array = fk.drive("8-tlc-datacenter-raid6")
    assert array.capacity_bytes == pytest.approx(6 * fk.drive("tlc-datacenter").capacity_bytes, rel=1e-4)
    smaller = {"flash.pages_per_block": 18, "flash.blocks_per_plane": 48, "ftl.over_provisioning": 0.15}
    small = array.replace(**{f"member.{key}": value for key, value in smaller.items()})
    workload = fk.trace("synth:random,requests=300,write=0.5,size=16KiB,rate=2k")
    failures = ["member:1@50req", "member:6@100req"]
    result = elsewhere.submit(fk.run, small, workload, verify=True, fail=failures).result()
    assert (result.integrity.wrong_reads, result.integrity.lost_pages) == (0, 0)


@pytest.mark.parametrize(("drive", "name"), MEASURED)
def test_a_figure_of_a_sheet(elsewhere: Executor, drive: str, name: str) -> None:
    """It is what the page has, and near what the maker of one drive publishes, or the page says why not."""
    measured = elsewhere.submit(presets.measure, drive, name).result()
    table = SHEETS.split(f"<!-- {drive} -->")[1].split("<!-- end -->")[0]
    row = next(line for line in table.splitlines() if line.startswith(f"| {presets.FIGURES[name].label} |"))
    assert presets.written(name, measured) == row.split("|")[3].strip(), f"python {presets.__file__} --write"
    assert presets.is_near(drive, name, measured) == ((drive, name) not in presets.FURTHER)


@pytest.mark.parametrize("drive", presets.SHEETS)
def test_sheets_are_of_two_drives_with_latency_power_and_endurance(drive: str) -> None:
    sheets = presets.SHEETS[drive]
    assert len(sheets) == 2
    assert {"sequential read", "sequential write", "random read", "write power", "idle power", "endurance"} <= {
        name for sheet in sheets for name in sheet.figures
    }


@pytest.mark.parametrize("drive", presets.SHEETS)
def test_a_preset_has_one_endurance(drive: str) -> None:
    """The erase budget is the number of P/E cycles that the error model bears."""
    found = fk.drive(drive)
    errors = _flashkeep.page_errors(drive, ["errors.model=kim"], None, None, (0.0, 0.0, 0.0))
    assert found.resolved.ftl.wear.erase_budget == json.loads(errors)["lifetime_cycles"]


@pytest.mark.parametrize(("name", "time_scale"), [("trace", 1.0), ("load", 0.1)])
def test_a_row_of_redundancies(elsewhere: Executor, name: str, time_scale: float, real_traces: Path) -> None:
    assert real_traces.is_dir()
    row = elsewhere.submit(presets.choice, "raid5", time_scale).result()
    assert row in CHOICES.split(f"<!-- {name} -->")[1].split("<!-- end -->")[0].splitlines()


@pytest.mark.full
@pytest.mark.parametrize("name", presets.TABLES["docs/choosing.md"])
def test_a_table_of_redundancies(elsewhere: Executor, name: str, real_traces: Path) -> None:
    assert real_traces.is_dir()
    lines = elsewhere.submit(presets.TABLES["docs/choosing.md"][name]).result()
    assert presets.page_with(CHOICES, name, lines) == CHOICES, f"python {presets.__file__} --write"
    assert presets.COMMAND in " ".join(CHOICES.replace("\\\n", " ").split())

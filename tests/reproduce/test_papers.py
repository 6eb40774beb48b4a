"""The papers' own arithmetic, the evaluation of runs, and the claims that also hold at a small scale."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from flashkeep.reproduce import dvs_runs as dvs
from flashkeep.reproduce import tradeoffs
from flashkeep.reproduce.paper import Results, Run
from flashkeep.reproduce.published import Published
from flashkeep.reproduce.simulate import Setup
from flashkeep.reproduce.tradeoffs_runs import micro

Cells = dict[tuple[str, str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def reproduced(small: Path) -> dict[str, Cells]:
    """The cells of both papers."""
    found = {}
    for name in ("dvs", "tradeoffs"):
        cells = json.loads((small / f"{name}.json").read_text())["cells"]
        found[name] = {(cell["table"], cell["row"], cell["column"]): cell for cell in cells}
    return found


def simulated(cells: Cells, *key: str) -> float:
    table, row, column = key
    value: float = cells[table, row, column]["simulated"]
    return value


def test_the_volumes_of_dvs_are_those_of_its_table() -> None:
    """The counts that docs/model.md derives from Table 2."""
    expected = {"Sequential": 2_074_108, "Random": 1_497_966, "Postmark": 7_104, "Financial": 3_607_485}
    found = {workload.title: workload.requests for workload in dvs.WORKLOADS}
    assert found == pytest.approx(expected, rel=1e-5)


def test_published_numbers_of_tradeoffs_agree_with_each_other() -> None:
    published = Published("tradeoffs")
    # The remembered wear table follows from another: 50 erases less the cleaned share of 16,384 blocks.
    cleaned = published.value("blocks", "IOzone", "blocks a package")
    assert 50 - cleaned / 16_384 == pytest.approx(published.value("wear", "greedy", "mean life"), abs=0.01)
    # A gang's rate is 1 / latency; that of 8 is not, and is called a slip.
    rates = {row: published.value("gang", row, "rate") for row in published.rows("gang")}
    latencies = {row: published.value("gang", row, "latency") for row in published.rows("gang")}
    assert rates["16-gang"] == pytest.approx(1e6 / latencies["16-gang"], rel=0.001)
    assert rates["8-gang"] < 0.6 * 1e6 / latencies["8-gang"]
    # Copy-back saves two transfers a page: at the same efficiency the two times differ by no more than that.
    over, backed = (published.value("cleaning", f"TPC-C, {how}", "a block") for how in ("inter-plane", "copy-back"))
    assert over - backed == pytest.approx(0.3 * 64 * 2 * 8 * 528 * 25e-6, rel=0.07)


@pytest.mark.parametrize(("kind", "pages_us"), [("copyback", 225.0), ("program", 436.2)])
def test_the_time_to_clean_a_block_is_its_closed_form(kind: str, pages_us: float) -> None:
    """1.5 ms and, a valid page, 225 µs in its plane or 436.2 µs over the pins."""
    timing = {"read_us": 25, "program_us": 200, "erase_us": 1500, "bus_ns_per_byte": 25}
    flash = {"channels": 8, "pages_per_block": 63, "page_kib": 4, "sector_bytes": 512, "pin_bytes_per_sector": 528}
    operations = {"copyback": {"gc": 0}, "program": {"gc": 0}, "erase": {"gc": 100}}
    operations[kind]["gc"] = 1900
    run = Run("drive", "workload")
    results = Results({run: {"operations": operations, "drive": {"flash": {**flash, "timing": timing}}}}, ())
    assert tradeoffs.cleaned(results, run, "a block") == pytest.approx((1500 + 19 * pages_us) / 1e3)
    assert tradeoffs.cleaned(results, run, "efficiency") == pytest.approx(100 * (1 - 19 / 63))
    assert tradeoffs.cleaned(results, run, "blocks a package") == 12.5
    operations["erase"]["gc"] = 0
    assert tradeoffs.cleaned(results, run, "a block") is None, "nothing was cleaned"


def test_cleaning_time_of_dvs_is_moves_parities_and_erases() -> None:
    run = Run("drive", "workload")
    gc = {"read": {"gc": 10, "parity_gc": 1}, "program": {"gc": 10, "parity_gc": 2}, "erase": {"gc": 3}}
    found = dvs.cleaning_s(Results({run: {"operations": gc}}, ()), run)
    assert found == pytest.approx((11 * 125 + 12 * 300 + 3 * 1500) / 1e6)


def test_parity_costs_what_striping_says(reproduced: dict[str, Cells]) -> None:
    """DS: a parity for seven pages of the host, and no reads. RAID-5 reads. Partial parities: with Financial only."""
    cells = reproduced["dvs"]
    for (table, row, column), cell in cells.items():
        if table == "Fig. 5":
            assert cell["verdict"] == "agrees", (row, column)
    for title in dvs.TITLES:
        assert simulated(cells, "Fig. 5, bars", f"{title}/DS", "PR") == 0
        assert simulated(cells, "Fig. 5, bars", f"{title}/RAID-5", "PW_WR") > 0
    assert simulated(cells, "Fig. 5, bars", "Financial/DVS", "PPW") > 30
    assert simulated(cells, "Fig. 5, bars", "Financial/DS", "PPW") == 0


def test_before_collection_the_order_is_the_papers(reproduced: dict[str, Cells]) -> None:
    cells = reproduced["dvs"]

    def mean(title: str, scheme: str) -> float:
        return simulated(cells, "ablation: response", f"{title}/{scheme}", "before collection")

    for title in ("Sequential", "Random", "Financial"):
        assert mean(title, "RAID-0") < mean(title, "DS") <= mean(title, "DVS") * 1.001 < mean(title, "RAID-5")
    # Where RAID-5 may hold new stripes back, it is as fast as DVS with sequential writes.
    assert abs(simulated(cells, "ablation: gain", "Sequential", "empty, RAID-5 holds back")) < 0.5
    assert simulated(cells, "ablation: gain", "Sequential", "before collection") > 30


def test_a_sequential_write_pays_its_share_of_the_summary_page(flashkeep: Command) -> None:
    run = micro("sequential write")
    setup = Setup(tradeoffs.PAPER, 0.001, 1, {})
    result = flashkeep.json("run", run.drive, setup.traces(run)[0])
    assert result["service_us"]["all"]["mean"] == pytest.approx(305.6 + 213.2 / 63, rel=0.005)


def test_figures_that_need_no_long_run(reproduced: dict[str, Cells]) -> None:
    cells = reproduced["tradeoffs"]
    for key, expected in {
        ("micro", "sequential read", "latency"): 130.6,
        ("micro", "random read", "latency"): 130.6,
        ("package", "reads", "operations"): 8000,
        ("package", "writes", "operations"): 1e6 / 300,
    }.items():
        assert simulated(cells, *key) == pytest.approx(expected, rel=0.005), key
    latencies = [simulated(cells, "gang", row, "latency") for row in ("no gang", "8-gang", "16-gang")]
    assert latencies == sorted(latencies)
    for title in ("TPC-C", "Exchange", "IOzone", "Postmark"):
        assert cells["control", title, "synchronous against asynchronous"]["verdict"] == "agrees"
    assert cells["alignment", "TPC-C", "unaligned against aligned"]["verdict"] == "agrees"
    assert simulated(cells, "page size", "256 KB", "latency") > 20_000
    by_page = [simulated(cells, "page sizes", f"{kib} KB", "response") for kib in (4, 8, 16, 32, 64, 128, 256)]
    assert by_page == sorted(by_page)
    queues = [simulated(cells, "interleaving", "Exchange, x30", f"{unit}, queue") for unit in ("none", "two dies")]
    assert queues[0] > 1.2 * queues[1], "parts that overlap shorten the queue"
    for test in ("sequential read", "random read"):
        reached = [simulated(cells, "industry", row, test) for row in ("USB", "MTron", "Zeus", "FusionIO")]
        assert reached == sorted(reached), test


def test_a_real_iozone_takes_the_stand_ins_place(
    flashkeep: Command, real_traces: Path, small: Path, tmp_path: Path
) -> None:
    given = f"atc08-iozone={real_traces / 'iozone-100k.disksim.zst'}"
    shutil.copytree(small / "runs", tmp_path / "runs")
    code, said, err = flashkeep("reproduce", "tradeoffs", "--scale", "0.0001", "--trace", given, "--out", tmp_path)
    assert code == 0, err
    assert "; real traces: atc08-iozone" in said.lower()
    assert re.search(r"\(\d+ runs, \d+ kept from before\)", said), "what has another workload is kept"
    tables = {cell["table"] for cell in json.loads((tmp_path / "tradeoffs.json").read_text())["cells"]}
    assert "background" in tables
    assert "ablation: IOzone's file" not in tables, "its file is as large as it is"

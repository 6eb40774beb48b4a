"""Errors of flash beside published ratios, at a small scale, and against closed forms."""

from __future__ import annotations

import pytest
from conftest import Command
from flashkeep.reproduce import errors
from flashkeep.reproduce.errors import PUBLISHED, READS, RETRIES, SHORTER, TR_US, certain, lasting, longer
from flashkeep.reproduce.paper import Results
from quick_papers import Cells, reproduced, simulated


@pytest.fixture(scope="module")
def cells(flashkeep: Command, tmp_path_factory: pytest.TempPathFactory) -> Cells:
    """The cells of a run with a thousand requests each."""
    files = {"errors.html", "errors.csv", "errors-read-retry.svg", "errors-refresh.png"}
    return reproduced(flashkeep, "errors", "0.05", tmp_path_factory.mktemp("errors") / "out", files)


def idle(retries: int, *, pipelined: bool, sense_us: float) -> float:
    """A read of 16 KiB on an idle die: 90 µs to sense, 16 to transfer, 20 to decode."""
    if pipelined:
        return TR_US + retries * sense_us + 36
    return TR_US + 36 + retries * (sense_us + 36)


@pytest.mark.parametrize(
    ("technique", "pipelined", "sense_us"),
    [("pipelined", True, TR_US), ("adaptive", False, SHORTER * TR_US), ("both", True, SHORTER * TR_US)],
)
def test_a_read_saves_what_its_closed_form_says(
    flashkeep: Command, technique: str, pipelined: bool, sense_us: float
) -> None:
    reads = "synth:random,write=0,size=16KiB,footprint=1GiB,requests=500,rate=100"
    for name, time in (("in order", idle(RETRIES, pipelined=False, sense_us=TR_US)),
                       (technique, idle(RETRIES, pipelined=pipelined, sense_us=sense_us))):  # fmt: skip
        keys = (*certain(RETRIES), *errors.TECHNIQUES[name])
        run = flashkeep.json("run", errors.DRIVE, reads, *(word for key in keys for word in ("--set", key)))
        assert run["errors"]["retries_per_read"] == RETRIES
        assert run["response_us"]["read"]["min"] == pytest.approx(time, abs=1.1)


def test_workloads_of_reads_save_almost_as_much(cells: Cells) -> None:
    closed = 100 * (1 - idle(RETRIES, pipelined=True, sense_us=SHORTER * TR_US)
                    / idle(RETRIES, pipelined=False, sense_us=TR_US))  # fmt: skip
    assert closed == pytest.approx(34.8, abs=0.05)
    table = "ablation: number of retries"
    assert simulated(cells, "read retry", "best workload", "response time") == pytest.approx(closed, abs=3)
    assert simulated(cells, table, "0 retries", "best workload") == pytest.approx(0, abs=0.01)
    means = [simulated(cells, table, errors.counted(n, "retries"), "mean of the workloads") for n in range(RETRIES + 1)]
    assert means == sorted(means)
    loads = [simulated(cells, "ablation: load", load, "mean of the workloads") for load in errors.LOADS]
    assert loads == sorted(loads)


def test_what_is_found_is_judged(cells: Cells) -> None:
    judged = {key: cell["verdict"] for key, cell in cells.items() if cell["published"] is not None}
    assert judged["read retry", "best workload", "response time"] == "agrees"
    assert judged["read retry", "mean of the workloads", "response time"] == "differs"
    assert {judged[key] for key in judged if key[0] == "field"} == {"agrees"}
    assert judged["retention", "time for ten times the errors", "second over first"] == "agrees"
    assert judged["refresh, too often", "slowly written drives", "longest life at a longer interval"] == "agrees"
    assert len(judged) == 11


def test_refresh_gains_what_the_lifetimes_say(cells: Cells) -> None:
    life = {day: {"errors": {"lifetime_cycles": cycles}} for day, cycles in ((errors.NEVER, 3000), (3, 24_000))}
    results = Results({lasting(day): summary for day, summary in life.items()}, ())
    assert longer(results, 3) == 8
    assert longer(results, 3, writes=1 / 3) == pytest.approx(4), "as many erases for refresh as for writes"
    intervals = [
        simulated(cells, "ablation: interval", errors.counted(days, "days"), "lifetime") for days in errors.INTERVALS
    ]
    assert intervals == sorted(intervals, reverse=True)
    assert simulated(cells, "ablation: cost of remapping", "0.01 a day", "every 3 days") < 1


def test_published_ratios_are_those_of_the_abstracts() -> None:
    assert PUBLISHED.value("refresh", "adaptive refresh of WARM", "lifetime") == pytest.approx(12.9 / 1.21, abs=0.005)
    assert PUBLISHED.value("retention", "time for ten times the errors", "second over first") == 11 * 24 / 3
    assert len(READS) == 12

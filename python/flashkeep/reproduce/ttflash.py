"""TTFLASH (Yan and others, FAST 2017): read latencies of a drive that never collects, of one that does, and of the
steps by which reads are no longer delayed.

Runs: the drive of the paper's source with fewer blocks, under one workload: without collection; collections that hold
their channel (with parity and without); that block a plane only; parity reads around them; members that take turns.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..render.figures import Picture, Series, bars, legend
from .paper import Cell, Findings, Run, Table, Workload, described
from .published import Published
from .verdicts import Range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from ..render.figures import Style
    from .paper import Results

PUBLISHED = Published("ttflash")
REQUESTS = 200_000
"""Requests of a run at full scale: 160,000 reads, of which 16 are beyond p99.99."""
WORKLOADS = (Workload("random", "random reads and writes", REQUESTS),)
SYNTH = "write=0.2,size=4KiB:0.6/16KiB:0.25/32KiB:0.15,rate=1500"
PERCENTILES = {"p99": "p99", "p99.9": "p99_9", "p99.99": "p99_99"}

DRIVE = (
    "flash.channels=8", "flash.chips_per_channel=8", "flash.dies_per_chip=1", "flash.planes_per_die=1",
    "flash.pages_per_block=256", "flash.page_kib=4", "flash.timing.read_us=40", "flash.timing.program_us=800",
    "flash.timing.erase_us=2000", "flash.timing.bus_ns_per_byte=25", "flash.scheduler=fifo", "buffer.dram_mib=0",
    "host.queue_depth=0", "host.late_requests=from-admission", "start.existing=all", "start.scan=false",
    "ftl.gc.threshold=0.1",
)  # fmt: skip
"""The drive of the paper's source."""
FULL = ("flash.blocks_per_plane=64", "ftl.over_provisioning=0.6", "ageing.model=steady")
STRIPES = ("redundancy.scheme=raid5",)
PLANE = ("ftl.gc.run=steps", "ftl.gc.copyback=on")
AROUND = "redundancy.read=around-busy"

ROWS: dict[str, tuple[str, ...]] = {
    "no GC": ("flash.blocks_per_plane=256", "ftl.over_provisioning=6", *STRIPES),
    "base, no parity": (*FULL, "ftl.gc.run=hold-channel"),
    "base": (*FULL, *STRIPES, "ftl.gc.run=hold-channel"),
    "plane-blocking GC": (*FULL, *STRIPES, *PLANE),
    "and GC-tolerant read": (*FULL, *STRIPES, *PLANE, AROUND),
    "TTFLASH": (*FULL, *STRIPES, *PLANE, AROUND, "ftl.gc.turn_ms=100"),
}
"""The drives, with the paper's names of their parts. TTFLASH is the last step, in which members take turns."""
NEVER = "no GC"


def run(row: str) -> Run:
    """A drive under the workload."""
    return Run("ssdsim-basic", "random", (*DRIVE, *ROWS[row]), SYNTH)


def runs() -> Iterator[Run]:
    """Everything that is simulated for this paper."""
    yield from map(run, ROWS)


def latency(results: Results, row: str, percentile: str) -> float | None:
    """A percentile of the read latencies, µs."""
    return results.figure(run(row), f"response_us.read.{PERCENTILES[percentile]}")


def slowdown(results: Results, row: str, percentile: str) -> float | None:
    """The same as a multiple of that of the drive that never collects."""
    found, never = latency(results, row, percentile), latency(results, NEVER, percentile)
    return found / never if found is not None and never else None


def extreme(results: Results, cell: Cell) -> float | None:
    """The least or the most of a row's slowdowns."""
    found = [slowdown(results, cell.row, percentile) for percentile in PERCENTILES]
    known = [each for each in found if each is not None]
    return (min if cell.column == "least" else max)(known, default=None)


def find(results: Results) -> Findings:
    """The range of the abstract, and the percentiles of all steps."""
    ranges = Table("slowdown", "Read latencies from p99 to p99.99, over those of a drive that never collects",
                   PUBLISHED.cells("slowdown", partial(extreme, results)), Range(0.1))  # fmt: skip
    steps = [
        Cell("percentiles", row, percentile, None, slowdown(results, row, percentile), "×")
        for row in ROWS
        for percentile in PERCENTILES
    ]
    erased = [
        Cell("erases", row, "blocks erased", None, results.figure(run(row), "wear.erases_total"), "blocks")
        for row in ROWS
    ]
    return Findings([
        ranges,
        Table("percentiles", "The same by step and percentile", steps),
        Table("erases", "Erases", erased),
    ], [Picture("steps", "Percentiles of read latencies over those of a drive that never collects, simulated",
                partial(draw, results))],
    )  # fmt: skip


def draw(results: Results, figure: Figure, style: Style) -> None:
    """A group for each step, a bar for each percentile."""
    axes = figure.subplots()
    series = tuple(
        Series(percentile, tuple(slowdown(results, row, percentile) for row in ROWS), at, at)
        for at, percentile in enumerate(PERCENTILES)
    )
    bars(axes, style, tuple(ROWS), series, "read latency, no GC = 1")
    axes.set_yscale("log")
    legend(figure, axes, 3)


PAPER = described("ttflash", WORKLOADS, runs, find, (), requests=REQUESTS)

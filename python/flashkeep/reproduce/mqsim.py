"""MQSim (Tavakkol and others, FAST 2018): two flows read at random from one drive, which fetches up to 16 requests of
each queue.

Runs: flow 1 at depth 8 beside flow 2 at depths from 8 to 256, and flow 2 alone; and the same without a fetch size.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..render.figures import Picture, Series, bars, legend
from .paper import Cell, Findings, Flow, Run, Table, Workload, described
from .published import Published
from .verdicts import Near

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from ..render.figures import Style
    from .paper import Results

PUBLISHED = Published("mqsim")
REQUESTS = 150_000
"""Requests of a run at full scale."""
WORKLOADS = (Workload("random", "random reads of 4 KiB", REQUESTS),)
DEPTHS = (8, 16, 32, 64, 128, 256)
"""The depths of flow 2."""
FETCH = 16
FIRST = 8
"""The depth of flow 1."""
TABLE = "queue fetch size"

DRIVE = (
    "flash.channels=8", "flash.chips_per_channel=2", "flash.dies_per_chip=2", "flash.planes_per_die=2",
    "flash.blocks_per_plane=64", "flash.pages_per_block=256", "flash.page_kib=4", "flash.scheduler=reads-first",
    "flash.timing.read_us=75", "flash.timing.program_us=750", "flash.timing.erase_us=3800",
    "flash.timing.bus_ns_per_byte=3.003003", "flash.timing.command_ns=290", "ftl.coalesce_reads=false",
    "buffer.dram_mib=0", "host.queue_depth=0", "host.late_requests=from-admission", "host.link_us_per_sector=0.128",
    "start.existing=all", "start.scan=false",
)  # fmt: skip
"""The drive of the file `ssdconfig-queue-fetch-size=16.xml`, with the two chips of each channel that its flows use (of
four), on a preset in which a chip is busy as a whole. Pages are the halves that its requests read of pages of 8 KiB:
MQSim transfers these sectors only. Blocks are fewer: nothing is written."""
READS = "write=0,size=4KiB"


def run(second: int, fetch: int = FETCH) -> Run:
    """Both flows. Each has requests until the other ends."""
    inside = min(second, fetch) if fetch else second
    share = FIRST / (FIRST + inside)
    flows = (Flow("flow 1", FIRST, share), Flow("flow 2", second, 1 - share))
    return Run("ssdsim-basic", "random", (*DRIVE, f"host.fetch={fetch}"), READS, flows=flows)


def alone(second: int) -> Run:
    """Flow 2 without flow 1."""
    keys = (*DRIVE, f"host.fetch={FETCH}")
    return Run("ssdsim-basic", "random", keys, READS, flows=(Flow("flow 2", second, 1),), at_most=REQUESTS // 2)


def runs() -> Iterator[Run]:
    """Everything that is simulated for this paper."""
    for depth in DEPTHS:
        yield from (run(depth), alone(depth), run(depth, 0))


def mean(results: Results, which: Run, flow: int) -> float | None:
    """The mean response time of a flow, µs."""
    return results.figure(which, f"flows.{flow}.response_us.all.mean")


def simulated(results: Results, row: str, depth: int, fetch: int = FETCH) -> float | None:
    """The mean of a row of the table."""
    if row == "flow 2 alone":
        return mean(results, alone(depth), 0)
    return mean(results, run(depth, fetch), 0 if row == "flow 1" else 1)


def find(results: Results) -> Findings:
    """The table of the files, and the same without a fetch size."""
    cells = PUBLISHED.cells(TABLE, lambda cell: simulated(results, cell.row, int(cell.column)))
    rule = Near(0.05, 0.0, lambda cell: cell.row, "the depths of flow 2", relative=True)
    unlimited = [
        Cell("ablation: fetch", row, str(depth), None, simulated(results, row, depth, 0), "µs")
        for row in ("flow 1", "flow 2")
        for depth in DEPTHS
    ]
    return Findings([
        Table(TABLE, "Mean response times by the depth of flow 2; flow 1 has depth 8, the fetch size is 16", cells,
              rule),
        Table("ablation: fetch", "The same without a fetch size: flow 2 fills the drive, and flow 1 waits in it",
              unlimited),
    ], [Picture("fetch", "Mean response times of two flows by the depth of flow 2, simulated", partial(draw, results))],
    )  # fmt: skip


def draw(results: Results, figure: Figure, style: Style) -> None:
    """A group for each depth, a bar for each flow."""
    axes = figure.subplots()
    rows = [("flow 1", FETCH), ("flow 1", 0), ("flow 2", FETCH), ("flow 2", 0)]
    series = tuple(
        Series(f"{row}, {'fetch size 16' if fetch else 'no fetch size'}",
               tuple(simulated(results, row, depth, fetch) for depth in DEPTHS), at, at)
        for at, (row, fetch) in enumerate(rows)
    )  # fmt: skip
    bars(axes, style, tuple(map(str, DEPTHS)), series, "mean response time, µs")
    legend(figure, axes, 2)


PAPER = described("mqsim", WORKLOADS, runs, find, (), requests=REQUESTS)

"""Sweeps of write share and memory size up to the point where the disk cannot keep up; the paper has none."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .hybrid_runs import (
    BURSTS,
    BY_TITLE,
    FOOTPRINTS,
    GROUPS,
    MEMORIES_MIB,
    REWRITES,
    SHARES,
    alone,
    changed,
    iops,
    moved,
    paced,
    swept_memory,
    swept_share,
    together,
)
from .paper import Cell, Table

if TYPE_CHECKING:
    from .paper import Results

FEASIBLE = 0.98
"""An array this close to its SSD alone counts as not slowed by its disk (our threshold)."""


def feasible(results: Results) -> list[tuple[float, float, float]]:
    """Share of writes, requests per second of the lone SSD, and of the array."""
    ssd, array = (partial(swept_share, backed_up=backed_up) for backed_up in (False, True))
    return [(share, iops(results, ssd(share)), iops(results, array(share))) for share in SHARES]


def knee(points: list[tuple[float, float, float]]) -> float:
    """The share of writes from which the array is slower than its SSD, interpolated linearly between two points."""
    before = (points[0][0], 1.0)
    for share, ssd, array in points:
        ratio = array / ssd
        if ratio < FEASIBLE:
            return before[0] + (before[1] - FEASIBLE) / (before[1] - ratio) * (share - before[0])
        before = (share, ratio)
    return points[-1][0]


def feasibility(results: Results) -> list[Table]:
    """The bound Pd/(Ps − Pd) beside the knee."""
    points = feasible(results)
    _, ps, pd = points[-1]
    cells = [
        Cell("feasibility", f"{100 * share:g} % writes", column, None, value, unit)
        for share, ssd, array in points
        for column, value, unit in (("SSD", ssd, "IOPS"), ("array", array, "IOPS"), ("array / SSD", array / ssd, "x"))
    ]
    found = knee(points)
    bound = [
        Cell("feasibility, bound", column, "value", None, value, unit)
        for column, value, unit in (
            ("Ps: SSD, writes only", ps, "IOPS"),
            ("Pd: array, writes only", pd, "IOPS"),
            ("writes a read, Pd / (Ps - Pd)", pd / (ps - pd) if ps > pd else None, "x"),
            ("writes a read at the knee", found / (1 - found) if found < 1 else None, "x"),
            ("share of writes, Pd / Ps", pd / ps, "share"),
            ("share of writes at the knee", found, "share"),
        )
    ]
    return [
        Table("feasibility", "Share of writes up to which the disk keeps up (ours)", cells, None, (
            "Proj's lengths and sequences, one request outstanding, 8 MB.",
        )),
        Table("feasibility, bound", "The bound by the formula, and the knee that was found (ours)", bound, None, (
            f"The knee is where the array reaches less than {100 * FEASIBLE:g} % of its SSD.",
        )),
    ]  # fmt: skip


def memory_knee(results: Results) -> Table:
    """Requests a second over the size of the memory."""
    cells = []
    for group in GROUPS:
        by_size = {mib: iops(results, swept_memory(group, mib)) for mib in MEMORIES_MIB}
        cells += [Cell("memory", group, f"{mib} MiB", None, value, "IOPS") for mib, value in by_size.items()]
        most = max(by_size.values())
        enough = min(mib for mib, value in by_size.items() if value >= 0.95 * most)
        cells.append(Cell("memory", group, "knee: 95 % of the most", None, float(enough), "MiB"))
    return Table("memory", "Requests a second over the size of the memory, a disk for each SSD (ours)", cells, None, (
        "Full load has no pauses: once the memory is full, the disk sets the pace, whatever its size. Sizes that "
        "hold a good part of all that the run writes look better the shorter the run is.",
    ))  # fmt: skip


def bursts(results: Results) -> Table:
    """The memory that traces need with shorter or longer bursts."""
    keys = {"max": "backup.nvram_most_mib", "mean": "backup.nvram_mean_mib"}
    several = {title: paced(alone(title)) for title in BY_TITLE}
    several |= {f"{group}, all four": paced(together(group)) for group in GROUPS}
    cells = [
        Cell("ablation: bursts", row, f"{what}, {how}", None, results.figure(changed(run, synth), keys[what]), "MiB")
        for row, run in several.items() if run.workload not in results.real
        for what in keys for how, synth in BURSTS.items()
    ]  # fmt: skip
    return Table("ablation: bursts", "Memory used at the traces' own rates: in short bursts, as they are, in long ones",
                 cells, None, (
        "A pause in ten gaps, in a thousand (the stand-ins), in ten thousand.",
    ))  # fmt: skip


def locality(results: Results) -> Table:
    """The share that is staged with smaller footprints."""
    cells = [
        Cell("ablation: locality", title, where, None, moved(results, changed(alone(title), synth))["share staged f"],
             "share")
        for title, name in BY_TITLE.items() if name not in results.real for where, synth in FOOTPRINTS.items()
    ]  # fmt: skip
    return Table("ablation: locality", "Share staged in free segments, by what the trace spreads over", cells)


def rewrites(results: Results) -> Table:
    """The volume with other shares of rewrites."""

    def volume(title: str, synth: str) -> float:
        return moved(results, changed(alone(title), synth))["volume after / before"]

    cells = [
        Cell("ablation: rewrites", title, share, None, volume(title, synth), "x")
        for title, name in BY_TITLE.items() if name not in results.real for share, synth in REWRITES.items()
    ]  # fmt: skip
    return Table("ablation: rewrites", "Volume after reorganisation over that before, by the share of rewrites", cells)

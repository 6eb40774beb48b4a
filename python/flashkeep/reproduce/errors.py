"""Errors of flash: what papers report of retries, refresh, retention and drives in the field, as ratios.

Runs: twelve read shares on a drive whose reads need up to three retries, made in order or pipelined and adaptive; the
same with other loads, techniques and ages; lifetimes by the age of data.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from ..render.figures import Picture, Series, bars, legend, lines
from .paper import Cell, Findings, Run, Table, Workload, described
from .published import Published
from .verdicts import Near, Same, own_group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from ..render.figures import Style
    from .paper import Results

PUBLISHED = Published("errors")
REQUESTS = 20_000
"""Requests of a run at full scale: enough for a mean, since every read needs as many retries."""
WORKLOADS = (Workload("random", "random requests, by the papers' read shares", REQUESTS),)
DRIVE = "asplos21-tlc"
READS = {row: PUBLISHED.value("reads", row, "read %") for row in PUBLISHED.rows("reads")}
"""The share of reads of each workload of the paper on retries."""
RETRIES = round(PUBLISHED.value("setting", "baseline", "retries of a read"))
SHORTER = PUBLISHED.value("setting", "adaptive", "sensing time of a retry")
RATE = 2000
"""Requests a second (ours): the dies are busy for about a twentieth of the time."""
LOADS = {"2,000 a second": RATE, "10,000 a second": 5 * RATE, "20,000 a second": 10 * RATE}
TR_US = 90.0

KIM = ("errors.model=kim",)
PIPELINED = ("errors.retry.pipelined=true",)
ADAPTIVE = (f"errors.retry.sense_us={SHORTER * TR_US:g}",)
TECHNIQUES = {"in order": (), "pipelined": PIPELINED, "adaptive": ADAPTIVE, "both": PIPELINED + ADAPTIVE}
"""How retries are made: after each other, while the last one is transferred and decoded, with less time to sense."""

AGES = tuple((cycles, days) for cycles in (0, 1000, 2000) for days in (90, 180, 365))
"""P/E cycles, and days since the data were written, at which retries follow from the RBER."""
OLD_CODE = (
    *KIM, "errors.preset=mlc-3xnm", "errors.ecc.codeword_bits=4200", "errors.ecc.user_bits=4096",
    "errors.ecc.corrects=8", "errors.retry.steps=0",
)  # fmt: skip
"""Planar flash with a code of its time (ours): 8 bits of each 512 bytes, no retries."""
NEVER, INTERVALS = 1095, (1, 3, 7, 21, 90, 365)
"""Days that data must last without refresh, and days between two refreshes."""
REFRESHED = 3
WRITES = (0.01, 0.1, 1.0, 10.0)
"""Drive writes a day, as flash is given them."""


def certain(retries: int) -> tuple[str, ...]:
    """Errors of which every read needs `retries` retries: the attempts before the last one fail."""
    scale = 0.0025 * 4**retries / 1.48e-3
    return (*KIM, f"errors.scale={scale:.6f}", "errors.retry.factor=0.25", f"errors.retry.steps={retries}")


def mixed(workload: str, retries: int, technique: str, rate: int = RATE) -> Run:
    """A workload of the paper on retries."""
    writes = 1 - READS[workload] / 100
    synth = f"write={writes:.2f},size=16KiB,footprint=1GiB,rate={rate}"
    return Run(DRIVE, "random", (*certain(retries), *TECHNIQUES[technique]), synth)


def aged(cycles: int, days: int, technique: str = "in order") -> Run:
    """Reads of data of an age, whose retries follow from their RBER."""
    values = (*KIM, f"errors.cycles={cycles}", f"errors.retention_days={days:g}", *TECHNIQUES[technique])
    return Run(DRIVE, "random", values, f"write=0,size=16KiB,footprint=1GiB,rate={RATE}")


def kept(days: float) -> Run:
    """A run for its RBER: data so old in flash with 3,000 P/E cycles."""
    values = (*KIM, "errors.cycles=3000", f"errors.retention_days={days:g}")
    return Run(DRIVE, "random", values, f"write=0,size=16KiB,footprint=1GiB,rate={RATE}", at_most=1000)


def lasting(days: int) -> Run:
    """A run for the lifetime of planar flash whose data get so old."""
    values = (*OLD_CODE, f"errors.uber_days={days}")
    return Run(DRIVE, "random", values, f"write=0,size=16KiB,footprint=1GiB,rate={RATE}", at_most=1000)


def field() -> Run:
    """A run for the rates of drives in the field."""
    values = (*KIM, "errors.events_per_drive_day=0.003")
    return Run(DRIVE, "random", values, f"write=0,size=16KiB,footprint=1GiB,rate={RATE}", at_most=1000)


def runs() -> Iterator[Run]:
    """Everything that is simulated."""
    for workload in READS:
        for retries in range(RETRIES + 1):
            yield from (mixed(workload, retries, technique) for technique in ("in order", "both"))
        yield from (mixed(workload, RETRIES, technique) for technique in TECHNIQUES)
        for rate in LOADS.values():
            yield from (mixed(workload, RETRIES, technique, rate) for technique in ("in order", "both"))
    for cycles, days in (*AGES, (3000, 365)):
        yield from (aged(cycles, days, technique) for technique in ("in order", "both"))
    yield from (kept(days) for days in (0, 3 / 24, 11))
    yield from (lasting(days) for days in (NEVER, *INTERVALS))
    yield field()


def gain(results: Results, workload: str, retries: int, technique: str, rate: int = RATE) -> float | None:
    """By how much response times get shorter, in per cent of those with retries in order."""
    slow, fast = (
        results.figure(mixed(workload, retries, which, rate), "response_us.all.mean")
        for which in ("in order", technique)
    )
    return 100 * (1 - fast / slow) if slow and fast is not None else None


def gains(results: Results, retries: int, technique: str = "both", rate: int = RATE) -> dict[str, float]:
    """The mean over the workloads, and the best one."""
    every = [found for workload in READS if (found := gain(results, workload, retries, technique, rate)) is not None]
    return {"mean of the workloads": fmean(every), "best workload": max(every)}


def find(results: Results) -> Findings:
    """The tables and figures, from the runs."""
    tables = [
        read_retry(results), retries(results), refresh(results), too_often(results), retention(results), rates(results),
        *ablations(results),
    ]  # fmt: skip
    return Findings(tables, pictures(results))


def read_retry(results: Results) -> Table:
    """How much pipelined and adaptive retries save."""
    found = gains(results, RETRIES)
    return Table(
        "read retry",
        "Response times: how much pipelined and adaptive retries save (Park et al.)",
        PUBLISHED.cells("read retry", lambda cell: found[cell.row]),
        Near(5.0, 0.0, own_group, ""),
        (f"Every read needs {RETRIES} retries.",),
        is_prediction=True,
    )


def retries(results: Results) -> Table:
    """How many retries worn flash needs."""
    return Table(
        "retries",
        "Retries of a read once the flash is worn (Ye et al.: “over 3”)",
        PUBLISHED.cells("retries", lambda _: results.figure(aged(3000, 365), "errors.retries_per_read")),
        Near(0.2, 0.0, own_group, "", relative=True),
    )


def lifetime(results: Results, days: int) -> float | None:
    """P/E cycles that the flash bears if data get so old."""
    return results.figure(lasting(days), "errors.lifetime_cycles")


def longer(results: Results, days: int, writes: float | None = None) -> float | None:
    """How many times longer flash lives with refresh. With `writes`, in drive writes a day, a refresh costs an erase;
    without, none."""
    before, after = lifetime(results, NEVER), lifetime(results, days)
    if not before or after is None:
        return None
    share = 1.0 if writes is None else writes / (writes + 1 / days)
    return after / before * share


def refresh(results: Results) -> Table:
    """How much longer flash lives if old data are written again."""
    return Table(
        "refresh",
        "Lifetime with refresh, as a multiple of that without (Cai et al., Luo et al.)",
        PUBLISHED.cells("refresh", lambda _: longer(results, REFRESHED)),
        Near(0.25, 0.0, own_group, "", relative=True),
        (
            f"Simulated: P/E cycles with a refresh every {REFRESHED} days over those for data that last three years, "
            "as if refreshing cost no erases (reprogramming in place).",
        ),
        is_prediction=True,
    )


def too_often(results: Results) -> Table:
    """Whether there is a rate of writes at which refreshing more often shortens life."""

    def simulate(_: Cell) -> float:
        every = ([longer(results, days, writes) or 0.0 for days in INTERVALS] for writes in WRITES)
        return float(any(lives[0] < max(lives) for lives in every))

    return Table(
        "refresh, too often",
        "Whether refreshing by remapping can be too frequent (Cai et al., by a summary)",
        PUBLISHED.cells("refresh, too often", simulate),
        Same("there are drives that live longer if they refresh less often"),
    )


def retention(results: Results) -> Table:
    """How fast errors grow with the age of data."""
    new, first, second = (results.figure(kept(days), "errors.rber.mean") for days in (0, 3 / 24, 11))

    def simulate(cell: Cell) -> float | None:
        if new is None or first is None or second is None:
            return None
        if cell.row == "errors after 11 days":
            return second / first
        # The errors of retention alone grow as a power of time.
        exponent = math.log((second - new) / (first - new)) / math.log(11 * 24 / 3)
        return float(10 ** (1 / exponent))

    return Table(
        "retention",
        "Growth of errors with the age of data in 3D flash (Luo et al. 2018)",
        PUBLISHED.cells("retention", simulate),
        Near(0.25, 0.0, own_group, "", relative=True),
    )


def rates(results: Results) -> Table:
    """Whether one rate with frailty lies within the bands measured in the field."""
    names = ("events_per_1000_drive_days", "drives_in_4_years", "again_in_30_days")
    days, drives, again = (results.figure(field(), f"errors.field.{name}") or 0.0 for name in names)
    holds = (2 <= days <= 6, 0.20 <= drives <= 0.63, 0.27 <= again <= 0.33)
    found = dict(zip(PUBLISHED.rows("field"), holds, strict=True))
    return Table(
        "field",
        "Drives with uncorrectable errors in the field (Schroeder et al.)",
        PUBLISHED.cells("field", lambda cell: float(found[cell.row])),
        Same("the rate lies within the published band"),
        (
            f"{days:.1f} of 1,000 drive-days, {100 * drives:.1f} % of drives, {100 * again:.1f} % again. "
            "The rate is fitted.",
        ),
        is_input=True,
    )


def ablations(results: Results) -> list[Table]:
    """What the savings and lifetimes depend on."""

    def table(name: str, title: str, cells: list[Cell]) -> Table:
        return Table(f"ablation: {name}", title, [Cell(f"ablation: {name}", *cell.key, None, cell.simulated, cell.unit)
                                                  for cell in cells])  # fmt: skip

    def cells(row: str, found: dict[str, float]) -> list[Cell]:
        return [Cell("", row, column, None, value, "%") for column, value in found.items()]

    by_retries = [cell for n in range(RETRIES + 1) for cell in cells(counted(n, "retries"), gains(results, n))]
    by_technique = [
        cell for name in ("pipelined", "adaptive", "both") for cell in cells(name, gains(results, RETRIES, name))
    ]
    by_load = [cell for name, rate in LOADS.items() for cell in cells(name, gains(results, RETRIES, "both", rate))]
    return [
        table("number of retries", "Savings by the retries that every read needs", by_retries),
        table("technique", "Savings of each technique alone", by_technique),
        table("load", "Savings by requests a second", by_load),
        table("age", "Retries that follow from the RBER, and savings for reads", by_age(results)),
        table("interval", "Lifetime by the days between two refreshes, without their cost", [
            Cell("", counted(days, "days"), "lifetime", None, longer(results, days), "x") for days in INTERVALS
        ]),
        table("cost of remapping", "Lifetime if each refresh costs an erase, by drive writes a day", [
            Cell("", f"{writes:g} a day", f"every {days} days", None, longer(results, days, writes), "x")
            for writes in WRITES for days in (3, 21, 90)
        ]),
    ]  # fmt: skip


def counted(number: int, things: str) -> str:
    """`1 retry`, `2 retries`."""
    one = {"retries": "retry", "days": "day"}
    return f"{number} {one[things] if number == 1 else things}"


def by_age(results: Results) -> list[Cell]:
    """Retries and savings by P/E cycles and days."""
    found = []
    for cycles, days in AGES:
        slow, fast = (results.figure(aged(cycles, days, how), "response_us.all.mean") for how in ("in order", "both"))
        row = f"{cycles:,} cycles, {days} days"
        found.append(Cell("", row, "retries of a read", None,
                          results.figure(aged(cycles, days), "errors.retries_per_read"), "retries"))  # fmt: skip
        saved = 100 * (1 - fast / slow) if slow and fast is not None else None
        found.append(Cell("", row, "saved", None, saved, "%"))
    means = (
        (column, fmean(cell.simulated for cell in found if cell.column == column and cell.simulated is not None), unit)
        for column, unit in (("retries of a read", "retries"), ("saved", "%"))
    )
    return found + [Cell("", "mean of these ages", column, None, mean, unit) for column, mean, unit in means]


def pictures(results: Results) -> list[Picture]:
    """Savings by workload, and lifetimes by interval."""
    return [
        Picture("read-retry", "Response time saved by pipelined and adaptive retries, simulated",
                partial(draw_savings, results)),
        Picture("refresh", "Lifetime with refresh, as a multiple of that without, simulated",
                partial(draw_refresh, results), (6.4, 3.4)),
    ]  # fmt: skip


def draw_savings(results: Results, figure: Figure, style: Style) -> None:
    """A group for each workload, a bar for each number of retries."""
    axes = figure.subplots()
    series = tuple(
        Series(
            f"{counted(n, 'retries')} a read",
            tuple(gain(results, w, n, "both") for w in READS),
            n - 1,
            n - 1,
        )
        for n in range(1, RETRIES + 1)
    )
    bars(axes, style, tuple(READS), series, "response time saved, %")
    axes.axhline(PUBLISHED.value("read retry", "mean of the workloads", "response time"), color=style["ink"],
                 linewidth=0.9, linestyle=":", label="published mean")  # fmt: skip
    legend(figure, axes, RETRIES + 1)


def draw_refresh(results: Results, figure: Figure, style: Style) -> None:
    """A line without the cost of refreshing, and one for each rate of writes."""
    axes = figure.subplots()
    series = [Series("no erases", tuple(longer(results, days) for days in INTERVALS), 0, 0)]
    for at, writes in enumerate(WRITES[1:], 1):
        values = tuple(longer(results, days, writes) for days in INTERVALS)
        series.append(Series(f"{writes:g} drive writes a day", values, at, at))
    lines(axes, style, tuple(float(days) for days in INTERVALS), tuple(series), "lifetime, without refresh = 1")
    axes.set_xscale("log")
    axes.set_xticks(INTERVALS, [str(days) for days in INTERVALS])
    axes.minorticks_off()
    axes.set_xlabel("days between two refreshes")
    axes.set_ylim(bottom=0)
    legend(figure, axes, 2)


PAPER = described("errors", WORKLOADS, runs, find, (), requests=REQUESTS)

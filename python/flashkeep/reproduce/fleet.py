"""Fleets of arrays: closed forms, published simulations and field rates, beside the fleet model; Diff-RAID, and dRAID.

Runs: the wear of arrays with uneven parity, and rebuilds into distributed spares. Everything else is computed from the
fleet model and the error model.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..render.figures import Picture, Series, bars, legend, lines
from . import fleet_models as models
from . import fleet_rebuilds as rebuilds
from . import fleet_wear as wear
from .fleet_wear import CHIPS, PUBLISHED, SHARES, WRITES
from .paper import Cell, Findings, Table, Workload, described
from .verdicts import Near, Same, own_group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.figure import Figure

    from ..render.figures import Style
    from .paper import Results, Run

WORKLOADS = (Workload("random", "random writes of one page", WRITES),)
RANGE = tuple(PUBLISHED.value("losses over the MTTDL method's", "range", end) for end in ("least", "most"))
CLAIM = f"between {RANGE[0]:g} and {RANGE[1]:g} times the MTTDL method"
MULTIPLE = 100.0
"""Multiple orders of magnitude: at least two."""


def runs() -> Iterator[Run]:
    """Everything that is simulated request by request."""
    yield from (wear.wearing(share) for share in (1 / wear.DRIVES, *SHARES.values()))
    yield from rebuilds.runs()


def find(results: Results) -> Findings:
    """The tables and figures."""
    tables = [
        mttdl(), by_exact(), by_biasing(results), mlec(), latent(results), method(), claim(results), rates(),
        rebuilt(results), aged(results), safer(results), *ablations(results),
    ]  # fmt: skip
    return Findings(tables, pictures(results))


def close(share: float) -> Near:
    """A rule: off by this share of the published number."""
    return Near(share, 0.0, own_group, "", relative=True)


def mttdl() -> Table:
    """Mean times to data loss."""
    return Table(
        "MTTDL", "Mean time to data loss, by closed forms",
        PUBLISHED.cells("MTTDL", lambda cell: models.model(models.CASES[cell.row])["mttdl_years"]), close(1e-4),
    )  # fmt: skip


def by_exact() -> Table:
    """P(loss) by the Markov chain."""
    return Table(
        "P(loss) by exact", "P(loss) within five years, by the transient solution of the Markov chain",
        PUBLISHED.cells("P(loss) by exact", lambda cell: models.exact(cell.row)), close(1e-4),
    )  # fmt: skip


def by_biasing(results: Results) -> Table:
    """P(loss) by rare-event simulation."""
    error = 100 * models.biasing_error(results)
    return Table(
        "P(loss) by biasing", "P(loss) within five years, by failure biasing",
        PUBLISHED.cells("P(loss) by biasing", lambda cell: models.biased(cell.row, results)), close(0.01),
        (f"Sampling stops when half of the 95 % interval is {error:g} % of the estimate.",),
    )  # fmt: skip


def mlec() -> Table:
    """The stages of mlec-sim, and their sum."""
    return Table(
        "mlec-sim", "Ten pools of 7 + 3 drives of 20 TB, 100 MB/s, AFR 5 %, one year (mlec-sim)",
        PUBLISHED.cells("mlec-sim", lambda cell: models.stage(cell.row)), Near(0.1, 0.0, own_group, "", unit="nine"),
        (
            "The rule: serial repair, exponential times with a mean of 20 TB at 100 MB/s (decimal, 55.56 h), a rate of "
            "−ln(1 − AFR)/8760 an hour. A stage is P(so many missing at once) over that of the stage before.",
        ),
    )  # fmt: skip


def latent(results: Results) -> Table:
    """Losses with and without scrubbing."""
    return Table(
        "latent errors", "Losses of a thousand arrays in ten years, by scrubbing (after Elerath and Pecht)",
        PUBLISHED.cells("latent errors", lambda cell: models.losses(cell.row, results)), close(0.05),
        ("Losses are an expected number: an array that lost data is whole again and may lose again.",),
    )  # fmt: skip


def method() -> Table:
    """What the method of MTTDL says."""
    return Table(
        "MTTDL method", "The same by the method of MTTDL: exponential times, no latent errors",
        PUBLISHED.cells("MTTDL method", lambda _: models.by_method()), close(0.01),
    )  # fmt: skip


def multiple(results: Results, row: str) -> float:
    """Losses as a multiple of those of the MTTDL method."""
    return models.losses(row, results) / models.by_method()


def claim(results: Results) -> Table:
    """Whether losses are within the range that the abstract names."""
    least, most = RANGE
    return Table(
        CLAIM, "Losses as a multiple of those by the method of MTTDL (Elerath and Pecht: abstract)",
        PUBLISHED.cells(CLAIM, lambda cell: float(least <= multiple(results, cell.row) <= most)),
        Same("the multiple lies within the published range"),
    )  # fmt: skip


def rates() -> Table:
    """Rates of failures in the field, which go in as `--afr`."""
    return Table(
        "field rates", "Failures of drives in the field: lone drives that fail within a year",
        PUBLISHED.cells("field rates", lambda cell: models.fails(cell.published or 0.0)), close(1e-6), is_input=True,
    )  # fmt: skip


def rebuilt(results: Results) -> Table:
    """How much faster a rebuild into distributed spares is."""
    return Table(
        "dRAID: rebuild", "Rebuild into distributed spares against a hot spare, c drives in stripes of g",
        PUBLISHED.cells("dRAID: rebuild", lambda cell: rebuilds.ratio(results, cell.row)), close(0.1),
        ("The hot spare belongs to RAID-5 or RAID-6 of g drives. Reads of a drive take as long as programs.",),
    )  # fmt: skip


def aged(results: Results) -> Table:
    """How much faster the member with most parities ages."""
    return Table(
        "Diff-RAID: ageing", "Erases of the member with most parities over those of the others, five drives",
        PUBLISHED.cells("Diff-RAID: ageing", lambda cell: wear.ageing(results, SHARES[cell.row])), close(0.05),
    )  # fmt: skip


def safer(results: Results) -> Table:
    """Whether uneven parity makes the loss of data less likely."""
    times = [wear.times_safer(results, chip, share) for chip in CHIPS.values() for share in SHARES.values()]
    found = {"more reliable than RAID-5": min(times) > 1,
             f"by orders of magnitude ({MULTIPLE:g} or more)": max(times) >= MULTIPLE}  # fmt: skip
    return Table(
        "Diff-RAID: loss", "P(loss) when the oldest of five drives fails at its end of life, Diff-RAID against RAID-5",
        PUBLISHED.cells("Diff-RAID: loss", lambda cell: float(found[cell.column])),
        Same("the claim holds for these chips, codes and shares"),
        (f"Here: {min(times):,.0f} to {max(times):.3g} times less likely.",), is_prediction=True,
    )  # fmt: skip


def ablations(results: Results) -> list[Table]:
    """What the figures depend on."""

    def table(name: str, title: str, found: dict[tuple[str, str], float], unit: str) -> Table:
        name = f"ablation: {name}"
        return Table(name, title, [Cell(name, *place, None, value, unit) for place, value in found.items()])

    fields = {row: PUBLISHED.value("field rates", row, "AFR") for row in PUBLISHED.rows("field rates")}
    chips = {(name, "RAID-5, equal wear"): wear.even(chip) for name, chip in CHIPS.items()}
    chips |= {
        (name, row): wear.loss(chip, wear.ages(wear.ageing(results, share)))
        for name, chip in CHIPS.items()
        for row, share in {"RAID-5, ages apart": 1 / wear.DRIVES, **SHARES}.items()
    }
    return [
        table("rules of mlec-sim", "Nines of ten pools of 7 + 3, by the rule of repair and the rate of failures",
              {(name, "nines"): models.nines(case) for name, case in models.RULES.items()}, "nines"),
        table("multiples", "Losses as a multiple of those by the method of MTTDL",
              {(row, "multiple"): multiple(results, row) for row in models.SCRUBBED}, "x"),
        table("field rates", "P(loss) within five years of eight drives of 1.92 TB, 24 h, UBER 1e-17, by field rate",
              {(row, f"RAID-{level}"): models.lost(level, afr) for row, afr in fields.items() for level in (5, 6)},
              "share"),
        table("rebuilds", "Speed of the rebuilds of dRAID",
              {place: value for row, shape in rebuilds.SHAPES.items() for place, value in (
                  ((row, "distributed"), rebuilds.speed(results, rebuilds.spread(shape))),
                  ((row, "hot spare"), rebuilds.speed(results, rebuilds.classic(shape))))}, "MiB/s"),
        table("Diff-RAID", "P(loss) when the oldest of five drives of 80 GB fails at its end of life", chips, "share"),
        table("lives", "P/E cycles until the UBER is 1e-14 for data that are a year old",
              {(name, "cycles"): float(wear.life(chip)) for name, chip in CHIPS.items()}, "cycles"),
    ]  # fmt: skip


def pictures(results: Results) -> list[Picture]:
    """Losses by scrubbing, and by uneven parity."""
    return [
        Picture("scrubbing", "Losses of a thousand arrays in ten years, by scrubbing",
                partial(draw_scrubbing, results), (6.4, 3.4)),
        Picture("diff-raid", "P(loss) when the oldest drive fails at its end of life, by its share of the parities",
                partial(draw_parity, results), (6.4, 3.4)),
    ]  # fmt: skip


def draw_scrubbing(results: Results, figure: Figure, style: Style) -> None:
    """Published and simulated losses."""
    axes = figure.subplots()
    rows = tuple(models.SCRUBBED)
    published = tuple(PUBLISHED.value("latent errors", row, "losses of 1000 arrays") for row in rows)
    simulated = tuple(models.losses(row, results) for row in rows)
    bars(axes, style, rows, (Series("sketch", published, 0, 0), Series("simulated", simulated, 1, 1)), "losses")
    axes.set_yscale("log")
    axes.set_ylim(bottom=1)
    legend(figure, axes, 2)


def draw_parity(results: Results, figure: Figure, style: Style) -> None:
    """A line for each chip; the first place is RAID-5 of equal wear."""
    axes = figure.subplots()
    places = (1 / wear.DRIVES, *SHARES.values())
    series = tuple(
        Series(name, (wear.even(chip), *(wear.loss(chip, wear.ages(wear.ageing(results, share)))
                                         for share in SHARES.values())), at, at)
        for at, (name, chip) in enumerate(CHIPS.items())
    )  # fmt: skip
    lines(axes, style, tuple(100 * place for place in places), series, "P(loss)")
    axes.set_yscale("log")
    axes.set_xticks([100 * place for place in places], ["RAID-5", *(f"{100 * share:g}" for share in SHARES.values())])
    axes.set_xlabel("share of the parities on the oldest, %")
    legend(figure, axes, 1)


PAPER = described("fleet", WORKLOADS, runs, find, (), groups=models.GROUPS, writes=WRITES)

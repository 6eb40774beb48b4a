"""*agrees*, *same shape*, *differs*: the rules that compare a simulated number with a published one.

Each rule is stated once, in words, beside its code; the report prints the words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .reasons import AGREES, DIFFERS, SAME_SHAPE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .paper import Cell


def own_group(cell: Cell) -> str:
    """Each cell is a group of its own: no order is compared."""
    return f"{cell.row}/{cell.column}"


@dataclass(frozen=True)
class Near:
    """The number is near enough, or at least of the same sign and in the same order as its neighbours.

    `within` is what may be off, in the cell's own unit, or as a share of the published number where `relative`;
    `level` is how much two numbers must differ to be in any order (and a number from 0, to have a sign).
    """

    within: float
    level: float
    group: Callable[[Cell], str]
    order: str
    """A group, in words: "the three test pairs of a workload"."""
    relative: bool = False
    unit: str = "point"
    """What `within` is in, in words, where it is no share."""

    @property
    def text(self) -> str:
        def amount(value: float) -> str:
            return f"{100 * value:g} %" if self.relative else f"{value:g} {self.unit}{'' if value == 1 else 's'}"

        near = f"agrees: off by {amount(self.within)} at most"
        if not self.relative:
            near += ", and of the same sign"
        shape = f"same shape: further off, but of the same sign and in the same order among {self.order}"
        level = f" (where published numbers are up to {amount(self.level)} apart, or from 0, any order or sign will do)"
        if not self.level:
            level = ""
        alone = self.group is own_group
        return f"{near}; differs: all else." if alone else f"{near}; {shape}{level}; differs: all else."

    def judge(self, cells: Sequence[Cell]) -> list[str | None]:
        groups: dict[str, list[tuple[float, float]]] = {}
        for cell in cells:
            if cell.published is not None and cell.simulated is not None:
                groups.setdefault(self.group(cell), []).append((cell.published, cell.simulated))
        return [
            None
            if cell.published is None or cell.simulated is None
            else self._verdict(cell.published, cell.simulated, groups[self.group(cell)])
            for cell in cells
        ]

    def _verdict(self, published: float, simulated: float, group: Sequence[tuple[float, float]]) -> str:
        same_sign = self._alike(published, 0.0, simulated, 0.0)
        off = abs(simulated - published)
        if off <= self._scaled(self.within, published) * (1 + 1e-12) and same_sign:
            return AGREES
        ordered = all(self._alike(published, other, simulated, ours) for other, ours in group)
        return SAME_SHAPE if same_sign and ordered and len(group) > 1 else DIFFERS

    def _alike(self, published: float, other: float, simulated: float, ours: float) -> bool:
        """Whether numbers that are greater in the paper are greater in the simulation as well."""
        apart = published - other
        level = self._scaled(self.level, max(abs(published), abs(other)))
        return abs(apart) <= level or (simulated - ours) * apart > 0

    def _scaled(self, amount: float, published: float) -> float:
        return amount * abs(published) if self.relative else amount


@dataclass(frozen=True)
class Range:
    """A published range, `least` to `most` of a row: the simulated range must lie within it."""

    within: float
    """What either end may be off, as a share."""

    @property
    def text(self) -> str:
        return (
            f"agrees: the simulated range is within the published one, give or take {100 * self.within:g} %; "
            "same shape: the two ranges overlap; differs: all else."
        )

    def judge(self, cells: Sequence[Cell]) -> list[str | None]:
        rows: dict[str, dict[str, Cell]] = {}
        for cell in cells:
            rows.setdefault(cell.row, {})[cell.column] = cell
        return [self._verdict(rows[cell.row]["least"], rows[cell.row]["most"]) for cell in cells]

    def _verdict(self, least: Cell, most: Cell) -> str | None:
        if least.published is None or most.published is None or least.simulated is None or most.simulated is None:
            return None
        low, high = least.published * (1 - self.within), most.published * (1 + self.within)
        if low <= least.simulated and most.simulated <= high:
            return AGREES
        return SAME_SHAPE if least.simulated <= high and low <= most.simulated else DIFFERS


@dataclass(frozen=True)
class Same:
    """The claims of a text: rises (1) or falls (−1), holds (1) or not (0)."""

    what: str = "the change goes the way that the paper says"

    @property
    def text(self) -> str:
        return f"agrees: {self.what}; differs: it does not."

    def judge(self, cells: Sequence[Cell]) -> list[str | None]:
        return [
            None if None in (cell.published, cell.simulated)
            else AGREES if cell.published == cell.simulated else DIFFERS
            for cell in cells
        ]  # fmt: skip


def trend(before: float | None, after: float | None, level: float) -> float | None:
    """1 if a number rises by more than `level`, −1 if it falls, 0 if it stays; none if one is missing."""
    if before is None or after is None:
        return None
    change = after - before
    return 0.0 if abs(change) <= level else 1.0 if change > 0 else -1.0

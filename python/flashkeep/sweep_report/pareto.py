"""Pareto fronts of two figures: the configurations that no other one beats in both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .measures import Measure
    from .sheet import Configuration, Estimate, Sheet


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration with the means of both figures over its seeds."""

    configuration: Configuration
    a: Estimate
    b: Estimate
    lost: bool


def candidates(sheet: Sheet, a: Measure, b: Measure) -> dict[str, list[Candidate]]:
    """The configurations that have both figures, by workload: a front over workloads would compare the workloads."""
    workloads = list(dict.fromkeys(sheet.columns["workload"][at] for at in sheet.ended))
    found: dict[str, list[Candidate]] = {workload: [] for workload in workloads}
    for one in sheet.configurations:
        first, second = sheet.estimate(a.path, one), sheet.estimate(b.path, one)
        if first is not None and second is not None:
            place = sheet.columns["workload"][one.rows[0]]
            found[place].append(Candidate(one, first, second, sheet.lost(one)))
    return {workload: points for workload, points in found.items() if points}


def front(points: Iterable[Candidate], a: Measure, b: Measure) -> list[Candidate]:
    """The points that no other one equals or beats in both figures and beats in one, from the best `a` on."""
    for one in (a, b):
        if not one.better:
            raise ValueError(f"{one.path}: neither direction is better, so that it has no Pareto front; "
                             "flashkeep metrics tells the directions")  # fmt: skip
    # Sorted from the best `a` on, a point is on the front if its `b` is better than all before it; among points of
    # one `a` only those of the best `b` are.
    placed = [(-a.better * rounded(point.a.mean), -b.better * rounded(point.b.mean), point) for point in points]
    ordered = sorted(placed, key=lambda each: each[:2])
    kept: list[tuple[float, float, Candidate]] = []
    for each in ordered:
        if not kept or each[1] < kept[-1][1] or each[:2] == kept[-1][:2]:  # better, or equal in both
            kept.append(each)
    return [point for _, _, point in kept]


def rounded(mean: float) -> float:
    """Five significant digits: what differs by less is equal, and the page, which has seven, finds the same front."""
    return float(f"{mean:.5g}")

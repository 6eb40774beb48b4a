"""A sweep in Python: its table, charts and Pareto fronts."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..cli.options import UsageError
from ..extras import need
from ..results.figure_paths import frame
from .folders import CELLS, STATUSES, read_sweep
from .layout import Layout, complete, default
from .measures import Measure, defaults, measure
from .pareto import candidates, front
from .sheet import sheet_of, told

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..choices import Library
    from ..results.result import Result
    from .pareto import Candidate


class SweepResults:
    """The cells of a sweep's folder: each is a row with its place, its figures and its status."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            self._sweep = read_sweep(os.fspath(folder), "fk.load_sweep")
        except UsageError as error:
            raise ValueError(str(error)) from None
        self._sheet = sheet_of([self._sweep])

    @property
    def folder(self) -> str:
        """Where the sweep lies."""
        return self._sweep.folder

    @property
    def plan(self) -> dict[str, Any]:
        """The plan, as `plan.toml` has it."""
        return self._sweep.plan

    @property
    def keys(self) -> dict[str, list[Any]]:
        """What differs between cells (workload, drive, variant, keys), and its values."""
        return {one.name: list(one.values) for one in self._sheet.dimensions}

    @property
    def figures(self) -> list[str]:
        """The figures that differ between cells, by their dotted paths."""
        return list(self._sheet.differing)

    @property
    def counts(self) -> dict[str, int]:
        """How many cells have each status: 0, 2 (refused), 3 (pages were lost), failed."""
        found = Counter(self._sweep.columns["status"])
        return {status: found[status] for status in STATUSES if found[status]}

    @property
    def notes(self) -> list[str]:
        """What the cells' results warn of."""
        return self._sweep.told_notes()

    def __len__(self) -> int:
        return len(self._sweep)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The cells as rows."""
        columns = self._sweep.columns
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def __getitem__(self, cell: str) -> Result:
        """The result of a cell, by its hash."""
        from ..results.result import Result

        path = os.path.join(self.folder, CELLS, f"{cell}.json")
        if not os.path.isfile(path):
            raise KeyError(cell)
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        if not found.get("summary"):
            raise ValueError(f"the cell {cell} has no figures: {found.get('error') or found.get('status')}")
        return Result(found["summary"])

    def to_frame(self, library: Library | None = None) -> Any:
        """The table as a data frame; `library` is "pandas" or "polars", or the first one that is installed."""
        return frame(list(self), library)

    def plot(
        self,
        figure: str | None = None,
        x: str | None = None,
        by: str | None = None,
        facets: str | Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> Any:
        """Small multiples of a figure, as a figure of matplotlib: means over seeds with 95 % t-intervals.

        `x` is the key of the axis, `by` that of the lines, `facets` one or two keys of panels (across, down); without
        any of them the page's defaults. `where` holds keys at values; keys that are not shown are held at their first.
        """
        need("plot()", "reports", "matplotlib")
        from ..render.figures import shown
        from .charts import trend

        wanted = self._measure(figure)
        picture, why_not = trend(self._sheet, wanted, self._layout(x, by, facets, where or {}))
        if picture is None:
            raise ValueError(why_not)
        return shown(picture)

    def _measure(self, figure: str | None) -> Measure:
        if figure is None:
            found = defaults(self._sheet.differing) or [measure(path) for path in self._sheet.differing[:1]]
            if not found:
                raise ValueError("no figure differs between the cells of this sweep")
            return found[0]
        if figure not in self._sheet.figures:
            from ..cli.options import did_you_mean

            raise ValueError(f"{figure!r} is not a figure of this sweep"
                             f"{did_you_mean(figure, self._sheet.figures)}; .figures lists them")  # fmt: skip
        return measure(figure)

    def _layout(
        self, x: str | None, by: str | None, facets: str | Sequence[str] | None, where: Mapping[str, Any]
    ) -> Layout:
        panels = [facets] if isinstance(facets, str) else list(facets or ())
        for name, value in where.items():
            if value not in self._sheet.dimension(name).values:
                raise ValueError(f"{name}: no cell has {value!r}; the values are "
                                 f"{', '.join(map(told, self._sheet.dimension(name).values))}")  # fmt: skip
        if x is None and by is None and facets is None and not where:
            return default(self._sheet)
        if x is None:
            first = default(self._sheet)
            places = (first.x, first.by, first.column, first.row)
            spare = [name for name in places if name and name not in (by, *where, *panels)]
            x = spare[0] if spare else None
            if by is None and facets is None and len(spare) > 1:
                by = spare[1]
        across, down, *more = [*panels, None, None]
        if any(more):
            raise ValueError("facets: found more than two keys; at most two are accepted (across, down)")
        chosen = [name for name in (x, by, across, down) if name]
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"x, by and facets are different keys; found {', '.join(chosen)}")
        for name in chosen:
            self._sheet.dimension(name)
        return complete(self._sheet, Layout(x, by, across, down, dict(where)))

    def pareto(self, a: str, b: str) -> ParetoFront:
        """The configurations that no other one of their workload beats in both figures, by means over seeds."""
        first, second = self._measure(a), self._measure(b)
        found = candidates(self._sheet, first, second)
        best = {workload: front(points, first, second) for workload, points in found.items()}
        return ParetoFront(self, first, second, best)

    def __repr__(self) -> str:
        told_counts = ", ".join(f"{count:,} {STATUSES[status]}" for status, count in self.counts.items())
        swept = ", ".join(f"{name} ({len(values)})" for name, values in self.keys.items())
        return f"<flashkeep sweep {self._sweep.name}: {len(self):,} cells: {told_counts}; {swept or 'nothing differs'}>"

    def _repr_html_(self) -> str:
        from .notebook import sweep_html

        return sweep_html(self._sweep, self._sheet)

    def __reduce__(self) -> tuple[Any, ...]:
        return (SweepResults, (self.folder,))


class ParetoFront:
    """A Pareto front of two figures: its configurations by workload, from the best `a` on."""

    def __init__(self, sweep: SweepResults, a: Measure, b: Measure, best: Mapping[str, Sequence[Candidate]]) -> None:
        self._sweep, self._a, self._b, self._best = sweep, a, b, best

    def rows(self) -> list[dict[str, Any]]:
        """The front's configurations: keys, both means, half of their 95 % t-intervals (None for one seed), n."""
        a, b = self._a.path, self._b.path
        return [
            {"workload": workload, **one.configuration.values, a: one.a.mean, f"{a} ±": one.a.half, b: one.b.mean,
             f"{b} ±": one.b.half, "n": one.a.n, "lost": one.lost}
            for workload, points in self._best.items() for one in points
        ]  # fmt: skip

    def __len__(self) -> int:
        return sum(map(len, self._best.values()))

    def to_frame(self, library: Library | None = None) -> Any:
        """The front's configurations as a data frame."""
        return frame(self.rows(), library)

    def plot(self) -> Any:
        """All configurations and the front, as a figure of matplotlib."""
        need("plot()", "reports", "matplotlib")
        from ..render.figures import shown
        from .charts import pareto

        picture, why_not = pareto(self._sweep._sheet, self._a, self._b)
        if picture is None:
            raise ValueError(why_not)
        return shown(picture)

    def __repr__(self) -> str:
        return f"<Pareto front of {self._a.path} and {self._b.path}: {len(self)} configurations>"

    def _repr_html_(self) -> str:
        from .notebook import front_html

        return front_html(self._a, self._b, self._best)

"""The page of sweeps: what was swept, charts, a Pareto front and a table, in one file."""

from __future__ import annotations

import json
import os
from collections import Counter
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..render import pages
from ..render.figures import draw
from . import charts, layout, measures
from .folders import IDENTITY, STATUSES, flat_keys
from .sheet import ENDED, FOLDER, ordered, orders_of, sheet_of, student, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..render.figures import Drawn
    from ..results.folder_results import Found
    from .folders import SweepFolder
    from .sheet import Sheet

MOST_VALUES = 3_000_000
"""A page with more numbers would take seconds to load: figures that no table of a run has are left out first."""
MOST_REASONS = 30
SCRIPTS = ("data.js", "axes.js", "multiples.js", "front.js", "table.js")
"""The parts of the page's script, in order."""


def sweep_page(sweeps: Sequence[SweepFolder], runs: Sequence[tuple[str, Found]]) -> tuple[str, list[Drawn]]:
    """The page, and its default figures."""
    sheet = sheet_of(sweeps, runs, short=True)
    first = layout.default(sheet)
    missing: list[str] = []
    drawn = default_figures(sheet, first, missing)
    shown, left_out = _shown_figures(sheet)
    if left_out:
        missing.append(f"{left_out} figures are not in this page, which would be too large; results.csv has them.")
    same = {name: told(_one(sheet, name)) for name in sheet.figures if name not in set(sheet.differing)}
    title = ", ".join([*(sweep.name for sweep in sweeps), *dict.fromkeys(folder for folder, _ in runs)])
    page = pages.render(
        "sweep.html.jinja", title=title, sources=[_source(sweep) for sweep in sweeps], runs=_runs(runs),
        figures=drawn, missing=missing, same=same, has_cells=bool(sheet.ended),
        data=_json(_data(sheet, first, shown)), script=_script(),
    )  # fmt: skip
    return page, drawn


def default_figures(sheet: Sheet, first: layout.Layout, missing: list[str]) -> list[Drawn]:
    """The charts that a page begins with; `missing` says what could not be drawn."""
    drawn = []
    of_interest = measures.defaults(sheet.differing)
    for measure in of_interest:
        picture, why_not = charts.trend(sheet, measure, first)
        if picture is None:
            missing.append(why_not)
        else:
            drawn.append(draw(picture))
    constant = [one.words for one in measures.defaults(sheet.figures) if one.path not in sheet.differing]
    if constant and sheet.ended:
        missing.append(f"No chart of {', '.join(constant)}: all cells have the same.")
    pair = measures.default_pair(sheet.differing)
    if pair:
        picture, why_not = charts.pareto(sheet, *pair)
        if picture:
            drawn.append(draw(picture))
    return drawn


def _one(sheet: Sheet, name: str) -> Any:
    return next((value for value in sheet.columns[name] if value is not None), None)


def _shown_figures(sheet: Sheet) -> tuple[list[str], int]:
    """The figures that differ, those of the tables of runs first, as many as fit; and how many do not."""
    fit = max(1, MOST_VALUES // max(1, len(sheet)))
    ranked = sorted(sheet.differing, key=lambda name: measures.measure(name).words == name)
    kept = set(ranked[:fit])
    return [name for name in sheet.differing if name in kept], len(ranked) - len(kept)


def _source(sweep: SweepFolder) -> dict[str, Any]:
    """What a sweep's folder tells about itself."""
    counts = Counter(sweep.columns["status"])
    return {
        "name": sweep.name,
        "cells": len(sweep),
        "counts": [(words, counts[status], _class(status)) for status, words in STATUSES.items()
                   if counts[status] or status == "0"],
        "to_do": max(0, sweep.planned() - len(sweep)),
        "reasons": [(STATUSES[status], _few(sweep.reasons(status))) for status in ("2", "failed") if counts[status]],
        "notes": sweep.told_notes(),
        "plan": list(_plan(sweep)),
        "version": "/".join(sorted(sweep.versions)) or "unknown",
        "hashes": sorted(sweep.hashes.items()),
    }  # fmt: skip


def _class(status: str) -> str:
    return {"0": "agrees", "2": "same-shape"}.get(status, "differs")


def _few(reasons: list[tuple[str, int]]) -> list[tuple[str, int]]:
    more = reasons[MOST_REASONS:]
    rest = [(f"{len(more)} other reasons", sum(count for _, count in more))] if more else []
    return reasons[:MOST_REASONS] + rest


def _plan(sweep: SweepFolder) -> Iterable[tuple[str, str]]:
    """Each part of the plan and its values as text."""
    orders = orders_of([sweep])
    for name in ("workload", "drive", "variant", *sweep.keys, "seed"):
        if name in sweep.columns:
            yield name, _values(ordered(set_of(sweep.columns[name]), orders.get(name, ())))
    for name in ("exclude", "options", "ageing"):
        if sweep.plan.get(name):
            given = sweep.plan[name]
            each = given if isinstance(given, list) else [given]
            yield name, "; ".join(", ".join(f"{key}={_listed(value)}" for key, value in flat_keys(one)) for one in each)


def _listed(value: Any) -> str:
    return " ".join(map(told, value)) if isinstance(value, list) else told(value)


def _values(every: Sequence[Any]) -> str:
    known = [value for value in every if value is not None]
    if len(known) > 8 and all(isinstance(value, int) for value in known):
        return f"{len(known):,} from {known[0]:,} to {known[-1]:,}"
    return ", ".join(map(told, known[:24])) + (f" and {len(known) - 24} more" if len(known) > 24 else "")


def set_of(values: Iterable[Any]) -> list[Any]:
    """The different values in the order in which they come."""
    return list(dict.fromkeys(values))


def _runs(runs: Sequence[tuple[str, Found]]) -> list[tuple[str, str, str]]:
    """Folder, name and digest of each single run."""
    return [(folder, f"{run.label} under {run.workload}", run.summary["digest"]) for folder, run in runs]


def _data(sheet: Sheet, first: layout.Layout, shown: Sequence[str]) -> dict[str, Any]:
    """What the page's script reads."""
    keys = [name for name in sheet.keys if any(value is not None for value in sheet.columns[name])]
    columns = [_text_column(sheet, "cell", "id"), *(_key_column(sheet, name) for name in [*keys, "seed"])]
    columns += [_figure_column(sheet, name) for name in shown]
    columns += [_text_column(sheet, name, "text") for name in ("status", "error", "digest")]
    pair = measures.default_pair(sheet.differing)
    of_interest = [one.path for one in measures.defaults(shown)]
    most_seeds = max((len(one.rows) for one in sheet.configurations), default=1)
    varied = [one.name for one in sheet.dimensions]
    seeds = ["seed"] if most_seeds > 1 else []
    other = ["status"] if any(status != "0" for status in sheet.columns["status"]) else []
    return {
        "rows": len(sheet),
        "columns": columns,
        "dimensions": [{"name": one.name, "values": list(map(told, one.values)), "numeric": one.numeric}
                       for one in sheet.dimensions],
        "first": {
            "figure": of_interest[0] if of_interest else (shown[0] if shown else None),
            "x": first.x, "by": first.by, "column": first.column, "row": first.row,
            "a": pair[0].path if pair else None, "b": pair[1].path if pair else None,
            "shown": ["cell", *(name for name in varied if name != FOLDER or len(varied) > 1), *seeds, *of_interest,
                      *other],
        },
        "student": [round(student(freedom), 4) for freedom in range(1, most_seeds)],
        "ended": ENDED,
        "logarithmicKey": charts.LOGARITHMIC_KEY, "logarithmicFigure": charts.LOGARITHMIC_FIGURE,
        "fitted": charts.FITTED, "mostLines": layout.MOST_LINES, "mostRows": layout.MOST_ROWS,
        "mostColumns": layout.MOST_COLUMNS, "fewPoints": charts.FEW_POINTS, "identity": [FOLDER, *IDENTITY],
    }  # fmt: skip


def _text_column(sheet: Sheet, name: str, role: str) -> dict[str, Any]:
    """A column of texts: its different texts, and the number of each row's."""
    texts = [None if value is None or value == "" else told(value) for value in sheet.columns[name]]
    levels = {text: at for at, text in enumerate(dict.fromkeys(text for text in texts if text is not None))}
    return {"name": name, "words": name, "role": role, "levels": list(levels),
            "codes": [-1 if text is None else levels[text] for text in texts]}  # fmt: skip


def _key_column(sheet: Sheet, name: str) -> dict[str, Any]:
    """A swept column: texts for charts and filters, and numbers to sort by."""
    levels = {value: at for at, value in enumerate(ordered(set_of(sheet.columns[name]), sheet.orders.get(name, ())))}
    return {"name": name, "words": name, "role": "key", "levels": list(map(told, levels)),
            "numbers": [_number(told(value)) for value in levels],
            "codes": [levels[value] for value in sheet.columns[name]]}  # fmt: skip


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _figure_column(sheet: Sheet, name: str) -> dict[str, Any]:
    """A figure: numbers with seven significant digits."""
    one = measures.measure(name)
    values = [None if value is None else value if isinstance(value, int) else float(f"{value:.7g}")
              for value in sheet.columns[name]]  # fmt: skip
    return {"name": name, "words": one.words, "title": one.title, "role": "figure", "form": one.form,
            "scale": one.scale, "better": one.better, "values": values}  # fmt: skip


def _json(data: object) -> str:
    """JSON that HTML can hold: no text in it ends the element."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def _script() -> str:
    folder = files("flashkeep.render.pages") / "sweep"
    parts = [(folder / name).read_text(encoding="utf-8") for name in SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "\n})();"


def write_figures(folder: str, drawn: Sequence[Drawn]) -> None:
    """Each figure as SVG and PNG."""
    os.makedirs(folder, exist_ok=True)
    for figure in drawn:
        with open(os.path.join(folder, f"{figure.name}.svg"), "w", encoding="utf-8") as file:
            file.write(figure.svg)
        with open(os.path.join(folder, f"{figure.name}.png"), "wb") as picture:
            picture.write(figure.png)

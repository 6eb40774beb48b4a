"""Writes the results of `reproduce`: PAPER.json, PAPER.csv, PAPER.html, and figures as SVG and PNG."""

from __future__ import annotations

import csv
import io
import json
import os
from typing import TYPE_CHECKING, Any

from .._flashkeep import __version__
from ..render import pages
from ..render.figures import draw
from ..results.writing import put
from .reasons import VERDICTS, explain
from .simulate import LEAST_REQUESTS, drive_digest

if TYPE_CHECKING:
    from ..render.figures import Drawn
    from .paper import Cell, Findings
    from .simulate import Setup

COLUMNS = ("table", "row", "column", "published", "simulated", "unit", "verdict", "note")


def write(setup: Setup, findings: Findings, took: dict[str, float], folder: str) -> dict[str, Any]:
    """Writes a paper's results and returns the contents of its JSON file; `took` is the cost of its runs."""
    for table in findings.tables:
        if table.rule is not None:
            for cell, verdict in zip(table.cells, table.rule.judge(table.cells), strict=True):
                cell.verdict = verdict
    numbers = [cell.number for table in findings.tables for cell in table.cells]
    whys = explain(setup.paper.reasons, numbers)
    drawn = [draw(picture) for picture in findings.pictures]
    name = setup.paper.name
    results = _results(setup, findings, drawn, took)
    for figure in drawn:
        _put(folder, f"{name}-{figure.name}.svg", figure.svg.encode())
        _put(folder, f"{name}-{figure.name}.png", figure.png)
    _put(folder, f"{name}.csv", _csv(results).encode())
    page = pages.render(
        "paper.html.jinja", paper=setup.paper, findings=findings, whys=whys, figures=drawn, results=results
    )
    _put(folder, f"{name}.html", page.encode())
    text = json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False)
    _put(folder, f"{name}.json", f"{text}\n".encode())  # last: if it exists, the results are complete
    return results


def _put(folder: str, name: str, data: bytes) -> None:
    put(os.path.join(folder, name), data)


def _results(setup: Setup, findings: Findings, drawn: list[Drawn], took: dict[str, float]) -> dict[str, Any]:
    cells = [cell for table in findings.tables for cell in table.cells]
    inputs = [table for table in findings.tables if table.is_input]
    put_in = [cell for table in inputs for cell in table.cells]
    predicted = [cell for table in findings.tables if table.is_prediction for cell in table.cells]
    judged = [table for table in findings.tables if not (table.is_input or table.is_prediction)]
    found = [cell for table in judged for cell in table.cells]
    drives = {(run.drive, run.set): drive_digest(run) for run in setup.paper.runs()}
    results: dict[str, Any] = {
        "paper": setup.paper.name,
        "flashkeep": __version__,
        "seed": setup.seed,
        "scale": setup.scale,
        "workloads": [_workload(setup, workload.name) for workload in setup.paper.workloads],
        "drives": [
            {"drive": drive, "set": list(values), "digest": digest} for (drive, values), digest in drives.items()
        ],
        "run": took,
        "tables": [
            {
                "name": each.name,
                "title": each.title,
                "input": each.is_input,
                "prediction": each.is_prediction,
                "cells": len(each.cells),
            }
            for each in findings.tables
        ],
        "rules": {table.name: table.rule.text for table in findings.tables if table.rule},
        "verdicts": _count(found),
        "predictions": {"cells": len(predicted), "verdicts": _count(predicted)},
        "inputs": {"tables": [table.called for table in inputs], "cells": len(put_in), "verdicts": _count(put_in)},
        "figures": [f"{setup.paper.name}-{figure.name}.{kind}" for figure in drawn for kind in ("svg", "png")],
        "cells": [_cell(cell) for cell in cells],
    }
    results["provenance"] = _provenance(results)
    return results


def _count(cells: list[Cell]) -> dict[str, int]:
    return {verdict: sum(cell.verdict == verdict for cell in cells) for verdict in VERDICTS}


def _workload(setup: Setup, name: str) -> dict[str, Any]:
    workload, real = setup.workload(name), setup.real.get(name)
    if real:
        return {"name": name, "title": workload.title, "synthetic": False, "source": real.path,
                "requests": min(real.requests, max(LEAST_REQUESTS, round(setup.scale * real.requests))),
                "digest": real.digest}  # fmt: skip
    requests = max(LEAST_REQUESTS, round(setup.scale * workload.requests))
    return {"name": name, "title": workload.title, "synthetic": True, "source": f"synth:{name},requests={requests}",
            "requests": requests, "digest": None}  # fmt: skip


def _cell(cell: Cell) -> dict[str, Any]:
    return {column: getattr(cell, column) for column in COLUMNS}


def _provenance(results: dict[str, Any]) -> str:
    """The source of the numbers, in a line."""
    from hashlib import sha256

    real = [workload["name"] for workload in results["workloads"] if not workload["synthetic"]]
    stand_ins = [workload["name"] for workload in results["workloads"] if workload["synthetic"]]
    told = [f"Synthetic workloads: {', '.join(stand_ins)}"] if stand_ins else []
    told += [f"Real traces: {', '.join(real)}"] if real else []
    drives = sha256("".join(drive["digest"] for drive in results["drives"]).encode()).hexdigest()
    scale = results["scale"]
    if scale < 1:
        told.append(f"a quick look: {100 * scale:g} % of the requests, {LEAST_REQUESTS:,} a run at least")
    told += [f"{len(results['drives'])} drives, digest {drives[:16]}", f"seed {results['seed']}"]
    return "; ".join([*told, f"flashkeep {results['flashkeep']}"])


def _csv(results: dict[str, Any]) -> str:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow((*COLUMNS, "provenance"))
    for cell in results["cells"]:
        lines.writerow([*("" if cell[key] is None else cell[key] for key in COLUMNS), results["provenance"]])
    return text.getvalue()

"""Makes folders of sweeps: a small real one, and tables of any size with invented figures."""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conftest import SMALL_DRIVE, Command

DRIVE = SMALL_DRIVE.replace("channels = 2", "channels = 4")
WORKLOADS = ("synth:zipf,requests=4k,rate=4k,write=0.7", "synth:random,requests=4k,rate=4k,write=0.3")
SCHEMES = ("none", "mirror", "raid5")
SPARE = (0.15, 0.25, 0.4)
PLAN = f"""\
workload = {json.dumps(WORKLOADS)}
drive = "small.toml"
seed = [1, 2, 3]

[grid]
redundancy.scheme = {json.dumps([*SCHEMES, "raid7"])}
ftl.over_provisioning = {json.dumps(SPARE)}

[[exclude]]
workload = "{WORKLOADS[1]}"
redundancy.scheme = "raid7"
"""
"""54 cells that run and nine that are refused, as there is no scheme of that name."""


def simulated(flashkeep: Command, folder: Path) -> Path:
    """A real sweep."""
    (folder / "small.toml").write_text(DRIVE)
    (folder / "plan.toml").write_text(PLAN)
    done = flashkeep("sweep", folder / "plan.toml", "--out", folder / "swept", "--workers", 2, "--quiet")
    assert done.code == 0, done.err
    return folder / "swept"


def invented(folder: Path, rows: int, figures: Iterable[str], statuses: Mapping[int, str] | None = None) -> Path:
    """A table of cells that were not simulated; `statuses` are those of rows that are not done."""
    numbers = random.Random(1)
    names = list(figures)
    grid: dict[str, list[Any]] = {
        "flash.channels": [1, 2, 4, 8, 16],
        "redundancy.scheme": ["none", "mirror", "raid5", "raid6"],
        "ftl.over_provisioning": [0.07, 0.15, 0.28, 0.5],
    }
    places = itertools.cycle(itertools.product(*grid.values()))
    table = []
    for at, place in zip(range(rows), places, strict=False):
        cell = hashlib.sha256(str(at).encode()).hexdigest()
        status = (statuses or {}).get(at, "0")
        ended = status in ("0", "3")
        told = {name: f"{numbers.lognormvariate(5, 1):.9g}" if ended else "" for name in names}
        error = "" if ended else f"cell {at}"
        table.append({"cell": cell[:16], "workload": "synth:zipf", "drive": "tlc-client", "seed": 1 + at // 80,
                      **dict(zip(grid, place, strict=True)), **told, "status": status, "error": error,
                      "digest": cell if ended else ""})  # fmt: skip
    keys = "".join(f"{key} = {json.dumps(values)}\n" for key, values in grid.items())
    seeds = json.dumps(sorted({row["seed"] for row in table}))
    write(folder, f'workload = "synth:zipf"\ndrive = "tlc-client"\nseed = {seeds}\n\n[grid]\n{keys}', table)
    return folder


def write(folder: Path, plan: str, table: list[dict[str, Any]]) -> None:
    """The files of a sweep without its cells' summaries."""
    (folder / "cells").mkdir(parents=True)
    (folder / "plan.toml").write_text(plan)
    with open(folder / "results.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(table, key=lambda row: str(row["cell"])))

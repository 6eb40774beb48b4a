"""`python benches/presets.py` measures what data sheets measure, on the presets of modern drives, and compares
redundancies under a real trace. It prints the tables of docs/presets.md and docs/choosing.md; `--write` puts them into
the pages.

tests/api/test_presets.py measures again, and compares with both pages and with the published figures.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import flashkeep as fk

ROOT = Path(__file__).parents[1]

SHRINK = 8
"""Drives that are full at the beginning have blocks of this many times fewer pages, which are erased in as many times
less time. The number of blocks, the share of the spare area and the time that GC takes stay the same."""


class Figure(NamedTuple):
    """What a sheet has: a closed loop over the whole drive."""

    label: str
    workload: str
    unit: str
    state: str = "full"
    """The drive is `empty`, `full`, or in the `steady` state of random writes: without its SLC cache, which is full."""
    tolerance: float | None = None
    """How far the published figure may be, as a share of it."""


SEQUENTIAL = "synth:sequential,size=128KiB,depth=32"
RANDOM = "synth:random,size=4KiB,depth=256"
FIGURES = {
    "sequential read": Figure("sequential reads of 128 KiB, depth 32, full drive",
                              f"{SEQUENTIAL},write=0,requests=10k", "MB/s", "full", 0.15),
    "sequential write": Figure("sequential writes of 128 KiB, depth 32, empty drive",
                               f"{SEQUENTIAL},write=1,requests=20k", "MB/s", "empty", 0.15),
    "random read": Figure("random reads of 4 KiB, depth 256, full drive",
                          f"{RANDOM},write=0,requests=200k", "IOPS", "full", 0.15),
    "burst": Figure("random writes of 4 KiB, depth 256, empty drive",
                    f"{RANDOM},write=1,requests=100k", "IOPS", "empty"),
    "random write": Figure("random writes of 4 KiB, depth 256, steady state",
                           f"{RANDOM},write=1,requests=150k", "IOPS", "steady", 0.30),
    "latency": Figure("random read of 4 KiB, depth 1, mean",
                      "synth:random,size=4KiB,depth=1,write=0,requests=2k", "µs"),
}  # fmt: skip
WARMUP = 50_000
"""Requests that do not count in the steady state."""

SHEETS: dict[str, tuple[str, dict[str, float]]] = {
    "tlc-client": ("Toshiba XG6", {
        "sequential read": 3180, "sequential write": 3000, "random read": 355_000, "burst": 365_000}),
    "tlc-datacenter": ("Intel P4500, 2 TB", {
        "sequential read": 3200, "sequential write": 1050, "random read": 490_000, "random write": 38_000,
        "latency": 85}),
    "tlc-datacenter-3dwpd": ("", {}),
}  # fmt: skip


def measure(drive: str, name: str) -> float:
    """A figure of a preset, in the sheet's unit."""
    figure = FIGURES[name]
    given = fk.drive(drive)
    if figure.state != "empty":
        given = shrunk(given)
    if figure.state == "steady":
        given = given.replace(**{"ageing.model": "steady", "flash.slc.blocks": 0})
    result = fk.run(
        given,
        fk.trace(figure.workload),
        existing="all" if figure.state == "full" else None,
        warmup=WARMUP if figure.state == "steady" else None,
        requests=False,
        breakdown=False,
    )
    if figure.unit == "µs":
        return float(result.response_us.all.mean)
    rate = float(result.throughput.iops)
    return rate * 131_072 / 1e6 if figure.unit == "MB/s" else rate


def shrunk(drive: fk.Drive) -> fk.Drive:
    flash = drive.resolved.flash
    return drive.replace(**{
        "flash.pages_per_block": flash.pages_per_block // SHRINK,
        "flash.timing.erase_us": flash.timing.erase_us / SHRINK,
    })  # fmt: skip


def written(name: str, value: float) -> str:
    """A measured figure in a table: three digits."""
    shown = float(f"{value:.3g}")
    return f"{shown:,.1f}" if FIGURES[name].unit == "µs" else f"{shown:,.0f}"


def sheets() -> list[str]:
    """The table of docs/presets.md."""
    heads = ["", ""]
    for drive, (product, _) in SHEETS.items():
        heads += [f"`{drive}`", *([product, "Δ"] if product else [])]
    lines = [heads, [":--", ":--", *["--:"] * (len(heads) - 2)]]
    for name, figure in FIGURES.items():
        line = [figure.label, figure.unit]
        for drive, (product, published) in SHEETS.items():
            value = measure(drive, name)
            line.append(written(name, value))
            if product and name in published:
                line += [f"{published[name]:,}", f"{(value / published[name] - 1) * 100:+.0f} %".replace("-", "−")]
            elif product:
                line += ["", ""]
        lines.append(line)
    return [f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines]


SCHEMES = ("none", "mirror", "raid5", "raid6", "dvs")
PARTS = ("queue", "cache", "buffer", "lock", "timer", "die", "channel", "gc", "array", "transfer", "link")
TRACE, LIMIT = "../shared/traces/cloudphysics-2h.vscsi.zst", 40_000
DRIVES = ["tlc-datacenter" if scheme == "none" else f"tlc-datacenter,redundancy.scheme={scheme}" for scheme in SCHEMES]
COMMAND = f"flashkeep compare {TRACE} --limit {LIMIT // 1000}k {' '.join(DRIVES)}"


def choices(time_scale: float = 1.0) -> list[str]:
    """The tables of docs/choosing.md, from its command: results, and where the time of reads and writes goes."""
    trace = fk.trace(ROOT / TRACE, limit=LIMIT, time_scale=time_scale)
    drives = [fk.drive("tlc-datacenter").replace(**{"redundancy.scheme": scheme}) for scheme in SCHEMES]
    done = fk.compare(trace, drives, workers=1, requests=False, progress=False)
    runs = dict(zip(SCHEMES, done.to_dict()["runs"], strict=True))
    lines = [
        "| | reads, mean µs | p99 | writes, mean µs | p99 | bytes programmed per byte | usable flash |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *(outcome(scheme, run) for scheme, run in runs.items()),
    ]
    for kind in ("read", "write"):
        parts = [part for part in PARTS if any(spent(run, kind, part) >= 0.05 for run in runs.values())]
        lines += ["", f"| {kind}s: mean µs | {' | '.join(parts)} |", f"|---|{'--:|' * len(parts)}"]
        for scheme, run in runs.items():
            lines.append(f"| `{scheme}` | {' | '.join(f'{spent(run, kind, part):,.1f}' for part in parts)} |")
    return lines


def outcome(scheme: str, run: dict[str, Any]) -> str:
    read, write = run["response_us"]["read"], run["response_us"]["write"]
    times = [f"{value:,.0f}" for value in (read["mean"], read["p99"], write["mean"], write["p99"])]
    share = run["redundancy"]["capacity_share"]
    return f"| `{scheme}` | {' | '.join(times)} | {run['waf_bytes']:.2f} | {share * 100:.1f} % |"


def spent(run: dict[str, Any], kind: str, part: str) -> float:
    return float(run["latency_us"][kind]["mean"][part])


TABLES = {
    "docs/presets.md": {"sheets": sheets},
    "docs/choosing.md": {"trace": choices, "load": partial(choices, time_scale=0.1)},
}


def page_with(text: str, name: str, lines: list[str]) -> str:
    """A page with other lines between the marks of a table."""
    marks = f"(<!-- {name} -->\n).*?(<!-- end -->)"
    table = "\n".join(lines)
    return re.sub(marks, lambda match: f"{match[1]}{table}\n{match[2]}", text, flags=re.DOTALL)


def main() -> None:
    for path, tables in TABLES.items():
        for name, table in tables.items():
            lines = table()
            print(f"{path}, {name}:", *lines, sep="\n", end="\n\n")
            if "--write" in sys.argv:
                page = ROOT / path
                page.write_text(page_with(page.read_text(encoding="utf-8"), name, lines), encoding="utf-8")


if __name__ == "__main__":
    main()

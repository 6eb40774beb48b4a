"""`python benches/presets.py` measures what data sheets publish, on the presets of modern drives, and compares
redundancies under a real trace. It prints the tables of docs/presets.md and docs/choosing.md; `--write` puts them into
the pages.

tests/api/test_presets.py measures again, and compares with both pages and with the published figures.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
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
    state: str
    """The drive is `empty`, `full`, or in the `steady` state of random writes: without its SLC cache, which is full."""
    of: str = "rate"
    """The `rate`, the mean `latency`, the mean `power`, or the `life`: what the host can write."""


SEQUENTIAL = "synth:sequential,size=128KiB,depth=32"
RANDOM = "synth:random,size=4KiB,depth=256"
ONE = "synth:random,size=4KiB,depth=1"
STEADY = f"{RANDOM},write=1,requests=150k"
FIGURES = {
    "sequential read": Figure("sequential reads of 128 KiB, depth 32, full drive",
                              f"{SEQUENTIAL},write=0,requests=10k", "MB/s", "full"),
    "sequential write": Figure("sequential writes of 128 KiB, depth 32, empty drive",
                               f"{SEQUENTIAL},write=1,requests=20k", "MB/s", "empty"),
    "random read": Figure("random reads of 4 KiB, depth 256, full drive",
                          f"{RANDOM},write=0,requests=100k", "IOPS", "full"),
    "burst": Figure("random writes of 4 KiB, depth 256, empty drive",
                    f"{RANDOM},write=1,requests=100k", "IOPS", "empty"),
    "random write": Figure("random writes of 4 KiB, depth 256, steady state", STEADY, "IOPS", "steady"),
    "read latency": Figure("random read of 4 KiB, depth 1, mean", f"{ONE},write=0,requests=2k", "µs", "full",
                           "latency"),
    "write latency": Figure("random write of 4 KiB, depth 1, mean", f"{ONE},write=1,requests=2k", "µs", "empty",
                            "latency"),
    "read power": Figure("power, sequential reads", f"{SEQUENTIAL},write=0,requests=10k", "W", "full", "power"),
    "write power": Figure("power, sequential writes", f"{SEQUENTIAL},write=1,requests=20k", "W", "empty", "power"),
    "idle power": Figure("power, idle", "synth:random,size=4KiB,rate=1,write=0,requests=5", "W", "full", "power"),
    "endurance": Figure("bytes written in its life, random writes of 4 KiB", STEADY, "TB", "steady", "life"),
}  # fmt: skip
WARMUP = 50_000
"""Requests that do not count in the steady state."""
TOLERANCE = 0.2
"""How far a figure may be from that of one sheet, as a share of it."""


class Sheet(NamedTuple):
    """Published figures of a drive; `memory` are those that were noted from memory and not found again."""

    product: str
    figures: dict[str, float]
    memory: tuple[str, ...] = ()


SHEETS: dict[str, tuple[Sheet, Sheet]] = {
    "tlc-client": (
        Sheet("Samsung 970 EVO, 500 GB", {
            "sequential read": 3400, "sequential write": 2300, "random read": 370_000, "burst": 450_000,
            "read latency": 66.7, "write latency": 20, "read power": 5.7, "write power": 5.8, "endurance": 300},
            ("read power", "write power")),
        Sheet("Toshiba XG5, 512 GB", {
            "sequential read": 3000, "sequential write": 2900, "read power": 4.5, "write power": 4.5, "idle power": 1}),
    ),
    "tlc-datacenter": (
        Sheet("Samsung PM983, 960 GB", {
            "sequential read": 3000, "sequential write": 1050, "random read": 400_000, "random write": 40_000,
            "read latency": 85, "write latency": 50, "read power": 8.6, "write power": 8.1, "idle power": 2.6,
            "endurance": 1366},
            ("sequential read", "sequential write", "read power", "write power", "idle power")),
        Sheet("Intel DC P4500, 1 TB", {
            "sequential read": 3200, "sequential write": 600, "random read": 279_500, "random write": 30_500,
            "read latency": 85, "write latency": 20, "write power": 9.3, "idle power": 5, "endurance": 1380},
            ("write power", "idle power")),
    ),
    "tlc-datacenter-3dwpd": (
        Sheet("Micron 7300 MAX, 800 GB", {
            "sequential read": 3000, "sequential write": 1000, "random read": 396_000, "random write": 60_000,
            "endurance": 4380},
            ("sequential read", "sequential write", "random read", "random write", "endurance")),
        Sheet("Intel DC P3600, 800 GB", {
            "sequential read": 2600, "sequential write": 1000, "random read": 430_000, "random write": 50_000,
            "write latency": 20, "write power": 9, "idle power": 4, "endurance": 4380},
            ("sequential read", "sequential write", "random read", "random write", "write latency", "write power",
             "idle power", "endurance")),
    ),
    "qlc-capacity": (
        Sheet("Micron 5210 ION, 3.84 TB, SATA", {
            "sequential read": 540, "sequential write": 350, "random read": 83_000, "random write": 6500,
            "read power": 2.8, "write power": 3.6, "idle power": 1.5}),
        Sheet("Intel D5-P4320, 7.68 TB: half of all but the reads in order", {
            "sequential read": 3200, "sequential write": 500, "random read": 213_500, "random write": 18_000,
            "endurance": 1402}),
    ),
}  # fmt: skip

FURTHER = {*((drive, "endurance") for drive in SHEETS), ("tlc-datacenter-3dwpd", "random write")}
"""What is further from both sheets; docs/presets.md says why."""


def measure(drive: str, name: str) -> float:
    """A figure of a preset, in the sheet's unit."""
    figure, given = FIGURES[name], fk.drive(drive)
    if figure.state != "empty":
        given = shrunk(given)
    if figure.state == "steady":
        given = given.replace(**{"start.existing": "steady", "flash.slc.blocks": 0})
    result = fk.run(
        given,
        fk.trace(figure.workload),
        existing={"full": "all", "empty": "none"}.get(figure.state),
        warmup=WARMUP if figure.state == "steady" else None,
        requests=False,
        breakdown=False,
    )
    if figure.of == "latency":
        return float(result.response_us.all.mean)
    if figure.of == "power":
        return float(result.energy.mean_w)
    if figure.of == "life":
        full = fk.drive(drive)
        flash = full.capacity_bytes * (1 + full.resolved.ftl.over_provisioning)
        return float(full.resolved.ftl.wear.erase_budget * flash / result.waf_bytes / 1e12)
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
    return f"{shown:,.2f}" if shown < 10 else f"{shown:,.1f}" if shown < 100 else f"{shown:,.0f}"


def is_near(drive: str, name: str, value: float) -> bool:
    """Whether a figure is near that of one sheet, or neither has it."""
    published = [sheet.figures[name] for sheet in SHEETS[drive] if name in sheet.figures]
    return not published or any(abs(value / each - 1) <= TOLERANCE for each in published)


def sheet(drive: str) -> list[str]:
    """The table of a preset in docs/presets.md."""
    sheets = SHEETS[drive]
    heads = ["", "", f"`{drive}`"]
    for each in sheets:
        heads += [each.product, "Δ"]
    lines = [heads, [":--", ":--", *["--:"] * (len(heads) - 2)]]
    for name, figure in FIGURES.items():
        value = measure(drive, name)
        line = [figure.label, figure.unit, written(name, value)]
        for each in sheets:
            if name in each.figures:
                published = each.figures[name]
                mark = "\\*" if name in each.memory else ""
                line += [f"{published:,}{mark}", f"{(value / published - 1) * 100:+.0f} %".replace("-", "−")]
            else:
                line += ["", ""]
        lines.append(line)
    return [f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines]


SCHEMES = ("none", "mirror", "raid5", "raid6", "dvs")
PARTS = ("queue", "cache", "buffer", "lock", "timer", "die", "channel", "gc", "array", "transfer", "link")
TRACE, LIMIT = "cloudphysics-2h.vscsi.zst", 40_000
FOLDER = ROOT.parent / "shared" / "traces"
"""Real traces are beside the repository, not in it."""
DRIVES = ["tlc-datacenter" if scheme == "none" else f"tlc-datacenter,redundancy.scheme={scheme}" for scheme in SCHEMES]
COMMAND = f"flashkeep compare {TRACE} --limit {LIMIT // 1000}k --existing reads {' '.join(DRIVES)}"


def compared(schemes: Sequence[str], time_scale: float) -> dict[str, dict[str, Any]]:
    """The summary of each scheme under the trace of docs/choosing.md."""
    trace = fk.trace(FOLDER / TRACE, limit=LIMIT, time_scale=time_scale)
    drives = [fk.drive("tlc-datacenter").replace(**{"redundancy.scheme": scheme}) for scheme in schemes]
    done = fk.compare(trace, drives, existing="reads", workers=1, requests=False, progress=False)
    return dict(zip(schemes, done.to_dict()["runs"], strict=True))


def choice(scheme: str, time_scale: float = 1.0) -> str:
    """The row of one scheme in the first table."""
    return outcome(scheme, compared([scheme], time_scale)[scheme])


def choices(time_scale: float = 1.0) -> list[str]:
    """The tables of docs/choosing.md, from its command: results, and where the time of reads and writes goes."""
    runs = compared(SCHEMES, time_scale)
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
    "docs/presets.md": {drive: partial(sheet, drive) for drive in SHEETS},
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

"""`python benches/end_of_life.py` compares redundancies in modern drives whose flash is as old as it may get. It prints
the tables of docs/end-of-life.md; `--write` puts them into the page, and draws its figures beside it.

tests/api/test_end_of_life.py measures again, and compares with the page.
"""

from __future__ import annotations

import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flashkeep as fk
from flashkeep.render.figures import Picture, Series, draw, legend, panels, stacks
from flashkeep.render.figures import bars as grouped
from presets import page_with, shrunk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flashkeep.render.figures import Style
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "end-of-life.md"

DRIVES = ("tlc-client", "tlc-datacenter", "qlc-capacity")
SCHEMES = ("none", "mirror", "raid5", "lifespan")
MIX = "synth:random,requests=100k,write=0.3,size=4KiB,rate="
RATES = {"tlc-client": "10k", "tlc-datacenter": "10k", "qlc-capacity": "1k"}
"""Requests a second (ours): less than what each of them keeps up with when it is old, with every scheme."""
WRITES = "synth:random,write=1,size=64KiB"
"""In units of the largest page, so that the amplification is that of GC and redundancy."""
MODEL = {"errors.model": "kim", "errors.ecc.decode_us": 20, "buffer.dram_mib": 4}
"""With a small DRAM, so that the run soon programs as much as is written."""
PLAIN = {"flash.slc.blocks": 0, "flash.pages_per_program": 1}
"""Without an SLC cache and word lines, which `lifespan` cannot have: schemes are compared on the same drive."""
PARTS = ("die", "channel", "array", "transfer", "retry", "compute", "cache", "lock", "link")
"""Where the time of reads goes, in the order of the figure."""


@cache
def end(drive: str) -> tuple[int, float]:
    """The P/E cycles that a preset's flash bears, and the age of data at which that counts."""
    cycles = fk.page_errors(drive, set=["errors.model=kim"])["lifetime_cycles"]
    return int(cycles), float(fk.drive(drive).replace(**MODEL).resolved.errors.uber_days)


def configured(drive: str, scheme: str, *, old: bool) -> fk.Drive:
    """A preset with a scheme inside, as new or at the end of the life of a drive without redundancy."""
    cycles, days = end(drive) if old else (0, 0.0)
    keys = {**MODEL, **PLAIN, "errors.cycles": cycles, "errors.retention_days": days, "redundancy.scheme": scheme}
    return shrunk(fk.drive(drive)).replace(**keys)


@cache
def reads(drive: str, scheme: str, *, old: bool) -> dict[str, Any]:
    """The summary of random reads and writes of a full drive."""
    return measured(drive, configured(drive, scheme, old=old))


def measured(drive: str, configured: fk.Drive) -> dict[str, Any]:
    return fk.run(configured, fk.trace(MIX + RATES[drive]), existing="all", requests=False).to_dict()


def restored(drive: str, scheme: str) -> dict[str, Any]:
    """What becomes of a page at that age: its UBER, and that of the flash where redundancy restores pages."""
    cycles, days = end(drive)
    keys = ["errors.model=kim", "flash.slc.blocks=0", "flash.pages_per_program=1", f"redundancy.scheme={scheme}"]
    return fk.page_errors(drive, cycles=cycles, days=days, set=keys)


@cache
def amplification(drive: str, scheme: str) -> float:
    """Bytes programmed for each byte of random writes to a full drive, once GC is steady."""
    flash = fk.drive(drive).resolved.flash
    keys = {**PLAIN, "redundancy.scheme": scheme, "flash.pages_per_block": flash.pages_per_block // 64}
    small = fk.drive(drive).replace(**keys)
    requests = small.capacity_bytes // 65_536
    found = fk.run(small, fk.trace(f"{WRITES},requests={requests}"), condition=True, untimed=True, requests=False)
    return float(found.waf_bytes)


def latencies(drive: str) -> list[str]:
    """The table of a drive's reads: when new, and at the end of its life."""
    lines = [
        "| | new: mean µs | p99 | old: mean µs | p99 | retries a read | mean, more | p99, more |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    return [*lines, *(row(drive, scheme) for scheme in SCHEMES), "", *breakdown(drive)]


def row(drive: str, scheme: str) -> str:
    """The row of one scheme."""
    new, old = (reads(drive, scheme, old=state) for state in (False, True))
    times = [run["response_us"]["read"][name] for run in (new, old) for name in ("mean", "p99")]
    retries = old["errors"]["retries_per_read"]
    shown = " | ".join(f"{value:,.0f}" for value in times)
    return (
        f"| `{scheme}` | {shown} | {retries:.2f} | {100 * (times[2] / times[0] - 1):.0f} % | "
        f"{100 * (times[3] / times[1] - 1):.0f} % |"
    )


def breakdown(drive: str) -> list[str]:
    """Where the time of reads of old data goes."""
    runs = {scheme: reads(drive, scheme, old=True) for scheme in SCHEMES}
    parts = [part for part in PARTS if any(spent(run, part) >= 0.05 for run in runs.values())]
    lines = [f"| old: mean µs | {' | '.join(parts)} |", f"|---|{'--:|' * len(parts)}"]
    for scheme, run in runs.items():
        lines.append(f"| `{scheme}` | {' | '.join(f'{spent(run, part):,.1f}' for part in parts)} |")
    return lines


def spent(run: dict[str, Any], part: str) -> float:
    return float(run["latency_us"]["read"]["mean"][part])


def life(drive: str, scheme: str) -> tuple[int, float, float, float, float]:
    """P/E cycles until the UBER that redundancy leaves is too high, that UBER at the end of the life of a drive without
    redundancy, bytes programmed for each byte, the share of the flash that the host can use, and TB written by then."""
    page = restored(drive, scheme)
    left = page["redundancy"] or {"lifetime_cycles": page["lifetime_cycles"], "uber": page["stages"][-1]["uber"]}
    cycles, waf = int(left["lifetime_cycles"]), amplification(drive, scheme)
    given = fk.drive(drive).replace(**{**PLAIN, "redundancy.scheme": scheme})
    flash = given.resolved.flash
    planes = flash.channels * flash.chips_per_channel * flash.dies_per_chip * flash.planes_per_die
    size = planes * flash.blocks_per_plane * flash.pages_per_block * flash.page_kib * 1024
    return cycles, left["uber"], waf, given.capacity_bytes / size, cycles * size / waf / 1e12


OTHERWISE = {
    "as above": {},
    "`buffer.flush_pages=16`": {"buffer.flush_pages": 16},
    "`errors.retry.pipelined=true`": {"errors.retry.pipelined": True},
    "`errors.ecc.decode_us=0`": {"errors.ecc.decode_us": 0},
}
"""What else can be done about the reads of an old drive with RAID-5."""


def otherwise() -> list[str]:
    """The table of old `tlc-datacenter` drives with RAID-5."""
    drive = "tlc-datacenter"
    lines = ["| | reads, mean µs | p99 | die | retry | compute |", "|---|--:|--:|--:|--:|--:|"]
    for name, keys in OTHERWISE.items():
        run = measured(drive, configured(drive, "raid5", old=True).replace(**keys))
        read = run["response_us"]["read"]
        shown = (read["mean"], read["p99"], *(spent(run, part) for part in ("die", "retry", "compute")))
        lines.append(f"| {name} | {' | '.join(f'{value:,.0f}' for value in shown)} |")
    return lines


def lives() -> list[str]:
    """The table of lives."""
    lines = [
        "| | | UBER | P/E cycles | bytes programmed per byte | usable flash | TB written |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for drive in DRIVES:
        for scheme in SCHEMES:
            cycles, uber, waf, share, tb = life(drive, scheme)
            lines.append(
                f"| `{drive}` | `{scheme}` | {uber:.1e} | {cycles:,} | {waf:.2f} | {100 * share:.1f} % | {tb:,.0f} |"
            )
    return lines


TABLES = {**{drive: partial(latencies, drive) for drive in DRIVES}, "otherwise": otherwise, "lives": lives}
"""The tables of the page, by the marks around them."""


def pictures() -> Iterator[Picture]:
    """The figures of the page."""
    yield Picture("end-of-life-reads", "Mean response time of reads by its parts, drives new and at their end of life",
                  draw_reads, (8.6, 4.6))  # fmt: skip
    yield Picture("end-of-life-lives", "P/E cycles and terabytes written until the UBER is too high, none = 1",
                  draw_lives, (8.6, 3.6))  # fmt: skip


def draw_reads(figure: Figure, style: Style) -> None:
    """A panel for each drive; for each scheme a bar when new and one when old."""
    every = list(panels(figure, 1, len(DRIVES)))
    bars = [(scheme, old) for scheme in SCHEMES for old in (False, True)]
    shown = [part for part in PARTS if any(spent(reads(d, s, old=old), part) >= 2 for d in DRIVES for s, old in bars)]
    for axes, drive in zip(every, DRIVES, strict=True):
        series = tuple(
            Series(part, tuple(spent(reads(drive, scheme, old=old), part) for scheme, old in bars), at, at)
            for at, part in enumerate(shown)
        )
        stacks(axes, style, tuple(f"{scheme}, {'old' if old else 'new'}" for scheme, old in bars), series, "")
        axes.set_title(drive)
        axes.tick_params(axis="x", rotation=90)
    every[0].set_ylabel("mean response time of reads, µs")
    legend(figure, every[0], len(shown))


def draw_lives(figure: Figure, style: Style) -> None:
    """Cycles on the left, terabytes on the right."""
    every = list(panels(figure, 1, 2))
    for axes, at, title in zip(every, (0, 4), ("P/E cycles", "terabytes written"), strict=True):
        plain = {drive: life(drive, "none")[at] for drive in DRIVES}
        series = tuple(
            Series(drive, tuple(life(drive, scheme)[at] / plain[drive] for scheme in SCHEMES), mark, mark)
            for mark, drive in enumerate(DRIVES)
        )
        grouped(axes, style, SCHEMES, series, "without redundancy = 1")
        axes.set_title(title)
    legend(figure, every[0], len(DRIVES))


def main() -> None:
    for name, table in TABLES.items():
        lines = table()
        print(f"{name}:", *lines, sep="\n", end="\n\n")
        if "--write" in sys.argv:
            PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), name, lines), encoding="utf-8")
    if "--write" in sys.argv:
        for picture in pictures():
            drawn = draw(picture)
            PAGE.with_name(f"{drawn.name}.svg").write_text(drawn.svg, encoding="utf-8")


if __name__ == "__main__":
    main()

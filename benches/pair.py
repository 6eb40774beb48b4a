"""`python benches/pair.py OLD NEW`: measures the benchmarks under two versions, in pairs, and prints a table for
benches/DATE.md.

OLD and NEW are source trees in which `make build` was run. CPU seconds are those of the run alone, old and new by
turns; the change is the median over the pairs. Instructions are counted by callgrind, where there is valgrind, over a
short run less a run of one request, so that the start of Python and the reading of the drive are not in them: they do
not depend on what else the machine does. Memory is the growth of the peak when all of a drive is written, a flash page.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

RUN = """
import json, resource, sys
from flashkeep import _flashkeep
def used():
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime
before = used()
_flashkeep.run(sys.argv[1], None, None)
print(json.dumps([used() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""


class Bench(NamedTuple):
    """A benchmark: a drive, keys, a workload with its number of requests to fill in, and what else the job has."""

    name: str
    drive: str
    workload: str
    requests: int
    short: int
    """Requests under callgrind, where a request takes fifty times as long."""
    settings: dict[str, Any]
    short_settings: dict[str, Any]
    options: dict[str, Any]


SMALL = {"flash.blocks_per_plane": 64}
RANDOM_4K = "synth:random,requests={},write=1,size=4KiB,depth=32"
NONE = {"existing": "none"}

BENCHES = (
    Bench("A", "", "synth:random,requests={},write=0.5,size=4KiB,footprint={footprint},rate=125k", 1_000_000, 40_000,
          {}, SMALL, {}),
    Bench("B", "", "synth:sequential,requests={},write=1,size=64KiB,footprint={footprint},depth=32", 1_000_000, 10_000,
          {}, SMALL, {}),
    Bench("RAID-5", "dvs-8chip", RANDOM_4K, 1_000_000, 50_000, {"redundancy.scheme": "raid5"}, {}, NONE),
    Bench("DVS", "dvs-8chip", RANDOM_4K, 1_000_000, 50_000, {"redundancy.scheme": "dvs"}, {}, NONE),
    Bench("eight 2CM-128, RAID-5", 'members = ["8 * 2CM-128"]', RANDOM_4K, 500_000, 20_000,
          {"redundancy.scheme": "raid5"}, {}, NONE),
    Bench("untimed, sequential", "", "synth:sequential,requests={},write=1,size=4KiB", 5_000_000, 200_000,
          {"flash.blocks_per_plane": 256}, SMALL, {"untimed": True}),
    Bench("untimed, random", "", "synth:random,requests={},write=1,size=4KiB", 5_000_000, 200_000,
          {"flash.blocks_per_plane": 256}, SMALL, {"untimed": True}),
)  # fmt: skip

PAGES = {"flash.channels": 8, "flash.chips_per_channel": 8, "flash.planes_per_die": 2, "flash.blocks_per_plane": 2048,
         "flash.pages_per_block": 64}  # fmt: skip
"""64 GiB of 4 KiB pages, to see what a page takes."""


def job(bench: Bench, folder: Path, requests: int, short: bool) -> dict[str, Any]:
    """The job for a benchmark."""
    drive = bench.drive
    if not drive or "=" in drive:
        path = folder / f"{re.sub('[^A-Za-z0-9]', '-', bench.name)}.toml"
        path.write_text(drive)
        drive = str(path)
    footprint = {"A": "512MiB", "B": "256MiB"}.get(bench.name) if short else "8GiB"
    workload = bench.workload.replace("{footprint}", str(footprint)).format(requests)
    settings = bench.settings | (bench.short_settings if short else {})
    found = {"drive": drive, "set": [f"{key}={value}" for key, value in settings.items()], "traces": [workload]}
    return found | bench.options


def words(what: dict[str, Any]) -> list[str]:
    """The command that runs a job."""
    return [sys.executable, "-c", RUN, json.dumps(what)]


def call(root: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs a benchmark under a version."""
    env = {**os.environ, "PYTHONPATH": str(root / "python"), "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{root}: {done.stderr.strip().splitlines()[-1]}")
    return done


def measured(root: Path, what: dict[str, Any]) -> tuple[float, int]:
    """CPU seconds of a run, and the peak of the process's memory."""
    seconds, peak = json.loads(call(root, words(what)).stdout)
    return seconds, peak


def instructions(root: Path, what: dict[str, Any]) -> int:
    """Instructions of the whole process."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    found = re.search(r"Collected : (\d+)", call(root, tool + words(what)).stderr)
    if not found:
        raise SystemExit("callgrind collected nothing")
    return int(found[1])


def bytes_a_page(root: Path, folder: Path) -> float:
    """The growth of the peak memory, per page, when the whole drive is written."""
    path = folder / "large.toml"
    path.write_text("")
    what: dict[str, Any] = {"drive": str(path), "set": [f"{key}={value}" for key, value in PAGES.items()]}
    what["traces"] = ["synth:random,requests=1000,size=4KiB,rate=1k"]
    pages = 1
    for count in PAGES.values():
        pages *= count
    least = what | {"set": [*what["set"], "flash.blocks_per_plane=16"], "existing": "none"}
    return (measured(root, what | {"existing": "all"})[1] - measured(root, least)[1]) / pages


def change(old: float, new: float) -> str:
    """The relative change."""
    return f"{100 * (new / old - 1):+.1f} %".replace("-", "−")


def row(bench: Bench, roots: list[Path], folder: Path, pairs: int, counted: bool) -> str:
    """A benchmark's row of the table."""
    cells = [bench.name]
    if pairs:
        what = job(bench, folder, bench.requests, short=False)
        times = [[measured(root, what)[0] for root in roots] for _ in range(pairs)]
        old, new = (statistics.median(column) for column in zip(*times, strict=True))
        cells += [f"{old:.3f}", f"{new:.3f}", change(1, statistics.median(new / old for old, new in times))]
    if counted:
        long, least = (job(bench, folder, count, short=True) for count in (bench.short, 1))
        found = [instructions(root, long) - instructions(root, least) for root in roots]
        cells += [*(f"{count / bench.short:.0f}" for count in found), change(*found)]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(prog="python benches/pair.py", description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("roots", nargs=2, type=Path, metavar="ROOT", help="the old version, and the new one")
    add("--pairs", type=int, default=5, help="runs of each for CPU seconds; 0: none (default 5)")
    add("--only", action="append", metavar="NAME", help="this benchmark alone; repeatable: A, B, RAID-5, …, memory")
    add("--no-instructions", action="store_true", help="do not count instructions")
    add("--folder", type=Path, default=Path("/tmp"), help="where drive files are written (default /tmp)")
    given = parser.parse_args()
    counted = not given.no_instructions and shutil.which("valgrind") is not None
    heads = ["", *(["CPU s, old", "new", "change"] if given.pairs else [])]
    heads += ["instructions a request, old", "new", "change"] if counted else []
    print(f"| {' | '.join(heads)} |\n|---|{'--:|' * (len(heads) - 1)}", flush=True)
    roots = [root.resolve() for root in given.roots]
    for bench in BENCHES:
        if not given.only or bench.name in given.only:
            print(row(bench, roots, given.folder, given.pairs, counted), flush=True)
    if not given.only or "memory" in given.only:
        old, new = (bytes_a_page(root, given.folder) for root in roots)
        print(f"\nBytes a flash page, all of a drive written: {old:.2f} → {new:.2f} ({change(old, new)})")


if __name__ == "__main__":
    main()

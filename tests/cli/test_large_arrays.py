"""Arrays of the sizes that servers have: more pages of 4 KiB than 31 or 32 bits can number."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

PAGE = 4096
PAGES = 960_190_194_176 // PAGE
"""Pages of `tlc-datacenter`, 960 GB."""


def write_trace(path: Path, pages: list[int]) -> Path:
    """Writes every page, waits, and reads it back, in the format of MSR Cambridge (times in 100 ns)."""
    lines = []
    for at, (kind, page) in enumerate([(k, p) for k in ("Write", "Read") for p in pages]):
        lines.append(f"{128166372003061629 + at * 20_000},host,0,{kind},{page * PAGE},{PAGE},0")
    path.write_text("\n".join(lines) + "\n")
    return path


def run(flashkeep: Command, path: Path, members: str, scheme: str, trace: Path, *options: str) -> Any:
    path.write_text(f'members = ["{members}"]\n[redundancy]\nscheme = "{scheme}"\n')
    flash = "tlc" in members
    new = ("--existing", "none", *(("--set", "member.ageing.model=none") if flash else ()))
    code, out, err = flashkeep("run", path, trace, *new, *options, "--json")
    assert code == 0, err
    return json.loads(out)


def processor_seconds() -> float:
    """What this process and the commands that have ended took, to the microsecond."""
    of = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(who)[:2]) for who in of)


def far_pages(capacity: int, seed: int) -> list[int]:
    """The first and the last pages, those around the limits of numbers of 31 and 32 bits, and some anywhere."""
    edges = [0, 2**31, 2**32, capacity]
    pages = {page for edge in edges for page in range(edge - 3, edge + 3) if 0 <= page < capacity}
    draw = random.Random(seed)
    while len(pages) < 300:
        pages.add(draw.randrange(capacity))
    return sorted(pages, key=lambda page: (page * 2654435761) % 2**32)


@pytest.mark.parametrize(
    ("count", "scheme", "data"),
    [
        (12, "none", 12),
        (12, "raid5", 11),
        (24, "raid6", 22),
        (24, "none", 24),
        (24, "raid-tp", 21),
        (24, "chained", 12),
    ],
)
def test_pages_far_out_are_read_back_after_a_failure(
    flashkeep: Command, tmp_path: Path, count: int, scheme: str, data: int
) -> None:
    capacity = data * PAGES - 64 * count
    trace = write_trace(tmp_path / "trace.csv", far_pages(capacity, count))
    fail = () if scheme == "none" else ("--fail", "member:3@500ms,replace_after=100ms")
    result = run(flashkeep, tmp_path / "a.toml", f"{count} * tlc-datacenter", scheme, trace, "--verify", *fail)
    integrity = result["integrity"]
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)
    if fail:
        # Each page written is read at the end once more.
        assert integrity["pages_read_back"] == 300


@pytest.mark.parametrize(
    ("count", "scheme", "data"),
    [
        (12, "raid5", 11),
        pytest.param(24, "raid6", 22, marks=pytest.mark.full),
        pytest.param(24, "none", 24, marks=pytest.mark.full),
    ],
)
def test_pages_far_out_survive_a_power_cut(
    flashkeep: Command, tmp_path: Path, count: int, scheme: str, data: int
) -> None:
    capacity = data * PAGES - 64 * count
    trace = write_trace(tmp_path / "trace.csv", far_pages(capacity, count))
    result = run(
        flashkeep,
        tmp_path / "a.toml",
        f"{count} * tlc-datacenter,buffer.dram_mib=0",
        scheme,
        trace,
        *("--verify", "--fail", "power@700ms"),
    )
    integrity = result["integrity"]
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)
    assert integrity["power_cuts"] == 1


@pytest.mark.parametrize(
    ("drive", "options", "read_back"),
    [
        ("tlc-client", ("--verify",), 0),
        ("tlc-client", ("--fail", "power@50%"), 120_000_000),
        ("nearline-18tb", ("--fail", "power@50%", "--fail", "page:5@10%"), 250_000_000),
    ],
)
def test_contents_of_a_full_preset_follow_from_a_rule(
    flashkeep: Command, drive: str, options: tuple[str, ...], read_back: int
) -> None:
    """The pages of the drive are not created one by one, which took minutes and 3 to 8 GB."""
    workload = "synth:random,requests=5k,size=16KiB,rate=4k,footprint=1GiB"
    code, out, err = flashkeep("run", drive, workload, *options, "--json")
    result = json.loads(out)
    integrity = result["integrity"]
    lost = options.count("page:5@10%")
    assert (code, integrity["wrong_reads"], integrity["lost_pages"]) == (3 if lost else 0, 0, lost), err
    assert integrity["pages_read_back"] >= read_back
    assert result["run"]["peak_rss_mib"] < 1500


def test_disks_of_18_tb(flashkeep: Command, tmp_path: Path) -> None:
    pages = 18_000_000_000_000 // PAGE
    trace = write_trace(tmp_path / "trace.csv", far_pages(10 * pages - 1024, 1))
    result = run(flashkeep, tmp_path / "a.toml", "12 * nearline-18tb", "raid6", trace, "--verify")
    assert result["integrity"]["wrong_reads"] == 0


def test_a_scheme_with_32_bit_tables_says_its_limit(flashkeep: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('members = ["12 * tlc-datacenter"]\n[redundancy]\nscheme = "dvs"\n')
    code, out, err = flashkeep("run", path, "synth:random,requests=10")
    assert (code, out) == (2, "")
    assert "dvs numbers at most 2147483646" in err
    assert "raid6" in err


def test_a_failure_without_a_run_over_all_pages(flashkeep: Command, tmp_path: Path) -> None:
    """What a failure costs follows from what was written, not from the capacity of 7.7 TB."""
    path = tmp_path / "a.toml"
    # The first run also loads modules.
    for scheme in ("mirror", "none", "mirror", "raid5", "raid6"):
        path.write_text(f'members = ["8 * tlc-datacenter"]\n[redundancy]\nscheme = "{scheme}"\n')
        workload = "synth:sirf-fin1,requests=20k,footprint=8GiB"
        options = ("--existing", "reads", "--set", "member.ageing.model=none")
        spent = [processor_seconds()]
        for fail in ((), ("--fail", "member:1@1s,replace_after=1s")):
            code, _, err = flashkeep("run", path, workload, *options, *fail)
            assert code == (3 if fail and scheme == "none" else 0), err
            spent.append(processor_seconds())
        without, failed = spent[1] - spent[0], spent[2] - spent[1]
        assert failed < 10 * without, scheme  # 20 times, were all pages looked at


SHOW_MEMORY = """
import re, sys
from flashkeep.cli import main
sys.exit(main(sys.argv[1:]) or int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) > 250_000)
"""
"""Runs a command; the exit code is 1 if it took more than 250 MB."""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc has the memory of a process on Linux")
def test_runs_that_follow_each_other_take_the_memory_of_one() -> None:
    """The first run's tables are free when the second begins; 24 drives took 0.8 GB when the allocator kept them."""
    options = ("--drives", "24*tlc-datacenter", "--schemes", "raid5", "--workers", "1", "--quiet")
    command = [sys.executable, "-c", SHOW_MEMORY, "advise", "synth:random,requests=10", *options]
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0


SMALL = """
[flash]
channels = 2
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 40
pages_per_block = 16
page_kib = 4
[ftl]
over_provisioning = 0.3
"""


@pytest.mark.parametrize(
    ("members", "scheme"),
    [
        *(("8 * ./drive.toml", scheme) for scheme in ("raid6", "mirror,width=2", "raid5,width=4")),
        *(
            (members, scheme)
            for members in ("8 * ./drive.toml", "3 * ./pair.toml", "3 * ./four.toml")
            for scheme in ("none", "mirror", "raid5")
        ),
    ],
)
def test_a_full_array_is_created_in_rows_as_by_commands(
    flashkeep: Command, tmp_path: Path, members: str, scheme: str
) -> None:
    """With --verify the pages before time 0 are written one by one."""
    (tmp_path / "drive.toml").write_text(SMALL)
    name, _, width = scheme.partition(",width=")
    files = {
        "pair": ("2 * ./drive.toml", "mirror", ""),
        "four": ("4 * ./drive.toml", "raid5", ""),
        "array": (members, name, f"width = {width}" if width else ""),
    }
    for file, (of, redundancy, more) in files.items():
        text = f'members = ["{of}"]\n[redundancy]\nscheme = "{redundancy}"\n{more}\n'
        (tmp_path / f"{file}.toml").write_text(text)
    workload = "synth:random,requests=300,write=0.6,size=4KiB:0.7/2KiB:0.3,align=2KiB,rate=2k"
    times = []
    for verify in ([], ["--verify"]):
        found = flashkeep("run", tmp_path / "array.toml", workload, "--existing", "all", *verify, "--json")
        assert found.code == 0, found.err
        times.append(json.loads(found.out)["response_us"])
    assert times[0] == times[1]

"""What random hunts with foreign generators and oracles found: the reduced cases, and what must hold instead."""

from __future__ import annotations

import csv
import fcntl
import itertools
import json
import os
import random
import resource
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, Command, Finished, call, rows_of

HUNTS = tomllib.loads(Path(__file__).with_name("repro").joinpath("hunts.toml").read_text())["case"]
CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in HUNTS}

LOST = {
    "42": 3,  # two of three dies are gone at once
    "49": 16,  # errors of worn flash
}
"""Pages that are beyond what the redundancy survives."""

MEMBER = """\
flash.channels = 1
flash.chips_per_channel = 1
flash.planes_per_die = 2
flash.blocks_per_plane = 16
flash.pages_per_block = 16
ftl.over_provisioning = 1.0
"""

UNCORRECTABLE = """\
errors.model = "kim"
errors.cycles = 3000
errors.scale = 4
"""
"""Some pages cannot be corrected."""

RANDOM = "synth:random,requests=40,write=0.5,rate=1,size=4KiB,footprint=256KiB"


class Hunt:
    """Runs reduced cases, and drives that a test describes, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).write_text(text)

    def command(self, *words: object) -> Finished:
        return call([*map(str, words)], self.folder, limit_s=60)

    def __call__(self, *words: object) -> dict[str, Any]:
        """The summary of `flashkeep run`."""
        done = self.command("run", *words, "--json")
        assert done.code in {0, 3}, done.err
        summary: dict[str, Any] = json.loads(done.out)
        return summary

    def case(self, name: str, *more: object, without: str = "") -> dict[str, Any]:
        self.write(CASES[name]["files"])
        options = [option for option in CASES[name]["options"].split() if option != without]
        return self("d.toml", "t.csv", *options, *more)


@pytest.fixture
def hunt(tmp_path: Path) -> Hunt:
    return Hunt(tmp_path)


def without_clock(summary: dict[str, Any]) -> dict[str, Any]:
    """What a run has in common with the same one under other options that change nothing."""
    return {key: value for key, value in summary.items() if key not in {"run", "options", "command", "start"}}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_wrong_or_lost(hunt: Hunt, name: str) -> None:
    integrity = hunt.case(name)["integrity"]
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, LOST.get(name, 0))


@pytest.mark.parametrize("name", ["48", "48b"])
def test_verification_changes_nothing(hunt: Hunt, name: str) -> None:
    assert without_clock(hunt.case(name)) == {
        **without_clock(hunt.case(name, without="--verify")), "integrity": hunt.case(name)["integrity"],
    }  # fmt: skip


@pytest.mark.parametrize("options", [("--timeline", "t.json"), ("--out", "o", "--series", "100us")], ids=str)
@pytest.mark.parametrize("name", ["49", "49b"])
def test_looking_changes_nothing(hunt: Hunt, name: str, options: tuple[str, ...]) -> None:
    assert hunt.case(name, *options)["digest"] == hunt.case(name)["digest"]


@pytest.mark.parametrize("scheme", ["dvs", "fra", "ds", "lifespan", "raid5"])
@pytest.mark.parametrize("model", ["basic", "steady"])
def test_a_saved_drive_goes_on_as_one_that_was_aged_in_the_run(hunt: Hunt, scheme: str, model: str) -> None:
    hunt.write(CASES["50"]["files"])
    keys = ("--set", f"redundancy.scheme={scheme}", "--set", f"ageing.model={model}", "--seed", 60)
    saved = hunt.command("age", "d.toml", "worn.fk", *keys, "--verify")
    if saved.code == 2:
        assert "steady" in saved.err, saved.err  # logs have no such model
        return
    run = ("d.toml", "t.csv", "--wrap", "--verify", *keys)
    assert hunt(*run, "--aged", "worn.fk")["digest"] == hunt(*run)["digest"]


def test_service_is_part_of_the_response(hunt: Hunt) -> None:
    hunt.case("54", "--out", "o")
    assert all(row["service_ns"] <= row["response_ns"] for row in rows_of(hunt.folder / "o", "requests"))


def test_the_queue_is_full_for_no_more_than_the_whole_time(hunt: Hunt) -> None:
    hunt.write({"d.toml": f'{MEMBER}host.queue_depth = 1\nhost.late_requests = "from-arrival"\n'})
    assert 0 < hunt("d.toml", "synth:random,requests=300,write=1,size=16KiB,rate=50k")["queue"]["full"] <= 1


def test_an_array_of_one_drive_takes_its_time(hunt: Hunt) -> None:
    alone = hunt.case("56")
    hunt.write({"one.toml": 'members = ["1 * ./d.toml"]\nredundancy.scheme = "none"\n'})
    array = hunt("one.toml", "t.csv", *CASES["56"]["options"].split())
    assert alone["response_us"]["flush"]["mean"] == 1.0
    assert array["response_us"] == alone["response_us"]


def test_phases_follow_each_other(hunt: Hunt) -> None:
    phases = hunt.case("57")["phases"]
    for phase, after in itertools.pairwise(phases):
        assert phase["from_s"] <= phase["until_s"] == after["from_s"]


@pytest.mark.parametrize(
    ("inner", "parts"),
    [("", ["channel:0"]), ("none", ["member:0"]), *((inner, ["member:0", "member:1"])
                                                    for inner in ("none", "mirror", "raid5", "ds", "chained"))],
)  # fmt: skip
def test_what_a_member_lost_with_its_parts_is_rebuilt(hunt: Hunt, inner: str, parts: list[str]) -> None:
    # Each part is replaced after a millisecond; half a minute later another member fails.
    unit = "x.toml" if inner else "m.toml"
    count, scheme = 2 if inner in {"none", "mirror"} else 3, inner or "none"
    hunt.write({"m.toml": MEMBER, "x.toml": f'members = ["{count} * ./m.toml"]\nredundancy.scheme = "{scheme}"\n',
                "d.toml": f'members = ["3 * ./{unit}"]\nredundancy.scheme = "raid5"\n'})  # fmt: skip
    failures = [word for part in parts for word in ("--fail", f"member:1/{part}@20ms,replace_after=1ms")]
    summary = hunt("d.toml", RANDOM, "--verify", "--existing", "all", *failures, "--fail", "member:2@30s")
    assert (summary["integrity"]["wrong_reads"], summary["integrity"]["lost_pages"]) == (0, 0)
    assert "rebuilding" in {phase["phase"] for phase in summary["phases"]}


@pytest.mark.parametrize(
    ("scheme", "key"),
    [("raid5", "buffer.dram_mib"), ("ppc", "redundancy.nvram_mib")],
)
def test_the_memory_of_an_array_holds_a_page(hunt: Hunt, scheme: str, key: str) -> None:
    array = f'members = ["4 * ./m.toml"]\nredundancy.scheme = "{scheme}"\n{key} = 0.001\n'
    hunt.write({"m.toml": MEMBER, "d.toml": array})
    done = hunt.command("run", "d.toml", RANDOM)
    assert (done.code, done.err) == (
        2,
        f"flashkeep: d.toml:3: {key}: 0.001 MiB is less than one page (4096 bytes)"
        f"{'; 0 means no buffer' if 'buffer' in key else ''}\n",
    )


@pytest.mark.parametrize("scheme", ["ppc", "fra", "raid5"])
def test_deferred_stripes_without_a_member_are_not_whole(hunt: Hunt, scheme: str) -> None:
    hunt.write({"m.toml": MEMBER, "d.toml": f'members = ["5 * ./m.toml"]\nredundancy.scheme = "{scheme}"\n'})
    written = "synth:random,requests=400,write=1,rate=100,size=4KiB,footprint=512KiB"
    summary = hunt("d.toml", written, "--fail", "member:1@1s")
    assert [phase["phase"] for phase in summary["phases"]] == ["before", "degraded"]
    assert summary["integrity"]["time_to_full_redundancy_s"] is None
    assert summary["integrity"]["unprotected_page_s"] > 0


@pytest.mark.parametrize("scheme", ["raid5", "raid6", "declustered", "none", "mirror"])
def test_the_requests_table_has_the_host_s_addresses(hunt: Hunt, scheme: str) -> None:
    rows = ["time_ns,device,op,offset_B,size_B", "0,0,W,32768,8192", "1000000,0,R,40960,16384", "2000000,0,R,8192,4096"]
    array = f'members = ["4 * ./m.toml"]\nredundancy.scheme = "{scheme}"\nredundancy.stripe_kib = 8\n'
    hunt.write({"m.toml": MEMBER, "d.toml": array, "t.csv": "".join(f"{row}\n" for row in rows)})
    hunt("d.toml", "t.csv", "--out", "o")
    assert [row["offset"] for row in rows_of(hunt.folder / "o", "requests")] == [32768, 40960, 8192]


def test_two_commands_do_not_write_to_one_directory(hunt: Hunt) -> None:
    hunt.write({"m.toml": MEMBER})
    (hunt.folder / "o").mkdir()
    lock = os.open(hunt.folder / "o", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    done = hunt.command("run", "m.toml", RANDOM, "--out", "o")
    assert (done.code, done.err) == (
        2, "flashkeep: --out: another command writes to o now; name another directory\n"
    )  # fmt: skip
    os.close(lock)
    assert hunt.command("run", "m.toml", RANDOM, "--out", "o").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("age m.toml m.toml", "age: FILE: m.toml is a file that this command reads; name another"),
        ("age m.toml,flash.channels=2 ./m.toml", "age: FILE: ./m.toml is a file that this command reads; name another"),
        (
            "run m.toml t.csv --operations ./t.csv",
            "run: --operations: ./t.csv is a file that this command reads; name another",
        ),
        ("run m.toml t.csv --operations x --map x", "run: --operations and --map both write x; name two files"),
        ("trace convert t.csv t.csv", "trace convert: OUT: t.csv is a file that this command reads; name another"),
        ("run m.toml t.csv --set=--", "run: --set takes a value; found '--'"),
        ("run m.toml t.csv --out=--", "run: --out takes a value; found '--'"),
    ],
)
def test_nothing_is_written_over_what_is_read(hunt: Hunt, words: str, message: str) -> None:
    files = {"m.toml": MEMBER, "t.csv": "time_ns,device,op,offset_B,size_B\n0,0,W,0,4096\n"}
    hunt.write(files)
    done = hunt.command(*words.split())
    assert (done.code, done.err) == (2, f"flashkeep {message}\n")
    assert {name: (hunt.folder / name).read_text() for name in files} == files


@pytest.mark.parametrize("target", ["msr", "tencent"])
def test_what_is_converted_can_be_read(hunt: Hunt, target: str) -> None:
    hunt.write({"t.csv": f"time_ns,device,op,offset_B,size_B\n0,0,W,0,4096\n{2**63},0,R,0,4096\n"})
    done = hunt.command("trace", "convert", "t.csv", "out", "--to", target)
    if done.code == 0:
        assert hunt.command("trace", "info", "out", "--format", target).code == 0
    else:
        assert done.code == 2
        assert "after the first one" in done.err
        assert not (hunt.folder / "out").exists()


def test_attempts_in_rounds_begin_one_after_the_other(hunt: Hunt) -> None:
    hunt.write({"d.toml": f'{MEMBER}flash.bus = "rounds"\nerrors.model = "kim"\nerrors.cycles = 8000\n'})
    hunt("d.toml", "synth:random,requests=300,write=0,rate=5000,size=4KiB", "--operations", "ops.csv")
    with open(hunt.folder / "ops.csv", encoding="ascii") as file:
        starts = [int(row["start_ns"]) for row in csv.DictReader(file) if row["cause"] == "retry"]
    assert len(starts) > 100
    assert all(starts)


def test_a_saved_drive_has_a_checksum_over_all_of_it(hunt: Hunt) -> None:
    hunt.write({"m.toml": MEMBER})
    assert hunt.command("age", "m.toml", "worn.fk").code == 0
    whole, source = (hunt.folder / "worn.fk").read_bytes(), random.Random(1)
    for at in [*range(12), *(source.randrange(12, 400) for _ in range(6)), source.randrange(len(whole)), -1]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << source.randrange(8)
        (hunt.folder / "damaged.fk").write_bytes(damaged)
        done = hunt.command("run", "m.toml", RANDOM, "--aged", "damaged.fk")
        assert done.code == 2, at
        assert done.err.count("\n") == 1


def test_read_reclaim_while_a_drive_is_conditioned(flashkeep: Command, tmp_path: Path) -> None:
    hunt = Hunt(tmp_path)
    hunt.write(CASES["46"]["files"])
    assert flashkeep("age", tmp_path / "d.toml", tmp_path / "worn.fk")[0] == 0


@pytest.mark.parametrize(
    ("inner", "members", "failed"),
    [
        ("diff-raid", ["4 * ./m.toml"], [0]),
        ("raid5", ["4 * ./m.toml"], [0]),
        ("raid6", ["5 * ./m.toml"], [0, 1]),
        ("ppc", ["4 * ./m.toml"], [0]),
        ("fra", ["4 * ./m.toml"], [0]),
        ("declustered", ["5 * ./m.toml"], [0]),
        ("hpda", ["3 * ./m.toml", "2 * ./disk.toml"], [0]),
        ("chained", ["4 * ./m.toml"], [0]),
    ],
)
def test_degraded_members_keep_their_pages_over_a_power_cut(
    hunt: Hunt, inner: str, members: list[str], failed: list[int]
) -> None:
    # Another member has failed, so that each page of the degraded one is needed.
    hunt.write({"m.toml": MEMBER, "disk.toml": "disk.capacity_gb = 0.01\n",
                "x.toml": f'members = {json.dumps(members)}\nredundancy.scheme = "{inner}"\n',
                "d.toml": 'members = ["3 * ./x.toml"]\nredundancy.scheme = "raid5"\n'})  # fmt: skip
    failures = [f"member:1/member:{member}@20req" for member in failed] + ["member:2@20req", "power@30req"]
    options = [word for failure in failures for word in ("--fail", failure)]
    integrity = hunt("d.toml", RANDOM, "--verify", "--existing", "all", *options)["integrity"]
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)


@pytest.mark.parametrize("options", [("--condition",), ("--untimed",), ("--untimed", "--condition")], ids=str)
def test_pages_that_gc_loses_without_time_are_lost(hunt: Hunt, options: tuple[str, ...]) -> None:
    hunt.write({"d.toml": f"{MEMBER}{UNCORRECTABLE}"})
    written = "synth:random,requests=400,size=4KiB,write=1,rate=2k"
    with_contents, without = (hunt("d.toml", written, *options, *more) for more in (("--verify",), ()))
    assert with_contents["integrity"]["lost_pages"] == without["integrity"]["lost_pages"]
    assert with_contents["integrity"]["wrong_reads"] == 0


def test_a_sample_at_the_instant_of_idle_work_does_not_change_scrubbing(hunt: Hunt) -> None:
    hunt.write({"m.toml": f'{MEMBER}errors.model = "kim"\nerrors.maintenance.scrub_days = 1e-6\n',
                "d.toml": 'members = ["4 * ./m.toml"]\nredundancy.scheme = "fra"\nredundancy.idle_ms = 2\n',
                "t.csv": "time_ns,device,op,offset_B,size_B\n0,0,W,0,4096\n9000000,0,R,8192,4096\n"})  # fmt: skip
    run = ("d.toml", "t.csv", "--existing", "all")
    digest = hunt(*run, "--operations", "ops.csv")["digest"]
    with open(hunt.folder / "ops.csv", encoding="ascii") as file:
        parity = [int(row["start_ns"]) for row in csv.DictReader(file) if row["cause"] == "parity"]
    idle = next(start for start in parity if start > 1_000_000)
    assert hunt(*run, "--out", "o", "--series", f"{idle}ns")["digest"] == digest


def test_dies_are_busy_for_no_more_than_the_whole_time(hunt: Hunt) -> None:
    # The answer of the flush ends the run while a die senses a page for scrubbing.
    hunt.write({"t.csv": "time_ns,device,op,offset_B,size_B\n1185001,0,W,3072,16384\n3185001,0,F,0,0\n"})
    keys = ["flash.channels=2", "flash.chips_per_channel=1", "flash.blocks_per_plane=10", "flash.pages_per_block=12",
            "ftl.over_provisioning=0.8", "flash.slc.blocks=1", "buffer.dram_mib=0.9375", "errors.model=kim",
            "errors.maintenance.scrub_days=1e-06"]  # fmt: skip
    options = [word for key in keys for word in ("--set", key)]
    utilization = hunt("tlc-client", "t.csv", *options, "--replay", "closed")["utilization"]
    assert 0.9 < utilization["die_max"] <= 1


def test_verification_does_not_change_which_parities_lack_lost_pages(hunt: Hunt) -> None:
    # The parity of a local group does not cover the lost pages of others.
    hunt.write({"m.toml": MEMBER, "x.toml": 'members = ["6 * ./m.toml"]\nredundancy.scheme = "lrc"\n',
                "d.toml": 'members = ["2 * ./x.toml"]\nredundancy.scheme = "mirror"\n'})  # fmt: skip
    written = "synth:random,requests=20,write=0.3,rate=20000,size=32KiB,footprint=64KiB"
    run = ("d.toml", written, "--existing", "all", "--fail", "member:1@16req,transient")
    plain, verified = hunt(*run), hunt(*run, "--verify")
    assert plain["operations"] == verified["operations"]
    assert plain["response_us"] == verified["response_us"]


def logged(hunt: Hunt, *run: str) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The summary of a run, and its log of operations."""
    summary = hunt(*run, "--operations", "ops.csv")
    with open(hunt.folder / "ops.csv", encoding="ascii") as file:
        return summary, list(csv.DictReader(file))


COLLECTS = """\
flash.channels = 4
flash.chips_per_channel = 1
flash.planes_per_die = 2
flash.blocks_per_plane = 16
flash.pages_per_block = 16
ftl.over_provisioning = 0.25
ftl.gc.threshold = 0.35
buffer.dram_mib = 0.125
buffer.flush = "watermark"
buffer.flush_above = 0
"""
"""GC is always under way, and goes on after the last request."""

READS = "synth:random,requests=100,write=0,rate=50000,size=16KiB,footprint=1MiB"
MIXED = "synth:random,requests=401,write=0.7,rate=20000,size=4KiB"
INTERRUPTED = {
    "reads at a failure": (MEMBER, READS, "die:0.0.0@50req"),
    "reads at a power loss": (MEMBER, READS, "power@50%"),
    "GC at a failure": (COLLECTS, MIXED, "die:0.0.0@100050us"),
    "GC at a power loss": (COLLECTS, MIXED, "power@100050us"),
    "GC at the end of the run": (COLLECTS, MIXED, ""),
    "suspended GC at the end of the run": (
        f'{COLLECTS}flash.commands.suspend = "program-erase"\n',
        MIXED,
        "",
    ),
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_interrupted_operations_are_logged(hunt: Hunt, name: str) -> None:
    drive, workload, failure = INTERRUPTED[name]
    hunt.write({"d.toml": drive})
    options = ("--fail", failure) if failure else ()
    summary, rows = logged(hunt, "d.toml", workload, "--existing", "all", *options)
    in_file = Counter((row["kind"], row["cause"]) for row in rows)
    for kind in ("read", "program", "erase", "copyback"):
        for cause, count in summary["operations"][kind].items():
            assert (kind, cause, in_file[kind, cause]) == (kind, cause, count)
    assert all(int(row["start_ns"]) <= int(row["end_ns"]) for row in rows)


def test_a_program_granted_at_the_instant_of_a_power_cut_takes_its_page(hunt: Hunt) -> None:
    writes = "".join(f"{at:.0f},0,W,{4096 * n},4096\n" for n, at in enumerate((0, 2e6, 4e6, 4e6, 6e6, 8e6)))
    hunt.write({"d.toml": MEMBER, "t.csv": f"time_ns,device,op,offset_B,size_B\n{writes}"})
    summary, rows = logged(hunt, "d.toml", "t.csv", "--existing", "none", "--verify", "--fail", "power@3req")
    assert summary["integrity"]["wrong_reads"] == 0
    programmed = [(row["plane"], row["block"], row["page"]) for row in rows if row["kind"] == "program"]
    assert len(set(programmed)) == len(programmed) > 0


def test_memory_does_not_grow_with_plans_that_wait_again(flashkeep: Command, hunt: Hunt) -> None:
    # Each release of the log's lock wakes all writes that wait for it, and all but one wait again.
    hunt.write({"m.toml": "flash.channels = 1\nflash.chips_per_channel = 3\nflash.planes_per_die = 1\n"
                          "flash.blocks_per_plane = 32\nflash.pages_per_block = 4\nflash.page_kib = 4\n"
                          'ftl.over_provisioning = 1.0\nftl.map = "dftl"\nftl.cache_kib = 0.25\n',
                "d.toml": 'members = ["4 * ./m.toml"]\nredundancy.scheme = "ds"\nredundancy.extent_kib = 28\n'
                          "redundancy.xor_us = 1.37\n"})  # fmt: skip

    def peak(requests: int) -> float:
        written = f"synth:random,requests={requests},size=16384,write=1,rate=200k"
        return flashkeep.peak_mib("run", "d.toml", written, cwd=hunt.folder)

    assert peak(800) < 2 * peak(100)


@pytest.mark.parametrize("command", ["sweep plan.toml", "reproduce sirf1 --scale 0.001"])
def test_results_that_cannot_be_written_end_a_sweep_with_one_message(hunt: Hunt, command: str) -> None:
    hunt.write({"m.toml": MEMBER, "plan.toml": f'drive = ["./m.toml"]\nworkload = ["{RANDOM}"]\nseed = [1, 2, 3]\n'})
    words = [str(COMMAND), *command.split(), "--out", "o", "--workers", "2", "--quiet"]

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    done = subprocess.run(
        words, capture_output=True, text=True, timeout=60, check=False, preexec_fn=full, cwd=hunt.folder
    )
    name = command.split(maxsplit=1)[0]
    folder = hunt.folder / "o" if name == "sweep" else hunt.folder / "o" / "runs"
    told = f"{folder}: File too large; the same command goes on from here\n"
    assert done.returncode == 1
    assert done.stderr == f"flashkeep {name}: {told}"
    assert not list((folder / "cells").iterdir())


def test_temperatures_too_far_apart_are_refused_by_their_key(hunt: Hunt) -> None:
    hunt.write({"d.toml": f"{MEMBER}{UNCORRECTABLE}errors.temperature_c = 70\nerrors.reference_c = -55\n"})
    done = hunt.command("run", "d.toml", RANDOM)
    assert (done.code, done.out) == (2, "")
    assert "d.toml:10: errors.temperature_c: found a temperature at which time passes 1.81e9 times" in done.err

"""Figures of arrays: volumes, rebuilds, and the request of each operation. The final read-back is in no count."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from flashkeep.render import table
from flashkeep.render.run_tables import run_tables
from flashkeep.render.summary_rows import micros
from flashkeep.render.terminal import Page
from flashkeep.results.figure_paths import flat

DRIVE = """\
name = "small"
[flash]
channels = 4
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 32
pages_per_block = 16
page_kib = 4

[ftl]
over_provisioning = 0.6
"""
PAIR = 'members = ["2 * ./drive.toml"]\n[array]\nvolumes = 2\n[redundancy]\nscheme = "none"\nstripe_kib = 0\n'
"""Two drives one after the other: each is a volume."""
WORKLOADS = (
    "synth:random,requests=900,write=0.5,size=4KiB,rate=2k",
    "synth:zipf,requests=700,write=0.8,size=2KiB,rate=1k",
)
RANDOM = "synth:random,requests=1k,write=0.6,size=4KiB,rate=5k"


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    path = tmp_path / "drive.toml"
    path.write_text(DRIVE)
    return path


@pytest.fixture
def pair(drive: Path) -> Path:
    path = drive.with_name("pair.toml")
    path.write_text(PAIR)
    return path


def run(drive: Path, *workloads: str, keys: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return fk.run(fk.drive(drive).replace(**(keys or {})), fk.trace(*workloads), **options).to_dict()


def test_two_volumes_on_two_drives_are_two_runs(pair: Path, drive: Path) -> None:
    whole = run(pair, *WORKLOADS)
    assert len(whole["volumes"]) == 2
    for at, (volume, workload) in enumerate(zip(whole["volumes"], WORKLOADS, strict=True)):
        alone = run(drive, workload, seed=1 + at)  # each volume has a seed of its own
        for key in ("requests", "reads", "writes", "trims", "flushes", "bytes_read", "bytes_written"):
            assert volume[key] == alone["workload"][key], key
        assert volume["response_us"] == alone["response_us"]
        assert volume["latency_us"] == alone["latency_us"]
        for key, value in volume["throughput"].items():
            work = alone["throughput"][key] * alone["simulated_s"]
            assert value * whole["simulated_s"] == pytest.approx(work, rel=1e-12), key
        assert volume["workload"].startswith(workload[:12])
        # Each request lies in one page.
        assert (volume["pages_read"], volume["pages_written"]) == (volume["reads"], volume["writes"])


def test_volumes_add_up_to_the_array(pair: Path) -> None:
    keys = {"redundancy.scheme": "mirror", "buffer.dram_mib": 1, "host.link_us_per_sector": 2}
    whole = run(pair, *WORKLOADS, keys=keys, warmup=100)
    volumes = whole["volumes"]
    assert sum(volume["requests"] for volume in volumes) == 900 + 700 - 100
    for kind in ("all", "read", "write"):
        told = [volume["response_us"][kind] for volume in volumes]
        assert sum(one["count"] for one in told) == whole["response_us"][kind]["count"]
        assert max(one["max"] for one in told) == whole["response_us"][kind]["max"]
        total = sum(one["count"] * one["mean"] for one in told)
        assert total == pytest.approx(whole["response_us"][kind]["count"] * whole["response_us"][kind]["mean"])
    for volume in volumes:
        for kind in ("read", "write"):
            parts = volume["latency_us"][kind]["mean"]
            assert sum(parts.values()) == pytest.approx(volume["response_us"][kind]["mean"], rel=1e-9)
    assert sum(volume["throughput"]["iops"] for volume in volumes) == pytest.approx(whole["throughput"]["iops"])
    assert run(pair, WORKLOADS[0])["volumes"] == [], "one workload has the whole array"
    untimed = run(pair, *WORKLOADS, untimed=True)["volumes"]
    assert [volume["response_us"]["all"] for volume in untimed] == [None, None]
    assert [volume["requests"] for volume in untimed] == [900, 700]


def test_tables_have_volumes_and_rebuilds(pair: Path) -> None:
    keys = {"redundancy.scheme": "mirror", "start.existing": "all"}
    fails = "member:1@0.2s,replace_after=10ms"
    reads = "synth:random,requests=900,write=0,size=4KiB,rate=2k"
    found = run(pair, reads, reads, keys=keys, fail=fails)
    (rebuild,) = found["rebuilds"]
    assert rebuild["share"] == 1.0, "all pages existed, and none was written meanwhile"
    hours = (rebuild["end_s"] - rebuild["start_s"]) / 3600
    assert rebuild["full_member_hours"] == pytest.approx(hours)
    text = table.run_report(found, Page())
    assert max(map(len, text.partition("Before, during")[2].partition("Volumes")[0].splitlines())) < 120
    tables = {one.name: one for one in run_tables(found)}
    assert list(tables) == ["phases", "rebuilds", "volumes"]
    for one in tables.values():
        assert one.title in text
    (row,) = tables["rebuilds"].rows
    assert row[0] == "member:1"
    assert row[5] == "100.0 %"
    p99 = found["volumes"][1]["response_us"]["read"]["p99"]
    assert tables["volumes"].rows[1][3] == micros(p99)
    assert tables["phases"].rows[1][0] == "degraded"
    few = run(pair, *WORKLOADS, keys={**keys, "start.existing": "reads"}, fail=fails)
    (partial,) = few["rebuilds"]
    assert 0 < partial["share"] < 0.95
    pages = next(phase for phase in few["phases"] if phase["phase"] == "rebuilding")["operations"]["program"]["rebuild"]
    assert partial["gib"] == pages * 4096 / 2**30
    assert "other pages were never written" in table.run_report(few, Page())
    both = table.compare_report([found, few], Page())
    for label in ("volume 0: reads, mean, µs", "volume 1: writes, mean, µs", "rebuild 1: GiB"):
        assert label in both
    frame = fk.run(fk.drive(pair), fk.trace(*WORKLOADS)).flat()
    assert frame["volumes.1.requests"] == 700


def test_a_part_of_a_member_is_full_with_its_own_pages(drive: Path, pair: Path) -> None:
    """A channel of a member is a quarter of it. Where each channel is a member, it is the whole of that."""
    reads = "synth:random,requests=900,write=0,size=4KiB,rate=2k"
    keys = {"redundancy.scheme": "mirror", "start.existing": "all"}
    (rebuild,) = run(pair, reads, keys=keys, fail="member:1/channel:2@0.1s,replace_after=10ms")["rebuilds"]
    full = fk.drive(drive).capacity_bytes / 4 / 2**30
    assert rebuild["share"] == pytest.approx(rebuild["gib"] / full)
    assert 0.9 < rebuild["share"] < 1.1, "pages are spread over the channels evenly"
    one = run(drive, reads, keys={**keys, "redundancy.scheme": "raid5"}, fail="channel:2@0.1s,replace_after=10ms")
    assert [rebuild["share"] for rebuild in one["rebuilds"]] == [1.0]
    assert not [warning for warning in one["warnings"] if "rebuild" in warning]


@pytest.mark.parametrize("scheme", ["none", "mirror", "chained", "raid5", "dvs", "fra", "ppc"])
def test_the_read_back_of_a_run_with_a_failure_is_not_counted(drive: Path, scheme: str) -> None:
    """A block fails that nothing was written to: the run is the same as one without a failure, but for its phases and
    the pages that are read back at its end."""
    keys: dict[str, Any] = {"redundancy.scheme": scheme, "start.existing": "reads"}
    if scheme == "chained":
        keys["redundancy.chain_read"] = "in-turn"  # of the pages that are read back, half are second copies
    elif scheme == "dvs":
        keys["redundancy.timeout_ms"] = 1
    workload = f"{RANDOM},footprint=256KiB"
    plain, failed = (
        run(drive, workload, keys=keys, verify=True, fail=fail) for fail in ((), "block:0.0.0.0.31@99%,transient")
    )
    assert plain["integrity"]["pages_read_back"] == 0
    assert failed["integrity"]["pages_read_back"] == 64, "all pages of the footprint"
    own = ("run.", "phases.", "options", "command", "digest", "integrity.pages_read_back", "warnings.",
           "integrity.time_to_full_redundancy_s")  # fmt: skip
    figures = [
        {path: value for path, value in flat(one).items() if not path.startswith(own)} for one in (plain, failed)
    ]
    assert {path: (figures[0].get(path), figures[1].get(path)) for path in figures[0] | figures[1]
            if figures[0].get(path) != figures[1].get(path) and figures[0].get(path) != []} == {}  # fmt: skip


def test_operations_behind_links_of_members_name_the_request(drive: Path, tmp_path: Path) -> None:
    """An array whose members have links, and DRAM, does the same for each request as one whose members have none."""

    def asked(**keys: object) -> dict[tuple[str, ...], int]:
        members = drive.with_name("member.toml")
        lines = [f"{key} = {value}" for key, value in keys.items()]
        members.write_text("\n".join(['base = "./drive.toml"', *lines]) + "\n")
        array = drive.with_name("array.toml")
        array.write_text('members = ["3 * ./member.toml"]\nredundancy.scheme = "raid5"\n')
        log = tmp_path / "operations.csv"
        run(array, RANDOM, operations=log)
        with log.open() as file:
            rows = list(csv.DictReader(file))
        found: dict[tuple[str, ...], int] = {}
        for row in rows:
            if row["cause"] in ("host", "parity", "update"):
                assert row["request"], row
                key = (row["request"], row["member"], row["kind"], row["cause"])
                found[key] = found.get(key, 0) + 1
        return found

    plain = asked()
    assert len({key[0] for key in plain}) > 950
    assert asked(**{"host.link_us_per_sector": 0.5}) == plain


def test_a_timeline_shows_a_rebuild_without_requests(pair: Path, tmp_path: Path) -> None:
    """Free blocks fall while a member is rebuilt, although no request ends. Results are those without a timeline."""
    keys = {"redundancy.scheme": "mirror", "start.existing": "all"}
    workload, path = "synth:random,requests=20,write=0,size=4KiB,rate=10k", tmp_path / "timeline.json"
    options = {"fail": "member:1@1ms,replace_after=9ms"}
    found = run(pair, workload, keys=keys, timeline=path, **options)
    assert found["digest"] == run(pair, workload, keys=keys, **options)["digest"]
    (rebuild,) = found["rebuilds"]
    start, end = (1e6 * rebuild[key] for key in ("start_s", "end_s"))
    assert end - start > 20_000
    events = json.loads(path.read_text())["traceEvents"]
    counted = [(event["ts"], event["args"]["blocks"]) for event in events if event["name"] == "free blocks"]
    meanwhile = [(at, blocks) for at, blocks in counted if start < at < end]
    assert len(meanwhile) > 10
    assert all(at % 1000 == 0 for at, _ in meanwhile), "every millisecond"
    blocks = [*(blocks for _, blocks in meanwhile), counted[-1][1]]
    assert blocks == sorted(blocks, reverse=True)
    # The new member is empty: its four channels of 32 blocks are free, and then hold its pages.
    empty = [blocks for at, blocks in counted if at <= start][-1] + 4 * 32
    pages = fk.drive(pair.with_name("drive.toml")).capacity_bytes // 4096
    assert empty - blocks[-1] == -(-pages // 4 // 16) * 4

"""DRAM that is written through: clean copies serve reads, writes take as long as without DRAM, nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest

DRIVE: dict[str, Any] = {
    "flash": {
        "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1, "blocks_per_plane": 32,
        "pages_per_block": 16, "page_kib": 4,
        "timing": {"read_us": 50, "program_us": 300, "erase_us": 1000, "bus_ns_per_byte": 10},
    },
    "ftl": {"over_provisioning": 0.5},
    "start": {"existing": "all"},
}  # fmt: skip
WIDE: dict[str, Any] = {"flash.channels": 4, "flash.planes_per_die": 2}
PAGE, HALF = 4096, 2048
READ, PROGRAM, HIT = 90.96, 340.96, 1.0
"""A page takes 40.96 µs over the channel. A half of one takes as long to read: all that exists of it is transferred."""
BUSY = "synth:random,requests=3k,write=0.6,size=4KiB:0.6/2KiB:0.3/12KiB:0.1,align=2KiB,footprint=512KiB"
CUTS = ["power@300req", "power@777req", "power@2400req"]


def drive(pages: float, **keys: Any) -> fk.Drive:
    """With DRAM for this many pages."""
    settings = {key.replace("__", "."): value for key, value in keys.items()}
    through = {"buffer.dram_mib": pages / 256, "buffer.write_policy": "through"} if pages else {}
    return fk.drive(DRIVE).replace(**through, **settings)


def times(pages: float, *requests: tuple[float, str, int, int], **keys: Any) -> list[float]:
    """The response time of each request: its time in µs, its operation, its offset and its size."""
    columns = zip(*requests, strict=True)
    table = dict(zip(("time_us", "op", "offset", "size"), map(list, columns), strict=True))
    found = fk.run(drive(pages, **keys), fk.trace(table), verify=True)
    assert found.to_dict()["integrity"]["wrong_reads"] == 0
    return [round(float(ns) / 1000, 2) for ns in found.requests()["response_ns"]]


def run(pages: float, trace: str = BUSY, **options: Any) -> dict[str, Any]:
    keys = options.pop("keys", {})
    found = fk.run(drive(pages).replace(**keys), fk.trace(trace), verify=True, **options).to_dict()
    assert found["integrity"]["wrong_reads"] == 0
    return found


# ---------------------------------------------------------------- worked examples


def test_a_write_takes_as_long_as_without_dram_and_a_read_finds_it() -> None:
    requests = [(0, "W", 0, PAGE), (1000, "R", 0, PAGE), (2000, "R", PAGE, PAGE)]
    assert times(8, *requests) == [PROGRAM, HIT, READ]
    assert times(0, *requests) == [PROGRAM, READ, READ]


def test_what_is_read_is_found_when_its_read_has_ended() -> None:
    # The second one comes while the first one is on its way, and takes its turn.
    together = [(0, "R", 0, PAGE), (20, "R", 0, PAGE), (1000, "R", 0, PAGE), (1100, "R", 0, HALF)]
    found = times(8, *together)
    assert found == [READ, *times(0, *together)[1:2], HIT, HIT]
    assert found[1] > READ


def test_a_request_of_which_one_page_is_missing_reads_that_page() -> None:
    found = times(8, (0, "R", PAGE, PAGE), (1000, "R", 0, 2 * PAGE), (2000, "R", 0, 2 * PAGE))
    assert found == [READ, READ, HIT]


def test_a_part_of_a_page_is_newest_in_the_dram() -> None:
    merged = 50 + 20.48 + PROGRAM  # the half that stays is read
    # The copy of the page gets the part; without one there are only the sectors of the part.
    assert times(8, (0, "R", 0, PAGE), (1000, "W", 0, HALF), (2000, "R", 0, PAGE)) == [READ, merged, HIT]
    assert times(8, (0, "W", 0, HALF), (1000, "R", 0, HALF), (2000, "R", HALF, HALF), (3000, "R", HALF, HALF)) == [
        merged, HIT, READ, HIT,
    ]  # fmt: skip


def test_a_page_that_exists_in_part_is_there_with_that_part() -> None:
    requests = [(0, "W", 0, HALF), (1000, "R", 0, PAGE), (2000, "R", HALF, HALF)]
    first, whole, rest = times(8, *requests, start__existing="none")
    assert (first, whole) == (320.48, HIT)
    assert rest == times(0, *requests, start__existing="none")[2], "nothing exists of it"


def test_what_was_used_longest_ago_makes_room() -> None:
    fill = [(1000 * n, "R", n * PAGE, PAGE) for n in range(4)]
    again = [(4000, "R", 0, PAGE), (5000, "W", 4 * PAGE, PAGE), (6000, "R", 0, PAGE), (7000, "R", PAGE, PAGE)]
    # Page 1 was the oldest when page 4 came.
    assert times(4, *fill, *again) == [READ] * 4 + [HIT, PROGRAM, HIT, READ]


def test_a_trim_drops_the_copy() -> None:
    requests = [(0, "W", 0, PAGE), (1000, "T", 0, PAGE), (2000, "R", 0, PAGE)]
    assert times(8, *requests) == times(0, *requests)


def test_a_write_overtakes_a_read() -> None:
    found = times(8, (0, "R", 0, PAGE), (1, "W", 0, HALF), (5000, "R", HALF, HALF), (6000, "R", 0, PAGE))
    assert found[2:] == [READ, HIT], "what was read is older than the page"


# ---------------------------------------------------------------- in all drives


@pytest.mark.parametrize("trace", ["depth=1,fua=0.3", "depth=8,flush_every=5", "rate=2k"])
def test_writes_and_flushes_are_those_of_a_drive_without_dram(trace: str) -> None:
    trace = f"synth:random,requests=2k,write=1,size=4KiB:0.7/2KiB:0.3,align=2KiB,footprint=512KiB,{trace}"
    through, without = (run(pages, trace, keys=WIDE) for pages in (16, 0))
    for key in ("response_us", "operations", "latency_us", "energy", "wear"):
        assert through.get(key) == without.get(key), key
    assert through["buffer"]["write_hits"] > 0


def test_hits_are_counted_and_take_their_time() -> None:
    found = run(16, "synth:random,requests=2k,write=0,size=4KiB,footprint=64KiB,depth=1", keys=WIDE)
    assert found["buffer"] == {"read_hits": 8 * (2000 - 16), "read_misses": 8 * 16, "write_hits": 0, "write_misses": 0}
    assert found["operations"]["read"]["host"] == 16
    parts = found["latency_us"]["read"]["mean"]
    assert parts["cache"] == pytest.approx((2000 - 16) / 2000, abs=1e-3)


SYSTEMS: list[dict[str, Any]] = [
    {}, {"redundancy.scheme": "mirror"}, {"redundancy.scheme": "raid5"}, {"redundancy.scheme": "raid6"},
    {"redundancy.scheme": "ppc"}, {"redundancy.scheme": "fra"}, {"flash.acknowledge": "transfer"},
    {"ftl.map": "dftl"}, {"ftl.map": "hybrid", "host.link_us_per_sector": 1}, {"ftl.logical_page_kib": 8},
    {"flash.pages_per_program": 4}, {"host.late_requests": "from-arrival", "host.queue_depth": 4},
]  # fmt: skip


@pytest.mark.parametrize("keys", SYSTEMS)
def test_a_power_loss_loses_nothing(keys: dict[str, Any]) -> None:
    found, without = (
        run(pages, f"{BUSY},rate=4k,fua=0.1,flush_every=9", keys={**WIDE, **keys}, fail=CUTS, existing="none")
        for pages in (16, 0)
    )
    # Reads that the DRAM answers leave the flash other times for programs: what a power loss finds under way differs.
    volatile = [of["integrity"]["volatile_pages_lost"] for of in (found, without)]
    assert [of["integrity"]["lost_pages"] for of in (found, without)] == [0, 0]
    assert min(volatile) > 0 if "flash.acknowledge" in keys else volatile == [0, 0]
    assert found["buffer"]["read_hits"] > 0


def test_a_power_loss_without_reads_takes_what_it_takes_without_dram() -> None:
    writes = f"{BUSY.replace('write=0.6', 'write=1')},rate=4k,fua=0.1,flush_every=9"
    keys = {**WIDE, "flash.acknowledge": "transfer"}
    found, without = (
        run(pages, writes, keys=keys, fail=CUTS, existing="none")["integrity"]["volatile_pages_lost"]
        for pages in (16, 0)
    )
    assert found == without > 0


@pytest.mark.parametrize("fail", [["die:0.0.0@30%"], ["die:0.0.0@30%,replace_after=2ms", "die:1.0.0@60%"]])
@pytest.mark.parametrize("scheme", ["none", "mirror", "raid5"])
def test_failures_leave_no_copies_of_what_was_not_written(scheme: str, fail: list[str]) -> None:
    found, without = (
        run(pages, f"{BUSY},rate=2k", keys={**WIDE, "redundancy.scheme": scheme}, fail=fail) for pages in (32, 0)
    )
    assert found["buffer"]["read_hits"] > 0
    assert (found["integrity"]["lost_pages"] > 0) == (without["integrity"]["lost_pages"] > 0)


def test_after_the_power_loss_the_dram_is_empty() -> None:
    trace = "synth:random,requests=200,write=0,size=4KiB,footprint=16KiB,depth=1"
    found = run(8, trace, fail=["power@100req"])
    assert found["operations"]["read"]["host"] == 2 * 4


@pytest.mark.parametrize("scheme", ["none", "mirror", "raid5", "raid6"])
def test_members_of_an_array_keep_copies(tmp_path: Path, scheme: str) -> None:
    (tmp_path / "member.toml").write_text(
        'name = "member"\n'
        "[flash]\nchannels=1\nchips_per_channel=1\ndies_per_chip=1\nplanes_per_die=1\nblocks_per_plane=64\n"
        "pages_per_block=16\npage_kib=4\n[ftl]\nover_provisioning=0.5\n"
        '[buffer]\ndram_mib = 0.0625\nwrite_policy = "through"\n'
    )
    array = tmp_path / "array.toml"
    array.write_text(f'members = ["5 * ./member.toml"]\n[redundancy]\nscheme = "{scheme}"\n')
    for fail in ([], ["power@500req", "member:1@40%,replace_after=5ms", "power@2000req"]):
        found = fk.run(fk.drive(array), fk.trace(f"{BUSY},rate=2k"), verify=True, fail=fail).to_dict()
        assert (found["integrity"]["wrong_reads"], found["integrity"]["volatile_pages_lost"]) == (0, 0)
        assert sum(member["buffer"]["read_hits"] for member in found["members"]) > 0


def test_untimed_runs_and_saved_drives(tmp_path: Path) -> None:
    timed, untimed = (run(16, f"{BUSY},rate=1", keys=WIDE, untimed=untimed) for untimed in (False, True))
    assert timed["buffer"] == untimed["buffer"]
    assert timed["operations"] == untimed["operations"]
    aged = tmp_path / "aged"
    saved = fk.run(drive(16).replace(**WIDE), fk.trace(BUSY), verify=True, untimed=True, save_aged=str(aged))
    assert saved.to_dict()["integrity"]["wrong_reads"] == 0
    found = run(16, "synth:random,requests=100,write=0,size=4KiB,footprint=4KiB,depth=1", keys=WIDE, aged=str(aged))
    assert found["operations"]["read"]["host"] == 1, "the first read finds no copy"


def test_options_of_a_write_buffer_have_no_effect() -> None:
    given = {"buffer.evict": "run", "buffer.protected": True, "buffer.flush": "idle", "buffer.flush_after_us": 5}
    found = fk.drive(DRIVE).replace(**{"buffer.dram_mib": 0.25, "buffer.write_policy": "through"}, **given)
    why = 'no effect with buffer.write_policy = "through"'
    assert found.warnings == (
        f"buffer.evict, buffer.flush, buffer.protected: {why}", f"buffer.flush_after_us: {why}",
    )  # fmt: skip
    assert fk.drive(DRIVE).replace(**{"buffer.write_policy": "through"}).warnings == (
        "buffer.write_policy: no effect with buffer.dram_mib = 0",
    )

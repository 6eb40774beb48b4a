"""How drives start: modern presets full, by one key; arrays as their members; and what no life follows from."""

from __future__ import annotations

from pathlib import Path

import flashkeep as fk
import pytest

SMALL = {"flash.pages_per_block": 144, "flash.timing.erase_us": 1875}
"""An eighth of `tlc-datacenter`: 120 GB."""
WRITES = "synth:random,size=4KiB,depth=1,write=1,requests=200"


def array(folder: Path, scheme: str, keys: str = "") -> fk.Drive:
    path = folder / "array.toml"
    member = f"tlc-datacenter,buffer.dram_mib=0,flash.pages_per_block=36,ftl.gather_us=0{keys}"
    path.write_text(f'members = ["5 * {member}"]\n[redundancy]\nscheme = "{scheme}"\n', encoding="utf-8")
    return fk.drive(path)


@pytest.mark.parametrize("name", ["tlc-client", "tlc-datacenter", "tlc-datacenter-3dwpd", "qlc-capacity"])
def test_modern_presets_start_full(name: str) -> None:
    drive = fk.drive(name).resolved
    assert (drive.start.existing, drive.ageing.model) == ("all", "steady")
    assert fk.drive(name).warnings == ()


@pytest.mark.parametrize(
    ("keys", "start"),
    [
        ({}, "full, in the steady state of random writes"),
        ({"start.existing": "none"}, "new, without data"),
        ({"start.existing": "reads"}, "new, with the pages that the workload reads"),
        ({"start.existing": "all"}, "full, each page written once"),
        ({"ftl.gc.victim": "cost-benefit"}, "full, each page written once"),
        ({"ageing.model": "none"}, "full, each page written once"),
        (
            {"ageing.model": "approach1"},
            'aged by ageing.model = "approach1", with the pages that the workload reads',
        ),
    ],
)
def test_the_start_is_said_and_chosen_by_one_key(keys: dict[str, str], start: str) -> None:
    drive = fk.drive("tlc-datacenter").replace(**{"flash.pages_per_block": 36, "ftl.gather_us": 0} | keys)
    result = fk.run(drive, fk.trace("synth:random,requests=10"), requests=False)
    assert result.to_dict()["start"] == start


def test_a_saved_or_conditioned_drive_takes_the_place_of_the_start(tmp_path: Path) -> None:
    drive = fk.drive("tlc-datacenter").replace(**SMALL)
    saved = tmp_path / "drive.aged"
    fk.age(drive, saved)
    result = fk.run(drive, fk.trace("synth:random,requests=10"), aged=saved, requests=False)
    assert result.to_dict()["start"] == "as it was saved"


def test_parity_of_a_full_array_is_not_free(tmp_path: Path) -> None:
    """A small write of RAID-5 reads the old data and the old parity, and programs both."""
    full = fk.run(array(tmp_path, "raid5"), fk.trace(WRITES), requests=False)
    new = fk.run(array(tmp_path, "raid5"), fk.trace(WRITES), existing="none", requests=False)
    assert (full.operations.read.parity, full.operations.program.parity, full.operations.program.host) == (
        400,
        200,
        200,
    )
    assert (new.operations.read.parity, new.operations.program.parity, new.operations.program.host) == (0, 200, 200)
    # The fastest page type takes 35.7 µs, and the program 1,900.
    times = [result.to_dict()["response_us"]["write"]["p50"] for result in (full, new)]
    assert times[0] > times[1] + 35.7 > 1900 + 35.7


def test_an_array_starts_as_its_members_do_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert array(tmp_path, "raid5").resolved.start.existing == "all"
    assert array(tmp_path, "raid5", ",start.existing=none").resolved.start.existing == "reads"
    drive = array(tmp_path, "raid5").replace(**{"start.existing": "none"})
    result = fk.run(drive, fk.trace(WRITES), requests=False)
    assert (result.to_dict()["start"], result.operations.read.parity) == ("new, without data", 0)


def test_the_steady_state_is_stationary() -> None:
    """Half of a run of random writes amplifies as the other half does."""
    drive = fk.drive("tlc-datacenter").replace(**SMALL | {"buffer.dram_mib": 0})

    def amplification(requests: int, warmup: int | None) -> float:
        workload = fk.trace(f"synth:random,size=4KiB,depth=256,write=1,requests={requests}")
        result = fk.run(drive, workload, warmup=warmup, requests=False, breakdown=False)
        return float(result.to_dict()["waf_bytes"])

    assert amplification(100_000, None) == pytest.approx(amplification(200_000, 100_000), rel=0.02)


def test_no_life_follows_from_a_tenth_of_the_flash() -> None:
    small = {"flash.pages_per_block": 18, "flash.blocks_per_plane": 429, "ftl.gather_us": 0, "buffer.dram_mib": 0}
    drive = fk.drive("tlc-datacenter").replace(**small)
    flash = drive.capacity_bytes * (1 + drive.resolved.ftl.over_provisioning)

    def run(share: float) -> fk.Result:
        pages = int(share * flash / 65_536)
        workload = f"synth:sequential,size=64KiB,write=1,depth=32,requests={pages}"
        return fk.run(drive, fk.trace(workload), existing="none", requests=False, breakdown=False)

    lives = ("lifetime_days", "lifetime_days_first_block", "lifetime_days_by_mean", "tbw", "dwpd", "workload_dwpd")
    short, long = run(0.09), run(0.12)
    assert all(short.to_dict()["wear"][key] is None for key in lives)
    assert sum("no life, TBW or DWPD" in warning for warning in short.warnings) == 1
    wear = long.to_dict()["wear"]
    # Each byte is programmed once: the host can write what the budget lets the flash program.
    assert wear["tbw"] == pytest.approx(5464 * flash / 1e12, rel=2e-3)
    assert wear["dwpd"] == pytest.approx(wear["tbw"] * 1e12 / drive.capacity_bytes / (365 * 5))
    assert wear["lifetime_days"] == pytest.approx(365 * 5 * wear["dwpd"] / wear["workload_dwpd"])


def test_an_untimed_closed_loop_has_no_day() -> None:
    drive = fk.drive("tlc-datacenter").replace(**{"flash.pages_per_block": 18, "ftl.gather_us": 0})
    workload = fk.trace("synth:random,size=64KiB,write=1,depth=8,requests=40k")
    wear = fk.run(drive, workload, untimed=True, existing="none", requests=False).to_dict()["wear"]
    assert wear["tbw"] is not None
    assert (wear["workload_dwpd"], wear["lifetime_days"]) == (None, None)


@pytest.mark.parametrize(("footprint", "entries"), [(2**16, 2**14), (2**18, 2**17)])
def test_a_warm_map_cache_hits_as_often_as_its_share_of_the_footprint(footprint: int, entries: int) -> None:
    drive = fk.drive("tlc-datacenter").replace(**{
        "ftl.map": "dftl", "ftl.cache_kib": entries * 8 / 1024, "flash.pages_per_block": 36, "start.existing": "all",
    })  # fmt: skip
    workload = fk.trace(f"synth:random,size=4KiB,depth=8,write=0,requests=20k,footprint={footprint * 4096}")
    warm, cold = (fk.run(drive.replace(**{"ftl.cache_start": start}), workload, requests=False).to_dict()["mapping"]
                  for start in ("warm", "cold"))  # fmt: skip
    assert warm["hits"] / (warm["hits"] + warm["misses"]) == pytest.approx(entries / footprint, abs=0.015)
    assert cold["hits"] < warm["hits"]


def test_dram_and_controller_draw_power_where_they_are() -> None:
    drive = fk.drive("tlc-datacenter").replace(**SMALL)
    idle = fk.trace("synth:random,size=4KiB,rate=1,write=0,requests=5")
    energy, without = (fk.run(drive.replace(**{"buffer.dram_mib": mib}), idle, requests=False).to_dict()["energy"]
                       for mib in (64, 0))  # fmt: skip
    assert energy["dram_j"] > 0
    assert without["dram_j"] is None
    seconds = energy["total_j"] / energy["mean_w"]
    crossing = 5 * 8 * 0.1422e-6
    assert energy["controller_j"] == pytest.approx(4.2 * seconds + 3.0 * crossing)


def test_more_than_any_link_carries_is_noted() -> None:
    drive = fk.drive("qlc-capacity").replace(**{
        "flash.pages_per_block": 384, "host.link_us_per_sector": 0, "host.command_us": 0, "host.latency_us": 0,
    })  # fmt: skip
    workload = fk.trace("synth:random,size=4KiB,depth=256,write=1,requests=10k")
    without = fk.run(drive, workload, requests=False)
    assert any("more than any link" in warning for warning in without.warnings)
    assert any(
        "fit into the 64.0 MiB of DRAM" in warning or "took every write" in warning for warning in without.warnings
    )
    linked = fk.run(fk.drive("qlc-capacity").replace(**{"flash.pages_per_block": 384}), workload, requests=False)
    assert linked.to_dict()["throughput"]["iops"] < 1e6 / (8 * 0.1422 + 1.3)
    assert not any("more than any link" in warning for warning in linked.warnings)

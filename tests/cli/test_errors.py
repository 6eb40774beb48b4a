"""Errors of flash as a user meets them: the command `errors`, and runs of drives and arrays with `[errors]`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from small_drives import small_drive

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

SMALL = f"""\
{small_drive(channels=4, blocks=64, pages=32)}
[errors]
model = "kim"
"""
READS = "synth:random,requests=50k,write=0,size=4KiB,footprint=16MiB,rate=5k"
FIXED = ("--set", "errors.scale=2.027027027027027", "--set", "errors.ecc.codeword_bits=8752",
         "--set", "errors.ecc.corrects=40", "--set", "errors.retry.steps=0")  # fmt: skip
"""An RBER of 3e-3, of which the code corrects a codeword with probability 1 − 4.565e-3."""


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def run(flashkeep: Command, *arguments: object) -> tuple[int, dict[str, Any]]:
    code, out, err = flashkeep("run", *arguments, "--json")
    assert code in (0, 3), err
    found: dict[str, Any] = json.loads(out)
    return code, found


@pytest.mark.parametrize(
    ("cycles", "days", "reads", "rber"),
    [(0, 0, 0, 1.48e-3), (1000, 0, 0, 2.0308896424e-3), (1000, 90, 0, 3.9069663816e-3),
     (3000, 30, 0, 7.9269047028e-3), (3000, 365, 0, 1.1378067037e-2), (3000, 0, 1000, 1.3783731495e-2)],
)  # fmt: skip
def test_the_rber_of_a_page_is_that_of_the_formula(
    flashkeep: Command, cycles: int, days: int, reads: int, rber: float
) -> None:
    found = flashkeep.json("errors", "--cycles", cycles, "--days", days, "--reads", reads)
    assert found["rber"] == pytest.approx(rber, rel=1e-9)
    assert found["lifetime_cycles"] == 3128


def test_failures_of_a_page_are_those_of_its_codewords(flashkeep: Command) -> None:
    table = 5e-3 / 1.48e-3
    found = flashkeep.json("errors", "--set", f"errors.scale={table}", "--page-kib", 16)
    assert found["codeword_failure"] == pytest.approx(1.394569748883e-4, rel=1e-6)
    assert found["page_failure"] == pytest.approx(2.228979326611e-3, rel=1e-6)
    assert found["uber"] == pytest.approx(1.394569748883e-4 / 8192, rel=1e-6)
    assert [stage["stage"] for stage in found["stages"]] == ["hard", *["retry"] * 4]
    assert "first read" in flashkeep("errors", "tlc-client", "--cycles", 3000).out


@pytest.mark.parametrize(
    ("preset", "cycles"),
    [("tlc-client", 3128), ("tlc-datacenter", 5464), ("tlc-datacenter-3dwpd", 5464), ("qlc-capacity", 891)],
)
def test_one_key_switches_on_the_errors_of_a_preset(flashkeep: Command, preset: str, cycles: int) -> None:
    """Until then the drive has no errors, and nothing of them in the summary."""
    found = flashkeep.json("errors", preset, "--set", "errors.model=kim")
    assert found["lifetime_cycles"] == pytest.approx(cycles, rel=0.02)
    off = flashkeep.json("check", preset)
    assert (off["drive"]["errors"], off["warnings"]) == ({"model": "none"}, [])
    on = flashkeep.json("check", preset, "--set", "errors.model=kim")["drive"]["errors"]
    assert (on["ecc"]["corrects"], on["retry"]["factor"]) == (72, 0.72)


def test_values_of_a_model_that_is_off_are_checked(flashkeep: Command, tmp_path: Path) -> None:
    path = tmp_path / "off.toml"
    for wrong, said in [
        ("[errors.ecc]\ncorrects = 9200", ":20: errors.ecc.corrects: 9200 is not accepted"),
        ("[errors]\ntype_factors = [1, 2]", ":20: errors.type_factors: 2 factors for 1 types of pages"),
        ("[errors]\nfile = 'nowhere.csv'", ":20: errors.file:"),
    ]:
        path.write_text(SMALL.replace("model = ", "model = 'none' # ") + wrong.removeprefix("[errors]"))
        code, out, err = flashkeep("check", path)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert said in err
    path.write_text(SMALL.replace("model = ", "retry.steps = 2 # "))
    assert 'errors.retry.steps: no effect with errors.model = "none"' in flashkeep("check", path).out
    assert len(flashkeep.json("errors", path)["stages"]) == 3


def test_one_key_gives_both_bands_of_the_field(flashkeep: Command, drive: Path) -> None:
    """20 to 63 % of drives in four years, on 2 to 6 of 1,000 days, and about 30 % another one (FAST '16)."""
    field = run(flashkeep, drive, READS, "--limit", 10, "--set", "errors.events_per_drive_day=0.003")[1]["errors"][
        "field"
    ]
    assert 2 < field["events_per_1000_drive_days"] < 6
    assert 0.20 < field["drives_in_4_years"] < 0.63
    assert field["drives_in_4_years"] == pytest.approx(0.518, abs=5e-4)
    assert field["again_in_30_days"] == pytest.approx(0.319, abs=5e-4)


def test_unknown_presets_and_bad_numbers_are_refused(flashkeep: Command, tmp_path: Path) -> None:
    for arguments, said in [
        (("errors", "--preset", "qlc"), "`mlc-2ynm` is accepted"),
        (("errors", "--cycles", "-1"), "takes a number from 0"),
        (("errors", "--set", "errors.model=none"), 'errors.model is "none"'),
        (("errors", "--set", "errors.ecc.corrects=9200"), "errors.ecc.corrects"),
        (("errors", "--set", "errors.model=table"), "errors.file"),
    ]:
        code, out, err = flashkeep(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert said in err
    measured = tmp_path / "measured.csv"
    measured.write_text("cycles,rber\n0,1e-4\n1000,1e-5\n")
    code, _, err = flashkeep("errors", "--set", "errors.model=table", "--set", f"errors.file={measured}")
    assert code == 2
    assert "line 3: rber: 0.00001 is less than 0.0001" in err


def test_timed_and_untimed_reads_have_the_same_errors(flashkeep: Command, drive: Path) -> None:
    worn = ("--set", "errors.cycles=3000", "--set", "errors.retention_days=365", "--set", "errors.block_sigma=0.3")
    timed, untimed = (run(flashkeep, drive, READS, *worn, *more)[1] for more in ((), ("--untimed",)))
    assert timed["errors"] == untimed["errors"]
    assert timed["errors"]["retries_per_read"] > 1.5
    assert timed["operations"]["read"] == untimed["operations"]["read"]
    assert timed["operations"]["read"]["retry"] > 75_000
    assert timed["latency_us"]["read"]["mean"]["retry"] > 0


def test_drawn_failures_are_as_frequent_as_expected(flashkeep: Command, drive: Path) -> None:
    """Each page fails once at most, so pages are read about once."""
    code, found = run(flashkeep, drive, "synth:sequential,requests=5k,write=0,size=4KiB,rate=1k", *FIXED)
    errors = found["errors"]
    drawn, expected = errors["uncorrectable"]["drawn"], errors["uncorrectable"]["expected"]
    assert expected == pytest.approx(5000 * (1 - (1 - 4.565353216666e-3) ** 4), rel=1e-4)
    assert abs(drawn - expected) < 3 * expected**0.5
    assert errors["uber"] == pytest.approx(4.565353216666e-3 / 8192, rel=1e-4)
    assert (code, found["integrity"]["lost_pages"]) == (3, drawn)
    assert errors["host_errors"] == drawn


@pytest.mark.parametrize("scheme", ["mirror", "raid5", "raid6", "dvs", "fra", "ppc", "raid4"])
def test_redundancy_restores_what_error_correction_gives_up(flashkeep: Command, drive: Path, scheme: str) -> None:
    """Contents are right, what is restored is written again, and losses are declared."""
    workload = "synth:random,requests=20k,write=0.3,size=4KiB,depth=8"
    weak = ("--set", "errors.scale=1.9", *FIXED[2:])
    code, found = run(flashkeep, drive, workload, *weak, "--set", f"redundancy.scheme={scheme}", "--verify")
    errors, integrity = found["errors"], found["integrity"]
    assert integrity["wrong_reads"] == 0
    assert errors["uncorrectable"]["drawn"] > 50
    assert errors["recovered_by_redundancy"] > 0.5 * errors["uncorrectable"]["drawn"]
    assert found["operations"]["program"]["rebuild"] > 0
    assert (code == 3) == (integrity["lost_pages"] > 0)
    # Pages whose parity is deferred have none for a while.
    unprotected = 0.4 if scheme == "fra" else 0.05
    assert errors["host_errors"] <= unprotected * errors["uncorrectable"]["drawn"]


def test_silent_corruption_is_seen_by_verify_unless_checked_end_to_end(flashkeep: Command, drive: Path) -> None:
    wrong = (*FIXED, "--set", "errors.ecc.miscorrects=1", "--verify")
    code, found = run(flashkeep, drive, "synth:sequential,requests=5k,write=0,size=4KiB,rate=1k", *wrong)
    assert code == 3
    assert found["integrity"]["wrong_reads"] == found["errors"]["miscorrected"] > 50
    assert found["errors"]["uncorrectable"]["drawn"] == 0
    checked = (*wrong, "--set", "errors.ecc.end_to_end=true")
    _, found = run(flashkeep, drive, "synth:sequential,requests=5k,write=0,size=4KiB,rate=1k", *checked)
    assert (found["integrity"]["wrong_reads"], found["errors"]["miscorrected"]) == (0, 0)
    assert found["errors"]["caught"] == found["errors"]["uncorrectable"]["drawn"] > 50


def test_what_redundancy_leaves_is_its_closed_form(flashkeep: Command, drive: Path) -> None:
    """A page of four codewords in stripes of four, at a failure of 4.565e-3 each."""

    def page(scheme: str) -> dict[str, Any]:
        asked = ("--set", f"redundancy.scheme={scheme}", *FIXED)
        left: dict[str, Any] = flashkeep.json("errors", drive, *asked)["redundancy"]
        return left

    codeword = 4.565353216666e-3
    p = 1 - (1 - codeword) ** 4
    for scheme, others, spare, unrestored in [
        ("raid5", 3, 0, 1 - (1 - p) ** 3),
        ("raid6", 3, 1, 3 * p**2 * (1 - p) + p**3),
        ("mirror", 1, 0, p),
        ("dvs", 3, 0, 1 - (1 - p) ** 3),
        ("lifespan", 3, 0, 1 - (1 - p) ** 3),
    ]:
        left = page(scheme)
        assert (left["scheme"], left["others"], left["spare"]) == (scheme, others, spare)
        assert left["page_loss"] == pytest.approx(p * unrestored, rel=1e-5)
        assert left["uber"] == pytest.approx(codeword * unrestored / 8192, rel=1e-5)
    assert flashkeep.json("errors", drive)["redundancy"] is None
    restored = flashkeep.json("errors", "tlc-client", "--set", "errors.model=kim", "--set", "redundancy.scheme=raid5")
    assert restored["lifetime_cycles"] == 3128 < restored["redundancy"]["lifetime_cycles"] < 10_000
    assert "other pages of the stripe: 7" in flashkeep("errors", "tlc-client", "--set", "redundancy.scheme=raid5").out


def test_redundancy_around_drives_restores_what_that_within_them_leaves(
    flashkeep: Command, drive: Path, tmp_path: Path
) -> None:
    array = tmp_path / "array.toml"
    array.write_text('members = ["./small.toml", "./small.toml", "./small.toml"]\n[redundancy]\nscheme = "raid5"\n')
    within = ("--set", "member.redundancy.scheme=mirror")
    keys = tuple(f"member.{word}" if word != "--set" else word for word in FIXED)
    p = 1 - (1 - 4.565353216666e-3) ** 4
    plain, both = (flashkeep.json("errors", array, *keys, *more)["redundancy"] for more in ((), within))
    assert plain["page_loss"] == pytest.approx(p * (1 - (1 - p) ** 2), rel=1e-5)
    assert both["page_loss"] == pytest.approx(p**2 * (1 - (1 - p**2) ** 2), rel=1e-5)


def test_stripes_of_lifespan_follow_the_error_model(flashkeep: Command, drive: Path) -> None:
    """Old flash has stripes of four pages, new flash of all eight: more parity, more programs."""
    eight = ("--set", "flash.channels=8", "--set", "redundancy.scheme=lifespan", "--set", "start.existing=none")
    writes = "synth:sequential,requests=2k,write=1,size=4KiB,depth=8"

    def parities(*more: str) -> int:
        found: int = run(flashkeep, drive, writes, *eight, *more)[1]["operations"]["program"]["parity"]
        return found

    new, old = parities(), parities("--set", "errors.cycles=20000")
    assert new == pytest.approx(2000 / 7, abs=40)
    assert old == pytest.approx(2000 / 3, abs=40)
    assert parities("--set", "errors.model=none") == pytest.approx(2000 / 7, abs=40)


def test_gc_meets_unreadable_pages(flashkeep: Command, drive: Path) -> None:
    """Pages that GC cannot read are lost, and never wrong."""
    churn = "synth:random,requests=30k,write=1,size=4KiB,depth=8"
    code, found = run(flashkeep, drive, churn, *FIXED, "--verify")
    assert (code, found["integrity"]["wrong_reads"]) == (3, 0)
    assert found["errors"]["uncorrectable"]["drawn"] > found["errors"]["host_errors"] == 0
    untimed = run(flashkeep, drive, churn, *FIXED, "--verify", "--untimed")[1]
    assert untimed["integrity"]["wrong_reads"] == 0
    assert untimed["errors"]["uncorrectable"]["drawn"] > 0


def test_a_drive_alone_and_an_array_of_one_have_the_same_errors(
    flashkeep: Command, drive: Path, tmp_path: Path
) -> None:
    array = tmp_path / "array.toml"
    array.write_text('members = ["./small.toml"]\n[start]\nexisting = "all"\n')
    worn = ("member.errors.cycles=3000", "member.errors.retention_days=365")
    alone = run(flashkeep, drive, READS, *(word for key in worn for word in ("--set", key.removeprefix("member."))))[1]
    member = run(flashkeep, array, READS, *(word for key in worn for word in ("--set", key)))[1]
    assert alone["errors"] == member["errors"]
    assert alone["response_us"] == member["response_us"]


def test_members_of_an_array_have_errors_of_their_own(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    array = tmp_path / "array.toml"
    members = '"./small.toml,errors.cycles=3000,errors.retention_days=365", "./small.toml"'
    array.write_text(f'members = [{members}]\n[redundancy]\nstripe_kib = 4\n[start]\nexisting = "all"\n')
    found = run(flashkeep, array, READS, "--limit", 10_000)[1]
    old, new = (member["errors"] for member in found["members"])
    assert old["rber"]["mean"] == pytest.approx(1.1378067037e-2, rel=1e-3)
    assert new["rber"]["mean"] == pytest.approx(1.48e-3, rel=1e-3)
    assert (new["retries_per_read"], old["lifetime_cycles"]) == (0, 3128)
    assert found["errors"]["corrected_reads"] == old["corrected_reads"] > 4000
    assert "errors" not in flashkeep.json("run", "2CM-128", READS, "--limit", 10)["members"][0]


def test_results_depend_on_the_seed_and_on_nothing_else(flashkeep: Command, drive: Path) -> None:
    digests = [run(flashkeep, drive, READS, *FIXED, "--seed", seed)[1]["digest"] for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_a_drive_without_a_model_says_nothing_of_errors(flashkeep: Command) -> None:
    found = flashkeep.json("run", "1CNM-64", "synth:random,requests=100,size=4KiB,rate=1k")
    assert "errors" not in found
    assert found["drive"]["errors"] == {"model": "none"}
    code, _, err = flashkeep("run", "1CNM-64", "synth:random,requests=100,size=4KiB,rate=1k", "--set", "errors.scale=2")
    assert code == 0
    assert (
        'errors.scale: no effect with errors.model = "none"'
        in err
        + flashkeep("check", "1CNM-64", "--set", "errors.scale=2").err
        + flashkeep("check", "1CNM-64", "--set", "errors.scale=2").out
    )


def test_read_reclaim_moves_what_is_read_often(flashkeep: Command, drive: Path) -> None:
    """Four blocks have 1,000 reads each, 31 for each of their 32 pages."""
    hot = "synth:random,requests=4k,write=0,size=4KiB,footprint=128KiB,rate=2k"
    limit = ("--set", "errors.maintenance.reclaim_reads=20", "--verify")
    found = run(flashkeep, drive, hot, *limit)[1]
    operations = found["operations"]
    assert operations["erase"]["refresh"] >= 2
    assert operations["program"]["refresh"] == operations["read"]["refresh"] >= 64
    assert (found["operations"]["erase"]["gc"], found["integrity"]["wrong_reads"]) == (0, 0)
    untimed = run(flashkeep, drive, hot, *limit, "--untimed")[1]
    assert untimed["operations"]["erase"]["refresh"] >= 2
    assert run(flashkeep, drive, hot)[1]["operations"]["erase"]["refresh"] == 0


def test_what_redundancy_leaves_of_the_uber(flashkeep: Command, drive: Path) -> None:
    """Of a page of 4 codewords, p = 4.565e-3 each: a mirror leaves a share of P, RAID-5 over 4 of 1 − (1 − P)³."""
    reads = READS.replace("16MiB", "8MiB")
    plain = run(flashkeep, drive, reads, *FIXED)[1]["errors"]
    page = 1 - (1 - plain["uber"] * 8192) ** 4
    assert page == pytest.approx(4 * 4.565e-3, rel=0.01)
    assert "with_redundancy" not in plain
    for scheme, lost in (("mirror", page), ("raid5", 1 - (1 - page) ** 3)):
        scheme_keys = ("--set", f"redundancy.scheme={scheme}")
        found = run(flashkeep, drive, reads, *FIXED, *scheme_keys)[1]["errors"]
        assert found["with_redundancy"]["uber"] == pytest.approx(found["uber"] * lost)
        protected = flashkeep.json("errors", drive, *FIXED, *scheme_keys)["redundancy"]
        assert found["with_redundancy"]["lifetime_cycles"] == protected["lifetime_cycles"]
    lives = [run(flashkeep, drive, reads, "--limit", 1000, "--set", f"redundancy.scheme={scheme}")[1]["errors"]
             for scheme in ("mirror", "raid5", "raid6")]  # fmt: skip
    beyond = [life["with_redundancy"]["lifetime_cycles"] for life in lives]
    assert lives[0]["lifetime_cycles"] < beyond[1] < beyond[0] < beyond[2]


@pytest.mark.parametrize("untimed", [(), ("--untimed",)])
def test_copybacks_carry_errors_along(
    flashkeep: Command, drive: Path, tmp_path: Path, untimed: tuple[str, ...]
) -> None:
    """Each program adds 1e-5: with copyback, data that GC has moved n times have n + 1 times that."""
    (tmp_path / "flat.csv").write_text("cycles,rber\n0,1e-5\n100000,1e-5\n")
    drive.write_text(SMALL.replace('model = "kim"', f'model = "table"\nfile = "{tmp_path / "flat.csv"}"'))
    rewrites = "synth:random,requests=40k,write=0.7,size=4KiB,rate=2k"
    moved, copied = (
        run(flashkeep, drive, rewrites, "--existing", "all", "--set", f"ftl.gc.copyback={value}", *untimed)[1]
        for value in ("off", "on")
    )
    assert moved["operations"]["erase"]["gc"] > 500
    assert moved["errors"]["rber"]["max"] == pytest.approx(1e-5)
    times = copied["errors"]["rber"]["max"] / 1e-5
    assert times == pytest.approx(round(times))
    assert times >= 4
    assert 1.2e-5 < copied["errors"]["rber"]["mean"] < 3e-5


def test_refresh_moves_data_that_are_old(flashkeep: Command, drive: Path) -> None:
    """Data of 100 days are moved when they are read, and are new then."""
    reads = "synth:sequential,requests=10k,write=0,size=4KiB,rate=500"
    old = ("--set", "errors.cycles=3000", "--set", "errors.retention_days=100")
    left, moved = (run(flashkeep, drive, reads, *old, *more)[1]
                   for more in ((), ("--set", "errors.maintenance.refresh_days=90")))  # fmt: skip
    assert moved["operations"]["erase"]["refresh"] > 100
    assert moved["errors"]["rber"]["mean"] < 0.9 * left["errors"]["rber"]["mean"]
    assert moved["write_amplification"]["total"] is None  # nothing was written by the host


def test_scrubbing_reads_everything_at_its_rate_and_finds_latent_errors(
    flashkeep: Command, drive: Path, tmp_path: Path
) -> None:
    """In 86.4 s all pages are read once; mirrored pages that cannot be read are restored."""
    slow = "synth:random,requests=870,write=0,size=4KiB,footprint=4KiB,rate=10"
    scrub = (
        "--set",
        "errors.scale=1.9",
        *FIXED[2:],
        "--set",
        "redundancy.scheme=mirror",
        "--set",
        "errors.maintenance.scrub_days=0.001",
        "--verify",
    )
    log = tmp_path / "operations.csv"
    code, found = run(flashkeep, drive, slow, *scrub, "--operations", log)
    read = found["operations"]["read"]
    pages = found["capacity_bytes"] // 4096
    assert 1.5 * pages < read["scrub"] <= 4 * 64 * 32 * found["simulated_s"] / 86.4 + 1
    drawn = found["errors"]["uncorrectable"]["drawn"]
    assert drawn > 20
    assert found["operations"]["program"]["rebuild"] >= 0.9 * drawn
    assert (code, found["integrity"]["lost_pages"], found["integrity"]["wrong_reads"]) == (0, 0, 0)
    assert ",scrub," in log.read_text()


@pytest.mark.parametrize("scheme", ["ds", "dvs", "lifespan"])
def test_logs_move_data_that_are_old_or_were_read_often(flashkeep: Command, drive: Path, scheme: str) -> None:
    log = ("--set", f"redundancy.scheme={scheme}", "--verify")
    reads = "synth:sequential,requests=10k,write=0,size=4KiB,footprint=10MiB,rate=500"
    old = ("--set", "errors.cycles=3000", "--set", "errors.retention_days=100")
    left, moved = (run(flashkeep, drive, reads, *log, *old, *more)[1]
                   for more in ((), ("--set", "errors.maintenance.refresh_days=90")))  # fmt: skip
    assert left["operations"]["erase"]["refresh"] == 0
    assert moved["operations"]["erase"]["refresh"] > 50
    assert moved["errors"]["rber"]["mean"] < 0.9 * left["errors"]["rber"]["mean"]
    assert moved["integrity"]["wrong_reads"] == 0
    hot = "synth:random,requests=4k,write=0,size=4KiB,footprint=128KiB,rate=2k"
    reclaimed = run(flashkeep, drive, hot, *log, "--set", "errors.maintenance.reclaim_reads=10")[1]
    assert reclaimed["operations"]["program"]["refresh"] >= 32
    assert reclaimed["integrity"]["wrong_reads"] == 0


@pytest.mark.parametrize("more", [(), ("--untimed",)])
@pytest.mark.parametrize("name", ["block", "hybrid"])
def test_maps_of_blocks_move_data_that_are_old_or_were_read_often(
    flashkeep: Command, drive: Path, name: str, more: tuple[str, ...]
) -> None:
    """Each logical block that is old, or has been read often, is copied once; nothing else is."""
    blocks = ("--set", f"ftl.map={name}", "--set", "ftl.log_blocks=2", "--verify", *more)
    old = ("--existing", "all", "--set", "errors.cycles=3000", "--set", "errors.retention_days=100")
    reads = "synth:sequential,requests=10k,write=0,size=4KiB,rate=500"
    left, moved = (run(flashkeep, drive, reads, *blocks, *old, *refresh)[1]
                   for refresh in ((), ("--set", "errors.maintenance.refresh_days=90")))  # fmt: skip
    pages = -(-left["capacity_bytes"] // 4096)
    assert left["operations"]["erase"]["refresh"] == 0
    assert moved["operations"]["erase"]["refresh"] == -(-pages // 32)
    assert moved["operations"]["program"]["refresh"] == moved["operations"]["read"]["refresh"] == pages
    assert moved["errors"]["rber"]["mean"] < 0.9 * left["errors"]["rber"]["mean"]
    assert moved["integrity"]["wrong_reads"] == moved["integrity"]["lost_pages"] == 0
    hot = "synth:random,requests=4k,write=0,size=4KiB,footprint=128KiB,rate=2k"
    reclaimed = run(flashkeep, drive, hot, *blocks, "--set", "errors.maintenance.reclaim_reads=10")[1]
    assert reclaimed["operations"]["program"]["refresh"] >= 32
    assert reclaimed["integrity"]["wrong_reads"] == 0

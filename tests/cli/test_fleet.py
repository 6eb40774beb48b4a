"""The probability that a fleet loses data as a user meets it: the command `fleet`, and `flashkeep.fleet`."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import flashkeep as fk
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

RAID5, RAID6 = "8*1.92TB:raid5", "8*1.92TB:raid6"
TABLE = [
    (RAID5, "1%", 24, "parallel", 0, 7.740914e-5, 6.455398e4),
    ("14*1TB:raid5", "2%", 12, "parallel", 0, 5.081408e-4, 9.834600e3),
    (RAID6, "1%", 24, "parallel", 0, 6.393618e-9, 7.813872e8),
    (RAID6, "1%", 24, "serial", 0, 1.278267e-8, 3.907259e8),
    ("12*1TB:raid6", "2%", 48, "parallel", 0, 8.141140e-7, 6.131554e6),
    (RAID5, "1%", 24, "parallel", 1e-15, 4.021238e-2, 121.823),
    (RAID5, "1%", 24, "parallel", 1e-16, 4.365386e-3, 1142.86),
    (RAID5, "1%", 24, "parallel", 1e-17, 5.091169e-4, 9817.61),
    (RAID6, "1%", 24, "parallel", 1e-15, 6.822428e-6, 7.324727e5),
    (RAID6, "1%", 24, "parallel", 1e-16, 7.166230e-7, 6.973328e6),
    (RAID6, "1%", 24, "parallel", 1e-17, 7.771160e-8, 6.430376e7),
]
"""Array, AFR, MTTR, order of repairs, UBER; P(loss) in five years and MTTDL in years by matrix exponentials."""

ELERATH = ("--life", "weibull:1.12:461386", "--mttr-hours", "weibull:2:12:6", "--latent-hours", 9259, "--years", 10)


@pytest.mark.parametrize(("array", "afr", "mttr", "repair", "uber", "p_loss", "mttdl"), TABLE)
def test_exact_and_biasing_repeat_the_table(
    array: str, afr: str, mttr: float, repair: str, uber: float, p_loss: float, mttdl: float
) -> None:
    def by(method: str) -> Any:
        return fk.fleet(array, 5, afr=afr, mttr_hours=mttr, repair=repair, uber=uber, method=method, rel_error="0.58%")

    exact = by("exact")
    assert exact.p_loss.value == pytest.approx(p_loss, rel=1e-6)
    assert exact.mttdl_years == pytest.approx(mttdl, rel=1e-5)
    assert exact.nines == pytest.approx(-math.log10(p_loss))
    biasing = by("biasing")
    assert biasing.stopped_by == "rel_error"
    assert biasing.standard_error <= 0.003 * biasing.p_loss.value
    assert abs(biasing.p_loss.value - p_loss) < 3 * biasing.standard_error
    assert sum(value or 0 for value in biasing.causes.to_dict().values()) == pytest.approx(biasing.p_loss.value)


def test_the_command_and_python_say_the_same(flashkeep: Command) -> None:
    said = flashkeep.json("fleet", RAID6, "--afr", "1%", "--uber", "1e-17", "--groups", "1k")
    assert said == fk.fleet(RAID6, afr=0.01, uber=1e-17, groups=1000).to_dict()
    assert said["expected_groups_lost"] == pytest.approx(7.771160e-5, rel=1e-6)
    assert said["expected_losses"] == pytest.approx(7.771160e-5, rel=1e-6)
    assert said["array"]["usable_bytes"] == 6 * 1_920_000_000_000
    assert said["assumptions"]["mttr_hours"] == "exponential, mean 24 h"


def test_threads_change_no_byte(flashkeep: Command) -> None:
    for method in ("plain", "biasing", "splitting"):
        words = ("fleet", "8*1TB:raid6", "--afr", "20%", "--mttr-hours", 300, "--method", method, "--samples", "50k",
                 "--json")  # fmt: skip
        one, eight = (flashkeep(*words, "--threads", threads) for threads in (1, 8))
        assert one.code == 0, one.err
        assert one.out == eight.out


def test_samples_and_seeds_are_obeyed() -> None:
    def by(**options: Any) -> Any:
        return fk.fleet("8*1TB:raid5", afr="10%", mttr_hours=200, method="plain", **options)

    few = by(samples=5000)
    assert (few.samples, few.stopped_by) == (5000, "samples")
    assert few.p_loss.low < few.p_loss.value < few.p_loss.high
    assert few.p_loss.value != by(samples=5000, seed=2).p_loss.value
    assert by(rel_error="5%").stopped_by == "rel_error"
    none = fk.fleet(RAID6, method="plain", samples=1000)
    assert (none.p_loss.value, none.p_loss.low, none.nines) == (0, 0, None)
    assert 0 < none.p_loss.high < 0.005
    assert "none of 1,000 paths" in none.notes[0]


@pytest.mark.parametrize(
    ("options", "method", "reason"),
    [
        ({}, "exact", "Markov chain"),
        ({"mttr_hours": "fixed:24"}, "splitting", "rare"),
        ({"life": "weibull:1.2:40000", "mttr_hours": 500}, "plain", "frequent"),
        ({"spares": 200, "samples": 10_000}, "splitting", "too many states"),
        ({"latent_hours": 9259, "scrub_hours": "uniform:168"}, "splitting", "not all times"),
        ({"method": "plain", "samples": 1000}, "plain", None),
    ],
)
def test_auto_chooses_and_says_why(options: dict[str, Any], method: str, reason: str | None) -> None:
    found = fk.fleet(RAID6, **{"rel_error": "20%", **options})
    assert found.method == method
    assert found.method_reason is None if reason is None else reason in found.method_reason


def test_certain_shocks_make_raid5_raid0() -> None:
    raid0 = fk.fleet("8*1TB:raid0")
    raid5 = fk.fleet("8*1TB:raid5", shock=1)
    assert raid5.p_loss.value == pytest.approx(raid0.p_loss.value, rel=1e-9)
    assert raid0.p_loss.value == pytest.approx(1 - 0.99**40, rel=1e-9)
    assert raid5.causes.shock == pytest.approx(raid5.p_loss.value)
    assert fk.fleet(RAID5, shock=0).p_loss == fk.fleet(RAID5).p_loss


def test_more_help_never_loses_more() -> None:
    def losses(name: str, *values: Any, **options: Any) -> list[float]:
        return [fk.fleet(RAID6, **{name: value}, **options).p_loss.value for value in values]

    latent = {"latent_hours": 9259}
    for found in (
        losses("scrub_hours", *(f"exponential:{hours}" for hours in (12, 48, 168, 336)), None, **latent),
        losses("spares", None, 3, 2, 1, 0),
        losses("detect_hours", 0, 1, 24, 300),
        losses("batch_frailty", 0, 0.1, 1, 4),
        losses("shock", 0, 0.01, 0.5, 1),
        losses("repair", "parallel", "serial"),
    ):
        assert found == sorted(found)
        assert found[0] < found[-1]


@pytest.mark.parametrize(
    ("scrub", "losses"),
    [(None, 1215), ("weibull:3:12:6", 16), ("weibull:3:48:6", 46), ("weibull:3:168:6", 137), ("weibull:3:336:6", 253)],
)
def test_elerath_and_pecht(flashkeep: Command, scrub: str | None, losses: float) -> None:
    scrubbing = () if scrub is None else ("--scrub-hours", scrub)
    found = flashkeep.json("fleet", "8*1TB:raid5", *ELERATH, *scrubbing, "--groups", 1000, "--method", "plain",
                           "--rel-error", "0.01%", "--samples", "100k")  # fmt: skip
    assert found["expected_losses"] == pytest.approx(losses, rel=0.05)
    # A thousand arrays that may lose repeatedly lose more often than they are arrays.
    assert found["expected_groups_lost"] < found["expected_losses"]


def test_mlec_sim(flashkeep: Command) -> None:
    found = flashkeep.json("fleet", "10*10*20TB:7+3:none", "--afr", "5%", "--mttr-hours", 20e6 / 100 / 3600,
                           "--repair", "serial", "--years", 1)  # fmt: skip
    assert found["nines"] == pytest.approx(7.061, abs=5e-4)
    assert found["array"]["drives"] == 100


def test_nomdl_is_that_of_the_closed_form() -> None:
    # Half of the second drive's data is not rebuilt yet, in the mean.
    found = fk.fleet("8*1TB:raid5")
    assert found.nomdl == pytest.approx(found.p_loss.value * 1e12 * (2 / 8) / 2, rel=1e-9)
    drawn = fk.fleet("8*1TB:raid5", mttr_hours="fixed:24", method="splitting")
    assert drawn.nomdl == pytest.approx(found.nomdl, rel=0.05)
    alone = fk.fleet("1*1TB:none")
    assert alone.nomdl == pytest.approx(alone.p_loss.value * 1e12)
    sectors = fk.fleet("8*1TB:raid6", uber=1e-15)
    assert sectors.nomdl < 1e-3 * sectors.p_loss.value * 1e12


def test_arrays_of_arrays() -> None:
    one, four = fk.fleet("8*1TB:raid6"), fk.fleet("4*8*1TB:raid6:none")
    assert four.p_loss.value == pytest.approx(1 - (1 - one.p_loss.value) ** 4, rel=1e-6)
    assert four.nomdl == pytest.approx(one.nomdl, rel=1e-6)
    assert (four.array.drives, four.array.usable_bytes) == (32, 24 * 10**12)
    mirrored = fk.fleet("2*8*1TB:raid5:mirror")
    assert mirrored.p_loss.value < one.p_loss.value
    # Two arrays that each lose data with p in five years, and are restored by the first of two repairs of 24 hours.
    rate = -math.log1p(-fk.fleet("8*1TB:raid5").p_loss.value) / 5
    assert mirrored.p_loss.value == pytest.approx(2 * 5 * rate * rate * 12 / 8760, rel=0.01)


def test_drive_files_and_presets(tmp_path: Path) -> None:
    preset, spelled = fk.fleet("8-tlc-datacenter-raid6"), fk.fleet("8*tlc-datacenter:raid6")
    assert preset.p_loss == spelled.p_loss
    assert fk.fleet("8*tlc-datacenter:raid6", uber=0).p_loss == fk.fleet(RAID6).p_loss
    assert preset.array.drive_bytes == spelled.array.drive_bytes == fk.drive("tlc-datacenter").capacity_bytes
    file = tmp_path / "pairs.toml"
    file.write_text('members = ["8 * tlc-client"]\n[redundancy]\nscheme = "mirror"\nwidth = 2\n')
    pairs = fk.fleet(str(file))
    assert pairs.array.to_dict()["levels"] == [{"scheme": "none", "members": 4, "tolerance": 0}]
    pair = fk.fleet("2*tlc-client:mirror")
    assert pairs.p_loss.value == pytest.approx(1 - (1 - pair.p_loss.value) ** 4, rel=1e-6)
    assert fk.fleet(fk.drive(str(file)).replace(**{"redundancy.width": 4})).array.tolerance == 3
    assert fk.fleet("tlc-client").array.tolerance == 0


def test_a_simulated_rebuild_is_the_repair(drive: Path) -> None:
    text = drive.read_text().replace("blocks_per_plane = 32", "blocks_per_plane = 30000")
    drive.with_name("large.toml").write_text(text.replace("pages_per_block = 16", "pages_per_block = 64"))
    spelled = f"4*{drive.with_name('large.toml')}:raid5"
    found = fk.fleet(spelled, rebuild="simulated", rel_error="5%")
    assert found.method == "splitting"
    fixed = found.assumptions.mttr_hours
    hours = float(fixed.removeprefix("always ").removesuffix(" h"))
    # A drive of four chips programs 4 KiB in each of them at a time; nothing is quicker than that.
    assert 1e-3 < hours < 1
    assert found.assumptions.detect_hours == "exponential, mean 24 h"
    given = fk.fleet(spelled, mttr_hours=f"fixed:{hours!r}", detect_hours=24, rel_error="5%")
    assert given.p_loss == found.p_loss
    bare = fk.fleet(spelled, rebuild="simulated", detect_hours=0, rel_error="5%")
    assert bare.p_loss.high < found.p_loss.low
    with pytest.raises(fk.OptionError, match="no array of drives with redundancy"):
        fk.fleet("4*tlc-client:raid0", rebuild="simulated")


def test_prices(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text("per_tb = 100\n")
    found = fk.fleet(RAID6, price=file, spares=2)
    assert found.cost.to_dict() == pytest.approx(
        {"usd": 1920, "usd_per_usable_tb": 1920 / 11.52, "drives": 8, "spares": 2}
    )
    file.write_text("per_drive = 250\n")
    assert fk.fleet(RAID6, price=file).cost.usd == 2000
    assert fk.fleet(RAID6).cost is None
    priced = fk.fleet("4*tlc-client,price_per_gb=0.1:raid5")
    assert priced.cost.usd == pytest.approx(4 * fk.drive("tlc-client").capacity_bytes / 1e10)


def test_the_table_names_method_and_assumptions(flashkeep: Command) -> None:
    code, out, err = flashkeep("fleet", RAID6, "--mttr-hours", "fixed:24", "--spares", 1, "--uber", "1e-16")
    assert (code, err) == (0, "")
    for some in ("P(loss) in 5 years", "nines", "NOMDL", "method splitting: ", "95 %", "Assumptions", "always 24 h",
                 "uber", "1e-16", "spares", "batch_frailty", "a repaired drive is as good as new"):  # fmt: skip
        assert some in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("8*1.92TB:raid7",), "there is no scheme 'raid7'"),
        (("8*1.92TB",), "N*DRIVE:SCHEME"),
        (("2*1TB:raid5",), "2 members under raid5"),
        (("0*1TB:raid5",), "1 to 255"),
        (("10*1TB:7+2",), "over 9 members, not 10"),
        (("8*nodrive:raid5",), "nodrive"),
        (("4*1TB:hpda",), "4 members under hpda"),
        ((RAID5, "--set", "ftl.over_provisioning=0.1"), "no drive model"),
        ((RAID5, "--uber", "1e-15", "--latent-hours", 9259), "--uber and --latent-hours"),
        ((RAID5, "--afr", "1%", "--life", "weibull:1:1e6"), "--afr and --life"),
        ((RAID5, "--mttr-hours", 24, "--rebuild", "simulated"), "--mttr-hours and --rebuild"),
        ((RAID5, "--rebuild", "simulated"), "no drive model"),
        ((RAID5, "--scrub-hours", 24), "--scrub-hours: has no effect without --latent-hours"),
        ((RAID5, "--restock-hours", 24), "--restock-hours: has no effect without --spares"),
        ((RAID5, "--afr", "101%"), "--afr: found '101%'"),
        ((RAID5, "--afr", "nan"), "--afr: found 'nan'"),
        ((RAID5, "--mttr-hours", "soon"), "--mttr-hours: `soon` is not accepted"),
        ((RAID5, "--mttr-hours", 0), "--mttr-hours: 0 is not accepted"),
        ((RAID5, "--life", "weibull:0:1"), "--life: 0 is not accepted"),
        ((RAID5, "--life", "weibull:2:50"), "--life: 50 is not accepted"),
        ((RAID5, "--life", "100000"), "--life: `100000` is not accepted"),
        ((RAID5, "--shock", 2), "--shock: found '2'"),
        ((RAID5, "--uber", "-1"), "--uber: found '-1'"),
        ((RAID5, "--years", 1000), "--years: found 1000"),
        ((RAID5, "--price", "nowhere.toml"), "--price: nowhere.toml: No such file"),
        ((RAID5, "--method", "biasing", "--mttr-hours", "fixed:24"), "--method: the Markov chain needs exponential"),
        ((RAID5, "--method", "biasing", "--latent-hours", 9259), "--method: biasing does not take"),
        ((RAID5, "--method", "guess"), "--method"),
    ],
)
def test_what_cannot_be_meant_is_refused(flashkeep: Command, words: tuple[object, ...], told: str) -> None:
    code, out, err = flashkeep("fleet", *words)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_wrong_prices_name_their_line(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    for text, told in (
        ("per_tb = 100\nper_drive = 250\n", "per_tb and per_drive"),
        ("\nper_gb = 1\n", ":2: per_gb"),
        ("per_tb = 'cheap'\n", ":1: per_tb = 'cheap'"),
        ("", "no price"),
        ("per_tb", "not TOML"),
    ):
        file.write_text(text)
        with pytest.raises(fk.OptionError, match="--price: ") as refused:
            fk.fleet(RAID5, price=file)
        assert told in str(refused.value)


def test_python_refuses_in_the_same_words() -> None:
    for options, told in (
        ({"spares": -1}, "spares"),
        ({"years": "five"}, "--years: found 'five'"),
        ({"method": "guess"}, "--method: found 'guess'"),
        ({"repair": "never"}, "--repair: found 'never'"),
        ({"batch_frailty": math.inf}, "--batch-frailty: found inf"),
    ):
        with pytest.raises(fk.OptionError) as refused:
            fk.fleet(RAID5, **options)
        assert told in str(refused.value)


def test_results_are_json_without_nan(flashkeep: Command) -> None:
    out = flashkeep("fleet", RAID6, "--method", "plain", "--samples", 10, "--json").out
    assert "NaN" not in out
    assert "Infinity" not in out
    assert len(json.loads(out)["digest"]) == 64

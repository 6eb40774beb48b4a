"""What `fleet` assumes unless it is told: repair times, error rates, scrubbing, and what a shock takes."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import flashkeep as fk
import pytest
from flashkeep.fleets.api import fleet_of
from flashkeep.fleets.command import told_every
from flashkeep.fleets.options import Options
from flashkeep.fleets.rebuild import text_of

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

RAID5 = "8*1.92TB:raid5"


def test_the_uber_is_the_drive_s(drive: Path, tmp_path: Path) -> None:
    base = tmp_path / "base.toml"
    base.write_text(drive.read_text() + "\n[errors]\nuber_target = 3e-15\n")
    (tmp_path / "derived.toml").write_text('base = "base.toml"\n')
    derived = tmp_path / "derived.toml"

    def uber(array: str, **options: Any) -> tuple[float, str | None]:
        found = fk.fleet(array, **options).assumptions
        return found.uber, found.uber_from

    stated = "the drive (errors.uber_target)"
    assert uber("8*tlc-datacenter:raid5") == (1e-16, stated)
    assert uber("8-tlc-datacenter-raid6") == (1e-16, stated)
    assert uber(f"3*{derived}:raid5") == (3e-15, stated)
    assert uber(f"3*{derived},errors.uber_target=1e-14:raid5") == (1e-14, stated)
    assert uber(f"2*4*{derived}:raid5:none") == (3e-15, stated)
    assert uber(f"3*{derived}:raid5", uber=0) == (0, "given")
    assert uber(f"3*{drive}:raid5") == (0, None)
    assert uber(RAID5) == (0, None)


def test_a_preset_is_the_closed_form_with_its_own_uber() -> None:
    bits = 7 * 8 * fk.drive("tlc-datacenter").capacity_bytes
    rate, mu, hours = -math.log1p(-0.01) / 8760, 1 / 24, 43_800
    h = -math.expm1(bits * math.log1p(-1e-16))
    # Losses come at 8λ·h, and by a second failure at 8λ·(1 − h)·7λ/(7λ + μ).
    lost = 8 * rate * (h + (1 - h) * 7 * rate / (7 * rate + mu))
    found = fk.fleet("8*tlc-datacenter:raid5")
    assert found.p_loss.value == pytest.approx(-math.expm1(-lost * hours), rel=1e-3)
    assert found.sector_loss.p == pytest.approx(-math.expm1(-8 * rate * h * hours), rel=0.03)


def test_an_array_that_advise_spells_is_the_same() -> None:
    for scheme, named, keys in (("raid5", "raid5", {}), ("mirror", "raid10", {"width": 2}), ("raid6", "raid6", {})):
        text = text_of(8, "tlc-datacenter", scheme, (), keys)
        spelled = fk.fleet(f"8*tlc-datacenter:{named}")
        assert fleet_of("array", Options(), (), text)["p_loss"] == spelled.p_loss.to_dict()


def test_a_bare_size_says_that_it_has_no_error_rate() -> None:
    assert any("--uber 1e-16" in note for note in fk.fleet(RAID5).notes)
    for options in ({"uber": 0}, {"uber": 1e-17}, {"latent_hours": 9259}):
        assert not any("--uber" in note for note in fk.fleet(RAID5, **options).notes)
    assert not any("--uber" in note for note in fk.fleet("8*1.92TB:raid0").notes)
    assert not any("--uber" in note for note in fk.fleet("8*tlc-datacenter:raid5").notes)


def test_a_repair_is_never_a_bare_rebuild() -> None:
    def told(**options: Any) -> tuple[str, str, str]:
        found = fk.fleet(RAID5, rel_error="20%", **options).assumptions
        return found.mttr_hours, found.detect_hours, found.mttr_from

    mttr, detect, source = told()
    assert (mttr, detect) == ("exponential, mean 24 h", "at once")
    assert "without a hot spare" in source
    assert told(mttr_hours=12)[2] == "given"
    assert "--rebuild" in told(spares=1)[2]
    assert "wait for a new drive" in told(spares=0)[2]
    for options, hours in (({}, 24), ({"spares": 1}, 4), ({"spares": 2}, 4)):
        mttr, detect, source = told(rebuild=0.36, **options)
        assert (mttr, detect) == ("always 0.36 h", f"exponential, mean {hours} h")
        assert "noticed" in source
    # Without a spare at hand a new drive is ordered, which takes the time instead.
    assert told(rebuild=0.36, spares=0)[1] == "at once"
    assert told(rebuild=0.36, detect_hours=0)[1] == "at once"
    assert told(rebuild=0.36, detect_hours="fixed:2")[1] == "always 2 h"


def test_losses_of_a_sector_and_of_an_array_are_two_figures(flashkeep: Command) -> None:
    found = flashkeep.json("fleet", "8*1.92TB:raid6", "--uber", "1e-17")
    assert found["sector_loss"] == {"p": found["causes"]["latent_errors"], "bytes_each": 4096,
                                    "bytes": pytest.approx(4096 * found["causes"]["latent_errors"])}  # fmt: skip
    assert found["array_loss"]["p"] == pytest.approx(found["causes"]["failures"])
    # Three of eight drives' user data, of which a third is not rebuilt.
    assert found["array_loss"]["bytes_each"] == pytest.approx(3 / 8 * 11.52e12 / 3)
    total = found["array_loss"]["bytes"] + found["sector_loss"]["bytes"]
    assert found["nomdl"] == pytest.approx(total / 11.52)
    one = flashkeep("fleet", "8*1.92TB:raid6", "--uber", "1e-17").out
    assert "an array is lost (more failures than it survives)  6.388e-09, 1.44 TB each" in one
    assert "a sector is lost (latent errors in a rebuild)" in one
    two = flashkeep("fleet", "8*1.92TB:raid6", "8*1.92TB:raid10", "--uber", "1e-17").out
    heads = two.splitlines()[:2]
    assert heads[0].split("  ")[-1] == "usable"
    for head in ("an array", "a sector", "bytes lost"):
        assert head in heads[0]
    assert max(map(len, two.splitlines()[:4])) <= 100


def test_a_number_of_scrub_hours_is_a_period() -> None:
    def scrubbed(text: float | str) -> Any:
        return fk.fleet(RAID5, latent_hours=9259, scrub_hours=text, rel_error="5%")

    assert scrubbed(168).p_loss == scrubbed("uniform:168").p_loss
    assert scrubbed(168).assumptions.scrub_hours == "uniform from 0 to 168 h"
    # An error waits for half a period in the mean; with an exponential time for a whole one.
    ratio = scrubbed("exponential:168").p_loss.value / scrubbed(168).p_loss.value
    assert ratio == pytest.approx(2, rel=0.15)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_shock_takes_each_drive_with_its_share(share: float) -> None:
    # Without repairs to speak of, a group of five is lost by a shock that takes three or more.
    rate, beta, hours = -math.log1p(-0.02) / 8760, 0.05, 43_800
    three = sum(math.comb(4, more) * share**more * (1 - share) ** (4 - more) for more in range(2, 5))
    found = fk.fleet("5*1TB:raid6", afr="2%", mttr_hours=1, shock=f"5%:{share}")
    expected = -math.expm1(-5 * rate * beta * three * hours)
    assert (found.causes.shock or 0) == pytest.approx(expected, rel=1e-3, abs=1e-8)
    assert found.assumptions.shock_share == share
    if share == 1:
        assert found.p_loss.value == pytest.approx(-math.expm1(-5 * rate * beta * hours), rel=1e-5)
        # All five drives at once: everything.
        assert found.array_loss.bytes_each == pytest.approx(3e12, rel=1e-3)


def test_all_methods_take_such_shocks() -> None:
    options: dict[str, Any] = {"afr": "10%", "mttr_hours": 300, "shock": "5%:0.4", "rel_error": "4%"}
    exact = fk.fleet("8*1TB:raid6", method="exact", **options)
    for method in ("plain", "biasing", "splitting"):
        found = fk.fleet("8*1TB:raid6", method=method, **options)
        assert abs(found.p_loss.value - exact.p_loss.value) < 4 * found.standard_error
        assert found.nomdl == pytest.approx(exact.nomdl, rel=0.25)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--shock", "1%:2"), "--shock: found '2'"),
        (("--shock", "1%:"), "--shock: found ''"),
        (("--rebuild", "soon"), "--rebuild: found 'soon'"),
        (("--rebuild", "0"), "--rebuild: found '0'"),
        (("--rebuild", "1", "--mttr-hours", "2"), "--mttr-hours and --rebuild"),
        (("--latent-hours", "9259", "--scrub-hours", "-1"), "--scrub-hours"),
    ],
)
def test_wrong_assumptions_are_one_message(flashkeep: Command, words: tuple[str, ...], told: str) -> None:
    code, out, err = flashkeep("fleet", RAID5, *words)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_long_runs_say_that_they_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with told_every(0.05, "1 of 2: an array", False):
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) <= 6
    assert lines[0].startswith("1 of 2: an array: 0 s so far")
    with told_every(0.05, "an array", True):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_drives_that_die_young_are_soon_known() -> None:
    # A third of such drives fail within a day, so levels need few copies.
    young: dict[str, Any] = {"life": "weibull:0.1:1e6", "rel_error": "3%"}
    assert fk.fleet("8*1TB:raid6", **young).method == "plain"
    plain, splitting = (fk.fleet("8*1TB:raid6", method=method, **young) for method in ("plain", "splitting"))
    both = math.hypot(plain.standard_error or 0, splitting.standard_error or 0)
    assert abs(plain.p_loss.value - splitting.p_loss.value) < 4 * both

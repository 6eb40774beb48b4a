"""Wear as a cause of failures, and rebuilds under a workload, as a user meets them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import flashkeep as fk
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

HOURS = 8760.0
RAID6 = "8*1.92TB:raid6"


def test_without_wear_nothing_changes() -> None:
    found = fk.fleet(RAID6)
    assert found.method == "exact"
    assert found.causes.wear is None
    assert "wear" not in found.assumptions


@pytest.mark.parametrize(
    ("wear", "shape", "hours"),
    [
        (50_000, 10, 50_000),
        ("weibull:4:60000", 4, 60_000),
        ("dwpd:0.8:1", 10, 5 * HOURS / 0.8),
        ("dwpd:2:1:3", 10, 3 * HOURS / 2),
    ],
)
def test_a_drive_alone_ends_by_the_first_of_both(wear: float | str, shape: float, hours: float) -> None:
    for method in ("plain", "splitting"):
        found = fk.fleet("1*1TB:none", wear=wear, afr="2%", method=method, rel_error="0.5%")
        expected = 1 - 0.98**5 * math.exp(-((5 * HOURS / hours) ** shape))
        assert found.p_loss.value == pytest.approx(expected, rel=0.01)
        assert sum(value or 0 for value in found.causes.to_dict().values()) == pytest.approx(found.p_loss.value)
        assert found.causes.wear > 0


def test_wear_within_the_mission_defeats_raid6() -> None:
    late, early = (fk.fleet(RAID6, wear=years * HOURS, rel_error="10%") for years in (20, 5))
    assert late.p_loss.value == pytest.approx(fk.fleet(RAID6).p_loss.value, rel=0.2)
    assert early.p_loss.value > 1e4 * late.p_loss.value
    assert early.causes.wear > 0.99 * early.p_loss.value
    spread = fk.fleet(RAID6, wear=8 * HOURS, wear_spread=0.2, rel_error="10%")
    # Some groups are written so much faster that they wear out within the mission.
    assert spread.p_loss.value > 10 * fk.fleet(RAID6, wear=8 * HOURS, rel_error="10%").p_loss.value


def test_the_command_and_python_say_the_same(flashkeep: Command) -> None:
    said = flashkeep.json("fleet", RAID6, "--wear", "dwpd:0.8:1", "--wear-spread", "0.1", "--rel-error", "10%")
    assert said == fk.fleet(RAID6, wear="dwpd:0.8:1", wear_spread=0.1, rel_error="10%").to_dict()
    assert said["assumptions"]["wear"].startswith("Weibull, shape 10, scale 54750 h")
    code, out, _ = flashkeep("fleet", RAID6, "--wear", "dwpd:0.8:1", "--rel-error", "10%")
    assert code == 0
    assert "by drives that were worn out" in out


@pytest.fixture(scope="module")
def worn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drive with an erase budget."""
    return with_blocks(tmp_path_factory.mktemp("worn") / "worn.toml", 2000, 3000)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of which the workload programs more than a tenth."""
    return with_blocks(tmp_path_factory.mktemp("small") / "small.toml", 100, 60_000)


def with_blocks(path: Path, blocks: int, budget: int) -> Path:
    from conftest import SMALL_DRIVE

    text = SMALL_DRIVE.replace("blocks_per_plane = 32", f"blocks_per_plane = {blocks}")
    path.write_text(
        text.replace("pages_per_block = 16", "pages_per_block = 64") + f"\n[ftl.wear]\nerase_budget = {budget}\n"
    )
    return path


WORKLOAD = "synth:random,requests=20k,rate=2k,write=0.5,footprint=64MiB"


def test_simulated_wear_is_that_of_the_run(small: Path, tmp_path: Path) -> None:
    spelled = f"4*{small}:raid5"
    found = fk.fleet(spelled, wear="simulated", workload=WORKLOAD, mttr_hours=24, rel_error="10%")
    file = tmp_path / "array.toml"
    file.write_text(f'members = ["4 * {small}"]\n[redundancy]\nscheme = "raid5"\n')
    run = fk.run(str(file), WORKLOAD)
    wear: Any = run.wear
    years = wear.tbw * 1e12 / (wear.workload_dwpd * run.capacity_bytes) / 365
    assert float(found.assumptions.wear.partition("scale ")[2].partition(" h")[0]) == pytest.approx(years * HOURS)
    given = fk.fleet(spelled, wear=years * HOURS, mttr_hours=24, rel_error="10%")
    assert given.p_loss == found.p_loss
    assert any(note.startswith("--wear simulated: TBW") for note in found.notes)


def test_a_rebuild_under_a_workload_is_that_of_run(worn: Path, tmp_path: Path) -> None:
    spelled = f"4*{worn}:raid5"
    file = tmp_path / "array.toml"
    file.write_text(f'members = ["4 * {worn}"]\n[redundancy]\nscheme = "raid5"\n')

    def hours(**options: Any) -> float:
        told: str = fk.fleet(spelled, rebuild="simulated", rel_error="20%", **options).assumptions.mttr_hours
        return float(told.removeprefix("always ").removesuffix(" h"))

    run = fk.run(str(file), WORKLOAD, fail="member:0@50%,replace_after=1ms").to_dict()
    loaded = hours(workload=WORKLOAD)
    assert loaded == run["rebuilds"][-1]["full_member_hours"]
    assert loaded > hours()


def test_advice_takes_the_life_that_it_simulated(small: Path) -> None:
    # Two hours of rated life: what the runs write wears the drives out at once.
    advice = fk.advise(WORKLOAD, f"4*{small}", schemes=["raid5", "raid6"], wear="simulated", mttr_hours=24)
    for row in advice:
        given = fk.fleet(f"4*{small}:{row.scheme}", wear=row.life_years * HOURS, mttr_hours=24, rel_error="5%")
        assert row.p_loss == given.p_loss
        assert row.causes.wear == given.causes.wear
    assert "life_years" in advice.assumptions.wear_from


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((RAID6, "--wear", "soon"), "--wear: found 'soon'"),
        ((RAID6, "--wear", "dwpd:1"), "--wear: found 'dwpd:1'"),
        ((RAID6, "--wear", "0"), "--wear: found '0'"),
        ((RAID6, "--wear", "weibull:10"), "--wear: `weibull:10` is not accepted"),
        ((RAID6, "--wear-spread", "0.1"), "--wear-spread: has no effect without --wear"),
        ((RAID6, "--wear", "50000", "--wear-spread", "4"), "--wear-spread: found '4'"),
        ((RAID6, "--wear", "50000", "--method", "exact"), "--method: the Markov chain needs"),
        ((RAID6, "--wear", "simulated"), "--wear simulated: needs --workload"),
        ((RAID6, "--wear", "simulated", "--workload", "synth:random"), "no drive model"),
        ((RAID6, "--workload", "synth:random"), "--workload: has no effect"),
    ],
)
def test_wrong_input_is_one_message(flashkeep: Command, words: tuple[str, ...], told: str) -> None:
    code, out, err = flashkeep("fleet", *words)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_unknown_assumptions_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'afrr'"):
        fk.fleet(RAID6, afrr=0.01)  # type: ignore[call-arg]

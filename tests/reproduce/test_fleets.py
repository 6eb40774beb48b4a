"""Fleets beside published numbers, at a small scale, and against closed forms."""

from __future__ import annotations

import math

import pytest
from conftest import Command
from flashkeep.reproduce import fleet_models as models
from flashkeep.reproduce import fleet_rebuilds as rebuilds
from flashkeep.reproduce import fleet_wear as wear
from flashkeep.reproduce.hybrid_lives import ageing
from flashkeep.reproduce.published import Published
from flashkeep.reproduce.verdicts import Near, own_group
from quick_papers import Cells, reproduced, simulated

PUBLISHED = Published("fleet")


@pytest.fixture(scope="module")
def cells(flashkeep: Command, tmp_path_factory: pytest.TempPathFactory) -> Cells:
    """The cells of a run with the fewest arrays."""
    files = {"fleet.html", "fleet.csv", "fleet-scrubbing.svg", "fleet-diff-raid.png"}
    return reproduced(flashkeep, "fleet", "0.01", tmp_path_factory.mktemp("fleet") / "out", files)


def test_every_published_cell_has_a_verdict_and_three_differ(cells: Cells) -> None:
    judged = {key: cell["verdict"] for key, cell in cells.items() if cell["published"] is not None}
    assert len(judged) == 62 + 6
    off = [key for key, verdict in judged.items() if verdict != "agrees"]
    assert off == [
        ("between 2 and 1500 times the MTTDL method", "no scrubbing", "within the range"),
        ("dRAID: rebuild", "11 drives: 3 + 1, 1 spare", "speed-up"),
        ("dRAID: rebuild", "24 drives: 4 + 1, 2 spares", "speed-up"),
    ]


def test_rebuilds_into_distributed_spares_count_the_pages_of_each_drive(cells: Cells) -> None:
    for row, shape in rebuilds.SHAPES.items():
        expected = (shape.children - 1) / (shape.data + 1)
        assert simulated(cells, "dRAID: rebuild", row, "speed-up") == pytest.approx(expected, rel=0.05)


def test_mean_times_to_data_loss_are_their_closed_forms(cells: Cells) -> None:
    rate = -math.log1p(-0.01) / 8760
    hours = (15 * rate + 1 / 24) / (8 * 7 * rate**2)
    row = "RAID-5 of 8 (AFR 1 %; 24 h)"
    assert simulated(cells, "MTTDL", row, "mean time to data loss") == pytest.approx(hours / 8760, rel=1e-9)


def test_mlec_sim_is_within_a_tenth_of_a_nine(cells: Cells) -> None:
    every = {row: simulated(cells, "mlec-sim", row, "nines of a year") for row in PUBLISHED.rows("mlec-sim")}
    assert every["all stages"] == pytest.approx(7.018, abs=0.1)
    assert every.pop("all stages") == pytest.approx(sum(every.values()), abs=1e-12)
    # The published stages are shares of 2,560,000 paths.
    for row, failed in zip(models.MLEC, (39_522, 6_840, 5_945), strict=True):
        published = PUBLISHED.value("mlec-sim", row, "nines of a year")
        assert published == pytest.approx(-math.log10(failed / 2_560_000), abs=6e-4)
    rules = "ablation: rules of mlec-sim"
    assert simulated(cells, rules, "serial, rate AFR", "nines") == pytest.approx(7.106, abs=5e-4)
    assert simulated(cells, rules, "parallel, rate -ln(1 - AFR)", "nines") == pytest.approx(7.836, abs=5e-4)


def test_losses_without_scrubbing_are_about_the_failures(cells: Cells) -> None:
    failures = 8 * (87_600 / 461_386) ** 1.12 * models.ARRAYS
    losses = [simulated(cells, "latent errors", row, "losses of 1000 arrays") for row in models.SCRUBBED]
    assert 0.93 * failures < losses[0] < failures
    assert losses == sorted(losses, reverse=True)
    method = models.ARRAYS * 56 * 87_600 * 12 / 461_386**2
    assert simulated(cells, "MTTDL method", "exponential lives and repairs", "losses of 1000 arrays") == pytest.approx(
        method, rel=0.002
    )


def test_ages_of_diff_raid_repeat_after_each_replacement() -> None:
    faster = 4.0
    step, *_ = wear.ages(faster)
    # Drives by age, all new at first; the oldest has all parities and is replaced at the end of its life.
    drives = [0.0] * wear.DRIVES
    for _ in range(100):
        drives.sort()
        left = (1 - drives[-1]) / faster
        drives = [0.0, *(age + left for age in drives[:-1])]
    assert sorted(drives)[1:] == pytest.approx(wear.ages(faster), rel=1e-9)
    assert step == pytest.approx(1 / 8)


def test_uneven_parity_ages_and_loses_as_its_formula_says(cells: Cells) -> None:
    for row, share in wear.SHARES.items():
        published = PUBLISHED.value("Diff-RAID: ageing", row, "oldest over others")
        assert published == pytest.approx(1 + ageing(share), abs=5e-5)
    for name, chip in wear.CHIPS.items():
        arrays = ("RAID-5, equal wear", "RAID-5, ages apart", *wear.SHARES)
        losses = [simulated(cells, "ablation: Diff-RAID", name, column) for column in arrays]
        assert losses == sorted(losses, reverse=True)
        # Of four drives of 80 GB UBER * bits codewords cannot be read, from the first P/E cycle on that is too many.
        expected = -math.expm1(-wear.UBER * 4 * wear.BYTES * 8)
        before = wear.loss(chip, (1 - 1 / wear.life(chip),) * 4)
        assert before <= expected * (1 + 1e-3) <= losses[0] * (1 + 2e-3)
        assert losses[0] < 1.1 * expected
        assert losses[0] == wear.even(chip)


def test_a_lone_drive_fails_at_the_given_rate(cells: Cells) -> None:
    for row in PUBLISHED.rows("field rates"):
        cell = cells["field rates", row, "AFR"]
        assert cell["simulated"] == pytest.approx(cell["published"], rel=1e-9)


def test_a_rule_names_its_unit() -> None:
    assert Near(0.1, 0.0, own_group, "", unit="nine").text.startswith("agrees: off by 0.1 nines at most")
    assert Near(1.0, 0.0, own_group, "").text.startswith("agrees: off by 1 point at most")

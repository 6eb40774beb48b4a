"""Arrays of arrays in the model of fleets: names of striped groups, and levels with redundancy against a chain of their
own."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import flashkeep as fk
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

HOURS = 5 * 8760.0


@cache
def joint(groups: int, survives: int, drives: int, tolerance: int, afr: float, mttr: float, repair: str) -> float:
    """P(loss) in five years of `groups` groups under a level that survives `survives` of them: the states are the
    missing drives of each group, and a group is lost while more than `tolerance` are."""
    rate, start = -math.log1p(-afr) / 8760, (0,) * groups
    states, moves = [start], []
    for state in states:  # grows while it is read
        for group, missing in enumerate(state):
            repairs = min(missing, 1) if repair == "serial" else missing
            for change, speed in ((1, (drives - missing) * rate), (-1, repairs / mttr)):
                after = tuple(sorted((*state[:group], missing + change, *state[group + 1 :])))
                if speed == 0:
                    continue
                if sum(each > tolerance for each in after) > survives:
                    moves.append((states.index(state), -1, speed))
                    continue
                if after not in states:
                    states.append(after)
                moves.append((states.index(state), states.index(after), speed))
    return solved(moves, len(states) + 1)


def solved(moves: list[tuple[int, int, float]], size: int) -> float:
    """The probability of the last state after the mission: uniformization, without subtraction."""
    leaving = [0.0] * size
    for origin, _, speed in moves:
        leaving[origin] += speed
    steps = math.ceil(math.log2(HOURS * max(leaving))) + 1
    step = HOURS / 2**steps
    jump = [[0.0] * size for _ in range(size)]
    for origin, target, speed in moves:
        jump[origin][target] += speed * step
    for at in range(size):
        jump[at][at] += (max(leaving) - leaving[at]) * step
    total = [[float(row == column) for column in range(size)] for row in range(size)]
    term = total
    for power in range(1, 25):
        term = [[value / power for value in row] for row in product(term, jump)]
        total = [[one + other for one, other in zip(*rows, strict=True)] for rows in zip(total, term, strict=True)]
    scale = math.exp(-max(leaving) * step)
    total = [[scale * value for value in row] for row in total]
    for _ in range(steps):
        total = product(total, total)
    return total[0][-1]


def product(one: list[list[float]], other: list[list[float]]) -> list[list[float]]:
    columns = list(zip(*other, strict=True))
    return [[sum(map(float.__mul__, row, column)) for column in columns] for row in one]


SCHEMES = {0: "none", 1: "raid5", 2: "raid6", 3: "raid-tp"}


@pytest.mark.parametrize("repair", ["parallel", "serial"])
@pytest.mark.parametrize(
    ("groups", "survives", "drives", "tolerance", "afr", "mttr"),
    [
        (2, 1, 4, 2, 0.1, 200),
        (2, 1, 3, 1, 0.05, 100),
        (2, 1, 4, 0, 0.01, 24),
        (3, 1, 4, 1, 0.1, 200),
        (4, 2, 3, 1, 0.1, 200),
        (2, 1, 5, 3, 0.2, 300),
    ],
)
def test_levels_with_redundancy_are_their_joint_chain(
    groups: int, survives: int, drives: int, tolerance: int, afr: float, mttr: float, repair: str
) -> None:
    above = "mirror" if groups == 2 else SCHEMES[survives]
    found = fk.fleet(f"{groups}*{drives}*1TB:{SCHEMES[tolerance]}:{above}", afr=afr, mttr_hours=mttr, repair=repair)
    assert found.p_loss.value == pytest.approx(joint(groups, survives, drives, tolerance, afr, mttr, repair), rel=1e-6)
    assert found.p_loss.low == found.p_loss.high == found.p_loss.value


def test_a_mirror_of_raid6_is_restored_by_the_first_repair() -> None:
    found = fk.fleet("2*4*1TB:raid6:mirror", afr="10%", mttr_hours=200)
    assert found.p_loss.value == pytest.approx(3.9527e-12, rel=1e-4)


@pytest.mark.parametrize("repair", ["parallel", "serial"])
def test_large_levels_are_near_it(repair: str) -> None:
    # A factor that groups share has no joint chain: lower arrays are members with the mean time of the first repair.
    options: dict[str, Any] = {"afr": "10%", "mttr_hours": 100, "repair": repair}
    found = fk.fleet("3*8*1TB:raid6:raid5", batch_frailty=1e-6, **options)
    exact = fk.fleet("3*8*1TB:raid6:raid5", **options)
    assert any("members that fail with their own rate" in note for note in found.notes)
    assert not any("own rate" in note for note in exact.notes)
    assert found.p_loss.value == pytest.approx(exact.p_loss.value, rel=0.05)


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("8*1.92TB:raid10", "4*2*1.92TB:mirror:none"),
        ("8*1.92TB:raid10=2", "2*4*1.92TB:mirror:none"),
        ("8*1.92TB:raid50", "2*4*1.92TB:raid5:none"),
        ("24*1.92TB:raid60", "2*12*1.92TB:raid6:none"),
        ("24*1.92TB:raid60=3", "3*8*1.92TB:raid6:none"),
        ("36*1.92TB:raid50", "3*12*1.92TB:raid5:none"),
    ],
)
def test_striped_groups_have_names(name: str, spelled: str) -> None:
    named, plain = fk.fleet(name, uber=1e-16), fk.fleet(spelled, uber=1e-16)
    assert named.p_loss == plain.p_loss
    assert named.array.usable_bytes == plain.array.usable_bytes
    assert named.array.drives == int(name.partition("*")[0])


def test_pairs_lose_what_pairs_lose() -> None:
    rate, mu, hours = -math.log1p(-0.01) / 8760, 1 / 24, HOURS
    # MTTDL of a pair: (3λ + μ)/2λ².
    pair = 1 - math.exp(-hours * 2 * rate**2 / (3 * rate + mu))
    assert fk.fleet("8*1.92TB:raid10", uber=0).p_loss.value == pytest.approx(1 - (1 - pair) ** 4, rel=2e-3)


@pytest.mark.parametrize(
    ("array", "told"),
    [
        ("7*1TB:raid10", "raid10 of 7 members: no pairs, two or more, have all of them; 8 members fit"),
        ("2*1TB:raid10", "no pairs"),
        ("26*1TB:raid60", "no two or more equal groups of 4 to 12 have all of them; raid60=2 (2 groups of 13) fits"),
        ("8*1TB:raid50=3", "no 3 groups have all of them; raid50=2 (2 groups of 4) fits"),
        ("11*1TB:raid50", "12 members fit"),
        ("8*1TB:raid60=0", "no 0 groups"),
    ],
)
def test_groups_that_do_not_fit_are_refused_with_those_that_do(flashkeep: Command, array: str, told: str) -> None:
    code, out, err = flashkeep("fleet", array)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_many_copies_are_noted() -> None:
    notes = fk.fleet("8*1.92TB:mirror").notes
    assert any("8 copies of everything; raid10 is pairs" in note for note in notes)
    assert not any("copies" in note for note in fk.fleet("8*1.92TB:raid10").notes)


def test_a_drive_file_says_the_same_by_its_width(tmp_path: Path) -> None:
    file = tmp_path / "pairs.toml"
    file.write_text('members = ["8 * tlc-datacenter"]\n[redundancy]\nscheme = "mirror"\nwidth = 2\n')
    assert fk.fleet(str(file)).p_loss == fk.fleet("8*tlc-datacenter:raid10").p_loss

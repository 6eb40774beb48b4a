"""Local codes and declustered layouts in the model of fleets."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import flashkeep as fk
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Command

AZURE = "16*1.92TB:lrc=12+2+2"
DRAID = "24*20TB:declustered=8+2+1"


def test_a_local_code_survives_what_its_patterns_say() -> None:
    array = fk.fleet(AZURE).array
    assert (array.tolerance, array.usable_bytes) == (3, 12 * 1_920_000_000_000)
    fatal = array.to_dict()["fatal"]
    # Groups of six and a parity each, and two global parities: all patterns of four drives of 16.
    lost = 0
    for pattern in itertools.combinations(range(16), 4):
        first, second = (sum(1 for drive in pattern if drive // 7 == group) for group in (0, 1))
        beyond = max(0, first - 1) + max(0, second - 1) + (4 - first - second)
        lost += beyond > 2
    assert fatal[:5] == pytest.approx([0, 0, 0, 0, lost / 1820])
    assert fatal[4] == pytest.approx(0.14, abs=0.005)  # Huang et al., USENIX ATC 2012
    assert fatal[-1] < 1 or fatal[4] < 1


def test_a_local_code_lies_between_codes_without_patterns() -> None:
    least, local, most = (fk.fleet(array, afr="2%", mttr_hours=48).p_loss.value
                          for array in ("16*1TB:12+4", "16*1TB:lrc=12+2+2", "16*1TB:13+3"))  # fmt: skip
    assert least < local < most
    assert local == pytest.approx(0.1374 * most, rel=0.03)
    by = {method: fk.fleet("16*1TB:lrc=12+2+2", afr="20%", mttr_hours=300, method=method, rel_error="12%")
          for method in ("exact", "plain", "biasing", "splitting")}  # fmt: skip
    for found in by.values():
        error = found.standard_error or 1e-9
        assert abs(found.p_loss.value - by["exact"].p_loss.value) < 4 * error


def test_one_local_group_and_a_parity_is_an_optimal_code() -> None:
    # Any two of the members may be missing, as under RAID-6.
    assert fk.fleet("8*1TB:lrc=6+1+1").array.to_dict()["fatal"] == [0, 0, 0]
    assert fk.fleet("8*1TB:lrc=6+1+1").p_loss == fk.fleet("8*1TB:raid6").p_loss


def test_declustered_stripes_over_as_many_drives_are_the_plain_code() -> None:
    plain, spread = fk.fleet("10*1TB:8+2", uber=1e-16), fk.fleet("10*1TB:declustered=8+2+0", uber=1e-16)
    assert spread.p_loss == plain.p_loss
    assert spread.nomdl == plain.nomdl
    assert spread.assumptions.rebuild_bits == plain.assumptions.rebuild_bits


def test_distributed_spares_make_repairs_quick() -> None:
    found = fk.fleet(DRAID, mttr_hours=46)
    assert found.array.usable_bytes == 20 * 10**12 * 23 * 8 // 10
    assert found.assumptions.mttr_hours == f"exponential, mean {46 * 9 / 23:g} h"
    assert found.assumptions.spares == 1
    assert "(8 + 1)/(24 − 1)" in found.notes[0]
    same = fk.fleet("24*20TB:22+2", mttr_hours=46 * 9 / 23, spares=1, restock_hours=24)
    assert found.p_loss == same.p_loss
    # Three of 24 drives share C(10, 3) of C(24, 3) stripes, and of these three tenths of the data.
    lost = math.comb(10, 3) / math.comb(24, 3) * 3 / 10
    assert found.nomdl == pytest.approx(found.p_loss.value * lost * 1e12 / 3, rel=1e-6)
    slower = fk.fleet("24*20TB:declustered=8+2+1", mttr_hours="fixed:46", rel_error="20%")
    assert slower.assumptions.mttr_hours == f"always {46 * 9 / 23:g} h"


def test_two_missing_drives_expose_the_stripes_that_they_share() -> None:
    bits = fk.fleet(DRAID, uber=1e-17).assumptions.rebuild_bits
    stripes = 24 * 20e12 / 10 * math.comb(10, 2) / math.comb(24, 2)
    assert bits == pytest.approx(8 * stripes * 8)


def test_arrays_of_these(flashkeep: Command) -> None:
    one, four = (flashkeep.json("fleet", text) for text in (AZURE, f"4*{AZURE}:none"))
    assert four["p_loss"]["value"] == pytest.approx(4 * one["p_loss"]["value"], rel=1e-6)
    over = flashkeep.json("fleet", f"5*{RAID5}:lrc=2+2+1")
    between = [flashkeep.json("fleet", f"5*{RAID5}:{code}")["p_loss"]["value"] for code in ("2+3", "3+2")]
    assert between[0] < over["p_loss"]["value"] < between[1]


RAID5 = "4*1TB:raid5"


def test_they_have_pages(tmp_path: Path) -> None:
    fk.fleet_report([fk.fleet(array, rel_error="20%") for array in (AZURE, DRAID)], tmp_path / "codes.html")
    body = (tmp_path / "codes.html").read_text()
    assert "declustered" in body
    assert "distributed spares" in body


@pytest.mark.parametrize(
    ("array", "told"),
    [
        ("16*1TB:lrc=12+2+1", "over 15 members, not 16"),
        ("4*1TB:lrc=1+2+1", "2 groups of 1 data members"),
        ("30*1TB:lrc=4+4+22", "26 parities"),
        ("10*1TB:declustered=8+2+1", "need 11 members"),
        ("10*1TB:declustered=0+2+1", "one of them for data"),
        ("10*1TB:declustered=8+2", "there is no scheme"),
    ],
)
def test_wrong_codes_are_one_message(flashkeep: Command, array: str, told: str) -> None:
    code, out, err = flashkeep("fleet", array)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1

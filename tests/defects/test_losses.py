"""Pages that failures beyond the redundancy lose: how many is known without reading them, also in arrays of arrays."""

from __future__ import annotations

from pathlib import Path

import flashkeep as fk
import pytest

DRIVE = "dvs-8chip,redundancy.scheme=none,flash.blocks_per_plane=64"
ARRAYS = [
    ("none", 2, "none", 2), ("none", 2, "mirror", 2), ("none", 2, "raid5", 3), ("none", 2, "raid6", 4),
    ("mirror", 2, "none", 2), ("mirror", 2, "mirror", 2), ("mirror", 2, "raid5", 3),
    ("raid5", 3, "none", 2), ("raid5", 3, "mirror", 2), ("raid5", 3, "raid5", 3),
]  # fmt: skip
FAILURES = [["0/0", "0/1"], ["0/0", "1/0"], ["0/0", "0/1", "1/1"], ["0/0", "0/1", "1/0", "1/1"], ["0", "1/0"]]


@pytest.mark.parametrize(("outer", "count", "inner", "width"), ARRAYS)
def test_pages_are_found_lost_without_reading_them(
    tmp_path: Path, outer: str, count: int, inner: str, width: int
) -> None:
    (tmp_path / "inner.toml").write_text(f'members = ["{width} * {DRIVE}"]\nredundancy.scheme = "{inner}"\n')
    array = tmp_path / "array.toml"
    array.write_text(f'members = ["{count} * ./inner.toml"]\nredundancy.scheme = "{outer}"\n')
    most = 0
    for members in FAILURES:
        fail = [f"member:{'/member:'.join(each.split('/'))}@{30 + 10 * at}%" for at, each in enumerate(members)]
        lost = []
        for verify in (False, True):
            workload = fk.trace("synth:random,requests=200,footprint=4MiB")
            result = fk.run(array, workload, seed=1, existing="all", fail=fail, verify=verify)
            lost.append(result.integrity.lost_pages)
        assert lost[0] == lost[1], (members, lost)
        most = max(most, lost[0])
    assert most > 1000, "the workload reads a hundred pages"


def test_two_failures_in_one_group_lose_half_of_it(tmp_path: Path) -> None:
    """The two have half of the data of one of two groups, in the mean over the places of the parity."""
    array = tmp_path / "array.toml"
    array.write_text(f'members = ["8 * {DRIVE}"]\nredundancy = {{ scheme = "raid5", width = 4 }}\n')
    workload = fk.trace("synth:random,requests=10,footprint=4MiB")
    result = fk.run(array, workload, seed=1, existing="all", fail=["member:0@50%", "member:1@60%"])
    pages = result.capacity_bytes // 4096
    assert result.integrity.lost_pages == pytest.approx(pages / 4, rel=0.01)

"""The release build gives the digests that the tests of the crates compare with every build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT, Command

GOLDEN: dict[str, str] = json.loads((ROOT / "tests/golden/digests.json").read_text())


@pytest.mark.parametrize("run", GOLDEN)
def test_a_digest(flashkeep: Command, run: str) -> None:
    drive, workload = run.split(" ")
    assert flashkeep.json("run", drive, workload)["digest"] == GOLDEN[run]


def test_a_quarter_of_a_tib_fits(flashkeep: Command, tmp_path: Path) -> None:
    """256 GiB of 4 KiB pages, every logical page mapped: memory for what the run touches, not for all pages."""
    drive = tmp_path / "large.toml"
    geometry = "channels = 16\nchips_per_channel = 8\ndies_per_chip = 2\n"
    drive.write_text(
        f"[flash]\n{geometry}planes_per_die = 2\nblocks_per_plane = 2048\npages_per_block = 64\npage_kib = 4\n"
    )
    pages = 16 * 8 * 2 * 2 * 2048 * 64
    for start in (["--existing", "all"], ["--set", "ageing.model=steady"]):
        peak = flashkeep.peak_mib("run", drive, "synth:random,requests=1k,rate=1k", *start)
        assert peak * 2**20 <= 3 * pages

"""A sweep of nested arrays of files, whose workers run in a directory from which those files cannot be reached."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from small_drives import small_drive

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "arrays/outer.toml": 'members = ["2 * ./inner.toml"]\nredundancy.scheme = "mirror"\n',
    "arrays/inner.toml": 'members = ["3 * ../drives/small.toml,errors.scale=2", "../drives/disk.toml"]\n'
                         'redundancy.scheme = "raid5"\n',
    "drives/small.toml": 'base = "./base.toml"\n[errors]\nmodel = "table"\nfile = "files/measured.csv"\n',
    "drives/base.toml": small_drive(),
    "drives/disk.toml": "[disk]\ncapacity_gb = 0.02\n",
    "files/measured.csv": "cycles,days,reads,rber\n0,0,0,1e-3\n1000,0,0,2e-3\n",
    "trace.ssdsim": "".join(f"{at * 1_000_000} 0 {at % 50 * 8} 8 {at % 2}\n" for at in range(200)),
}  # fmt: skip
"""What the sweep reads: an array of arrays of drives, which have a base and name a file, and of disks."""

PLAN = """
workload = "trace.ssdsim"
drive = "arrays/outer.toml"
seed = [1, 2]
[grid]
"member.redundancy.stripe_kib" = [4, 16]
"""


def write_sweep(folder: Path, elsewhere: Path) -> Path:
    """Writes the files and the plan, and others under the same names elsewhere, which must not be taken for them."""
    for root, content in ((folder, None), (elsewhere, "not this one\n")):
        for name, text in FILES.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content or text)
    plan = folder / "plan.toml"
    plan.write_text(PLAN)
    return plan


def check_equal(one: Path, other: Path, cells: int) -> None:
    """Two folders have the same results."""
    names = sorted(path.name for path in (one / "cells").glob("*.json"))
    assert len(names) == cells
    for name in ("results.csv", "results.parquet", *(f"cells/{name}" for name in names)):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    for name in names:
        assert json.loads((one / "cells" / name).read_text())["status"] == 0


def check_sent(elsewhere: Path) -> None:
    """A worker elsewhere has got each of the files once, by its content."""
    found = [path for path in elsewhere.glob("temporary*/**/*") if path.is_file()]
    sent = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in found)
    assert sent == sorted(hashlib.sha256(text.encode()).hexdigest() for text in FILES.values())

"""Write amplification by over-provisioning and victim policy, beside the closed form for FIFO victims.

One plane of 256 blocks, full from the start, written at random eight times over; the first half counts in no figure.
"""

import math
import tempfile
from pathlib import Path

import flashkeep as fk

DRIVE = """\
[flash]
channels = 1
chips_per_channel = 1
planes_per_die = 1
blocks_per_plane = 256
pages_per_block = 64
[ftl.gc]
threshold = 0
[start]
existing = "all"
"""
HOLDS_DATA = 255 * 64
"""Pages that can hold data: all but the block that collection keeps back."""


def fifo_formula(spare: float) -> float:
    """A = a / (a + W(−a·e^−a)), W being the principal branch of Lambert's function."""
    a = 1 + spare
    x = -a * math.exp(-a)
    w = x
    for _ in range(100):
        w -= (w * math.exp(w) - x) / (math.exp(w) * (w + 1))
    return a / (a + w)


print(f"{'spare':>6}{'greedy':>9}{'FIFO':>9}{'formula':>9}")
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "plane.toml"
    path.write_text(DRIVE)
    for spare in (0.10, 0.15, 0.28):
        logical = int(HOLDS_DATA / (1 + spare))
        found = []
        for victim in ("greedy", "fifo"):
            changes = {"ftl.over_provisioning": 256 * 64 / logical - 1, "ftl.gc.victim": victim}
            workload = f"synth:random,requests={8 * logical},write=1,size=4KiB,depth=1"
            run = fk.run(fk.drive(path).replace(**changes), workload, warmup="50%", requests=False)
            found.append(run.write_amplification.total)
        print(f"{spare:6.0%}{found[0]:9.3f}{found[1]:9.3f}{fifo_formula(spare):9.3f}")

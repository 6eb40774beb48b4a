"""Figures over time: p99 of reads, garbage collection and parity of two schemes; a figure if a file is named.

python 09_over_time.py [FILE.svg]
"""

import sys

import flashkeep as fk

# One plane each on four channels, small enough that collection begins within a second.
DRIVE = {
    "flash": {
        "channels": 4,
        "chips_per_channel": 1,
        "planes_per_die": 1,
        "blocks_per_plane": 64,
        "pages_per_block": 64,
    },
    "ftl.over_provisioning": 0.15,
}
WORKLOAD = "synth:random,requests=20k,write=0.6,size=4KiB,rate=2k"
SCHEMES = ("none", "raid5")
runs = {
    scheme: fk.run(
        fk.drive({**DRIVE, "redundancy.scheme": scheme}), WORKLOAD, existing="all", series="100ms", requests=False
    ).series()
    for scheme in SCHEMES
}
PARITY = [f"operations.program.{cause}" for cause in ("parity", "partial_parity", "parity_gc")]
PANELS = {
    "reads, p99, µs": lambda series: series["response_us.read.p99"],
    "pages copied by GC": lambda series: series["operations.program.gc"],
    "parity pages": lambda series: sum(series[column] for column in PARITY),
    "free blocks": lambda series: series["free_blocks"],
}
for title, values in PANELS.items():
    for scheme, series in runs.items():
        found = values(series)
        middle = len(found) // 2
        print(f"{title:20} {scheme:6} after 0.1 s {found[0]:8,.0f}   half-way {found[middle]:8,.0f}")

if not sys.argv[1:]:
    sys.exit()
import matplotlib as mpl  # noqa: E402

mpl.use("agg")
from matplotlib import pyplot as plt  # noqa: E402

figure, axes = plt.subplots(len(PANELS), 1, figsize=(8, 7), sharex=True, layout="constrained")
for panel, (title, values) in zip(axes, PANELS.items(), strict=True):
    for scheme, series in runs.items():
        # The last interval is not whole.
        panel.plot(series["end_ns"][:-1] / 1e9, values(series)[:-1], label=scheme, drawstyle="steps-pre")
    panel.set_ylabel(title)
    panel.set_ylim(0)
axes[0].legend()
axes[-1].set_xlabel("s simulated")
figure.savefig(sys.argv[1])
print(f"{sys.argv[1]}: written")

"""Which redundancy, at what cost: response times, wear and capacity of three schemes; a figure if a file is named.

python 08_which_redundancy.py [TRACE [DRIVE [FILE.svg]]]
"""

import sys

import flashkeep as fk

SCHEMES = ("none", "raid5", "mirror")
DEFAULTS = ("synth:sirf-fin1,requests=100k", "tlc-client", "")
TRACE, DRIVE, FILE = (*sys.argv[1:], *DEFAULTS[len(sys.argv) - 1 :])

runs = {
    scheme: fk.run(fk.drive(DRIVE).replace(**{"redundancy.scheme": scheme}), TRACE, requests=False)
    for scheme in SCHEMES
}
PANELS = {
    "mean read, µs": lambda run: run.response_us.read.mean,
    "mean write, µs": lambda run: run.response_us.write.mean,
    "pages programmed\nfor each page written": lambda run: run.write_amplification.total,
    "share of the flash\nfor the host, %": lambda run: 100 * run.redundancy.capacity_share,
}
for title, value in PANELS.items():
    print(
        f"{title.replace(chr(10), ' '):42}", *(f"{scheme} {value(run):.4g}" for scheme, run in runs.items()), sep="  "
    )

if not FILE:
    sys.exit()
import matplotlib as mpl  # noqa: E402

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "flashkeep"  # the same figure for the same results
from matplotlib import pyplot as plt  # noqa: E402

figure, axes = plt.subplots(1, len(PANELS), figsize=(9, 2.6), layout="constrained")
for panel, (title, value) in zip(axes, PANELS.items(), strict=True):
    bars = panel.bar(SCHEMES, [value(run) or 0 for run in runs.values()], color=["#9aa4b1", "#3a6ea5", "#d08c3c"])
    panel.bar_label(bars, fmt="{:,.3g}", fontsize=8)
    panel.set_title(title, fontsize=9)
    panel.set_yticks([])
    panel.spines[["top", "left", "right"]].set_visible(False)
figure.savefig(FILE, metadata={"Date": None})
print(f"{FILE}: written")

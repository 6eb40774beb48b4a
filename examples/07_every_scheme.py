"""Every scheme on one workload, healthy and with a chip that fails half way and is replaced: two tables in Markdown.

python 07_every_scheme.py [TRACE [DRIVE [LIMIT]]]. Each scheme runs over the same flash; what it does not give to the
host is its price in capacity. `replace_after` puts an empty channel in the place of the one that failed, so that there
is a rebuild to time.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import flashkeep as fk

SCHEMES = (
    "none", "mirror", "raid4", "raid5", "raid6", "raid-tp", "lrc", "fra", "ppc", "ds", "dvs", "lifespan",
)  # fmt: skip
TRACE, DRIVE, LIMIT = (*sys.argv[1:], *("synth:dvs-financial,requests=4k", "dvs-8chip", "100000")[len(sys.argv) - 1 :])
WELL = ("scheme", "capacity", "survives", "mean, µs", "p99, µs", "programs a page", "parity", "copies", "collection",
        "reads for parity", "erases", "unprotected, page·s")  # fmt: skip
ILL = ("scheme", "mean before, µs", "mean until rebuilt, µs", "reconstructed", "rebuilt in, s", "lost pages")


def figure(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def rows(scheme: str) -> tuple[list[str], list[str]]:
    """One scheme: a run where all is well, and one where a channel is replaced 1 s after it has failed."""
    drive = fk.drive(DRIVE).replace(**{"redundancy.scheme": scheme, "start.existing": "reads"})
    workload = fk.trace(TRACE, limit=int(LIMIT), compact=not TRACE.startswith("synth:"))
    well = fk.run(drive, workload, requests=False)
    ill = fk.run(drive, workload, fail="channel:1@50%,replace_after=1s", requests=False)
    unit, amplification, integrity = well.redundancy, well.write_amplification, ill.integrity
    parts = (amplification.total, amplification.parity, amplification.mirror, amplification.gc)
    broken = [phase for phase in ill.to_dict()["phases"] if phase["phase"] in ("degraded", "rebuilding")]
    times = [phase["response_us"]["all"] for phase in broken if phase["response_us"]["all"]]
    served = sum(time["count"] for time in times)
    before = ill.to_dict()["phases"][0]["response_us"]["all"]["mean"]
    until = sum(time["mean"] * time["count"] for time in times) / served if served else None
    survives = f"{unit.survives} {unit.unit}{'s' * (unit.survives > 1)}" if unit.survives else "–"
    rebuilt = integrity.time_to_full_redundancy_s if unit.survives else None
    return (
        [scheme, f"{unit.capacity_share:.1%}", survives,
         figure(well.response_us.all.mean), figure(well.response_us.all.p99), *(figure(part, 3) for part in parts),
         f"{well.operations.read.parity:,}", f"{well.wear.erases_total:,}",
         figure(well.integrity.unprotected_page_s)],
        [scheme, figure(before), figure(until), f"{integrity.reconstructed_reads:,}", figure(rebuilt, 2),
         f"{integrity.lost_pages:,}"],
    )  # fmt: skip


with ThreadPoolExecutor(2) as pool:
    tables = zip((WELL, ILL), zip(*pool.map(rows, SCHEMES), strict=True), strict=True)
for head, body in tables:
    print("| " + " | ".join(head) + " |\n|---|" + "--:|" * (len(head) - 1))
    print("\n".join("| " + " | ".join(row) + " |" for row in body), end="\n\n")

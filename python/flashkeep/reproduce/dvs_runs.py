"""The runs for DVS-RAID, one function for each experiment, and the figures computed from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .paper import Run, Workload
from .published import Published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .paper import Results

PUBLISHED = Published("dvs")

WRITES = {"Sequential": 1.0, "Random": 1.0, "Postmark": 1.0, "Financial": 0.768}
"""The share of writes among the requests: ours."""


def requests(title: str) -> int:
    """The number of requests that write the volume of Table 2."""
    written_gb, mean_kb = (PUBLISHED.value("2", title, column) for column in ("written", "mean write"))
    return round(written_gb * 2**20 / mean_kb / WRITES[title])


WORKLOADS = tuple(Workload(f"dvs-{title.lower()}", title, requests(title)) for title in WRITES)

BY_TITLE = {workload.title: workload.name for workload in WORKLOADS}

TITLES = tuple(BY_TITLE)

SCHEMES = {"RAID-0": "none", "RAID-5": "raid5", "DS": "ds", "DVS": "dvs"}

BEFORE = {"Postmark": 300}

UNCOLLECTED = 20_000
"""The number of requests that fit into the spare space of every scheme, so that nothing is collected."""

ABLATED = 200_000
"""The largest number of requests of an ablation; every scheme collects long before."""

KEEP_BACK = ("redundancy.incomplete=wait", "redundancy.idle_ms=1000")


def run(title: str, scheme: str, *more: str, at_most: int | None = None, existing: str = "") -> Run:
    """A workload under a scheme, with more values of the drive."""
    options = (("existing", existing),) if existing else ()
    values = (f"redundancy.scheme={SCHEMES[scheme]}", *more)
    return Run("dvs-8chip", BY_TITLE[title], values, options=options, at_most=at_most)


def uncollected(title: str, scheme: str) -> Run:
    """Cut short before anything is collected."""
    return run(title, scheme, at_most=BEFORE.get(title, UNCOLLECTED))


def shorter(title: str, scheme: str) -> Run:
    """The unchanged run, as long as an ablation, for comparison with ablations."""
    return run(title, scheme, at_most=ABLATED)


def sooner(title: str, scheme: str) -> Run:
    """Collection begins at one per cent of free blocks, not at the last group."""
    return run(title, scheme, "ftl.gc.threshold=0.01", at_most=ABLATED)


def held_back(title: str, scheme: str) -> Run:
    """On an empty drive, where a new stripe of RAID-5 waits in memory until it is full, or for a second."""
    more = KEEP_BACK if scheme == "RAID-5" else ()
    return run(title, scheme, *more, at_most=BEFORE.get(title, UNCOLLECTED), existing="none")


ABLATIONS = {
    "as it is": shorter,
    "before collection": uncollected,
    "collected sooner": sooner,
    "empty, RAID-5 holds back": held_back,
}
"""Circumstances that the paper leaves open, and their runs."""


def schemes(ablation: str) -> tuple[str, ...]:
    """The schemes of an ablation: all before collection, for their order; else the two that are compared."""
    return tuple(SCHEMES) if ablation in ("as it is", "before collection") else ("RAID-5", "DVS")


def runs() -> Iterator[Run]:
    """Everything that is simulated for this paper."""
    for title in TITLES:
        for scheme in SCHEMES:
            yield run(title, scheme)
            yield from (of(title, scheme) for name, of in ABLATIONS.items() if scheme in schemes(name))


def response(results: Results, one: Run) -> float | None:
    """The mean response of all requests, µs."""
    return results.figure(one, "response_us.all.mean")


def erases(results: Results, one: Run) -> float | None:
    """Blocks erased."""
    return results.figure(one, "wear.erases_total")


def cleaning_s(results: Results, one: Run) -> float | None:
    """The total time for which collection kept chips busy: moves over the bus, parities of moved pages, erases."""
    done = results[one]["operations"]
    read, write, erase, transfer = (
        PUBLISHED.value("1", row, "value")
        for row in ("page read (us)", "page write (us)", "block erase (us)", "page transfer (us)")
    )
    programs = done["program"]["gc"] + done["program"]["parity_gc"]
    reads = done["read"]["gc"] + done["read"]["parity_gc"]
    return float((reads * (read + transfer) + programs * (write + transfer) + done["erase"]["gc"] * erase) / 1e6)


PARTS = {"PR": ("read", "parity"), "PW_WR": ("program", "parity"), "PPW": ("program", "partial_parity"),
         "PW_CL": ("program", "parity_gc")}  # fmt: skip
"""The parts of the overhead in Figure 5: pages read for parity, parities of host writes, of partial stripes that the
timeout closed, and of what collection moved."""


def part(results: Results, one: Run, name: str) -> float:
    """Pages of a part."""
    kind, cause = PARTS[name]
    return float(results[one]["operations"][kind][cause])


def faster(results: Results, title: str, of: Callable[[str, str], Run] = run) -> float | None:
    """How much faster DVS responds than RAID-5, %."""
    five, dvs = (response(results, of(title, scheme)) for scheme in ("RAID-5", "DVS"))
    return 100 * (five - dvs) / five if five and dvs is not None else None


def longer(results: Results, title: str) -> float | None:
    """How many more blocks RAID-5 erases than DVS, %: with DVS a drive lasts that much longer."""
    five, dvs = (erases(results, run(title, scheme)) for scheme in ("RAID-5", "DVS"))
    return 100 * (five / dvs - 1) if five is not None and dvs else None

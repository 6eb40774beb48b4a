"""The runs for SIRF-1, one function for each experiment, and the figures computed from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .paper import Run, Workload
from .published import Published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .paper import Results

PUBLISHED = Published("sirf1")

WORKLOADS = tuple(
    Workload(name, title, round(PUBLISHED.value("III", title, "Requests")))
    for name, title in (
        ("sirf-exchange", "Exchange"),
        ("sirf-build", "Build"),
        ("sirf-tpcc", "TPC-C"),
        ("sirf-fin1", "Fin1"),
        ("sirf-fin2", "Fin2"),
    )
)

BY_TITLE = {workload.title: workload.name for workload in WORKLOADS}

TITLES = tuple(BY_TITLE)

PAIRS = {
    "TP1": ("1CNM-64", "2CM-128"),
    "TP2": ("2CNM-64", "4CM-128"),
    "TP3": ("4CNM-64", "8CM-128"),
    "TP4": ("4CNM-32", "8CM-64"),
    "TP5": ("4CNM-64", "8CM-128"),
    "TP6": ("4CNM-128", "8CM-256"),
}

CHANNELS, CAPACITY = ("TP1", "TP2", "TP3"), ("TP4", "TP5", "TP6")

MEANS = {"dMRT": "all", "dMRRT": "read", "dMWRT": "write"}

GREEK = {"dMRT": "ΔMRT", "dMRRT": "ΔMRRT", "dMWRT": "ΔMWRT"}

PAGES_KIB = (2, 4, 8)

ABLATED = 500_000
"""The largest number of requests of an ablation: enough to fill the DRAM and for means exact to one per cent."""

BURSTS = "bursts=0.1:100"
"""One gap in ten is a pause, the others are a hundredth of the mean gap."""


def pair(name: str, workload: str, *both: str, mirror: tuple[str, ...] = (), synth: str = "") -> tuple[Run, Run]:
    """The plain and the mirrored run of a test pair; `both` and `mirror` set values of the drives."""
    plain, mirrored = PAIRS[name]
    at_most = ABLATED if mirror or synth else None
    return (
        Run(plain, workload, both, synth, at_most=at_most),
        Run(mirrored, workload, (*both, *mirror), synth, at_most=at_most),
    )


def equal_dram(name: str, workload: str) -> tuple[Run, Run]:
    """The mirrored drive with the DRAM of the plain one."""
    published = PUBLISHED.value("V", f"{name}/{PAIRS[name][0]}", "DRAM")
    return pair(name, workload, mirror=(f"buffer.dram_mib={published:g}",))


def least_busy(name: str, workload: str) -> tuple[Run, Run]:
    """Reads go to the copy that will be ready first, not to each in turn."""
    return pair(name, workload, mirror=("redundancy.read_policy=least-busy",))


def in_bursts(name: str, workload: str) -> tuple[Run, Run]:
    """The same mean rate, in bursts."""
    return pair(name, workload, synth=BURSTS)


def in_bursts_equal_dram(name: str, workload: str) -> tuple[Run, Run]:
    """In bursts, and with the same DRAM on both sides."""
    mirrored = equal_dram(name, workload)[1]
    return pair(name, workload, synth=BURSTS)[0], Run(mirrored.drive, workload, mirrored.set, BURSTS, at_most=ABLATED)


def page_size(kib: int, workload: str) -> tuple[Run, Run]:
    """The first pair with pages of another size; chips and DRAM stay."""
    return pair("TP1", workload, *(() if kib == 4 else (f"flash.page_kib={kib}",)))


def as_it_is(name: str, workload: str) -> tuple[Run, Run]:
    """The unchanged run with fewer requests, for comparison with the ablations."""
    plain, mirrored = PAIRS[name]
    return Run(plain, workload, at_most=ABLATED), Run(mirrored, workload, at_most=ABLATED)


ABLATIONS = {
    "as it is": as_it_is,
    "equal DRAM": equal_dram,
    "least busy": least_busy,
    "bursts": in_bursts,
    "bursts, equal DRAM": in_bursts_equal_dram,
}


def ablated_pairs(ablation: str) -> tuple[str, ...]:
    """The test pairs of an ablation; for the choice of the copy, which hardly matters, three are enough."""
    return CHANNELS if ablation == "least busy" else tuple(PAIRS)


def runs() -> Iterator[Run]:
    """Everything that is simulated for this paper."""
    for workload in BY_TITLE.values():
        for name in PAIRS:
            yield from pair(name, workload)
        for kib in PAGES_KIB:
            yield from page_size(kib, workload)
        for ablation, ablated in ABLATIONS.items():
            for name in ablated_pairs(ablation):
                yield from ablated(name, workload)


def gain(results: Results, two: tuple[Run, Run], mean: str) -> float | None:
    """How much faster the mirrored drive is, % of the plain one: 100 · (plain − mirrored) / plain."""
    plain, mirrored = (results.figure(run, f"response_us.{MEANS[mean]}.mean") for run in two)
    return None if plain is None or mirrored is None else 100.0 * (plain - mirrored) / plain

"""MQSim's `workload.xml`: the flows of a scenario as a file of flows (`--flows`).

Facts from its documentation and public source: sizes, alignment and addresses in sectors of 512 bytes; a flow of
QUEUE_DEPTH keeps that many outstanding, one of BANDWIDTH has exponential gaps; its addresses are a share of the
drive's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .draft import no_counterpart
from .elements import Element, Elements, WrongInputError
from .mqsim import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = r"<\s*MQSim_IO_Scenarios"
SCENARIO = "IO_Scenario"
SYNTHETIC, TRACE = "IO_Flow_Parameter_Set_Synthetic", "IO_Flow_Parameter_Set_Trace_Based"
SECTOR = 512
ADDRESSES = {"RANDOM_UNIFORM": "random", "STREAMING": "sequential", "RANDOM_HOTCOLD": "random"}
REQUESTS = 100_000
"""Of a flow whose number of requests follows from neither of its parameters."""

NO_COUNTERPART = {
    "Channel_IDs": "a flow uses the whole drive",
    "Chip_IDs": "a flow uses the whole drive",
    "Die_IDs": "a flow uses the whole drive",
    "Plane_IDs": "a flow uses the whole drive",
    "Initial_Occupancy_Percentage": "the drive file says what exists at first: start.existing, ageing",
    "Device_Level_Data_Caching_Strategy": "the drive file says what its DRAM does: buffer",
    "Seed": "the seed belongs to a run: --seed",
}


PRIORITIES = {name.upper(): name for name in ("urgent", "high", "medium", "low")}


@dataclass
class Flow:
    """A flow: its workload as commands take it, its class, and options of the run."""

    scenario: int
    number: int
    workload: str = ""
    priority: str | None = None
    options: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    dropped: list[tuple[Element, str]] = field(default_factory=list)

    def drop(self, element: Element | None, why: str) -> None:
        """A parameter that a workload cannot express."""
        if element is not None:
            self.dropped.append((element, why))

    @property
    def name(self) -> str:
        return f"flow-{self.number}"

    def table(self) -> str:
        """The flow as a table of a file of flows."""
        keys = {"name": self.name, "workload": self.workload, "priority": self.priority}
        given = (f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if value is not None)
        return "".join(["[[flow]]\n", *given])

    def __str__(self) -> str:
        return " ".join([self.workload, *self.options])


@dataclass
class Flows:
    """The flows of a scenario of a file."""

    file: str
    scenario: int
    scenarios: int
    all: list[Flow]

    @property
    def options(self) -> list[str]:
        """Options of a run that its traces need."""
        return list(dict.fromkeys(" ".join(flow.options) for flow in self.all if flow.options))

    def text(self) -> str:
        """The file of flows."""
        command = " ".join(["flashkeep run DRIVE --flows FILE", *self.options])
        head = f"# Scenario {self.scenario} of {self.file}: {command}\n"
        return "\n".join([head, *(flow.table() for flow in self.all)])

    def report(self) -> Iterator[str]:
        """The assumptions about each flow, and the elements without a counterpart."""
        others = f" of {self.scenarios} (--scenario N chooses another)" if self.scenarios > 1 else ""
        yield f"{self.file}: {len(self.all)} flows of MQSim, scenario {self.scenario}{others}"
        for option in self.options:
            yield f"its traces need the options {option}"
        for flow in self.all:
            yield f"{flow.name}: {flow}"
            yield from (f"  assumed: {why}" for why in flow.assumed)
            yield from (f"  no counterpart: {element}: {why}" for element, why in flow.dropped)

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "format": "mqsim-flows",
            "scenarios": self.scenarios,
            "flows": [{"scenario": flow.scenario, "flow": flow.number, "name": flow.name, "workload": flow.workload,
                       "priority": flow.priority, "options": flow.options, "assumed": flow.assumed,
                       "no_counterpart": no_counterpart(flow.dropped)} for flow in self.all],
            "text": self.text(),
        }  # fmt: skip


def import_flows(path: str, file: str, text: str, chosen: int) -> Flows:
    """Reads the flows of a scenario; those of a file without scenarios are one.

    Raises `WrongInputError`.
    """
    flows: dict[tuple[str, int], Elements] = {}
    scenarios: dict[tuple[str, int], int] = {}
    of_scenario: dict[tuple[str, int], int] = {}
    for above, element in leaves(path, text):
        place = next((tag for tag in above if tag[0] in (SYNTHETIC, TRACE)), None)
        if place is None:
            continue
        scenario = next((tag for tag in above if tag[0] == SCENARIO), place)
        of_scenario[place] = scenarios.setdefault(scenario, len(scenarios) + 1)
        flows.setdefault(place, Elements(path)).add(element)
    if not flows:
        raise WrongInputError(path, None, None, f"no flow; accepted: {SYNTHETIC} and {TRACE}")
    numbers = dict.fromkeys(of_scenario.values())
    if chosen not in numbers:
        raise WrongInputError(path, None, None, f"no scenario {chosen}; accepted: 1 to {len(numbers)}")
    found: list[Flow] = []
    for (tag, line), elements in flows.items():
        if of_scenario[tag, line] != chosen:
            continue
        flow = Flow(chosen, 1 + len(found))
        (_synthetic if tag == SYNTHETIC else _of_trace)(elements, flow)
        priority = elements.find("Priority_Class")
        flow.priority = elements.word(priority, PRIORITIES) if priority else None
        for name, why in NO_COUNTERPART.items():
            flow.drop(elements.find(name), why)
        for element in elements.unused():
            flow.drop(element, "not known here")
        found.append(flow)
    return Flows(file, chosen, len(numbers), found)


def _percent(elements: Elements, element: Element) -> Fraction:
    share = elements.number(element)
    if share > 100:
        raise elements.wrong(element, "a percentage, 0 to 100")
    return share / 100


def _synthetic(elements: Elements, flow: Flow) -> None:
    reads = elements.get("Read_Percentage")
    size = elements.whole(elements.get("Average_Request_Size"), 1) * SECTOR
    addresses = elements.get("Address_Distribution")
    keys = {
        "requests": str(_requests(elements, flow, size)),
        "write": f"{float(1 - _percent(elements, reads)):g}",
        "size": f"{size}B",
    }
    if addresses.text.strip().upper() == "RANDOM_HOTCOLD":
        flow.drop(addresses, "all addresses are equally likely; synth:zipf has popular ones")
    hot = elements.find("Percentage_of_Hot_Region")
    if hot and elements.number(hot):
        flow.drop(hot, "all addresses are equally likely")
    aligned, unit = elements.find("Generated_Aligned_Addresses"), elements.find("Address_Alignment_Unit")
    if aligned and unit and elements.flag(aligned):
        keys["align"] = f"{elements.whole(unit, 1) * SECTOR}B"
    share = elements.find("Working_Set_Percentage")
    if share and _percent(elements, share) < 1:
        flow.drop(share, "in bytes it depends on the drive: add footprint=BYTES")
    sizes, variance = elements.find("Request_Size_Distribution"), elements.find("Variance_Request_Size")
    if sizes and sizes.text.strip().upper() != "FIXED":
        flow.drop(sizes, "all requests have the mean size; size=4KiB:0.7/8KiB:0.3 has several")
        flow.drop(variance, "the same")
    _pace(elements, flow, size, keys)
    name = elements.word(addresses, ADDRESSES)
    flow.workload = ",".join([f"synth:{name}", *(f"{key}={value}" for key, value in keys.items())])


def _requests(elements: Elements, flow: Flow, size: int) -> int:
    """The requests of a flow: a number of them, or those of its time at its rate."""
    number, stop = elements.find("Total_Requests_To_Generate"), elements.find("Stop_Time")
    if number and elements.whole(number):
        if stop and elements.whole(stop):
            flow.drop(stop, "the number of requests ends it")
        return elements.whole(number)
    bandwidth, kind = elements.find("Bandwidth"), elements.find("Synthetic_Generator_Type")
    timed = kind is not None and kind.text.strip().upper().startswith("BANDWIDTH")
    if timed and bandwidth and stop and elements.whole(stop):
        return max(1, int(elements.number(bandwidth, 0) / size * elements.whole(stop) / 10**9))
    flow.drop(stop, "a closed loop ends by its number of requests")
    flow.assumed.append(f"{REQUESTS:,} requests: the file has no number of them")
    return REQUESTS


def _pace(elements: Elements, flow: Flow, size: int, keys: dict[str, str]) -> None:
    kind = elements.get("Synthetic_Generator_Type")
    depth, bandwidth = elements.find("Average_No_of_Reqs_in_Queue"), elements.find("Bandwidth", "Bandwdith")
    words = {"QUEUE_DEPTH": "depth", "BANDWIDTH": "rate", "BANDWIDTH_LIMITED": "rate"}
    if elements.word(kind, words) == "depth":
        keys["depth"] = str(elements.whole(elements.get("Average_No_of_Reqs_in_Queue"), 1))
        if bandwidth and elements.number(bandwidth):
            flow.drop(bandwidth, "a closed loop has no rate")
        return
    rate = elements.number(elements.get("Bandwidth", "Bandwdith"), 0) / size
    keys["rate"] = f"{float(rate):.9g}"
    if depth and elements.number(depth):
        flow.drop(depth, "requests come at a rate")


def _of_trace(elements: Elements, flow: Flow) -> None:
    flow.workload = elements.get("File_Path").text.strip()
    if not flow.workload or any(letter.isspace() for letter in flow.workload):
        raise elements.wrong(elements.get("File_Path"), "a path without blanks")
    flow.options = ["--format", "mqsim"]
    times, share = elements.find("Relay_Count", "Replay_Count"), elements.find("Percentage_To_Be_Executed")
    if times and (number := elements.whole(times)) > 1:
        flow.options += ["--repeat", str(number)]
    if share and _percent(elements, share) < 1:
        flow.drop(share, "--limit N uses the first requests of a trace")
    unit = elements.find("Time_Unit")
    if unit and elements.word(unit, {"NANOSECOND": "ns", "PICOSECOND": "ps", "MICROSECOND": "us"}) != "ns":
        flow.drop(unit, "times in the trace are taken as ns: see --time-scale")

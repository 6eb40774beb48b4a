"""A case: the options of a run, its requests, and what the judge must know of it."""

from __future__ import annotations

import json
import re
import shlex
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HEADER = "time_ns,device,op,offset_B,size_B"
CODES = {"R": (0, 0), "W": (1, 0), "T": (2, 0), "F": (3, 0), "WF": (1, 1)}
"""The op of a record, and whether it asks for FUA."""

HANDLES = re.compile(r"ftl\.handles ?= ?(\d+)")
"""The number of placement handles among the keys of a drive."""


class Request(NamedTuple):
    """A request: its arrival, `R`, `W`, `T`, `F` or `WF`, and its bytes."""

    time_ns: int
    op: str
    offset: int
    size: int

    def handle(self, handles: int) -> int:
        """Its placement handle, of that many: what lies side by side is in turn of another one."""
        return (self.offset >> 13) % handles if self.op.startswith("W") else 0


@dataclass
class Case:
    """A run with random contents. `options` are those of a job, `drive` and `set` among them."""

    options: dict[str, Any] = field(default_factory=dict)
    requests: list[Request] | None = None
    """The trace; `options["traces"]` names a synthetic workload if there is none."""
    tags: set[str] = field(default_factory=set)
    """What it has: `untimed`, `power`, `transient`, …"""
    handles: int = 1
    """The placement handles of its writes."""

    def to_dict(self) -> dict[str, Any]:
        """The case for another process."""
        tags = sorted(self.tags)
        return {"options": self.options, "requests": self.requests, "handles": self.handles, "tags": tags}

    @staticmethod
    def from_dict(told: Mapping[str, Any]) -> Case:
        """The reverse of `to_dict`."""
        requests = [Request(*each) for each in told["requests"]]
        return Case(told["options"], requests, set(told["tags"]), told.get("handles", 1))

    def give_handles(self, texts: Iterable[str]) -> None:
        """Writes get placement handles if a drive has some, which its keys in these texts say. Members of an array may
        have fewer."""
        found = [int(count) for text in texts for count in HANDLES.findall(text)]
        self.handles = max(found, default=1)
        if self.handles > 1:
            self.options["ignore_handles"] = True


def as_csv(requests: Sequence[Request], handles: int = 1) -> str:
    """Requests as a trace file, with this number of placement handles."""
    lines = [f"{time_ns},0,{op},{offset},{size}" for time_ns, op, offset, size in requests]
    if handles > 1:
        lines = [f"{line},{each.handle(handles)}" for line, each in zip(lines, requests, strict=True)]
    return "\n".join([HEADER + ",handle" * (handles > 1), *lines]) + "\n"


def as_records(requests: Sequence[Request], handles: int = 1) -> bytes:
    """The same in the format `records`, which a job reads from memory."""
    pack = struct.Struct("<QQIIBBBB4s").pack
    return b"".join(
        pack(each.time_ns, each.offset, each.size, 0, *CODES[each.op], each.handle(handles), 0, b"fkr1")
        for each in requests
    )


def scenario(events: Sequence[str]) -> str:
    """Fault events, as `--fail` takes them, as a scenario file."""
    return "\n".join(map(_event, events))


def _event(text: str) -> str:
    head, *more = text.split(",")
    what, when = head.split("@")
    lines = ["[[event]]", f"what = {json.dumps(what)}", f"when = {json.dumps(when)}"]
    for word in more:
        key, _, value = word.partition("=")
        lines.append(f"{key} = {json.dumps(value) if value else 'true'}")
    return "\n".join(lines) + "\n"


def command_line(job: Mapping[str, Any]) -> str:
    """A job as a command."""
    words = ["flashkeep", "run", job["drive"], *job.get("traces", ())]
    for name, value in job.items():
        option = "--" + name.replace("_", "-")
        if name in {"drive", "drive_text", "traces", "keep_requests"} or value is None or value is False:
            continue
        for each in value if isinstance(value, list) else [value]:
            words += [option] if each is True else [option, str(each)]
    return shlex.join(words)

"""Figures of a served drive over time, for its live page: a thread asks for `stats`, and keeps the last ten minutes."""

from __future__ import annotations

import threading
import time
from collections import deque

from .control import ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PERIOD_S = 1.0
"""The time between samples."""

KEPT = 600
"""Samples that are kept: ten minutes."""

SHARES = {"stats": 0.1, "unflushed": 0.01}
"""The most of its time that the model spends on the samples. `unflushed` looks at all that the DRAM holds."""

LONGEST_S = 5.0
"""The longest time between samples, but for slow answers."""

LISTED = 20
"""Phases and rebuilds that are shown: the last ones."""

COLUMNS = (
    "wall_s", "virtual_s", "requests_s", "mean_us", "p50_us", "p99_us", "outstanding", "outstanding_mean", "gc_s",
    "erases_s", "waf", "waf_total", "fill", "erases_mean", "erases_max", "unflushed", "late", "failed",
)  # fmt: skip
"""The figures of a sample: of the interval since the sample before, of this instant, or since the start."""


class Totals:
    """What counts up: the difference between two samples is an interval."""

    def __init__(self, stats: Mapping[str, Any]) -> None:
        summary, served = stats["summary"], stats["serve"]
        response, operations = summary["response_us"]["all"] or {}, summary["operations"]
        written = summary["workload"]["bytes_written"]
        self.virtual_s: float = stats["time_ns"] / 1e9
        self.requests: float = response.get("count") or 0
        self.response_us: float = self.requests * (response.get("mean") or 0.0)
        self.written: float = written
        self.programmed: float = (summary.get("waf_bytes") or 0.0) * written
        moved = (operations[kind] for kind in ("read", "program", "copyback"))
        self.gc: float = sum(by["gc"] + by["parity_gc"] for by in moved)
        self.erases: float = sum(operations["erase"].values())
        self.late: float = served["late_replies"]
        self.failed: float = served["failed_requests"]


def ratio(part: float, whole: float) -> float | None:
    """None where nothing happened."""
    return part / whole if whole > 0 and part >= 0 else None


def sample(wall_s: float, stats: Mapping[str, Any], before: Totals, unflushed: int | None) -> list[float | None]:
    """The values of `COLUMNS`."""
    now, summary = Totals(stats), stats["summary"]
    response = summary["response_us"]["all"] or {}
    wear, seconds = summary.get("wear") or {}, now.virtual_s - before.virtual_s
    requests, waited = now.requests - before.requests, now.response_us - before.response_us
    flash = summary.get("fill") is not None and bool(wear)
    return [
        wall_s,
        now.virtual_s,
        ratio(requests, seconds),
        ratio(waited, requests),
        response.get("p50"),
        response.get("p99"),
        stats["serve"]["outstanding"],
        ratio(waited / 1e6, seconds),
        ratio(now.gc - before.gc, seconds) if flash else None,
        ratio(now.erases - before.erases, seconds) if flash else None,
        ratio(now.programmed - before.programmed, now.written - before.written),
        summary.get("waf_bytes"),
        summary.get("fill") if flash else None,
        wear.get("erases_mean"),
        wear.get("erases_max"),
        unflushed,
        now.late - before.late,
        now.failed - before.failed,
    ]


def member_row(at: int, member: Mapping[str, Any], phases: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A member of an array, or a part of a drive that its redundancy works across."""
    wear, use, errors = (member.get(section) or {} for section in ("wear", "utilization", "errors"))
    operations, disk = member["operations"], member.get("disk") or {}
    place = member.get("member")
    events = [phase["event"] for phase in phases if phase["event"]]
    return {
        "member": str(at) if place is None else place,
        "name": member.get("name"),
        "programs": sum(operations["program"].values()),
        "gc": sum(operations[kind]["gc"] + operations[kind]["parity_gc"] for kind in ("program", "copyback")),
        "waf": (member.get("write_amplification") or {}).get("total"),
        "erases": sum(operations["erase"].values()),
        "erases_max": wear.get("erases_max"),
        "life_left": wear.get("remaining_life_mean"),
        "busy": disk.get("busy", use.get("die_mean")),
        "retries": errors.get("retries_per_read"),
        "uncorrectable": (errors.get("uncorrectable") or {}).get("drawn"),
        "faults": [event for event in events if place is not None and f"member:{place}@" in f"{event}@"],
    }


def current(stats: Mapping[str, Any]) -> dict[str, Any]:
    """The state of the drive, as the page shows it."""
    summary = stats["summary"]
    phases, integrity = summary["phases"], summary["integrity"]
    shown = ("phase", "event", "from_s", "until_s", "lost_pages", "reconstructed_reads")
    # The last phase has not ended: its end and its counts are still to come.
    still_open = dict.fromkeys(shown[3:])
    return {
        "drive": summary["drive"].get("name") or "a drive",
        "start": summary["start"],
        "capacity_bytes": summary["capacity_bytes"],
        "time_ns": stats["time_ns"],
        "serve": stats["serve"],
        "lost_bytes": sum(entry["length"] for entry in stats["lost"]),
        "power_cuts": integrity["power_cuts"],
        "volatile_pages_lost": integrity["volatile_pages_lost"],
        "redundancy": summary["redundancy"],
        "requests": {kind: summary["workload"][kind] for kind in ("reads", "writes", "trims", "flushes")},
        "phases": [
            {key: phase[key] for key in shown}
            | {"p99_us": (phase["response_us"]["all"] or {}).get("p99")}
            | (still_open if phase is phases[-1] else {})
            for phase in phases[-LISTED:]
        ],
        "rebuilds": summary["rebuilds"][-LISTED:],
        "members": [member_row(at, member, phases) for at, member in enumerate(summary["members"])],
        "warnings": summary["warnings"],
    }


class Sampler:
    """Asks the drive through its control socket, about once a second, however many look at the page."""

    def __init__(self, control: str) -> None:
        self.problem = "the drive is being prepared"
        self._control, self._began = control, time.monotonic()
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._samples: deque[list[float | None]] = deque(maxlen=KEPT)
        self._taken, self._cost_s = 0, 0.0
        self._now: dict[str, Any] | None = None
        self._before: Totals | None = None
        self._asked: float | None = None
        self._unflushed: tuple[float, int | None] = (0.0, None)
        self._thread = threading.Thread(target=self._run, name="flashkeep samples", daemon=True)

    def start(self) -> None:
        """The drive is being served."""
        self._thread.start()

    def close(self) -> None:
        """Ends the thread."""
        self._ended.set()
        self.problem = "the server has ended"

    def wall_s(self) -> float:
        """Seconds since the start: the time axis of the page."""
        return time.monotonic() - self._began

    def _run(self) -> None:
        wait = 0.0
        while not self._ended.wait(max(wait, 0.0)):
            began = time.monotonic()
            try:
                self._take()
                self._tell("")
            except Exception as problem:  # the page tells it, and the next sample may succeed
                self._tell(f"no figures: {problem}")
            took = time.monotonic() - began
            wait = min(max(PERIOD_S, self._cost_s / SHARES["stats"]), LONGEST_S) - took

    def _tell(self, problem: str) -> None:
        if not self._ended.is_set():
            self.problem = problem

    def _take(self) -> None:
        self._asked = asked = time.monotonic()
        stats = ask(self._control, "stats")
        self._cost_s = time.monotonic() - asked
        self._asked = None
        due, unflushed = self._unflushed
        began = time.monotonic()
        if began >= due:
            unflushed = ask(self._control, "unflushed")["bytes"]
            took = time.monotonic() - began
            self._unflushed = (began + took / SHARES["unflushed"], unflushed)
        before = self._before or Totals(stats)
        taken = sample(self.wall_s(), stats, before, unflushed)
        with self._lock:
            self._samples.append(taken)
            self._taken += 1
            self._now, self._before = current(stats), Totals(stats)

    def figures(self, after: int) -> dict[str, Any]:
        """The state, and the samples from number `after` on."""
        with self._lock:
            first = self._taken - len(self._samples)
            fresh = list(self._samples)[max(after - first, 0) :] if after <= self._taken else list(self._samples)
            return {
                "columns": COLUMNS, "samples": fresh, "next": self._taken, "kept": KEPT, "now": self._now,
                "wall_s": self.wall_s(), "problem": self.problem or self._late(),
            }  # fmt: skip

    def _late(self) -> str:
        """What to say while the drive computes."""
        asked = self._asked
        waited = 0.0 if asked is None else time.monotonic() - asked
        return f"the drive has computed for {waited:,.0f} s without an answer" if waited > LONGEST_S else ""

"""The commands `serve` and `control`."""

from __future__ import annotations

import json
import signal

from ..inputs.run_options import RUN_OPTIONS
from .control import ask
from .server import TICK_S, Addresses, Served

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

OPTIONS = ("allow_remote", "session", "store", "on_cut", "ignore_flush", "time", "save_aged")
"""The options that only a served drive has."""

SHOWN_RANGES = 10
"""The most ranges that an answer for people lists."""


def serve(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Serves a drive until SIGINT or SIGTERM, and returns the summary."""
    stopped: list[int] = []

    def stop(number: int, _frame: object) -> None:
        stopped.append(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    given = {option.name: arguments.get(option.name) for option in RUN_OPTIONS if option.name != "save_aged"}
    wanted = {key: value for key, value in given.items() if value is not None and value is not False}
    addresses = Addresses(arguments["listen"] or [], arguments["control"])
    options = {name: arguments[name] for name in OPTIONS}
    options["on_cut"] = options["on_cut"] or "fail"
    options["time"] = options["time"] or "real"

    job = {"drive": arguments["drive"], "traces": [], **wanted}
    served = Served(job, addresses, options, arguments["command_line"], lambda: bool(stopped))
    if arguments["json"]:
        print(json.dumps({"uris": served.uris, "control": addresses.control, "size": served.size}), flush=True)
    elif not arguments["quiet"]:
        print(_welcome(arguments["drive"], served.size, served.uris, addresses.control), flush=True)
    while not stopped and not served.wait(TICK_S):
        pass
    return served.summary()


def _welcome(drive: str, size: int, uris: list[str], control: str) -> str:
    """What a newcomer needs: the address, and three commands to try."""
    uri = uris[0]
    lines = [
        f"{drive}, {size / 1e9:,.1f} GB, is served at {' and '.join(uris)}",
        "Ctrl-C ends it and prints what it did. In another terminal:",
        "",
        f"  nbdinfo '{uri}'",
        f"  fio --name=try --ioengine=nbd --uri='{uri}' --rw=randwrite --bs=4k --size=64M --verify=crc32c",
        f"  flashkeep control {control} cut",
        "",
    ]
    return "\n".join(lines)


def control(arguments: Mapping[str, Any]) -> str:
    """Carries out a verb on a served drive; the answer as text."""
    answer = ask(arguments["socket"], arguments["verb"], *arguments["argument"])
    if arguments["json"]:
        return json.dumps(answer)
    return _shown(answer)


def _shown(answer: Mapping[str, Any]) -> str:
    """An answer for people: a line for each figure."""
    lines = [f"virtual time  {answer['time_ns'] / 1e9:.9f} s"] if "time_ns" in answer else []
    for key, value in answer.items():
        if key == "time_ns":
            continue
        if key in ("ranges", "lost", "unreadable"):
            total = sum(entry["length"] for entry in value)
            lines.append(f"{key}  {len(value)} ({total:,} bytes)")
            lines.extend(f"  {entry['offset']} +{entry['length']}" for entry in value[:SHOWN_RANGES])
            if len(value) > SHOWN_RANGES:
                lines.append(f"  … and {len(value) - SHOWN_RANGES:,} more; --json has all")
        elif key == "serve":
            lines.append(served_text(value))
        elif key == "summary":
            lines.extend(_main_figures(value))
        elif isinstance(value, dict):
            lines.append(f"{key}:")
            lines.append(json.dumps(value, indent=2))
        elif value is not None:
            lines.append(f"{key}  {value}")
    return "\n".join(lines)


def served_text(served: Mapping[str, Any]) -> str:
    """What the server has done."""
    return (
        f"served  {served['requests']:,} requests of clients, {served['failed_requests']:,} failed; "
        f"{served['late_replies']:,} replies late, the latest by {served['latest_reply_us'] / 1e3:,.3f} ms; "
        f"{served['stored_bytes'] / 2**20:,.1f} MiB of contents"
    )


def _main_figures(summary: Mapping[str, Any]) -> Iterator[str]:
    """The figures of a summary that are of interest while a drive is served; JSON has all."""
    workload = summary["workload"]
    kinds = ("reads", "writes", "trims", "flushes", "fua_writes")
    yield "  ".join(f"{kind.replace('_', ' ')} {workload[kind]:,}" for kind in kinds)
    for kind, times in summary["response_us"].items():
        if isinstance(times, dict) and times.get("count"):
            figures = ((name, times.get(name)) for name in ("mean", "p50", "p99", "max"))
            shown = "  ".join(f"{name} {value:,.1f}" for name, value in figures if value is not None)
            yield f"{kind}, µs  {shown}"

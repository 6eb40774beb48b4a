"""The commands `serve` and `control`."""

from __future__ import annotations

import json
import signal

from .answers import shown
from .control import ask
from .server import TICK_S, Addresses, Served

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

OPTIONS = ("allow_remote", "session", "store", "on_cut", "ignore_flush", "time", "save_aged", "http")
"""The options that only a served drive has."""


def serve(arguments: Mapping[str, Any], job: Mapping[str, object]) -> dict[str, Any]:
    """Serves the drive of a job until SIGINT or SIGTERM, and returns the summary."""
    stopped: list[int] = []

    def stop(number: int, _frame: object) -> None:
        stopped.append(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    addresses = Addresses(arguments["listen"] or [], arguments["control"])
    options = {name: arguments[name] for name in OPTIONS}
    options["on_cut"] = options["on_cut"] or "fail"
    options["time"] = options["time"] or "real"

    served = Served(job, addresses, options, arguments["command_line"], lambda: bool(stopped))
    if arguments["json"]:
        where = {"uris": served.uris, "control": addresses.control, "size": served.size}
        print(json.dumps(where | ({"http": served.http_url} if served.http_url else {})), flush=True)
    elif not arguments["quiet"]:
        print(_welcome(arguments["drive"], served, addresses.control), flush=True)
    while not stopped and not served.wait(TICK_S):
        pass
    return served.summary()


def _welcome(drive: str, served: Served, control: str) -> str:
    """What a newcomer needs: the addresses, and three commands to try."""
    uri = served.uri
    lines = [
        f"{drive}, {served.size / 1e9:,.1f} GB, is served at {' and '.join(served.uris)}",
        *([f"Its live page is {served.http_url}"] if served.http_url else []),
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
    return shown(answer)

"""The client of a served drive's control socket: a line of JSON for each verb, and one back."""

from __future__ import annotations

import json
import socket

from .._flashkeep import OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any


def path_of(address: str) -> str:
    """The path of a control socket, which may be given as `unix:PATH`."""
    return address.removeprefix("unix:")


def ask(control: str | os.PathLike[str], verb: str, *arguments: object) -> dict[str, Any]:
    """Carries out a verb and returns the answer; raises `OptionError` if the server refuses it, and `OSError` without a
    server."""
    path = path_of(str(control))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(path)
        except OSError as error:
            raise OSError(error.errno, f"no served drive listens: {error.strerror}", path) from None
        line = json.dumps({"verb": verb, "arguments": [str(argument) for argument in arguments]})
        client.sendall(line.encode() + b"\n")
        with client.makefile("rb") as lines:
            answer = lines.readline()
    if not answer:
        raise OSError(None, f"{path}: the server ended without an answer")
    found: dict[str, Any] = json.loads(answer)
    if not found.pop("ok", False):
        message = str(found.get("error", "refused")).removeprefix(f"{verb}: ")
        raise OptionError(f"{verb}: {message}")
    return found

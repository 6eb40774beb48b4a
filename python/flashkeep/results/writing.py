"""Writes files that appear under their name only when they are complete."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

UNFINISHED = ".unfinished"
"""The ending of files that are being written."""


@contextmanager
def unfinished(path: str, mark: str = "") -> Iterator[str]:
    """A temporary name beside `path`. At the end the file is renamed, after an error it is removed.

    Where several writers may write the same file at the same time, `mark` keeps their temporary files apart.
    """
    temporary = f"{path}{mark}{UNFINISHED}"
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.remove(temporary)
        raise


def put(path: str, content: bytes, mark: str = "") -> None:
    """Writes a whole file; see `unfinished`."""
    with unfinished(path, mark) as temporary, open(temporary, "wb") as file:
        file.write(content)


def own_mark() -> str:
    """A mark that no other thread, process or machine has."""
    return f".{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}"

"""The progress line on a terminal: the share done, requests per second, time left."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ERASE = "\r\033[K"


class State:
    """The progress of one run: the run writes it, the display reads it."""

    __slots__ = ("requests", "share")

    def __init__(self) -> None:
        self.requests = 0
        self.share: float | None = None


class Line:
    """One line on standard error, redrawn repeatedly and cleared at the end."""

    __slots__ = ("_drawn", "_started", "_wanted")

    def __init__(self, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._started = time.monotonic()
        self._drawn = False

    def draw(self, states: Sequence[State]) -> None:
        elapsed = time.monotonic() - self._started
        if self._wanted and elapsed > 0.3:  # for a short run the line would only flicker
            sys.stderr.write(ERASE + line(states, elapsed))
            sys.stderr.flush()
            self._drawn = True

    def clear(self) -> None:
        if self._drawn:
            sys.stderr.write(ERASE)
            sys.stderr.flush()
            self._drawn = False


def line(states: Sequence[State], elapsed: float) -> str:
    """` 42 % 1.2 M requests/s 3 s left`; without a share if the stream's length is unknown."""
    requests = sum(state.requests for state in states)
    rate = requests / elapsed if elapsed > 0 else 0.0
    shares = [state.share for state in states]
    pace = f"{rate / 1e6:.2f} M" if rate >= 1e6 else f"{rate / 1e3:.0f} k" if rate >= 1e3 else f"{rate:.0f}"
    if any(share is None for share in shares):
        return f"{requests:,} requests  {pace} requests/s"
    done = min(1.0, sum(share for share in shares if share is not None) / len(shares))
    told = f"{100 * done:3.0f} %  {pace} requests/s"
    if done > 0.01:
        told += f"  {_left(elapsed * (1 - done) / done)} left"
    return told


def _left(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"

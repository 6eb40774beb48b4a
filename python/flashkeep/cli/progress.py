"""The progress line: the share done, requests per second, time left.

A terminal has it redrawn; elsewhere, such as in the log of a batch system, a line is written every 30 s.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Protocol

    class Display(Protocol):
        """Where progress is shown."""

        def draw(self, states: Sequence[State], /) -> None: ...

        def clear(self) -> None: ...


ERASE = "\r\033[K"
EVERY_S = 30.0
"""Seconds between two lines where there is no terminal."""


class State:
    """The progress of one run: the run writes it, the display reads it."""

    __slots__ = ("ends", "requests", "share")

    def __init__(self) -> None:
        self.ends = False  # the user has asked it to end early
        self.requests = 0
        self.share: float | None = None


class Lines:
    """Standard error: a terminal shows one line, redrawn repeatedly and cleared at the end; elsewhere a line is written
    every 30 s."""

    __slots__ = ("_drawn", "_last", "_started", "_terminal", "_wanted")

    def __init__(self, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr is not None
        self._terminal = self._wanted and sys.stderr.isatty()
        self._started = self._last = time.monotonic()
        self._drawn = False

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._started

    def show(self, text: str) -> None:
        """Shows a line, if it is due."""
        if self._terminal:
            sys.stderr.write(ERASE + text)
            self._drawn = True
        elif self._wanted and time.monotonic() - self._last >= EVERY_S:
            sys.stderr.write(f"{in_words(self.elapsed)}: {text}\n")
            self._last = time.monotonic()
        else:
            return
        sys.stderr.flush()

    def clear(self) -> None:
        """Clears the line."""
        if self._drawn:
            sys.stderr.write(ERASE)
            sys.stderr.flush()
            self._drawn = False


class Line(Lines):
    """The progress of runs."""

    __slots__ = ()

    def draw(self, states: Sequence[State]) -> None:
        if (elapsed := self.elapsed) > 0.3:  # for a short run the line would only flicker
            self.show(line(states, elapsed))


class Counted(Lines):
    """The progress of pieces of work that have names."""

    __slots__ = ()

    def draw(self, number: int, total: int, name: str) -> None:
        self.show(f"{number + 1} of {total}: {name}")


class Notebook:
    """One line and a bar below a notebook's cell, cleared at the end."""

    __slots__ = ("_drawn", "_handle", "_started")

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._drawn = 0.0
        self._handle: Any = None

    def draw(self, states: Sequence[State]) -> None:
        now = time.monotonic()
        if now - self._started < 0.5 or now - self._drawn < 0.3:
            return
        self._drawn = now
        shown = _bar(states, line(states, now - self._started))
        if self._handle is None:
            from IPython.display import display

            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def clear(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


def _bar(states: Sequence[State], text: str) -> dict[str, str]:
    shares = [state.share for state in states]
    known = [share for share in shares if share is not None]
    value = f' value="{sum(known) / len(shares):.3f}"' if len(known) == len(shares) else ""
    return {"text/plain": text, "text/html": f"<progress{value}></progress> <code>{text}</code>"}


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def display(wanted: bool | None) -> Display:
    """Where progress is shown: below the cell of a notebook, or on a terminal if that is wanted."""
    return Notebook() if wanted is not False and in_notebook() else Line(not wanted)


@contextmanager
def shown(progress: Callable[[int, float | None, int], object] | bool | None) -> Iterator[Any]:
    """What a run calls with its progress: the caller's function, or one that shows it."""
    if callable(progress):
        yield progress
        return
    view, state = display(progress), State()

    def tell(requests: int, share: float | None, _simulated_ns: int) -> None:
        state.requests, state.share = requests, share
        view.draw([state])

    try:
        yield tell
    finally:
        view.clear()


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
        told += f"  {in_words(elapsed * (1 - done) / done)} left"
    return told


def in_words(seconds: float) -> str:
    """A duration in the unit that suits it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"

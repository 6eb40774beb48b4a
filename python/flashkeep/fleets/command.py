"""The command `flashkeep fleet`."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from ..cli.progress import Counted
from ..cli.runner import run_call
from .api import question_of, result_of
from .options import Options
from .table import compared, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..render.terminal import Page
    from .api import Question


@contextmanager
def told_every(seconds: float, name: str, quiet: bool) -> Iterator[None]:
    """Writes a line to standard error once in a number of seconds, where that is no terminal."""
    done = Event()

    def tell() -> None:
        started = time.monotonic()
        while not done.wait(seconds):
            sys.stderr.write(f"{name}: {time.monotonic() - started:.0f} s so far\n")
            sys.stderr.flush()

    wanted = not quiet and sys.stderr is not None and not sys.stderr.isatty()
    thread = Thread(target=tell, daemon=True) if wanted else None
    if thread is not None:
        thread.start()
    try:
        yield
    finally:
        done.set()
        if thread is not None:
            thread.join()


def run(arguments: dict[str, Any], say: Callable[[str], None], print_json: Callable[[object], None], page: Page) -> int:
    """Asks the model about each array, and prints what it says. Returns the exit code."""
    options = Options(**{option.name: arguments[option.name] for option in fields(Options)})
    arrays = list(dict.fromkeys(arguments["array"]))
    view = Counted(arguments["quiet"])

    def ask(array: str) -> tuple[Question, dict[str, Any]]:
        question = question_of(array, options, arguments["set"])
        return question, result_of(question)

    asked = []
    try:
        for at, array in enumerate(arrays):
            view.draw(at, len(arrays), array)
            with told_every(30.0, f"{at + 1} of {len(arrays)}: {array}", arguments["quiet"]):
                asked.append(run_call(partial(ask, array)))
    finally:
        view.clear()
    results = [found for _, found in asked]
    if arguments["json"]:
        print_json(results[0] if len(results) == 1 else {"fleets": results})
    else:
        say(told(results[0], page) if len(results) == 1 else compared(results, page))
    if arguments["report"] is not None:
        from ..fleet_pages.write import write_page

        with told_every(30.0, arguments["report"], arguments["quiet"]):
            written = run_call(lambda: write_page(asked, arguments["report"], view))
        if not arguments["json"] and not arguments["quiet"]:
            say(written)
    return 0

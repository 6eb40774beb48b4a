"""A local worker: a task in JSON per line on standard input, one answer per line on standard output.

It ends when standard input ends, also in the middle of a run, so that no worker outlives its client.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from queue import SimpleQueue

from .task import carry_out


def main() -> None:
    """Answers tasks until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a run prints must not mix with answers
    tasks: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    while True:
        answer = carry_out(json.loads(tasks.get()))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _listen(tasks: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)

"""The process that tries cases: a question in JSON per line in, answers in JSON per line out.

`{"cases": [from, to, …]}` is answered by a line for each case, so that a death names its case, and a line with the time
that they took. `{"case": …}` is answered by its findings.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from .case import Case, as_records
from .shrink import Small
from .trial import job_of, judged, try_number

if TYPE_CHECKING:
    from collections.abc import Mapping


def main() -> None:
    """Answers until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a Python scheme prints must not mix with answers
    told = json.loads(sys.stdin.readline())
    small, seed = Small.from_dict(told["small"]), told["seed"]

    def say(answer: object) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    for line in sys.stdin:
        asked = json.loads(line)
        if "case" in asked:
            say(_kinds(asked, small))
            continue
        started = time.process_time()
        for number in asked["cases"]:
            ended, found, tags = try_number(small, seed, number)
            say([number, ended, found, tags])
        say({"cpu_s": time.process_time() - started})


def _kinds(asked: Mapping[str, Any], small: Small) -> list[Any]:
    """The findings of one case; with a job, as this runs it from files."""
    case = Case.from_dict(asked["case"])
    if asked.get("job"):
        return judged(case, asked["job"], None)[1]
    return judged(case, job_of(case, small), as_records(case.requests or [], case.handles))[1]

"""Runs jobs under the flashkeep that PYTHONPATH names: a list of jobs in JSON per line in, one answer per line out.

A process of its own, started as a script, because two versions of the extension module cannot share an interpreter.
It uses nothing but `_flashkeep.run` and `_flashkeep.schema`, so that it works with old versions.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
from typing import Any

MEMORY = 4 << 30
"""Bytes of address space: a job that asks for more fails alone."""

COLUMNS = ("arrival_ns", "response_ns", "service_ns", "offset", "length", "op")


def run(job: dict[str, Any]) -> dict[str, Any]:
    """One job: its summary and hashes of its columns and files, or how it failed."""
    from flashkeep import _flashkeep

    table = job.pop("table", None)
    try:
        text, columns = _flashkeep.run(json.dumps(job), None, None)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}
    if table:
        write_table(table, columns)
    answer = {
        "summary": json.loads(text),
        "requests": {
            name: hashlib.sha256(column).hexdigest()[:16] for name, column in zip(COLUMNS, columns, strict=False)
        },
    }
    for name in ("operations", "map"):
        if job.get(name):
            with open(job[name], "rb") as file:
                answer.setdefault("files", {})[name] = hashlib.sha256(file.read()).hexdigest()[:16]
    return answer


def write_table(path: str, columns: Any) -> None:
    """The requests of a run as a trace."""
    arrival, _, _, offset, length, op = columns[: len(COLUMNS)]
    rows = zip(memoryview(arrival).cast("Q"), op, memoryview(offset).cast("Q"), memoryview(length).cast("I"),
               strict=True)  # fmt: skip
    with open(path, "w", encoding="ascii") as file:
        file.write("time_ns,device,op,offset_B,size_B\n")
        file.writelines(f"{at},0,{'RWTF'[kind]},{first},{size}\n" for at, kind, first, size in rows)


def main() -> None:
    """Answers until standard input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a job prints must not mix with answers
    from flashkeep import _flashkeep

    for line in sys.stdin:
        asked = json.loads(line)
        if asked == "schema":
            answer = json.loads(_flashkeep.schema())
        else:
            before: list[dict[str, Any]] = []
            for job in asked:
                answer = run(job)
                if "error" in answer:
                    break
                before.append(answer["summary"])
            answer["before"] = before[:-1]
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()

"""Flows of the Python interface: several workloads on one device, as the options of a job."""

from __future__ import annotations

import json
import os

from .. import _flashkeep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    Flows: TypeAlias = (
        str | os.PathLike[str] | Mapping[str, str | Mapping[str, object]] | Sequence[Mapping[str, object]]
    )
    """A TOML file of flows; tables with the keys of one; or names with workloads, or with the other keys."""


def has_flows(options: Mapping[str, Any]) -> bool:
    """Whether options of a run name flows instead of a trace."""
    return bool(options.get("flow")) or options.get("flows") is not None


def as_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a run with the tables of flows as texts, which jobs have."""
    given = options.get("flows")
    if given is None or isinstance(given, (str, os.PathLike)):
        return dict(options)
    flow = options.get("flow", ())
    texts = [flow] if isinstance(flow, str) else list(flow)
    return {**options, "flows": None, "flow": [*texts, *map(_text, _tables(given))]}


def with_tables(job: Mapping[str, Any]) -> dict[str, Any]:
    """A job whose flows need no other file than their traces."""
    if not has_flows(job):
        return dict(job)
    flow = _flashkeep.flow_tables(list(job.get("flow") or ()), job.get("flows"))
    return {key: value for key, value in job.items() if key != "flows"} | {"flow": flow}


def workloads(job: Mapping[str, Any]) -> list[str]:
    """The workloads of the flows of such a job."""
    return [json.loads(text)["workload"] for text in job.get("flow") or ()]


def with_workloads(flow: Sequence[str], change: Callable[[str], str]) -> list[str]:
    """Flows as tables with other workloads."""
    tables = [json.loads(text) for text in flow]
    return [_text({**table, "workload": change(table["workload"])}) for table in tables]


def _tables(given: Any) -> list[dict[str, Any]]:
    if hasattr(given, "items"):
        named = ((name, value if hasattr(value, "items") else {"workload": value}) for name, value in given.items())
        return [{"name": name, **value} for name, value in named]
    tables = list(given)
    for number, table in enumerate(tables, 1):
        if not hasattr(table, "items"):
            raise _flashkeep.OptionError(
                f"flows: flow {number}: found {table!r}; a table with name and workload is accepted"
            )
    if not tables:
        raise _flashkeep.OptionError("flows: an empty list; tables with name and workload are accepted")
    return [dict(table) for table in tables]


def _text(table: Mapping[str, Any]) -> str:
    """A flow as a text of a job: a table in JSON."""
    return json.dumps({key: _plain(value) for key, value in table.items() if value is not None}, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value.item() if hasattr(value, "item") else value  # a number of NumPy

"""Writes the registry of figures as documentation, as types for Python, as a JSON Schema, and as a list.

`python -m flashkeep.registry` rewrites docs/metrics.md, and choices.py and _generated/ in python/flashkeep.
"""

from __future__ import annotations

import json
import keyword
import sys

from . import _flashkeep
from .inputs.keys_as_types import choices, run_option_types
from .results.provenance import OPEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BETTER = {-1: "lower", 0: "–", 1: "higher"}
PYTHON = {"count": "int", "number": "float", "flag": "bool", "text": "str", "open": "Figures"}
JSON_TYPE = {"count": "integer", "number": "number", "flag": "boolean", "text": "string", "open": "object"}


def read() -> dict[str, Any]:
    """`{"types": {NAME: {"about", "absent", "fields": […]}}, "metrics": [{"id", "path", "unit", …}, …]}`."""
    registry: dict[str, Any] = json.loads(_flashkeep.metrics())
    return registry


def rows(start: str = "") -> list[tuple[str, str]]:
    """Paths that begin with `start`, and their descriptions."""
    found = [metric for metric in read()["metrics"] if metric["path"].startswith(start)]
    return [(metric["path"], _in_words(metric)) for metric in found]


def _in_words(metric: dict[str, Any]) -> str:
    better = {-1: "lower is better", 1: "higher is better"}.get(metric["better"], "")
    marks = ", ".join(filter(None, (metric["unit"], better)))
    return f"{metric['about']}{f' ({marks})' if marks else ''}"


def documentation() -> str:
    """docs/metrics.md."""
    registry = read()
    lines = [
        "# Figures of a run",
        "",
        "`summary.json`, `--json` and results in Python have these figures. `python -m flashkeep.registry` generates",
        "this page from the registry of figures; `flashkeep metrics` lists the paths.",
        "",
        "Each section below is a group of figures; the first is the summary itself. *better* is the better direction.",
        "Sections marked *digest* are part of the digest, as are the times of all requests. A figure without a value",
        "is `null`. A run omits *optional* keys that do not apply to it. In Python a missing figure is `None` and a",
        "missing group is empty.",
    ]
    for name, of in registry["types"].items():
        lines += ["", f"## {name}", "", of["about"], "", "| key | values | unit | better | description |",
                  "|---|---|---|---|---|"]  # fmt: skip
        for field in of["fields"]:
            lines.append(f"| `{field['name']}` | {_values(field, name)} | {field['unit'] or '–'} | "
                         f"{BETTER[field['better']]} | {field['about']} |")  # fmt: skip
    return "\n".join(lines) + "\n"


def _values(field: dict[str, Any], group: str) -> str:
    of = field["type"]
    told = of if of in PYTHON else f"group [{of}](#{of.lower()})"
    marks = [mark for mark in ("list", "nullable", "optional") if field[mark]]
    if group == "Summary" and not field["derived"]:
        marks.append("digest")
    return ", ".join([told, *marks])


def stubs() -> str:
    """python/flashkeep/_generated/summary.pyi."""
    head = "The types of a run's figures, generated from the registry of figures: python -m flashkeep.registry"
    lines = [f'"""{head}"""', "", "from ..results.tree_view import Figures, Node"]
    for name, of in read()["types"].items():
        lines += ["", f"class {name}(Node):", f'    """{of["about"]}"""', ""]
        for field in of["fields"]:
            if keyword.iskeyword(field["name"]):
                continue  # it is accessible as an item only
            lines += ["    @property", f"    def {field['name']}(self) -> {_python(field, of['absent'])}:",
                      f'        """{_in_words(field)}"""']  # fmt: skip
    return "\n".join(lines) + "\n"


def _python(field: dict[str, Any], absent: bool) -> str:
    """A field's type in Python. Groups and lists always exist, but may be empty; a missing figure is None."""
    of = PYTHON.get(field["type"], field["type"])
    single = field["type"] in PYTHON and field["type"] != "open"
    if field["list"]:
        return f"list[{of}]"
    return f"{of} | None" if single and (absent or field["nullable"] or field["optional"]) else of


def schema() -> dict[str, Any]:
    """The JSON Schema of summary.json."""
    types = read()["types"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A summary of flashkeep",
        **_object(types["Summary"]),
        "$defs": {name: _object(of) for name, of in types.items() if name != "Summary"},
    }


def _object(of: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": of["about"],
        "properties": {field["name"]: _schema(field) for field in of["fields"]},
        "required": [field["name"] for field in of["fields"] if not field["optional"]],
        "additionalProperties": False,
    }


def _schema(field: dict[str, Any]) -> dict[str, Any]:
    of: dict[str, Any] = (
        {"type": JSON_TYPE[field["type"]]} if field["type"] in JSON_TYPE else {"$ref": f"#/$defs/{field['type']}"}
    )
    if field["list"]:
        of = {"type": "array", "items": {"anyOf": [of, {"type": "null"}]}}
    if field["nullable"]:
        of = {"anyOf": [of, {"type": "null"}]}
    return {**of, "description": _in_words(field)}


def paths(summary: object, at: str = "") -> Iterator[str]:
    """The paths of a summary's figures, as the registry writes them."""
    if isinstance(summary, dict) and at not in OPEN:
        for key, value in summary.items():
            yield from paths(value, f"{at}.{key}" if at else key)
    elif isinstance(summary, list) and any(isinstance(item, dict) for item in summary):
        for item in summary:
            yield from paths(item, f"{at}[]")
    else:
        yield at


def written() -> Iterator[tuple[str, str]]:
    """The files, and their contents."""
    yield "docs/metrics.md", documentation()
    yield "python/flashkeep/_generated/summary.pyi", stubs()
    yield "python/flashkeep/_generated/run_options.pyi", run_option_types()
    yield "python/flashkeep/choices.py", choices()


def main() -> int:
    for place, text in written():
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

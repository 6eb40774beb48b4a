"""Writes the keys of a drive file, and the options of a run, as types of Python."""

from __future__ import annotations

import json

from .. import _flashkeep
from .run_options import RUN_OPTIONS, options_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .run_options import RunOption

HEAD = '''"""The words that options accept, and the keys of a drive file, as types.

Generated from the schema and the table of options: python -m flashkeep.registry
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict
'''
SCALARS = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}
FIXED = {
    "Figure": ("distributions", "breakdown", "over_time", "amplification", "operations", "utilization", "wear"),
    "Library": ("pandas", "polars"),
}
"""The figures of `plot`, and the libraries of data frames."""


OPTIONS_HEAD = '''"""The types of the options of a run, from the table of options: python -m flashkeep.registry"""

import os
from collections.abc import Sequence
from typing import SupportsIndex, TypedDict

from ..choices import Existing, Replay
from ..inputs.flows import Flows
'''
CLASSES = {
    "AgeOptions(TypedDict": ("The options of `age`: those of `run` that do not need time.", ("replaying", "starting")),
    "RunOptions(AgeOptions": ("The options of `run` that hold for several drives.", ("running", "series")),
    "OneRunOptions(RunOptions": ("The options of `run`.", ("writing",)),
}
KINDS = {"flag": "bool", "text": "str | None", "whole": "SupportsIndex | None", "warmup": "SupportsIndex | str | None",
         "count": "SupportsIndex | str | None", "file": "str | os.PathLike[str] | None"}  # fmt: skip
"""Types of options of a run: which classes there are, and the type of each kind of value."""


def choices() -> str:
    """python/flashkeep/choices.py."""
    words = {
        "BadRecords": _words_of("bad_records"),
        "Existing": _words_of("existing"),
        "Replay": _words_of("replay"),
        "TraceFormat": tuple(entry["name"] for entry in json.loads(_flashkeep.formats())),
        **FIXED,
    }
    parts = [HEAD, "\n".join(_alias(name, words[name]) for name in sorted(words))]
    schema = json.loads(_flashkeep.schema())
    tables = [(name, of) for name, of in schema["$defs"].items() if "properties" in of]
    # A class must come before those that name it in a file without quotes; annotations are not evaluated here.
    for name, of in [*tables, ("DriveFile", schema)]:
        parts.append("\n".join(_class(name, of, schema["$defs"])))
    return "\n".join(parts)


def run_option_types() -> str:
    """python/flashkeep/_generated/run_options.pyi."""
    lines = [OPTIONS_HEAD]
    for name, (about, scopes) in CLASSES.items():
        lines += [f"class {name}, total=False):", f'    """{about}"""', ""]
        lines += [f"    {option.in_python}: {_python(option)}" for option in options_of(*scopes)]
        lines.append("")
    return "\n".join(lines)


def _python(option: RunOption) -> str:
    """The type of an option's value."""
    if option.name == "flows":
        return "Flows | None"
    if option.kind == "word":
        return f"{option.name.capitalize()} | None"
    return "str | Sequence[str]" if option.repeat else KINDS[option.kind]


def _words_of(name: str) -> tuple[str, ...]:
    """The words that an option of a run accepts."""
    option = next(option for option in RUN_OPTIONS if option.name == name)
    return tuple((option.metavar or "").split("|"))


def _alias(name: str, words: tuple[str, ...]) -> str:
    return f"{name} = {_literal(words)}"


def _literal(words: tuple[str, ...]) -> str:
    return f"Literal[{', '.join(json.dumps(word) for word in words)}]"


def _class(name: str, of: dict[str, Any], defs: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield f"class {name}(TypedDict, total=False):"
    yield f'    """{_first_line(of.get("description") or name)}"""'
    yield ""
    for key, value in of["properties"].items():
        yield f"    {key}: {_type(value, defs)}"


def _first_line(text: str) -> str:
    line = text.split("\n\n", maxsplit=1)[0].replace("\n", " ").replace('"', "'")
    return line if len(line) < 100 else f"{line[:96].rpartition(' ')[0]} …"


def _type(value: dict[str, Any], defs: dict[str, Any]) -> str:
    """A key's type: words, a table, or Python's own type."""
    if "$ref" in value:
        name = str(value["$ref"]).rpartition("/")[2]
        of = defs[name]
        if "properties" in of:
            return name
        if any("pattern" in one for one in of.get("oneOf", ())):
            return "str"
        return _literal(tuple(of.get("enum") or [one["const"] for one in of["oneOf"]]))
    if "enum" in value:
        return _literal(tuple(word for word in value["enum"] if word is not None))
    if "anyOf" in value:
        return " | ".join(dict.fromkeys(_type(one, defs) for one in value["anyOf"] if one.get("type") != "null"))
    kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
    kind = next(kind for kind in kinds if kind != "null")
    return f"Sequence[{_type(value['items'], defs)}]" if kind == "array" else SCALARS[kind]

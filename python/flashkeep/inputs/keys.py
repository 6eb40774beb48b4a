"""The keys of a drive file, read from its JSON Schema: what each means, takes and defaults to, and what uses it."""

from __future__ import annotations

import json

from .. import _flashkeep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

UNITS = (
    ("_ns_per_byte", "ns per byte"), ("_per_gb", "USD per GB"), ("_per_gib", "per GiB"), ("_per_min", "per minute"),
    ("_us_per_sector", "µs per sector"), ("_rpm", "rpm"), ("_ns", "ns"), ("_us", "µs"), ("_ms", "ms"), ("_s", "s"),
    ("_days", "days"), ("_kib", "KiB"), ("_mib", "MiB"), ("_gib", "GiB"), ("_gb", "GB"), ("_bytes", "bytes"),
    ("_ma", "mA"), ("_ua", "µA"), ("_mw", "mW"), ("_nj", "nJ"), ("_v", "V"), ("_w", "W"), ("_j", "J"),
    ("_blocks", "blocks"), ("_pages", "pages"), ("_sectors", "sectors"),
)  # fmt: skip
"""Units by the last word of a key."""

TYPES = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text", "array": "list"}


class Key:
    """A key of a drive file."""

    __slots__ = ("_of", "name")

    def __init__(self, name: str, of: dict[str, Any]) -> None:
        self.name, self._of = name, of

    @property
    def description(self) -> str:
        return " ".join(str(self._of.get("description", "")).split())

    @property
    def type(self) -> str:
        """`number`, `whole number`, `true or false`, `text`, `list of texts`, `number or list of numbers`."""
        if "anyOf" in self._of:
            return " or ".join(Key("", each).type for each in self._of["anyOf"] if each.get("type") != "null")
        if "oneOf" in self._of:
            return "text"
        types = self._of.get("type", "string")
        (told,) = [each for each in ([types] if isinstance(types, str) else types) if each != "null"] or ["string"]
        if told == "array":
            return f"list of {TYPES[self._of['items']['type']]}s"
        return TYPES[told]

    @property
    def unit(self) -> str:
        own = self.name.rpartition(".")[2]
        if own.endswith(("_share", "_ratio")):
            return "share"
        return next((unit for ending, unit in UNITS if own.endswith(ending)), "")

    @property
    def default(self) -> object:
        return self._of.get("default")

    @property
    def values(self) -> dict[str, str]:
        """The words that it takes, with what they mean if that is known."""
        if "oneOf" in self._of:
            return {each["const"]: each.get("description", "") for each in self._of["oneOf"] if "const" in each} | {
                word: "" for each in self._of["oneOf"] for word in each.get("enum", ())
            }
        if self._of.get("type") == "boolean":
            return {"true": "", "false": ""}
        return dict.fromkeys((word for word in self._of.get("enum", ()) if word is not None), "")

    @property
    def accepted(self) -> str:
        """The accepted values in words: `above 0, up to 1`, `page, dftl, block or hybrid`."""
        of = next((each for each in self._of.get("anyOf", ()) if "minimum" in each or "maximum" in each), self._of)
        if self.values:
            ways = self._of.get("oneOf", ())
            forms = [str(each["title"]).replace("`", "") for each in ways if "pattern" in each]
            words = list(self.values) + forms
            *most, last = words
            return f"{', '.join(most)} or {last}" if most else last
        if "pattern" in of:
            return str(of["pattern"])
        parts = []
        if "minimum" in of:
            parts.append(f"{_number(of['minimum'])} or more")
        if "exclusiveMinimum" in of:
            parts.append(f"above {_number(of['exclusiveMinimum'])}")
        if "maximum" in of:
            parts.append(f"up to {_number(of['maximum'])}")
        if "exclusiveMaximum" in of:
            parts.append(f"below {_number(of['exclusiveMaximum'])}")
        return ", ".join(parts)

    @property
    def used_by(self) -> dict[str, list[str]]:
        """The values of other keys that use it, by key; empty if nothing selects it."""
        table = self.name.rpartition(".")[0]
        selected: dict[str, list[str]] = self._of.get("x-selected-by", {})
        return {f"{table}.{key}" if table else key: values for key, values in selected.items()}

    def row(self) -> tuple[str, str]:
        """`ftl.gc.threshold = 0.05` and its description, for lists."""
        default = f" = {_written(self.default)}" if self.default not in (None, "") else ""
        return f"{self.name}{default}", self.description

    def page(self) -> list[tuple[str, str]]:
        """Everything that is known about it, as a list of two columns."""
        default = "none" if self.default in (None, "") else _written(self.default)
        told = [("type", ", ".join(filter(None, (self.type, self.unit)))), ("default", default)]
        meanings = {word: about for word, about in self.values.items() if about}
        if self.accepted and not meanings:
            told.append(("accepts", self.accepted))
        told += [(f"  {word}", about) for word, about in meanings.items()]
        told += [("used by", f"{key} = {', '.join(values)}") for key, values in self.used_by.items()]
        example = default
        if self.default in (None, ""):
            example = next((_written(each) for each in self._of.get("examples", ())), default)
        told.append(("example", f"--set {self.name}={_bare(example)}"))
        return told

    def to_dict(self) -> dict[str, Any]:
        return {
            "key": self.name, "description": self.description, "type": self.type, "unit": self.unit or None,
            "default": self.default, "accepts": self.accepted or None, "used_by": self.used_by,
        }  # fmt: skip


def every() -> list[Key]:
    """All keys, in the order of a drive file."""
    schema = json.loads(_flashkeep.schema())
    return list(_walk(schema, schema["$defs"], ""))


def _walk(of: dict[str, Any], types: dict[str, Any], prefix: str) -> Iterator[Key]:
    for key, value in of["properties"].items():
        name, whole = f"{prefix}{key}", value
        if "$ref" in value:
            whole = {**types[value["$ref"].rpartition("/")[2]], **value}
        if "properties" in whole:
            yield from _walk(whole, types, f"{name}.")
        else:
            yield Key(name, whole)


def find(start: str) -> list[Key]:
    """The key of this name, or those in the table of this name, or else those that begin with it."""
    known = every()
    for wanted in (start, f"{start}."):
        found = [key for key in known if key.name == wanted or (wanted.endswith(".") and key.name.startswith(wanted))]
        if found:
            return found
    last = [key for key in known if key.name.rpartition(".")[2] == start]
    return last or [key for key in known if key.name.startswith(start)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:g}"


def _written(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, float):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:g}"


def _bare(text: str) -> str:
    """As in `--set`: words without quotation marks."""
    return text.strip('"') if text not in ("none", '""') else "…"

"""Groups of figures, as attributes and items."""

from __future__ import annotations

import json

from .. import _flashkeep
from .provenance import OPEN

TYPE_CHECKING = False  # importing `typing` would delay every start of the command line by milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any


class Node:
    """A group of figures: its keys as items, and as attributes."""

    __slots__ = ("_path", "_values")

    def __init__(self, values: Mapping[str, Any], path: str = "") -> None:
        self._values = values
        self._path = path  # its path in a summary

    def __getitem__(self, name: str) -> Any:
        return _wrap(self._values[name], below(self._path, name))

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]  # it holds a dict

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._values, self._path))

    def __repr__(self) -> str:
        return f"Figures({json.dumps(self._values, indent=1)})"

    def to_dict(self) -> dict[str, Any]:
        """A copy as plain dictionaries and lists."""
        copy: dict[str, Any] = json.loads(json.dumps(self._values))
        return copy


class Figures(Node):
    """A group of figures whose types are not known beforehand, such as those of a drive file."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return _wrap(self._values[name], below(self._path, name))
        except KeyError:
            known = suggested(name, self._values)
            raise AttributeError(f"no figure {name!r} here; {known}") from None


if TYPE_CHECKING:
    from .._generated.summary import Summary as Summary  # noqa: PLC0414  # exported
else:

    class Summary(Node):
        """A group of figures of a run. A figure that the run does not have is None, a group that it does not have is
        empty (false)."""

        __slots__ = ()

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            path, value = below(self._path, name), self._values.get(name)
            return _missing(path, self._values) if value is None else _wrap(value, path, Summary)

        def __getitem__(self, name):
            return _wrap(self._values[name], below(self._path, name), Summary)


def below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _wrap(value: Any, path: str, kind: type[Node] = Figures) -> Any:
    if isinstance(value, dict):
        return (Figures if path in OPEN else kind)(value, path)
    if isinstance(value, list):
        return [_wrap(item, f"{path}[]", kind) for item in value]
    return value


_known: dict[str, Any] = {}  # the shape of the value at each path of a summary; read at first use


def _missing(path: str, values: Mapping[str, Any]) -> Any:
    """The value of a figure that a run does not have."""
    if not _known:
        for metric in json.loads(_flashkeep.metrics())["metrics"]:
            keys = metric["path"].split(".")
            _known[metric["path"]] = list if metric["list"] else None
            for at in range(1, len(keys)):
                _known[".".join(keys[:at])] = _known[".".join(keys[:at]).removesuffix("[]")] = Summary
                if keys[at - 1].endswith("[]"):
                    _known[".".join(keys[:at]).removesuffix("[]")] = list
    if path in _known:
        kind = _known[path]
        return None if kind is None else [] if kind is list else Summary({}, path)
    parent, _, name = path.rpartition(".")
    if name in values:
        return None
    here = f"{parent}." if parent else ""
    names = {
        known.removeprefix(here).partition(".")[0].removesuffix("[]") for known in _known if known.startswith(here)
    }
    raise AttributeError(f"no figure {path!r}; {suggested(name, sorted(names))}")


def suggested(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    known = list(known)
    close = get_close_matches(name, known, 1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"

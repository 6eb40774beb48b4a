"""Optional dependencies: one message if one is missing."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class MissingExtraError(ImportError):
    """A package that is not installed, and how to install it."""


def need(what: str, extra: str, *modules: str) -> Any:
    """Imports the first of some modules that is installed.

    Raises `MissingExtraError`, which says what needs it and how it is installed, if none is.
    """
    for module in modules:
        try:
            return import_module(module)
        except ModuleNotFoundError as missing:
            if missing.name is None or missing.name.partition(".")[0] != module.partition(".")[0]:
                raise
    raise MissingExtraError(f"{what} needs {' or '.join(modules)}: pip install 'flashkeep[{extra}]'")

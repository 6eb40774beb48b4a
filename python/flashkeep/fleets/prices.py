"""Prices of drives: a TOML file with `per_drive` or `per_tb`, in USD."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from .. import _flashkeep
from .._flashkeep import OptionError

if TYPE_CHECKING:
    from .spec import Array

KEYS = ("per_drive", "per_tb")


def price_of_drive(file: str, drive_bytes: int) -> float:
    """The price of one drive by a file, USD."""
    try:
        with open(file, "rb") as opened:
            text = opened.read().decode()
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"--price: {file}: not TOML: {error}") from None
    except OSError as error:
        raise OptionError(f"--price: {file}: {error.strerror}") from None
    lines = dict(_flashkeep.toml_lines(text))
    for key in found:
        if key not in KEYS:
            raise OptionError(f"--price: {file}:{lines.get(key, 1)}: {key}: per_drive or per_tb is accepted")
    if len(found) != 1:
        raise OptionError(
            f"--price: {file}: has {' and '.join(found) or 'no price'}; one of per_drive and per_tb, in USD"
        )
    ((key, price),) = found.items()
    if isinstance(price, bool) or not isinstance(price, (int, float)) or not 0 <= price < 1e12:
        raise OptionError(f"--price: {file}:{lines.get(key, 1)}: {key} = {price!r}: a number of USD from 0 is accepted")
    return float(price) if key == "per_drive" else price * drive_bytes / 1e12


def cost(array: Array, file: str | None, spares: int) -> dict[str, float | int] | None:
    """What the drives of an array and their spares cost: by a file, or by the drives' own `price_per_gb`."""
    groups = array.node.drives // array.group_drives
    drives, kept = array.node.drives, groups * spares
    if file is not None:
        usd = (drives + kept) * price_of_drive(file, array.drive_bytes)
    elif array.node.cost_usd is not None:
        usd = array.node.cost_usd * (1 + kept / drives)
    else:
        return None
    return {"usd": usd, "usd_per_usable_tb": usd / (array.node.bytes / 1e12), "drives": drives, "spares": kept}

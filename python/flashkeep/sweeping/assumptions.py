"""The assumptions of a plan about fleets (`[fleet]`), and the columns that follow from them.

The columns are no part of a cell: they are worked out for each table, from the drive and the plan's assumptions.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._flashkeep import DriveError, OptionError
from ..fleets.api import fleet_of
from ..results.figure_paths import flat

if TYPE_CHECKING:
    from ..fleets.options import Options
    from .cells import Cell

KEYS = (
    "years", "groups", "afr", "life", "wear", "wear_spread", "uber", "mttr_hours", "repair", "detect_hours", "spares",
    "restock_hours", "latent_hours", "scrub_hours", "batch_frailty", "shock", "price", "method", "rel_error", "samples",
    "seed",
)  # fmt: skip
"""The keys of `[fleet]`: the options of `flashkeep fleet` on which a result depends."""

FIGURES = ("p_loss", "nines", "expected_losses", "p_any_loss", "nomdl", "mttdl_years", "causes", "cost")
"""What becomes columns, below `fleet`."""


def check(options: Options) -> None:
    """Raises `OptionError` if the model does not accept the assumptions."""
    fleet_of("2*1TB:mirror", replace(options, method="plain", samples=1))


class FleetFigures:
    """The figures of fleets, of each array once."""

    def __init__(self, options: Options | None) -> None:
        self._options = options
        self._known: dict[str, dict[str, Any]] = {}

    def of(self, cell: Cell) -> dict[str, Any]:
        """The columns of a cell; none without assumptions or for a refused drive."""
        if self._options is None or cell.refused is not None:
            return {}
        drive = [cell.job["drive"], list(cell.job.get("set", ())), cell.job.get("drive_text")]
        key = json.dumps(drive)
        if key not in self._known:
            self._known[key] = self._figures(*drive)
        return self._known[key]

    def _figures(self, name: str, overrides: list[str], text: str | None) -> dict[str, Any]:
        assert self._options is not None
        try:
            found = fleet_of(name, self._options, overrides, text)
        except (OptionError, DriveError) as refusal:
            return {"fleet.error": str(refusal)}
        return {f"fleet.{path}": value for path, value in flat({key: found[key] for key in FIGURES}).items()}

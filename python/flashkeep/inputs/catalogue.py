"""The presets, with their main figures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _flashkeep
from .drive_files import Drive, drive

if TYPE_CHECKING:
    from ..choices import Library


class Preset(NamedTuple):
    """A preset, and its main figures; those of an array are the sums over its members."""

    name: str
    description: str
    capacity_gb: float
    """Bytes that the host can use, in 10^9."""
    members: int
    """Drives in an array; 0 for a single drive."""
    channels: int | None
    dies: int | None
    page_kib: float | None
    over_provisioning: float | None
    dram_mib: float | None
    scheme: str

    def drive(self) -> Drive:
        """The preset as a drive."""
        return drive(self.name)


class Presets(tuple[Preset, ...]):
    """The presets in the order of `flashkeep drives`."""

    __slots__ = ()

    def names(self) -> list[str]:
        """Their names."""
        return [preset.name for preset in self]

    def to_frame(self, library: Library | None = None) -> Any:
        """A data frame with a row for each preset."""
        from ..results.figure_paths import frame

        return frame([preset._asdict() for preset in self], library)

    def __repr__(self) -> str:
        return "\n".join(f"{preset.name:20} {preset.capacity_gb:12,.1f} GB  {preset.description}" for preset in self)

    def _repr_html_(self) -> str:
        from ..render.html import presets_page

        return presets_page(self)


def presets() -> Presets:
    """All presets."""
    return Presets(_preset(entry["name"], entry["description"]) for entry in json.loads(_flashkeep.drives()))


def _preset(name: str, description: str) -> Preset:
    checked = Drive(name)
    values = checked.to_dict()
    flash = values.get("flash")
    dies = flash and flash["channels"] * flash["chips_per_channel"] * flash["dies_per_chip"]
    return Preset(
        name, description, checked.capacity_bytes / 1e9, sum(map(_how_many, values.get("members") or ())),
        flash and flash["channels"], dies, flash and flash["page_kib"],
        values["ftl"]["over_provisioning"] if flash and "ftl" in values else None,
        values["buffer"]["dram_mib"] if "buffer" in values else None,
        (values.get("redundancy") or {}).get("scheme", "none"),
    )  # fmt: skip


def _how_many(member: str) -> int:
    """The drives of an entry of `members`: `4 * intel-320-160` are four."""
    times, star, _ = member.partition("*")
    return int(times) if star and times.strip().isdigit() else 1

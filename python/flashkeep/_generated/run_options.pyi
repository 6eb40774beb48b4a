"""The types of the options of a run, from the table of options: python -m flashkeep.registry"""

import os
from collections.abc import Sequence
from typing import SupportsIndex, TypedDict

from ..choices import Existing, Replay
from ..inputs.flows import Flows

class AgeOptions(TypedDict, total=False):
    """The options of `age`: those of `run` that do not need time."""

    replay: Replay | None
    depth: SupportsIndex | None
    existing: Existing | None
    condition: bool
    aged: str | os.PathLike[str] | None

class RunOptions(AgeOptions, total=False):
    """The options of `run` that hold for several drives."""

    flow: str | Sequence[str]
    flows: Flows | None
    alone: bool
    handle: str | Sequence[str]
    ignore_handles: bool
    warmup: SupportsIndex | str | None
    fail: str | Sequence[str]
    scenario: str | os.PathLike[str] | None
    verify: bool
    flush_at_end: bool
    stop_rebuild: str | None
    breakdown: bool
    untimed: bool
    series: SupportsIndex | str | None

class OneRunOptions(RunOptions, total=False):
    """The options of `run`."""

    operations: str | os.PathLike[str] | None
    timeline: str | os.PathLike[str] | None
    timeline_window: str | None
    map: str | os.PathLike[str] | None
    save_aged: str | os.PathLike[str] | None

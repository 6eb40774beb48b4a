"""flashkeep: a fast, deterministic, trace-driven simulator of flash storage.

import flashkeep as fk
drive = fk.drive("2CM-128")
result = fk.run(drive, fk.trace("oltp.spc"), seed=1)
result.response_us.read.p99
"""

from ._flashkeep import DriveError, OptionError, TraceError, __version__
from .api import (
    advise,
    advise_handles,
    age,
    compare,
    drives,
    fleet,
    fleet_report,
    load,
    load_comparison,
    load_sweep,
    run,
    serve,
    sweep,
    torture,
)
from .inputs.drive_files import Drive, drive
from .inputs.traces import Trace, trace
from .results.result import Requests, Result, Series
from .results.tree_view import Figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .advising.api import Advice
    from .errors_of_page import page_errors
    from .extending import Conformance, conformance
    from .fleets.api import FleetResult
    from .inputs.catalogue import Preset, Presets
    from .results.comparison import Comparison
    from .serving.server import Served
    from .sweep_report.results import SweepResults
    from .torturing.api import TortureResult

__all__ = [
    "Advice",
    "Comparison",
    "Conformance",
    "Drive",
    "DriveError",
    "Figures",
    "FleetResult",
    "OptionError",
    "Preset",
    "Presets",
    "Requests",
    "Result",
    "Series",
    "Served",
    "SweepResults",
    "TortureResult",
    "Trace",
    "TraceError",
    "__version__",
    "advise",
    "advise_handles",
    "age",
    "compare",
    "conformance",
    "drive",
    "drives",
    "fleet",
    "fleet_report",
    "load",
    "load_comparison",
    "load_sweep",
    "page_errors",
    "run",
    "serve",
    "sweep",
    "torture",
    "trace",
]


def __getattr__(name: str) -> object:
    """The types that only their users import, so that the command starts quickly."""
    if name == "Advice":
        from .advising.api import Advice

        return Advice
    if name == "Comparison":
        from .results.comparison import Comparison

        return Comparison
    if name in ("Conformance", "conformance"):
        from . import extending

        return getattr(extending, name)
    if name == "page_errors":
        from .errors_of_page import page_errors

        return page_errors
    if name == "FleetResult":
        from .fleets.api import FleetResult

        return FleetResult
    if name in ("Preset", "Presets"):
        from .inputs import catalogue

        return getattr(catalogue, name)
    if name == "Served":
        from .serving.server import Served

        return Served
    if name == "SweepResults":
        from .sweep_report.results import SweepResults

        return SweepResults
    if name == "TortureResult":
        from .torturing.api import TortureResult

        return TortureResult
    raise AttributeError(f"module 'flashkeep' has no attribute {name!r}")

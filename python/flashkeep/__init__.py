"""flashkeep: a fast, deterministic, trace-driven simulator of flash storage.

import flashkeep as fk
drive = fk.drive("2CM-128")
result = fk.run(drive, fk.trace("oltp.spc"), seed=1)
result.response_us.read.p99
"""

from ._flashkeep import DriveError, OptionError, TraceError, __version__
from .api import Drive, Figures, Requests, Result, Trace, drive, run, trace

__all__ = [
    "Drive",
    "DriveError",
    "Figures",
    "OptionError",
    "Requests",
    "Result",
    "Trace",
    "TraceError",
    "__version__",
    "drive",
    "run",
    "trace",
]

"""`flashkeep reproduce`: simulates a paper's experiments and compares them with the published results.

A paper is a file of this folder (runs, cells of tables, figures), a data file with its published numbers
(`data/NAME.csv`), and a line in this table.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .paper import Paper

PAPERS = {
    "sirf1": "mirroring inside one drive: Tables III, V, VI, VII, Figures 4, 5, 6 of SIRF-1",
    "dvs": "RAID inside one drive: Figures 4 and 5 of DVS-RAID, and the life of the drive",
    "tradeoffs": "how a drive is organised: microbenchmarks, gangs, cleaning and wear of Design Tradeoffs",
    "aging": "how a drive is aged in SSDSim: Figures 4 and 5 of Kim, Park and Shin",
    "hybrid": "disks that back up SSDs through a small memory: Tables 1 to 7 of the hybrid backup (Fan)",
    "mqsim": "two flows on one drive: the queue fetch size of MQSim (FAST 2018), as its files have it",
    "ttflash": "reads that garbage collection does not delay: the slowdowns of TTFLASH (FAST 2017)",
    "errors": "errors of flash: retries, refresh, retention, drives in the field, as published ratios",
    "fleet": "fleets of arrays: MTTDL, mlec-sim, Elerath and Pecht, field rates, Diff-RAID",
}
"""The papers, in the order of `reproduce all`: the name of the file, and a line about it."""


def find(name: str) -> Paper:
    """A paper of the table, loaded."""
    from importlib import import_module

    found: Paper = import_module(f".{name}", __package__).PAPER
    return found

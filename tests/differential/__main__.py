"""`python -m tests.differential ROOT [ROOT]`: a campaign of random cases under one or two versions of flashkeep."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from .bias import BIASES
from .campaign import Campaign
from .judge import read_known


def main() -> int:
    """Runs a campaign; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    add = parser.add_argument
    add("roots", nargs="+", metavar="ROOT", help="a source tree with a built flashkeep; the old one first, if two")
    add("--cases", type=int, default=500, help="accepted cases to run (default 500)")
    add("--minutes", type=float, help="end after this many minutes")
    add("--seed", type=int, default=1, help="the first case's seed (default 1)")
    add("--only", action="append", metavar="CASE", help="run this case alone and show it; repeatable")
    add("--reduce", action="append", metavar="CASE", help="make this case smaller, and write it to --keep; repeatable")
    add("--workers", type=int, default=1, help="cases side by side (default 1)")
    add("--bias", choices=BIASES, help="draw more of what is rare: members with DRAM and power losses, recent keys, …")
    add("--limit-s", type=float, default=20, help="a case that takes longer hangs (default 20)")
    add("--known", type=Path, action="append", help="a TOML file of differences and findings with their reasons")
    add("--keep", type=Path, metavar="DIR", help="write the files of cases with differences or findings there")
    arguments = parser.parse_args()
    if len(arguments.roots) > 2:
        parser.error("one or two versions")
    with tempfile.TemporaryDirectory(prefix="differential-") as folder:
        campaign = Campaign(
            arguments.roots,
            Path(folder),
            limit_s=arguments.limit_s,
            known=[each for path in arguments.known or () for each in read_known(path)],
            bias=BIASES.get(arguments.bias),
        )
        try:
            if arguments.reduce:
                for name in arguments.reduce:
                    print(campaign.reduce(name, arguments.keep or Path("CASES")))
                return 1
            if arguments.only:
                campaign.only(arguments.only)
            else:
                campaign.run(arguments.seed, arguments.cases, arguments.workers, arguments.minutes)
        except KeyboardInterrupt:
            print("interrupted")
        print(campaign.report(arguments.keep or Path("CASES")))
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            for case in campaign.remarkable():
                shutil.copytree(Path(folder) / case, arguments.keep / case, dirs_exist_ok=True)
    return 1 if campaign.bad else 0


if __name__ == "__main__":
    sys.exit(main())

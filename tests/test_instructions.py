"""Instructions a request of the benchmarks, against those that `benches/instructions.json` has: of the build that `make
test` makes, because they do not depend on what else the machine does. `FLASHKEEP_RECORD=1` records them."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

RECORDED = ROOT / "benches" / "instructions.json"
REQUESTS = {"A": 20_000, "B": 4_000, "RAID-5": 10_000}
MOST = 1.05


def benches() -> ModuleType:
    """`benches/pair.py`, which is a program."""
    spec = importlib.util.spec_from_file_location("pair", ROOT / "benches" / "pair.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["pair"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind counts the instructions, and it is not here")
@pytest.mark.skipif(
    not (Path(sys.prefix) / ".stamps" / "checked").exists(), reason="they are recorded for the build of `make test`"
)
def test_runs_take_no_more_instructions_than_recorded(tmp_path: Path) -> None:
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    recorded = json.loads(RECORDED.read_text())
    if "FLASHKEEP_RECORD" not in os.environ and recorded["compiler"] != compiler:
        pytest.skip(
            f"recorded with {recorded['compiler']}, and this is {compiler}: FLASHKEEP_RECORD=1 records them anew"
        )
    pair = benches()
    found = {}
    for bench in pair.BENCHES:
        if requests := REQUESTS.get(bench.name):
            counts = [pair.instructions(ROOT, pair.job(bench, tmp_path, count, True)) for count in (requests, 1)]
            found[bench.name] = round((counts[0] - counts[1]) / requests)
    if "FLASHKEEP_RECORD" in os.environ:
        recorded = {"compiler": compiler, "instructions a request": found}
        RECORDED.write_text(json.dumps(recorded, indent=2) + "\n")
    before = recorded["instructions a request"]
    assert {name: count for name, count in found.items() if count > MOST * before[name]} == {}, (found, before)

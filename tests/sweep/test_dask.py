"""Sweeps on a Dask cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from elsewhere import check_equal, check_sent, write_sweep
from flashkeep import cli

# Distributed leaves sockets for the garbage collector; that is not for these tests to judge.
pytestmark = pytest.mark.filterwarnings("default")

PLAN = """
workload = "synth:random,requests=20k,write=0.5,size=4KiB,footprint=64MiB,rate=5k"
drive = ["2CM-128", "1CNM-64"]
seed = [1, 2, 3, 4, 5, 6]
[grid]
"ftl.over_provisioning" = [0.07, 0.14]
"""


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two worker processes on this machine."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, processes=True, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


def test_a_cluster_with_a_killed_worker_gives_the_same_table(tmp_path: Path, cluster: Any) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    assert cli.main(["sweep", str(plan), "--out", str(tmp_path / "local"), "--quiet"]) == 0
    command = [sys.executable, "-m", "flashkeep", "sweep", str(plan), "--out", str(tmp_path / "dask"), "--dask",
               cluster.scheduler_address, "--quiet"]  # fmt: skip
    victim = next(iter(cluster.workers.values())).process.process.pid

    def kill() -> None:
        while not list((tmp_path / "dask" / "cells").glob("*.json")):
            time.sleep(0.02)
        os.kill(victim, signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("results.csv", "results.parquet"):
        assert (tmp_path / "dask" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()


def test_a_scheduler_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    assert cli.main(["sweep", str(plan), "--out", str(tmp_path / "out"), "--dask", "nowhere"]) == 2
    assert "--dask" in capsys.readouterr().err


PYTHON = """
workload = "synth:random,requests=2k,write=0.8,size=4KiB,rate=2k"
drive = "drive.toml"
seed = [1, 2]
[[variant]]
name = "victim"
"ftl.gc.victim" = "python"
"ftl.gc.file" = "files/greedy.py"
[[variant]]
name = "scheme"
"redundancy.scheme" = "python"
"redundancy.file" = "files/raid5.py"
"""


def test_workers_elsewhere_get_the_python_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers run in another directory, where the relative paths of the files lead nowhere."""
    distributed = pytest.importorskip("distributed")
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    (here / "files").mkdir(parents=True)
    elsewhere.mkdir()
    root = Path(__file__).parents[2]
    for source in (root / "tests" / "differential" / "greedy.py", root / "examples" / "schemes" / "raid5.py"):
        (here / "files" / source.name).write_text(source.read_text())
    (here / "drive.toml").write_text(
        "flash = {channels = 4, blocks_per_plane = 40, pages_per_block = 16, page_kib = 4}\n"
        "ftl.over_provisioning = 0.3\nstart.existing = 'all'\n"
    )
    (here / "plan.toml").write_text(PYTHON.replace("drive.toml", "./drive.toml"))
    monkeypatch.chdir(elsewhere)
    with distributed.LocalCluster(n_workers=1, processes=True, threads_per_worker=1, dashboard_address=":0") as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            assert client.run(os.getcwd) != {}
            client.run(os.chdir, str(elsewhere))
        monkeypatch.chdir(here)
        assert cli.main(["sweep", "plan.toml", "--out", "local", "--quiet"]) == 0
        assert cli.main(["sweep", "plan.toml", "--out", "dask", "--dask", cluster.scheduler_address, "--quiet"]) == 0
    for name in ("results.csv", "results.parquet"):
        assert (here / "dask" / name).read_bytes() == (here / "local" / name).read_bytes()
    cells = [path.name for path in (here / "local" / "cells").glob("*.json")]
    assert len(cells) == 4
    for name in cells:
        found = [json.loads((here / out / "cells" / name).read_text()) for out in ("local", "dask")]
        assert found[0] == found[1]
        assert found[0]["status"] == 0


MOVE = """
import os, tempfile

def dask_setup(worker):
    os.chdir({folder!r})
    tempfile.tempdir = tempfile.mkdtemp(dir={folder!r}, prefix="temporary")
"""
"""Has a worker run in a directory, and keep the files that it gets in a new one there."""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Path, Path]]:
    """A cluster of one worker, the directory that it runs in, and that of the client with a sweep."""
    distributed = pytest.importorskip("distributed")
    here, there = tmp_path / "here", tmp_path / "there"
    write_sweep(here, there)
    monkeypatch.chdir(here)
    preload = MOVE.format(folder=str(there))
    with distributed.LocalCluster(
        n_workers=1, processes=True, threads_per_worker=1, dashboard_address=":0", preload=preload
    ) as cluster:
        yield cluster, here, there


def test_workers_elsewhere_get_the_members_of_arrays(elsewhere: tuple[Any, Path, Path]) -> None:
    cluster, here, there = elsewhere
    assert cli.main(["sweep", "plan.toml", "--out", "local", "--quiet"]) == 0
    assert cli.main(["sweep", "plan.toml", "--out", "dask", "--dask", cluster.scheduler_address, "--quiet"]) == 0
    check_equal(here / "local", here / "dask", 4)
    check_sent(there)


def test_files_that_die_with_a_worker_are_sent_again(elsewhere: tuple[Any, Path, Path]) -> None:
    cluster, here, _ = elsewhere
    plan = (here / "plan.toml").read_text().replace("[1, 2]", str([*range(40)]))
    (here / "plan.toml").write_text(plan)
    assert cli.main(["sweep", "plan.toml", "--out", "local", "--quiet"]) == 0
    victim = next(iter(cluster.workers.values())).process.process.pid
    killed: list[int] = []

    def kill() -> None:
        while not list((here / "dask" / "cells").glob("*.json")):
            time.sleep(0.005)
        os.kill(victim, signal.SIGKILL)
        killed.append(len(list((here / "dask" / "cells").glob("*.json"))))

    threading.Thread(target=kill, daemon=True).start()
    assert cli.main(["sweep", "plan.toml", "--out", "dask", "--dask", cluster.scheduler_address, "--quiet"]) == 0
    assert killed[0] < 80, "the worker was killed before the end"
    check_equal(here / "local", here / "dask", 80)

"""`flashkeep sweep`: its table, resuming, workers that die, executors."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import flashkeep as fk
import pyarrow.parquet as pq
import pytest
from flashkeep import cli
from flashkeep.sweeping.cells import cells_of
from flashkeep.sweeping.conduct import Conductor, SweepError
from flashkeep.sweeping.folder import Folder
from flashkeep.sweeping.local import WorkerDiedError
from flashkeep.sweeping.plan import PlanError, plan_of, read_plan
from flashkeep.sweeping.run import sweep_plan
from flashkeep.sweeping.task import carry_out

WORKLOAD = "synth:random,requests=2k,write=0.5,size=4KiB,footprint=64MiB,rate=5k"
PLAN = f"""
workload = ["{WORKLOAD}", "synth:sirf-build,requests=500"]
drive = "2CM-128"
seed = [1, 2]

[grid]
buffer.dram_mib = [0, 16]
"ftl.over_provisioning" = [0.07, 0.28]
"""


def written(folder: Path, text: str = PLAN) -> str:
    path = folder / "plan.toml"
    path.write_text(text)
    return str(path)


def rows(out: Path) -> list[dict[str, str]]:
    with open(out / "results.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def swept(folder: Path, *more: str, text: str = PLAN, out: str = "out") -> int:
    return cli.main(["sweep", written(folder, text), "--out", str(folder / out), "--quiet", *more])


def test_each_row_has_the_figures_of_its_run(tmp_path: Path) -> None:
    assert swept(tmp_path) == 0
    table = rows(tmp_path / "out")
    assert [row["cell"] for row in table] == sorted(row["cell"] for row in table)
    assert len({row["cell"] for row in table}) == 16
    for row in table[::5]:
        keys = {key: float(row[key]) for key in ("buffer.dram_mib", "ftl.over_provisioning")}
        drive = fk.drive("2CM-128").replace(**{"buffer.dram_mib": int(keys["buffer.dram_mib"]),
                                               "ftl.over_provisioning": keys["ftl.over_provisioning"]})  # fmt: skip
        run = fk.run(drive, row["workload"], seed=int(row["seed"]), requests=False)
        assert row["digest"] == run.digest
        assert float(row["response_us.read.p99"]) == run.response_us.read.p99
        assert float(row["waf_bytes"]) == run.waf_bytes
        assert (row["status"], row["error"]) == ("0", "")


def test_parquet_has_the_same_values_with_types(tmp_path: Path) -> None:
    swept(tmp_path)
    table = pq.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    for typed, text in zip(table, rows(tmp_path / "out"), strict=True):
        assert list(typed) == list(text)
        for name, value in typed.items():
            shown = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            assert shown == text[name], name
    assert isinstance(table[0]["response_us.read.p99"], float)
    assert isinstance(table[0]["seed"], int)


def test_a_sweep_does_not_depend_on_its_workers(tmp_path: Path) -> None:
    swept(tmp_path, "--workers", "1", out="one")
    swept(tmp_path, "--workers", "3", out="three")
    for name in ("results.csv", "results.parquet", "plan.toml"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "three" / name).read_bytes()


def test_an_added_seed_runs_only_new_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swept(tmp_path)
    first = {row["cell"]: row for row in rows(tmp_path / "out")}
    capsys.readouterr()
    assert swept(tmp_path, text=PLAN.replace("[1, 2]", "[1, 2, 3]")) == 0
    assert "24 cells; 8 run" in capsys.readouterr().out
    again = {row["cell"]: row for row in rows(tmp_path / "out")}
    assert len(again) == 24
    assert {cell: again[cell] for cell in first} == first
    with open(tmp_path / "out" / "timings.csv", encoding="utf-8") as file:
        timings = list(csv.DictReader(file))
    assert sorted(row["cell"] for row in timings) == sorted(again)
    assert {row["tries"] for row in timings} == {"1"}


def test_a_finished_sweep_runs_nothing_and_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swept(tmp_path)
    before = {
        name: (tmp_path / "out" / name).read_bytes() for name in ("results.csv", "results.parquet", "timings.csv")
    }
    capsys.readouterr()
    assert swept(tmp_path, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cells"], found["ran"], found["status"]) == (16, 0, {"0": 16})
    assert {name: (tmp_path / "out" / name).read_bytes() for name in before} == before
    assert sorted(os.listdir(tmp_path / "out")) == [
        "cells",
        "plan.toml",
        "results.csv",
        "results.parquet",
        "timings.csv",
    ]


def test_another_trace_or_drive_makes_other_cells(tmp_path: Path) -> None:
    """A cell is known by contents: a trace that is moved is the same, one that changes is not."""
    trace = tmp_path / "a.csv"
    trace.write_text("0,R,0,4096\n1000,W,4096,4096\n")
    plan = {"workload": str(trace), "drive": "2CM-128", "options": {"columns": "time=0:us,op=1,offset=2,size=3"}}
    (first,) = cells_of(plan_of(plan))
    (tmp_path / "b.csv").write_text(trace.read_text())
    assert cells_of(plan_of({**plan, "workload": str(tmp_path / "b.csv")}))[0].name == first.name
    trace.write_text("0,R,0,4096\n1000,W,8192,4096\n")
    assert cells_of(plan_of(plan))[0].name != first.name
    assert cells_of(plan_of({**plan, "seed": 2}))[0].name != first.name
    default = {**plan, "grid": {"buffer.dram_mib": [fk.drive("2CM-128").resolved.buffer.dram_mib]}}
    trace.write_text((tmp_path / "b.csv").read_text())
    assert cells_of(plan_of(default))[0].name == first.name, "a key set to its own value changes nothing"


def test_cells_of_an_array_have_names_by_what_its_members_are(tmp_path: Path) -> None:
    (tmp_path / "array.toml").write_text('members = ["2 * ./member.toml"]\n')
    member = tmp_path / "member.toml"
    plan = {"workload": "synth:random,requests=10,footprint=1MiB", "drive": str(tmp_path / "array.toml")}
    names = []
    for channels in (1, 2, 1):
        member.write_text(f'base = "2CM-128"\nflash.channels = {channels}\nredundancy.scheme = "none"\n')
        names.append(cells_of(plan_of(plan))[0].name)
    assert names[0] == names[2] != names[1]


REFUSED = f"""
workload = "{WORKLOAD}"
drive = "2CM-128"
[grid]
"redundancy.width" = [2, 3]
"options.existing" = ["reads", "all"]
[[exclude]]
"redundancy.width" = 2
"options.existing" = "all"
"""


def test_refused_cells_are_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert swept(tmp_path, text=REFUSED) == 0
    told = capsys.readouterr().out
    table = rows(tmp_path / "out")
    assert Counter(row["status"] for row in table) == {"0": 1, "2": 2}
    bad = [row for row in table if row["status"] == "2"]
    assert all("redundancy.width" in row["error"] and row["digest"] == "" for row in bad)
    assert "3 cells, 2 refused; 1 run" in told
    assert f"2 × {bad[0]['error']}" in told


def test_a_trace_that_does_not_fit_is_refused_when_it_runs(tmp_path: Path) -> None:
    plan = 'workload = "synth:random,requests=100,offset=100TiB,footprint=1GiB"\ndrive = "2CM-128"\n'
    assert swept(tmp_path, text=plan) == 0
    (row,) = rows(tmp_path / "out")
    assert row["status"] == "2"
    assert row["error"]


def test_lost_pages_are_exit_code_3(tmp_path: Path) -> None:
    plan = f'workload = "{WORKLOAD}"\ndrive = "1CNM-64"\n[grid]\n"options.fail" = [[], ["channel:0@50%"]]\n'
    assert swept(tmp_path, text=plan) == 3
    assert sorted((row["options.fail"], row["status"]) for row in rows(tmp_path / "out")) == [
        ("[]", "0"), ("[channel:0@50%]", "3")]  # fmt: skip


def test_variants_ageing_and_options(tmp_path: Path) -> None:
    plan = f"""
workload = "{WORKLOAD}"
drive = "1CNM-64"
[[variant]]
name = "plain"
[[variant]]
name = "mirror"
redundancy.scheme = "mirror"
redundancy.width = 2
[ageing]
model = "approach1"
[options]
limit = 500
"""
    assert swept(tmp_path, text=plan) == 0
    table = {row["variant"]: row for row in rows(tmp_path / "out")}
    assert (table["mirror"]["redundancy.scheme"], table["plain"]["redundancy.scheme"]) == ("mirror", "none")
    aged = fk.drive("1CNM-64").replace(**{"ageing.model": "approach1"})
    run = fk.run(aged, fk.trace(WORKLOAD, limit=500), requests=False)
    assert table["plain"]["digest"] == run.digest


def test_series_are_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    plan = f'workload = "{WORKLOAD}"\ndrive = "1CNM-64"\n[grid]\n"options.series" = ["50ms", "100ms"]\n'
    assert swept(tmp_path, text=plan) == 0
    found = rows(tmp_path / "out")
    assert len({row["digest"] for row in found}) == 1
    for row in found:
        table = pq.read_table(tmp_path / "out" / "cells" / f"{row['cell']}.series.parquet")
        expected = fk.run("1CNM-64", WORKLOAD, series=row["options.series"]).series()
        assert table.column("host_pages").to_pylist() == list(expected["host_pages"])


def test_requests_are_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    plan = f'workload = "{WORKLOAD}"\ndrive = "1CNM-64"\n[options]\nrequests = true\n'
    swept(tmp_path, text=plan)
    (row,) = rows(tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "cells" / f"{row['cell']}.requests.parquet")
    expected = fk.run("1CNM-64", WORKLOAD).requests()
    assert table.column("response_ns").to_pylist() == expected["response_ns"].tolist()
    assert table.column("op").to_pylist() == [("read", "write")[op] for op in expected["op"]]


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("workload = 1\n", 1, "workload.0: found 1"),
        ("\nworkloads = []\n", 2, "did you mean 'workload'"),
        (f'workload = "{WORKLOAD}"\n', None, "drive: missing"),
        (PLAN + "\n[options]\n\nlimt = 3\n", 12, "did you mean 'limit'"),
        (PLAN.replace("[1, 2]", "[1, -2]"), 4, "seed: found -2"),
        (PLAN.replace("[0, 16]", "16"), 7, "grid.buffer.dram_mib: found 16; a list"),
        (PLAN + '[[exclude]]\n"ftl.gc.victim" = "fifo"\n', 10, "this plan varies workload, drive, seed"),
        (PLAN + "[[variant]]\nx = 1\n", 9, "needs a name"),
        (PLAN + "[fleet]\n\nafrr = 0.1\n", 11, "did you mean 'afr'"),
        (PLAN + "[fleet]\nyears = 5\nafr = 2\n", 11, "fleet.afr: found 2; a number from"),
        (PLAN + '[fleet]\nmttr_hours = "often"\n', 10, "fleet.mttr_hours: "),
        (PLAN + '[fleet]\nrebuild = "simulated"\n', 10, "fleet.rebuild: each array would need a simulation"),
        (PLAN + '[fleet]\nprice = "gone.toml"\n', 10, "fleet.price: gone.toml"),
        (PLAN + "[fleet]\nafr = 0.1\nlife = 'weibull:1:1e6'\n", 9, "give one of them"),
        ("workload = [\n", None, "not TOML"),
        ('workload = "gone.spc"\ndrive = "2CM-128"\n', None, "gone.spc: no such file"),
        (f'workload = "{WORKLOAD}"\ndrive = "2CM-129"\n', None, "no preset has this name"),
        (PLAN.replace("over_provisioning", "over_provisoning"), None, "ftl.over_provisoning"),
        (PLAN + '[[exclude]]\ndrive = "2CM-128"\n', None, "no cell is left"),
        (PLAN + "[options]\ndepth = 0.5\n", None, "options: depth: found 0.5"),
        ('workload = "-"\ndrive = "2CM-128"\n', 1, "standard input"),
        (PLAN.replace("[1, 2]", "[1, 1]"), 4, "'1' is given twice"),
    ],
)
def test_a_bad_plan_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: int | None, told: str
) -> None:
    assert swept(tmp_path, text=text) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert f"plan.toml{'' if line is None else f':{line}'}: " in message
    assert told in message
    assert not (tmp_path / "out" / "results.csv").exists()


def test_folders_that_are_no_sweep_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("")
    assert swept(tmp_path) == 2
    assert "not empty" in capsys.readouterr().err
    assert os.listdir(tmp_path / "out") == ["mine.txt"]


def test_two_sweeps_in_one_folder_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Folder(str(tmp_path / "out"), PLAN):
        assert swept(tmp_path) == 2
    assert "in use by another sweep" in capsys.readouterr().err


def test_dry_run_says_what_would_be_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert swept(tmp_path, "--dry-run", text=REFUSED) == 0
    told = capsys.readouterr().out
    assert "3 cells: 1 to run, 0 done, 2 refused" in told
    assert "about " in told
    assert not (tmp_path / "out").exists()
    swept(tmp_path, text=REFUSED)
    capsys.readouterr()
    swept(tmp_path, "--dry-run", "--json", text=REFUSED)
    found = json.loads(capsys.readouterr().out)
    assert (found["cells"], found["to_run"], found["done"], found["estimate_s"]) == (3, 0, 1, None)
    assert [row["redundancy.width"] for row in found["refused"]] == [3, 3]


def test_cells_of_equal_drives_are_run_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = f'workload = "{WORKLOAD}"\ndrive = "1CNM-64"\n[grid]\n"redundancy.width" = [2, 4]\n'  # no effect on "none"
    assert swept(tmp_path, "--dry-run", text=plan) == 0
    assert "2 cells: 1 to run, 0 done, 0 refused, 1 equal to others" in capsys.readouterr().out
    assert swept(tmp_path, text=plan) == 0
    assert "2 cells; 1 run" in capsys.readouterr().out
    assert len(rows(tmp_path / "out")) == 2
    assert swept(tmp_path, "--dry-run", text=plan) == 0
    assert "2 cells: 0 to run, 2 done, 0 refused" in capsys.readouterr().out


def test_an_estimate_waits_for_the_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a drive that is conditioned first, the share done is unknown until its replay begins."""
    plan = f'workload = "{WORKLOAD}"\ndrive = "dvs-8chip"\n[options]\ncondition = true\n'
    plan += "[[variant]]\nname = 'small'\nflash.blocks_per_plane = 512\n"
    monkeypatch.setattr("flashkeep.sweeping.estimate.SAMPLE_S", 0.0)
    monkeypatch.setattr("flashkeep.sweeping.estimate.PREPARING_S", 600.0)
    assert swept(tmp_path, "--dry-run", text=plan) == 0
    assert "about " in capsys.readouterr().out
    monkeypatch.setattr("flashkeep.sweeping.estimate.PREPARING_S", 0.0)
    assert swept(tmp_path, "--dry-run", text=plan) == 0
    assert "no estimate: none of the cells" in capsys.readouterr().out


STORM = f"""
workload = "{WORKLOAD.replace("requests=2k", "requests=60k")}"
drive = ["2CM-128", "1CNM-64"]
seed = [1, 2, 3, 4, 5, 6]
[grid]
"ftl.over_provisioning" = [0.07, 0.14, 0.28]
"""


def workers_of(client: int) -> list[int]:
    found = [path.read_text() for path in Path(f"/proc/{client}/task").glob("*/children")]
    return [int(each) for text in found for each in text.split()]


def alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds workers in /proc")
def test_workers_and_the_client_can_be_killed(tmp_path: Path) -> None:
    """The table of a sweep whose workers and client were killed is that of a serial run."""
    started = time.monotonic()
    swept(tmp_path, "--workers", "1", text=STORM, out="serial")
    pause = max(0.4, 3 * (time.monotonic() - started) / 36)  # a cell must have a chance to end
    command = [sys.executable, "-m", "flashkeep", "sweep", written(tmp_path, STORM), "--out", str(tmp_path / "storm"),
               "--workers", "2", "--quiet"]  # fmt: skip
    killed = 0
    client = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    started = time.monotonic()
    while client.poll() is None:
        time.sleep(pause)
        for worker in workers_of(client.pid)[:1] if client.poll() is None else []:
            os.kill(worker, signal.SIGKILL if killed % 2 else signal.SIGTERM)
            killed += 1
        if 5 * pause < time.monotonic() - started < 1e9:
            orphans = workers_of(client.pid)
            client.kill()
            client.wait()
            deadline = time.monotonic() + 10
            while any(map(alive, orphans)) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert not any(map(alive, orphans)), "workers end with their client"
            client = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            started = float("inf")
    assert client.returncode == 0
    assert killed > 0
    for name in ("results.csv", "results.parquet"):
        assert (tmp_path / "storm" / name).read_bytes() == (tmp_path / "serial" / name).read_bytes()


def test_an_interrupted_sweep_keeps_what_was_done(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "flashkeep", "sweep", written(tmp_path, STORM), "--out", str(tmp_path / "out")]
    client = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out" / "cells").glob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    client.send_signal(signal.SIGINT)
    _, told = client.communicate()
    assert client.returncode == 130
    done = len(list((tmp_path / "out" / "cells").glob("*.json")))
    assert f"{done} of 36 cells are done; the same command goes on from here" in told
    assert len(rows(tmp_path / "out")) == done


class Deadly:
    """Workers that die as they are told, and answer otherwise."""

    window = 2

    def __init__(self, deaths: dict[str, list[int | None]]) -> None:
        self.deaths = deaths
        self.running: set[str] = set()
        self.alone: list[str] = []

    def submit(self, task: Any) -> Future[Any]:
        future: Future[Any] = Future()
        cell = task["cell"]
        if self.deaths.get(cell):
            future.set_exception(WorkerDiedError(self.deaths[cell].pop(0)))
        else:
            future.set_result({"cell": cell, "status": 0, "error": None, "worker": "w", "wall_s": 0.0})
        return future

    def send(self, paths: Any) -> None: ...

    def look(self) -> None: ...

    def stop(self) -> None: ...


def ends(deaths: dict[str, list[int | None]]) -> dict[str, tuple[Any, int]]:
    found: dict[str, tuple[Any, int]] = {}

    def report(answer: Any, tries: int) -> None:
        assert answer["cell"] not in found
        found[answer["cell"]] = (answer["status"] if answer["error"] is None else answer["error"], tries)

    Conductor(Deadly(deaths), report, lambda: None).run({"cell": name} for name in "abcd")
    return found


def test_killed_workers_are_no_fault_of_their_cells() -> None:
    """A cell whose worker was killed from outside runs again, in the end alone."""
    assert ends({"b": [-9, -15, -9, -9, -9]})["b"] == (0, 6)


@pytest.mark.parametrize(
    ("deaths", "told", "tries"),
    [
        ([-11, -11, -11], "its worker died of SIGSEGV, 3 times", 3),
        (
            [-9, -9, -9, -9, -9, -9],
            "its worker died of SIGKILL, 3 times, also when it ran alone: memory may be short",
            6,
        ),
        ([1, 1, 1], "its worker ended with exit code 1, 3 times", 3),
        ([None, None, None], "its worker was lost, 3 times", 3),
    ],
)
def test_a_cell_that_kills_its_worker_is_given_up(deaths: list[int | None], told: str, tries: int) -> None:
    found = ends({"c": list(deaths)})
    assert found["c"] == (told, tries)
    assert [found[name] for name in "abd"] == [(0, 1)] * 3


def test_failed_cells_are_rows_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = read_plan(written(tmp_path))
    bad = cells_of(plan)[3].name
    monkeypatch.setattr("flashkeep.sweeping.run.LocalWorkers", lambda _: Once(bad))
    first = sweep_plan(plan, str(tmp_path / "out"))
    assert (first.table.exit_code, first.ran) == (1, 16)
    (row,) = [row for row in rows(tmp_path / "out") if row["status"] == "failed"]
    assert (row["cell"], row["error"]) == (bad, "its worker died of SIGSEGV, 3 times")
    monkeypatch.undo()
    again = sweep_plan(plan, str(tmp_path / "out"))
    assert (again.table.exit_code, again.ran) == (0, 1)
    assert {row["status"] for row in rows(tmp_path / "out")} == {"0"}


class Once(Deadly):
    """Workers in this process, one of whose cells crashes."""

    def __init__(self, bad: str) -> None:
        super().__init__({bad: [-11, -11, -11]})

    def submit(self, task: Any) -> Future[Any]:
        future = super().submit(task)
        if future.exception() is None:
            future = Future()
            future.set_result(carry_out(task))
        return future


def test_any_executor_carries_out_cells(tmp_path: Path) -> None:
    swept(tmp_path, out="local")
    with ProcessPoolExecutor(2) as executor:
        sweep_plan(read_plan(written(tmp_path)), str(tmp_path / "pool"), executor=executor)
    assert (tmp_path / "pool" / "results.csv").read_bytes() == (tmp_path / "local" / "results.csv").read_bytes()


def test_results_and_traces_travel_where_no_folder_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "a.csv"
    trace.write_text("0,R,0,4096\n1000,W,4096,4096\n")
    plan = plan_of(
        {"workload": str(trace), "drive": "2CM-128", "options": {"columns": "time=0:us,op=1,offset=2,size=3"}}
    )
    (cell,) = cells_of(plan)
    with Folder(str(tmp_path / "out"), "") as folder:
        task = {**folder.task(cell), "folder": str(tmp_path / "elsewhere")}
        near = carry_out(task)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "node"))
        content = trace.read_bytes()
        trace.unlink()
        assert carry_out(task)["needs"] == [str(trace)]
        far = carry_out(task, {cell.inputs[str(trace)]: content})
        assert far["files"].keys() == near["files"].keys() == {f"{cell.name}.json"}
        there, here = (json.loads(answer["files"][f"{cell.name}.json"]) for answer in (far, near))
        assert there["summary"]["digest"] == here["summary"]["digest"]
        folder.take(far, 1)
        assert (tmp_path / "out" / "cells" / f"{cell.name}.json").exists()
        assert carry_out({**task, "build": "other"})["build"] == fk.__version__


def test_workers_with_another_build_are_refused() -> None:
    class Other(Deadly):
        def submit(self, task: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result({"cell": task["cell"], "worker": "node:1", "build": "0.0.9"})
            return future

    with pytest.raises(SweepError, match="node:1 has another flashkeep"):
        Conductor(Other({}), lambda *_: None, lambda: None).run([{"cell": "a"}])


def test_plans_in_python_take_objects() -> None:
    plan = plan_of({"workload": [fk.trace(WORKLOAD, limit=10)], "drive": [fk.drive("2CM-128"), "1CNM-64"]})
    assert [cell.labels["drive"] for cell in cells_of(plan)] == ["2CM-128", "1CNM-64"]
    assert plan.text == f'workload = ["{WORKLOAD}"]\ndrive = ["2CM-128", "1CNM-64"]\n'
    with pytest.raises(PlanError, match="did you mean 'workload'"):
        plan_of({"workloads": WORKLOAD})

"""`import flashkeep`: drives, traces, runs, results, errors."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import flashkeep as fk
import nanoarrow as na
import numpy as np
import pytest
from flashkeep.results.result import PARTS

WORKLOAD = "synth:random,requests=2000,rate=5k"


@pytest.fixture(scope="module")
def result(drive: Path) -> fk.Result:
    return fk.run(fk.drive(drive), WORKLOAD)


def test_a_result_has_the_summary_as_attributes(result: fk.Result) -> None:
    p99, total = result.response_us.read.p99, result.write_amplification.total
    assert p99 == result.to_dict()["response_us"]["read"]["p99"]
    assert p99 is not None
    assert p99 > 0
    assert total is not None
    assert total >= 1
    assert result["seed"] == 1
    assert "digest" in result
    assert len(result.digest) == 64
    assert "response_us" in dir(result)
    assert "µs" in repr(result)
    with pytest.raises(AttributeError, match="response_us"):
        _ = result.respnse_us  # type: ignore[attr-defined]


def test_requests_are_columns_without_copying(result: fk.Result) -> None:
    requests = result.requests()
    assert len(requests) == 2000
    parts = [f"{part}_ns" for part in PARTS]
    assert requests.keys() == ("arrival_ns", "response_ns", "service_ns", "offset", "length", "op", *parts)
    assert list(result.latency_us.read.mean.to_dict()) == list(PARTS)
    assert np.array_equal(sum(requests[part] for part in parts), requests.response_ns)
    response = requests.response_ns
    assert response.dtype == np.uint64
    assert response.mean() / 1000 == pytest.approx(result.response_us.all.mean)
    assert np.shares_memory(response, requests["response_ns"])
    assert list(requests.memory("op")) == requests.op.tolist()
    assert np.count_nonzero(requests.op == 1) == result.workload.writes
    assert set(requests.to_numpy()) == set(requests.keys())
    with pytest.raises(AttributeError, match="arrival_ns"):
        _ = requests.arrival


def test_requests_are_an_arrow_stream(result: fk.Result) -> None:
    requests = result.requests()
    table = na.Array(requests)
    assert [field.name for field in table.schema.fields] == list(requests.keys())
    for at, name in enumerate(requests.keys()):
        assert table.child(at).to_pylist() == requests[name].tolist()
    kept = na.Array(fk.Requests(tuple(bytes(8 * width) for width in (8, 8, 8, 8, 4, 1))))
    assert kept.child(5).to_pylist() == [0] * 8, "the memory lives as long as the stream's arrays"


def test_a_run_without_a_breakdown(drive: Path, result: fk.Result) -> None:
    light = fk.run(drive, WORKLOAD, breakdown=False)
    assert light.to_dict()["latency_us"] is None
    assert light.digest == result.digest
    assert light.requests().keys() == ("arrival_ns", "response_ns", "service_ns", "offset", "length", "op")


def test_requests_that_were_not_kept(drive: Path) -> None:
    light = fk.run(drive, WORKLOAD, requests=False)
    with pytest.raises(ValueError, match="requests=False"):
        light.requests()


def test_drives_results_and_traces_pickle(drive: Path, result: fk.Result) -> None:
    mirror = fk.drive(drive).replace(**{"redundancy.scheme": "mirror"})
    assert pickle.loads(pickle.dumps(mirror)) == mirror == copy.deepcopy(mirror)
    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()
    assert np.array_equal(again.requests().response_ns, result.requests().response_ns)
    assert pickle.loads(pickle.dumps(result.response_us)) == result.response_us
    trace = fk.trace(WORKLOAD, limit=100)
    assert pickle.loads(pickle.dumps(trace)) == trace


def test_replace_makes_another_drive(drive: Path) -> None:
    plain = fk.drive(drive)
    other = plain.replace(**{"buffer.dram_mib": 2, "flash.channels": 4, "ftl.coalesce_reads": True})
    assert (plain.resolved.flash.channels, other.resolved.flash.channels) == (2, 4)
    assert other.to_dict()["buffer"]["dram_mib"] == 2
    assert plain != other
    assert len({plain, other, fk.drive(drive)}) == 2
    with pytest.raises(AttributeError, match="replace"):
        other.name = "mine"
    with pytest.raises(fk.DriveError, match=r"flash\.channels"):
        plain.replace(**{"flash.channels": 0})
    with pytest.raises(TypeError):
        plain.replace(flash={})


def test_presets_and_paths() -> None:
    assert fk.drive("2CM-128").resolved.redundancy.scheme == "mirror"
    with pytest.raises(fk.DriveError) as caught:
        fk.drive(Path("2CM-128"))
    assert caught.value.path == "./2CM-128"


def test_errors_say_where(tmp_path: Path, drive: Path) -> None:
    wrong = tmp_path / "drive.toml"
    wrong.write_text("[flash]\nchannels = 0\n")
    with pytest.raises(ValueError, match="channels") as caught:
        fk.drive(wrong)
    assert isinstance(caught.value, fk.DriveError)
    assert (caught.value.path, caught.value.line, caught.value.field) == (str(wrong), 2, "flash.channels")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)

    trace = tmp_path / "trace.ssdsim"
    trace.write_text("0 0 0 8 0\n1 0 0 8 x\n")
    with pytest.raises(fk.TraceError) as caught_trace:
        fk.run(drive, fk.trace(trace, format="ssdsim"))
    assert (caught_trace.value.path, caught_trace.value.line) == (str(trace), 2)
    with pytest.raises(fk.OptionError):
        fk.run(drive, WORKLOAD, replay="sideways")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        fk.trace()


def test_parts_fail(drive: Path, tmp_path: Path) -> None:
    mirror = fk.drive(drive).replace(**{"redundancy.scheme": "mirror", "start.existing": "all"})
    one = fk.run(mirror, WORKLOAD, fail="channel:1@50%,replace_after=20ms", verify=True)
    assert [phase["phase"] for phase in one.to_dict()["phases"]] == ["before", "degraded", "rebuilding", "after"]
    assert (one.integrity.lost_pages, one.integrity.wrong_reads) == (0, 0)
    assert one.integrity.reconstructed_reads > 0
    assert (one.integrity.time_to_full_redundancy_s or 0) > 0.02
    scenario = tmp_path / "scenario.toml"
    scenario.write_text('[[event]]\nwhat = "channel:1"\nwhen = "50%"\nreplace_after = "20ms"\n')
    for path in (scenario, str(scenario)):
        assert fk.run(mirror, WORKLOAD, scenario=path, verify=True).digest == one.digest
    lost = fk.run(mirror, WORKLOAD, fail=["channel:0@50%", "chip:1.0@60%", "chip:1.1@60%"])
    assert lost.integrity.lost_pages > 0, "told in the result; nothing is raised"
    with pytest.raises(fk.OptionError, match="WHAT@WHEN"):
        fk.run(mirror, WORKLOAD, fail="channel:0")
    with pytest.raises(fk.OptionError, match="nowhere"):
        fk.run(mirror, WORKLOAD, scenario=tmp_path / "nowhere.toml")


def test_a_drive_with_values_of_its_own(drive: Path) -> None:
    raid = fk.drive(f"{drive},flash.channels=4,redundancy.scheme=raid5")
    assert (raid.resolved.flash.channels, raid.resolved.redundancy.scheme) == (4, "raid5")
    assert raid.to_dict()["name"] == "small"
    same = fk.drive(drive).replace(**{"flash.channels": 4, "redundancy.scheme": "raid5"})
    assert fk.run(raid, WORKLOAD).to_dict()["response_us"] == fk.run(same, WORKLOAD).to_dict()["response_us"]


def test_trace_info(trace: Path) -> None:
    info = fk.trace(trace).info()
    assert (info.format, info.requests) == ("ssdsim", 400)


def test_columns_of_a_csv(tmp_path: Path, drive: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("7,R,0,4096\n9,W,8,512\n")
    text = "time=0:us,op=1,offset=2:sectors,size=3"
    trace = fk.trace(path, columns={"time": "0:us", "op": 1, "offset": "2:sectors", "size": 3})
    assert trace == fk.trace(path, columns=text)
    assert (trace.info().format, trace.info().writes, trace.info().max_address) == ("csv", 1, 4608)
    assert fk.run(drive, trace).workload.requests == 2
    with pytest.raises(ValueError, match="--columns: `size` is missing"):
        fk.trace(path, columns="time=0:us,op=1,offset=2").info()


def test_equal_runs_are_equal_whatever_runs_beside_them(drive: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda seed: fk.run(drive, WORKLOAD, seed), [1, 2, 1, 2]))
    digests = [result.digest for result in results]
    assert digests[:2] == digests[2:]
    assert digests[0] != digests[1]


def test_the_gil_is_free_during_a_run(drive: Path) -> None:
    ticks = 0
    run = threading.Thread(target=lambda: fk.run(drive, "synth:random,requests=300k,rate=2k", requests=False))
    run.start()
    while run.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert ticks > 20


def test_progress_is_told_and_can_end_a_run(drive: Path) -> None:
    class EnoughError(Exception):
        pass

    seen: list[tuple[int, float | None, int]] = []

    def progress(requests: int, share: float | None, simulated_ns: int) -> None:
        seen.append((requests, share, simulated_ns))
        if len(seen) == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        fk.run(drive, "synth:random,requests=1G,rate=2k", progress=progress, requests=False)
    requests, shares, _ = zip(*seen, strict=True)
    assert list(requests) == sorted(requests)
    assert all(share is None or 0 <= share < 1 for share in shares)


@pytest.mark.parametrize(
    ("option", "found"),
    [("seed", -1), ("seed", 1.5), ("seed", 2**64), ("depth", 0), ("depth", 2**32), ("limit", 0), ("limit", -1),
     ("sector_bytes", 2**32), ("time_scale", 0.0), ("time_scale", float("nan"))],
)  # fmt: skip
def test_a_number_that_is_refused_is_named(option: str, found: float) -> None:
    workload = "synth:random,requests=10,rate=1k"
    run, trace = partial(fk.run, "2CM-128", workload), partial(fk.trace, workload)
    takes: Callable[..., object] = run if option in ("seed", "depth") else trace
    with pytest.raises(ValueError, match=f"^{option}: found .* is accepted$"):
        takes(**{option: found})


def test_numpy_numbers_are_numbers() -> None:
    result = fk.run("2CM-128", fk.trace("synth:random,requests=10,rate=1k", limit=np.int64(5)), seed=np.uint8(3))
    assert (result.seed, result.workload.requests) == (3, 5)

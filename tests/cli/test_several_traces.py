"""Several files are one trace; overlays, repetitions, directories, and recordings without queued events."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Command

EPOCH = 128166372003061629


def msr(first: int, last: int) -> bytes:
    lines = (f"{EPOCH + at * 9000},hm,{at % 2},{'Write' if at % 3 else 'Read'},{at % 40 * 4096},4096,9\n"
             for at in range(first, last))  # fmt: skip
    return "".join(lines).encode()


def systor(first: int, last: int) -> bytes:
    # Requests end out of order; a cut falls between pairs.
    order = (at ^ 1 for at in range(first, last))
    lines = (f"145609514{5 + at // 100}.{at % 100:02}0000000,0.1,{'W' if at % 3 else 'R'},{at % 2},{at % 40 * 4096},"
             "4096\n" for at in order)  # fmt: skip
    return ("Timestamp,Response,IOType,LUN,Offset,Size\n" + "".join(lines)).encode()


def fiu(first: int, last: int) -> bytes:
    lines = (f"{89967195015098 + at * 1_000_000} 7 nfsd {at % 40 * 8} 8 {'W' if at % 3 else 'R'} 6 {at % 2} d41d8cd9\n"
             for at in range(first, last))  # fmt: skip
    return "".join(lines).encode()


def blktrace(first: int, last: int) -> bytes:
    def record(at: int) -> bytes:
        action = 1 | (1 << 17 if at % 3 else 1 << 16)
        return struct.pack("<IIQQIIIIIHH", 0x65617407, 0, 5_000_000_000 + at * 1_000_000, at % 40 * 8, 4096, action, 0,
                           (8 << 20) + at % 2 * 16, 0, 0, 0)  # fmt: skip

    return b"".join(record(at) for at in range(first, last))


FORMATS: dict[str, Callable[[int, int], bytes]] = {"msr": msr, "systor": systor, "fiu": fiu, "blktrace": blktrace}


@pytest.mark.parametrize("name", FORMATS)
def test_two_slices_are_the_whole(flashkeep: Command, drive: Path, tmp_path: Path, name: str) -> None:
    make = FORMATS[name]
    whole, first, second = (tmp_path / file for file in ("whole", "part.1", "part.2"))
    whole.write_bytes(make(0, 400))
    first.write_bytes(make(0, 150))
    second.write_bytes(make(150, 400))
    options = ("--compact", "--existing", "reads")
    one = flashkeep.json("run", drive, whole, *options)
    both = flashkeep.json("run", drive, first, second, *options)
    assert both["digest"] == one["digest"]
    assert both["workload"]["requests"] == 400
    assert any("2 files are one trace" in note for note in both["warnings"])
    if name in ("msr", "systor", "blktrace"):  # they have a clock in common
        assert flashkeep.json("run", drive, second, first, *options)["digest"] == one["digest"]
    info = flashkeep.json("trace", "info", first, second)
    assert {**info, "warnings": 0} == {**flashkeep.json("trace", "info", whole), "warnings": 0}
    compared = flashkeep.json("compare", first, second, drive, drive, *options)["runs"]
    assert [run["digest"] for run in compared] == [one["digest"]] * 2
    out = tmp_path / "out.csv"
    assert flashkeep("trace", "convert", first, second, out).code == 0
    assert len(out.read_text().splitlines()) == 401


def test_directories_and_patterns_are_one_trace(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    for part in range(12):
        (folder / f"homes.{part + 1}.blkparse").write_bytes(fiu(part * 10, part * 10 + 10))
    whole = tmp_path / "whole"
    whole.write_bytes(fiu(0, 120))
    expected = flashkeep.json("run", drive, whole, "--compact")
    for name in (folder, f"{folder}/homes.*"):
        found = flashkeep.json("run", drive, name, "--compact")
        assert found["digest"] == expected["digest"], "numbers in names count"
        assert any("12 files are one trace" in note for note in found["warnings"])
        assert len(found["workload"]["sha256"]) == 64
    code, _, err = flashkeep("trace", "info", f"{folder}/mail.*")
    assert code == 2
    assert "no file fits this pattern" in err


def test_an_overlay_begins_all_at_time_0(flashkeep: Command, tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(msr(0, 100))
    second.write_bytes(msr(100, 300))
    joined, laid = (flashkeep.json("trace", "info", first, second, *more) for more in ((), ("--overlay",)))
    assert (joined["devices"], laid["devices"]) == (2, 4)
    assert (joined["span_s"], laid["span_s"]) == (pytest.approx(299 * 0.0009), pytest.approx(199 * 0.0009))


def test_a_workload_is_repeated(flashkeep: Command, drive: Path, trace: Path) -> None:
    once, thrice = (flashkeep.json("run", drive, trace, *more) for more in ((), ("--repeat", 3)))
    assert thrice["workload"]["requests"] == 3 * once["workload"]["requests"]
    assert thrice["workload"]["bytes_written"] == 3 * once["workload"]["bytes_written"]
    info = flashkeep.json("trace", "info", trace, "--repeat", 3)
    assert info["requests"] == 1200
    assert info["footprint_bytes"] == 50 * 4096
    closed = flashkeep.json("run", drive, "synth:random,requests=300,depth=4,footprint=64KiB", "--repeat", 4)
    assert (closed["workload"]["requests"], closed["queue"]["max"]) == (1200, 4)
    code, _, err = flashkeep("trace", "info", "-", "--repeat", 2, stdin="0 0 0 8 1\n")
    assert code == 2
    assert "--repeat needs a file" in err


def test_issued_events_are_taken_if_asked_for(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    path = tmp_path / "d.blkparse"
    path.write_text("".join(f"8,0 0 {at + 1} 0.{at:03} 9 D W {at * 8} + 8 [dd]\n" for at in range(20)))
    code, _, err = flashkeep("run", drive, path)
    assert code == 2
    assert "no Q events; 20 D events: --action D takes these" in err
    found = flashkeep.json("run", drive, path, "--action", "D")
    assert (found["workload"]["writes"], found["options"]["action"]) == (20, "D")
    assert flashkeep("run", drive, path, "--action", "X").code == 2


def test_wrap_with_several_devices_is_not_advised_again(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    path = tmp_path / "wide.ssdsim"
    path.write_text("".join(f"{at * 1000000} {at % 2} {at * 2048} 8 0\n" for at in range(3000)))
    code, _, err = flashkeep("run", drive, path, "--wrap")
    assert code == 2
    assert "--merge-devices, so that --wrap applies" in err
    assert flashkeep("run", drive, path, "--wrap", "--merge-devices").code == 0


def test_trims_of_synthetic_workloads(flashkeep: Command) -> None:
    info = flashkeep.json("trace", "info", "synth:random,requests=10k,trim=0.2,footprint=64MiB")
    assert info["trims"] == pytest.approx(2000, rel=0.1)


def test_info_says_what_is_asked_first(flashkeep: Command, trace: Path) -> None:
    info = flashkeep.json("trace", "info", trace)
    assert info["write_kib"] == {"p50": 4, "p90": 4, "p99": 4, "max": 4}
    assert info["write_share"] == 0.5
    assert info["written_bytes"] == 200 * 4096
    assert info["written_gb_per_day"] == pytest.approx(200 * 4096 / 1e9 / info["span_s"] * 86400)
    assert info["overwrite_share"] == pytest.approx(1 - info["footprint_written_bytes"] / info["written_bytes"])
    assert info["queue_depth"]["latency_us"] == 100
    assert info["next"]
    text = flashkeep("trace", "info", trace).out
    for part in ("reads", "writes", "overwrites", "next:"):
        assert part in text, text

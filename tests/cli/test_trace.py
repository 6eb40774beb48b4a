"""`flashkeep trace info`, `convert` and `synth`."""

from __future__ import annotations

from pathlib import Path

import flashkeep as fk
import pytest
from conftest import Command, rows_of

KEYS = {
    "format", "requests", "reads", "writes", "trims", "flushes", "fua_writes", "span_s", "rate_per_s", "mean_kib",
    "footprint_bytes", "max_address", "devices", "sequences", "mean_sequence_kib", "unbroken_sequences",
    "mean_write_kib", "write_sequences", "mean_write_sequence_kib", "warnings",
}  # fmt: skip


def test_info_has_the_keys_of_the_interface(flashkeep: Command, trace: Path) -> None:
    found = flashkeep.json("trace", "info", trace)
    assert set(found) >= KEYS
    assert (found["format"], found["requests"], found["writes"], found["devices"]) == ("ssdsim", 400, 200, 1)
    assert found["mean_kib"] == 4
    assert found["footprint_bytes"] == 50 * 4096


def test_info_for_people(flashkeep: Command, trace: Path) -> None:
    code, out, err = flashkeep("trace", "info", trace)
    assert (code, err) == (0, "")
    assert "400" in out
    assert "200 KiB" in out


@pytest.mark.parametrize("workload", ["synth:random,requests=300,rate=1k", "synth:sequential,requests=300,depth=4"])
def test_the_picture_of_a_trace(flashkeep: Command, tmp_path: Path, workload: str) -> None:
    workload += ",footprint=1GiB,size=4KiB:0.5/32KiB:0.5"
    svg, png = tmp_path / "trace.svg", tmp_path / "trace.png"
    assert flashkeep("trace", "info", workload, "--plot", svg).code == 0
    assert flashkeep("trace", "info", workload, "--limit", 100, "--plot", png).code == 0
    words = svg.read_text()
    for told in ("address, GiB", "size, KiB", "writes", "requests/s" if "rate" in workload else "a closed loop"):
        assert told in words
    assert png.read_bytes().startswith(b"\x89PNG")
    assert len(fk.trace(workload).plot().axes) == 4
    assert "ends in .png or .svg" in flashkeep("trace", "info", workload, "--plot", tmp_path / "x.gif").err
    assert "only once" in flashkeep("trace", "info", "-", "--plot", png).err


def test_synth_makes_a_trace_that_reads_back(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    out = tmp_path / "made.ssdsim"
    workload = "synth:random,requests=500,rate=1k,footprint=1MiB,size=4KiB"
    made = flashkeep.json("trace", "synth", workload, out)
    assert made == {"requests": 500, "format": "ssdsim"}
    assert [path.name for path in tmp_path.iterdir()] == ["made.ssdsim"]
    assert flashkeep.json("trace", "info", out)["requests"] == 500
    replayed, direct = (flashkeep.json("run", drive, source) for source in (out, workload))
    assert replayed["response_us"] == direct["response_us"]
    again = tmp_path / "again.ssdsim"
    assert flashkeep("trace", "synth", workload, again).out == f"{again}: 500 requests, ssdsim\n"
    assert again.read_bytes() == out.read_bytes()
    assert flashkeep("trace", "synth", workload, again, "--seed", 2).code == 0
    assert again.read_bytes() != out.read_bytes()


def test_synth_fills_the_drive_that_is_named(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    out = tmp_path / "made.spc"
    made = flashkeep.json("trace", "synth", "synth:sequential,requests=100,rate=1k", out, "--drive", drive)
    assert made["format"] == "spc"


def test_synth_to_standard_output(flashkeep: Command, drive: Path) -> None:
    _, text, err = flashkeep(
        "trace", "synth", "synth:random,requests=9,rate=1k,footprint=1MiB,size=4KiB", "-", "--to", "ssdsim"
    )
    assert err == ""
    assert len(text.splitlines()) == 9
    assert flashkeep.json("run", drive, "-", "--format", "ssdsim", stdin=text)["workload"]["requests"] == 9


def test_sequences_of_alternating_threads(flashkeep: Command) -> None:
    """Develop in Table 3 of the hybrid backup: 3.03 requests a sequence, of 15 pages each, 48 together."""
    found = flashkeep.json("trace", "info", "synth:hybrid-develop,requests=300k")
    assert found["writes"] / found["write_sequences"] == pytest.approx(5_869_269 / 1_938_354, rel=0.03)
    assert found["mean_write_kib"] / 4 == pytest.approx(15, rel=0.03)
    assert found["mean_write_sequence_kib"] / 4 == pytest.approx(48, rel=0.03)
    assert found["unbroken_sequences"] > 2 * found["sequences"]


REAL = {
    "financial1-head-10k.ssdsim.zst": ("ssdsim", 10_000),
    "iozone-100k.disksim.zst": ("disksim", 100_000),
    "msr-hm0-1k.csv.zst": ("msr", 1_000),
    "cloudphysics-2h.vscsi.zst": ("vscsi", 113_872),
    "hadoop-9s.blkparse.zst": ("blkparse", 15_524),
    "exchange-disk0-33k.mqsim.zst": ("mqsim", 33_241),
    "systor17-1k.csv.zst": ("systor", 999),
    "tencent-cbs-50k.csv.zst": ("tencent", 50_000),
}


@pytest.mark.parametrize("name", REAL)
def test_real_traces(flashkeep: Command, real_traces: Path, name: str) -> None:
    found = flashkeep.json("trace", "info", real_traces / name)
    assert (found["format"], found["requests"]) == REAL[name]


def test_a_real_trace_on_a_preset(flashkeep: Command, real_traces: Path) -> None:
    trace = real_traces / "financial1-head-10k.ssdsim.zst"
    found = flashkeep.json("compare", trace, "1CNM-64", "2CM-128", "--compact")["runs"]
    assert all(run["workload"]["requests"] == 10_000 for run in found)
    assert found[1]["response_us"]["read"]["mean"] < found[0]["response_us"]["read"]["mean"]


def test_convert_and_back_is_the_same_trace(flashkeep: Command, drive: Path, trace: Path, tmp_path: Path) -> None:
    figures = flashkeep.json("trace", "info", trace)
    response = flashkeep.json("run", drive, trace)["response_us"]
    for ending in ("blkparse", "fio.zst", "csv.gz", "alibaba", "systor", "disksim"):
        out, back = tmp_path / f"there.{ending}", tmp_path / "back.ssdsim"
        made = flashkeep.json("trace", "convert", trace, out)
        name = ending.partition(".")[0]
        assert made == {"requests": 400, "from": "ssdsim", "format": name, "lost": [], "warnings": []}
        assert flashkeep.json("trace", "info", out) == {**figures, "format": name}
        assert flashkeep.json("run", drive, out)["response_us"] == response
        code, said, err = flashkeep("trace", "convert", out, back, "--to", "ssdsim")
        assert (code, said, err) == (0, f"{back}: 400 requests, {name} to ssdsim\n", "")
        assert back.read_bytes() == trace.read_bytes()


def test_convert_says_what_is_lost(flashkeep: Command, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "coarse.tencent"
    lost = "399 times were cut to the clock of tencent, 1.0 s, by up to 39.9 ms"
    assert flashkeep.json("trace", "convert", trace, out)["lost"] == [lost]
    assert f"\nlost: {lost}\n" in flashkeep("trace", "convert", trace, out).out
    assert "coarse" in flashkeep.json("trace", "info", out)["warnings"][0]
    code, text, err = flashkeep("trace", "convert", trace, "-", "--to", "tencent", "--limit", 2)
    assert (code, text) == (0, "1500000000,0,8,1,0\n1500000000,8,8,0,0\n")
    assert err == "flashkeep: lost: 1 times were cut to the clock of tencent, 1.0 s, by up to 100.0 µs\n"


def test_convert_refuses_or_leaves_out_what_cannot_be_said(flashkeep: Command, tmp_path: Path) -> None:
    source, out = tmp_path / "in.fio", tmp_path / "out.ssdsim"
    source.write_text("fio version 3 iolog\n1 a read 0 512\n2 a trim 0 4096\n3 b write 0 512\n")
    code, said, err = flashkeep("trace", "convert", source, out)
    assert (code, said, out.exists()) == (2, "", False)
    assert f"{source}:2: cannot be written as ssdsim: this format has no trims; --bad-records skip" in err
    made = flashkeep.json("trace", "convert", source, out, "--bad-records", "skip", "--merge-devices")
    assert made["lost"] == ["2 devices were laid over each other", "1 trims were left out, which ssdsim cannot say"]
    assert out.read_text() == "0 0 0 1 1\n2000 0 0 1 0\n"


def test_convert_keeps_flushes_and_fua_where_the_format_has_them(flashkeep: Command, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    workload = "synth:random,requests=300,write=0.5,rate=1k,footprint=1MiB,size=4KiB,flush_every=3,fua=0.2"
    flashkeep("trace", "synth", workload, source)
    info = flashkeep.json("trace", "info", source)
    flushes, fua = info["flushes"], info["fua_writes"]
    assert flushes == info["writes"] // 3
    assert fua > 10
    for ending in ("blkparse", "blktrace", "csv"):
        out = tmp_path / f"out.{ending}"
        assert flashkeep.json("trace", "convert", source, out)["lost"] == []
        assert flashkeep.json("trace", "info", out) == {**info, "format": ending}
    marks = f"{fua} writes lost their FUA mark, which {{}} cannot say"
    made = flashkeep.json("trace", "convert", source, tmp_path / "out.fio")
    assert made["requests"] == 300
    assert made["lost"][1:] == [marks.format("fio")]
    made = flashkeep.json("trace", "convert", source, tmp_path / "out.spc")
    assert made["requests"] == 300 - flushes
    assert made["lost"] == [f"{flushes} flushes were left out, which spc cannot say", marks.format("spc")]


def test_flushes_of_a_run(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    trace = tmp_path / "database.fio"
    trace.write_text("fio version 3 iolog\n" + "".join(
        f"{at * 1000} db write {at % 50 * 4096} 4096\n{at * 1000} db {('sync', 'datasync')[at % 2]} 0 0\n"
        for at in range(100)
    ))  # fmt: skip
    found = flashkeep.json("run", drive, trace, "--out", tmp_path / "out")
    assert (found["workload"]["flushes"], found["workload"]["writes"]) == (100, 100)
    assert found["response_us"]["flush"]["count"] == 100
    assert sum(row["op"] == "flush" for row in rows_of(tmp_path / "out", "requests")) == 100
    assert sum(row["flushes"] for row in rows_of(tmp_path / "out", "seconds")) == 100
    assert "flushes" in flashkeep("run", drive, trace).out


def test_binary_files_of_blktrace(flashkeep: Command, drive: Path, trace: Path, tmp_path: Path) -> None:
    name = tmp_path / "sda.blktrace.0"
    assert flashkeep("trace", "convert", trace, name, "--to", "blktrace").code == 0
    figures = flashkeep.json("trace", "info", trace)
    assert flashkeep.json("trace", "info", name) == {**figures, "format": "blktrace"}
    assert flashkeep.json("run", drive, name)["workload"]["format"] == "blktrace"
    whole = name.read_bytes()
    for cut in (1, 3, 47, 48 + 7, len(whole) - 1):
        name.write_bytes(whole[:cut])
        code, out, err = flashkeep("run", drive, name)
        assert (code, out, err.count("\n")) == (2, "", 1), cut
    assert "400: the last record is cut short: 47 of 48 bytes" in err
    name.write_bytes(b"\x06tae" + whole[4:])
    code, _, err = flashkeep("trace", "info", name)
    assert code == 2
    assert "a binary file of blktrace, version 6" in err
    assert "`blkparse -i" in err


def test_logs_of_fio(flashkeep: Command, tmp_path: Path) -> None:
    log = tmp_path / "job_lat.1.log"
    log.write_text("3, 81920, 1, 4096, 8192, 0, 1000\n4, 81920, 0, 512, 0, 0, 500\n")
    found = flashkeep.json("trace", "info", log)
    assert (found["format"], found["reads"], found["writes"], found["warnings"]) == ("fio-log", 1, 1, [])
    assert found["span_s"] == 500e-9
    log.write_text("3, 81920, 1, 4096, 8192, 0\n4, 81920, 0, 512, 0, 0\n")
    assert "--log_issue_time=1" in flashkeep.json("trace", "info", log)["warnings"][0]
    log.write_text("3, 81920, 1, 4096, 0\n4, 81920, 0, 512, 0\n")
    code, _, err = flashkeep("trace", "info", log)
    assert code == 2
    assert "a log of fio without offsets" in err
    assert "--log_offset=1" in err


def test_sectors_of_an_mqsim_trace_are_found(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.mqsim"
    path.write_text("".join(f"{at * 100_000} 0 {at % 50 * 64} {64 * (1 + at % 4)} {at % 2}\n" for at in range(200)))
    info = flashkeep.json("trace", "info", path)
    assert (info["format"], info["mean_kib"], info["max_address"]) == ("mqsim", 10, 53 * 4096)
    assert "in sectors of 64 bytes" in info["warnings"][0]
    run = flashkeep.json("run", drive, path)
    assert (run["workload"]["format"], run["workload"]["bytes_written"]) == ("mqsim", 100 * 8 * 1024)
    assert any("in sectors of 64 bytes" in warning for warning in run["warnings"])
    given = flashkeep.json("trace", "info", path, "--sector-bytes", 512)
    assert (given["mean_kib"], given["warnings"]) == (80, [])
    other = flashkeep.json("trace", "info", path, "--format", "ssdsim")
    assert other["warnings"][0].endswith("--sector-bytes 64")


def test_columns_of_any_csv(flashkeep: Command, drive: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("At,Kind,Where,Bytes\n1.5,1,8,4096\n1.25,0,0,512\n")
    by_name = "time=At:s,op=Kind:read=0/write=1,offset=Where:sectors,size=Bytes"
    by_index = "time=0:s,op=1:read=0/write=1,offset=2:sectors,size=3"
    found = flashkeep.json("trace", "info", path, "--columns", by_name)
    assert (found["format"], found["reads"], found["writes"], found["span_s"]) == ("csv", 1, 1, 0.25)
    assert found["max_address"] == 8 * 512 + 4096
    assert flashkeep.json("trace", "info", path, "--columns", by_index) == found
    assert flashkeep.json("run", drive, path, "--columns", by_name)["workload"]["requests"] == 2
    out = tmp_path / "out.ssdsim"
    assert flashkeep("trace", "convert", path, out, "--columns", by_index).code == 0
    assert out.read_text() == "0 0 0 1 1\n250000000 0 8 8 0\n"
    code, _, err = flashkeep("run", drive, path, "--columns", by_name.replace("Bytes", "Byte"))
    assert code == 2
    assert "size: unknown column `Byte`; did you mean `Bytes`?" in err
    assert flashkeep("trace", "info", path, "--format", "csv").code == 2


def test_a_workload_with_a_footprint_of_its_own_needs_no_drive(flashkeep: Command) -> None:
    info = flashkeep.json("trace", "info", "synth:sirf-fin2,requests=20k")
    assert info["requests"] == 20_000
    assert abs(info["mean_kib"] - 4) < 0.1

"""Other people's clients read and write served drives, also failing and rebuilding ones; saved drives keep their
bytes."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from nbd_client import FLUSH, READ, WRITE, Client
from small_drives import small_drive

SMALL = "flash.channels=2,flash.chips_per_channel=2,flash.blocks_per_plane=64,flash.pages_per_block=96"
DRIVE = f"tlc-client,{SMALL}"


@pytest.fixture
def raid5(tmp_path: Path) -> str:
    """RAID-5 over four small drives."""
    (tmp_path / "small.toml").write_text(
        'base = "tlc-client"\n[flash]\nchannels = 2\nchips_per_channel = 1\nblocks_per_plane = 64\n'
        "pages_per_block = 96\n"
    )
    array = tmp_path / "raid5.toml"
    array.write_text('members = ["4 * small.toml"]\n[redundancy]\nscheme = "raid5"\n')
    return str(array)


def run(*command: str | Path) -> str:
    """The output of a program, which is installed."""
    if not shutil.which(str(command[0])):
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


def fio(uri: str, folder: Path) -> None:
    """Random writes of four jobs, each of which verifies its own."""
    run("fio", "--name=verify", "--ioengine=nbd", f"--uri={uri}", "--rw=randwrite", "--bsrange=512-32k", "--size=4m",
        "--offset_increment=4m", "--numjobs=4", "--iodepth=16", "--verify=crc32c", "--verify_fatal=1", "--fsync=64",
        "--verify_state_save=0", f"--aux-path={folder}", "--output-format=terse")  # fmt: skip


@pytest.mark.parametrize("time", ["no-wait", "real", "scale=0.01"])
def test_fio_verifies_a_lone_drive(time: str, tmp_path: Path) -> None:
    with fk.serve(DRIVE, time=time) as served:
        fio(served.uri, tmp_path)
        assert served.summary()["serve"]["failed_requests"] == 0


def test_fio_verifies_raid_5_with_a_failed_chip_and_a_rebuild(raid5: str, tmp_path: Path) -> None:
    with fk.serve(raid5, time="no-wait") as served:
        fio(served.uri, tmp_path)
        served.control("fail", "member:1/chip:0.0")
        fio(served.uri, tmp_path)
        served.control("fail", "member:2", "replace_after=10ms")
        fio(served.uri, tmp_path)
        summary = served.summary()
    assert summary["serve"]["unknown_pages"] == summary["integrity"]["wrong_reads"] == 0


def test_nbdcopy_and_qemu_read_what_they_wrote(tmp_path: Path) -> None:
    source, back = tmp_path / "source", tmp_path / "back"
    source.write_bytes(random.Random(1).randbytes(32 << 20))
    with fk.serve(DRIVE, time="no-wait", store=tmp_path / "store") as served:
        run("nbdcopy", "--flush", source, served.uri)
        with back.open("wb") as file:
            file.truncate(served.size)
        run("nbdcopy", served.uri, back)
        with back.open("rb") as file:
            assert file.read(32 << 20) == source.read_bytes()
        commands = ["write -P 0x5a 1000 70000", "read -P 0x5a 1000 70000", "write -z 40000 5000",
                    "read -P 0 40000 5000", "discard 1M 1M", "flush", "read -P 0x5a 1000 39000"]  # fmt: skip
        words = [word for command in commands for word in ("-c", command)]
        assert "Pattern verification failed" not in run("qemu-io", "-f", "raw", *words, served.uri)
        extents = json.loads(run("nbdinfo", "--map", "--json", served.uri))
        assert sum(extent["length"] for extent in extents) == served.size


def test_two_failed_members_lose_exactly_the_pages_that_stats_lists(raid5: str, tmp_path: Path) -> None:
    page = 4096
    with (
        fk.serve(raid5, listen=f"unix:{tmp_path}/nbd", control=tmp_path / "control", time="no-wait") as served,
        Client(f"{tmp_path}/nbd") as client,
    ):
        data = random.Random(2).randbytes(1 << 20)
        assert client.call(WRITE, 0, len(data), data).error == 0
        assert client.call(FLUSH).error == 0
        served.control("fail", "member:0")
        assert client.call(READ, 0, len(data)).pieces == {0: data}
        served.control("fail", "member:1")
        lost = {
            at for found in served.control("stats")["lost"]
            for at in range(found["offset"], found["offset"] + found["length"], page)
        }  # fmt: skip
        failed = set()
        for at in range(0, len(data), page):
            reply = client.call(READ, at, page)
            if reply.error:
                failed.add(at)
            else:
                assert reply.pieces == {at: data[at : at + page]}
    assert failed
    assert failed == {at for at in lost if at < len(data)}


def test_saved_drives_keep_their_bytes(tmp_path: Path) -> None:
    data, saved = random.Random(3).randbytes(100_000), tmp_path / "saved.fk"
    where: dict[str, Any] = {"listen": f"unix:{tmp_path}/nbd", "control": tmp_path / "control", "time": "no-wait"}
    with fk.serve(DRIVE, save_aged=saved, **where), Client(f"{tmp_path}/nbd") as client:
        assert client.call(WRITE, 777, len(data), data).error == 0
    with fk.serve(DRIVE, aged=saved, **where), Client(f"{tmp_path}/nbd") as client:
        assert client.call(READ, 777, len(data)).pieces == {777: data}
        assert client.call(WRITE, 800, 3, b"abc").error == 0
        assert client.call(READ, 798, 8).pieces == {798: data[21:23] + b"abc" + data[26:29]}
    # What its DRAM holds is written with parity in the drive, which takes time.
    protected = tmp_path / "protected.toml"
    protected.write_text(small_drive(channels=4) + '\n[redundancy]\nscheme = "raid5"\n[buffer]\ndram_mib = 0.25\n')
    with fk.serve(protected, save_aged=tmp_path / "protected.fk", **where), Client(f"{tmp_path}/nbd") as client:
        assert client.call(WRITE, 777, len(data), data).error == 0
    with fk.serve(protected, aged=tmp_path / "protected.fk", **where), Client(f"{tmp_path}/nbd") as client:
        assert client.call(READ, 777, len(data)).pieces == {777: data}
    with_contents: dict[str, Any] = {"verify": True}
    fk.age(DRIVE, str(saved), **with_contents)
    with pytest.raises(fk.OptionError, match=r"saved\.fk\.bytes: has the bytes of another drive than"):
        fk.serve(DRIVE, aged=saved)

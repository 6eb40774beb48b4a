"""Defects that campaigns of random drives found (`python -m tests.differential`), each as its reduced case."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, call


class Case:
    """Runs an array, or a drive, that a test describes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, drive: str, workload: list[str] | str, *options: str, member: str = "") -> dict[str, Any]:
        """The summary of `flashkeep run` with a workload, or none, or with a trace of these rows: time in ns, device,
        operation, offset, size."""
        (self.folder / "drive.toml").write_text(drive)
        (self.folder / "member.toml").write_text(member)
        if isinstance(workload, list):
            lines = ["time_ns,device,op,offset_B,size_B", *workload]
            (self.folder / "trace.csv").write_text("".join(f"{line}\n" for line in lines))
            workload, options = "trace.csv", ("--wrap", *options)
        workloads = [workload] if workload else []
        done = call(["run", "drive.toml", *workloads, "--json", "--verify", *options], self.folder, limit_s=60)
        assert done.code in {0, 3}, done.err
        summary: dict[str, Any] = json.loads(done.out)
        return summary


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_work_before_time_0_is_acknowledged_when_it_is_planned(case: Case) -> None:
    # The page that the second request reads is written to the copies before time 0, while the clock is at 201,536 ns:
    # where one copy is enough, the breakdown of that plan ended before it began.
    drive = 'members = ["4 * ./member.toml"]\nredundancy.scheme = "mirror"\nredundancy.acknowledge = "first"\n'
    member = (
        "flash.channels = 4\nflash.chips_per_channel = 1\nflash.blocks_per_plane = 12\nftl.over_provisioning = 0.5\n"
    )
    rows = ["0,0,W,263168,512", "9011001,0,R,264192,1024"]
    summary = case(drive, rows, "--replay", "closed", "--depth", "1", member=member)
    assert summary["integrity"]["wrong_reads"] == 0


def test_a_log_makes_room_where_pages_have_other_copies(case: Case) -> None:
    # A member is gone, and what the others had in their DRAM of a cleaning's destination: no superblock was free after
    # the power loss, and none fitted into what was left of the destination.
    drive = 'members = ["6 * ./member.toml"]\nredundancy.scheme = "dvs"\nredundancy.extent_kib = 28\n'
    member = (
        "flash.channels = 1\n"
        "flash.chips_per_channel = 1\n"
        "flash.dies_per_chip = 2\n"
        "flash.planes_per_die = 2\n"
        "flash.blocks_per_plane = 16\n"
        "flash.pages_per_block = 6\n"
        "ftl.over_provisioning = 1.0\n"
        'ftl.map = "dftl"\n'
        "ftl.cache_kib = 0.25\n"
        'ftl.pool = "element"\n'
        'flash.busy_unit = "chip"\n'
        "buffer.dram_mib = 0.5\n"
        'buffer.flush = "idle"\n'
        "buffer.flush_after_us = 50\n"
    )
    rows = [
        "141103018,0,W,2064384,32768", "143103019,0,W,1019904,8192", "143104019,0,W,1204224,12288",
        "143304019,0,W,1351680,69632", "143304020,0,W,1228800,131072", "163967021,0,W,2822144,16384",
        "163967022,0,W,139264,32768", "183997023,0,W,323584,8192", "184027023,0,W,2269184,12288",
        "184057023,0,W,3702784,8192", "184257023,0,W,1568768,4096", "184257024,0,W,3387392,135168",
        "184287024,0,W,1695744,8192", "204287024,0,W,1482752,8192", "206287024,0,W,2826240,32768",
        "208287024,0,W,3653632,4096", "210689025,0,W,2326528,40960", "230689025,0,W,2981888,57344",
        "230689025,0,W,1265664,32768", "230889025,0,W,1957888,4096", "230889026,0,W,1863680,4096",
        "230889026,0,W,1630208,4096", "230889026,0,W,1392640,32768",
    ]  # fmt: skip
    options = ["--existing", "all", "--time-scale", "3.0"]
    fails = ["--fail", "power@21%", "--fail", "power@68%", "--fail", "member:4@11%"]
    assert case(drive, rows, *options, *fails, member=member)["integrity"]["wrong_reads"] == 0


def test_a_log_with_a_member_gone_and_one_that_refuses_pages_goes_on(case: Case) -> None:
    drive = 'members = ["6 * ./member.toml"]\nredundancy.scheme = "ds"\nredundancy.extent_kib = 32\n'
    member = (
        "flash.channels = 2\n"
        "flash.chips_per_channel = 1\n"
        "flash.dies_per_chip = 1\n"
        "flash.planes_per_die = 1\n"
        "flash.blocks_per_plane = 16\n"
        "flash.pages_per_block = 8\n"
        "flash.page_kib = 8\n"
        "ftl.over_provisioning = 0.5\n"
        "buffer.dram_mib = 0.03125\n"
        'buffer.flush = "none"\n'
    )
    rows = [
        "0,0,R,2843136,512", "0,0,W,2682368,512", "0,0,W,42496,1536", "0,0,R,2394624,512", "0,0,R,3530240,1536",
        "200000,0,W,4049920,11264", "400000,0,W,3224576,8192", "400000,0,W,3548160,4096", "2400000,0,R,3429376,13824",
        "4400000,0,W,2590720,512", "4400000,0,W,1073664,15872", "4430001,0,R,4003328,512", "4430002,0,W,151040,512",
        "4430003,0,R,196608,1024", "4430003,0,W,611840,1536", "4430004,0,W,1702912,1536", "4431004,0,W,2352640,1536",
        "4631004,0,W,3633152,9216", "4831004,0,W,753152,512", "4832004,0,W,3597824,1024", "4862004,0,W,89600,4096",
        "4892004,0,R,148480,512", "4892004,0,W,1435648,9728", "6892004,0,W,865280,4096", "8892004,0,R,1019392,4096",
        "10892004,0,R,1335296,512", "10892005,0,W,774144,14336", "84138009,0,W,1036800,512",
        "84139009,0,R,2479104,512", "108973012,0,W,3866112,512", "108973012,0,W,3870208,1024",
        "108973012,0,R,3877888,4096", "108974012,0,W,2711040,512", "108974012,0,W,1872384,4096",
        "108974012,0,R,4085248,1024", "121406014,0,R,989184,512", "121406014,0,W,3089408,9728",
    ]  # fmt: skip
    fails = ["member:3@77%", "power@78%", "power@15%", "power@11%", "member:0/die:0.0.0@9%"]
    options = [word for fail in fails for word in ("--fail", fail)]
    assert case(drive, rows, "--existing", "all", *options, member=member)["integrity"]["wrong_reads"] == 0


def test_a_power_loss_while_parities_change_their_members(case: Case) -> None:
    # Diff-RAID exchanges a parity and data units: what had been written in the place of another unit was taken for it.
    drive = 'members = ["6 * ./member.toml"]\nredundancy.scheme = "diff-raid"\n'
    member = (
        "flash.channels = 1\n"
        "flash.chips_per_channel = 3\n"
        "flash.dies_per_chip = 2\n"
        "flash.planes_per_die = 1\n"
        "flash.blocks_per_plane = 32\n"
        "flash.page_kib = 8\n"
        'flash.bus = "rounds"\n'
    )
    workload = "synth:zipf,requests=45,size=512,write=0.3,footprint=512KiB,theta=0.5,rate=100"
    for cut in range(80, 100):
        fails = ["--fail", "member:0@39req,replace_after=0s", "--fail", f"power@{cut}%"]
        integrity = case(drive, workload, *fails, member=member)["integrity"]
        assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)


def test_the_same_with_dram_in_members(case: Case) -> None:
    drive = 'members = ["4 * ./member.toml"]\nredundancy.scheme = "diff-raid"\n'
    member = (
        "flash.channels = 2\n"
        "flash.chips_per_channel = 2\n"
        "flash.blocks_per_plane = 24\n"
        'flash.bus = "operations"\n'
        "buffer.dram_mib = 0.125\n"
    )
    workload = "synth:sequential,requests=150,size=4KiB,write=0,rate=20k"
    fails = ["--fail", "member:0@6%,replace_after=0s", "--fail", "power@9%", "--fail", "power@16%"]
    assert case(drive, workload, *fails, "--seed", "735", member=member)["integrity"]["wrong_reads"] == 0


def test_many_unreadable_pages_of_a_disk_take_seconds(case: Case) -> None:
    # For each of 100,000 unreadable pages all plans were looked through that had ever been under way at once.
    drive = 'members = ["6 * ./member.toml"]\nredundancy.scheme = "spd-raid4"\nredundancy.shares = 0.4\n'
    member = 'disk.capacity_gb = 0.1\ndisk.page_kib = 0.5\ndisk.queue_depth = 1\nhost.order = "arrival"\n'
    workload = "synth:random,requests=40,size=4KiB,write=0.5,rate=100"
    fails = ["--fail", "power@22%", "--fail", "member:3@53%,transient"]
    integrity = case(drive, workload, "--existing", "all", *fails, member=member)["integrity"]
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)


def test_scrubbing_ends_with_the_last_request(case: Case) -> None:
    # A map of blocks moved without end what scrubbing found to have been read too often, and scrubbing read it again.
    drive = (
        'base = "ssdsim-basic"\nftl.map = "hybrid"\nbuffer.dram_mib = 0\nflash = { chips_per_channel = 1, '
        "dies_per_chip = 1, blocks_per_plane = 48, pages_per_block = 4 }\n"
        'errors = { model = "kim", maintenance = { scrub_days = 1e-6, reclaim_reads = 0.5 } }\n'
    )
    summary = case(drive, "synth:random,requests=200,write=0.5,size=2KiB", "--existing", "all")
    read = summary["operations"]["read"]
    assert 1_000 < read["scrub"] < 10_000
    assert 1_000 < read["refresh"] < 10_000


def test_a_steady_state_beside_a_memory(case: Case) -> None:
    # Whether a memory places pages in order was looked up among the parts of the drive's flash.
    drive = (
        "flash.channels = 5\nflash.chips_per_channel = 1\nflash.blocks_per_plane = 24\n"
        'redundancy.scheme = "ppc"\nageing.model = "steady"\n'
    )
    for requests in (1, 200):
        summary = case(drive, f"synth:random,requests={requests},size=512,write=0.3,rate=2k")
        assert summary["integrity"]["wrong_reads"] == 0


def test_a_flush_waits_for_the_flush_before(case: Case) -> None:
    """The pages of the first FLUSH were on their way when the second was acknowledged, and the power was lost."""
    drive = 'base = "2CM-128"\nflash = { chips_per_channel = 1, dies_per_chip = 1, blocks_per_plane = 24, ' \
            "pages_per_block = 4 }\nbuffer.dram_mib = 0.1875\n"  # fmt: skip
    rows = ["200000,0,W,32768,4096", "2200000,0,F,0,0", "2200000,0,F,0,0", "2401001,0,W,35840,4096"]
    summary = case(drive, rows, "--fail", "power@3req")
    assert (summary["integrity"]["lost_pages"], summary["integrity"]["wrong_reads"]) == (0, 0)


def test_a_block_whose_page_a_read_waits_for_in_vain_is_kept(case: Case) -> None:
    """GC that holds its channel erased a block while the read of a page that no retry corrects waited for it."""
    drive = (
        'base = "8CM-128"\nredundancy.scheme = "raid5"\nbuffer.dram_mib = 0.25\nftl.over_provisioning = 0.15\n'
        "flash = { channels = 4, chips_per_channel = 1, dies_per_chip = 1, blocks_per_plane = 16, "
        'pages_per_block = 4 }\nerrors = { model = "kim", scale = 4, retry.steps = 0, '
        "maintenance.reclaim_reads = 0.5 }\n"
    )
    rows = ["2601002,0,R,308224,4096", "2633003,0,R,595456,15360", "2633003,0,R,597504,65536",
            "4995478,0,R,15872,65536"]  # fmt: skip
    assert case(drive, rows, "--seed", "495")["integrity"]["wrong_reads"] == 0


SMALL_SSD = (
    "intel-320-160,flash.chips_per_channel=1,flash.blocks_per_plane=16,flash.pages_per_block=4,"
    "ftl.over_provisioning=0.15"
)
SMALL_LOG = (
    'base = "8CM-128"\nredundancy.scheme = "ds"\nflash.channels = 4\nflash.chips_per_channel = 1\n'
    "flash.dies_per_chip = 1\nflash.blocks_per_plane = 16\nflash.pages_per_block = 4\nftl.over_provisioning = 0.3\n"
    "buffer.dram_mib = 0.25\n"
)


def test_a_write_with_fua_ends_on_the_media_when_its_stripe_tells_so_in_two_parts(case: Case) -> None:
    # The second write is acknowledged, and then known to be durable later, at the same instant: the second message was
    # dropped, so the host was answered before the page was programmed.
    rows = ["0,0,WF,16896,512", "60001,0,WF,37376,512", "60002,0,R,36864,3072", "290003,0,W,53248,3072"]
    summary = case(SMALL_LOG, rows, "--fail", "power@3req")
    assert summary["integrity"]["power_cuts"] == 1
    assert summary["integrity"]["lost_pages"] == 0


def test_a_flush_is_told_of_a_write_that_is_durable_before_the_host_has_its_answer(case: Case) -> None:
    # The FLUSH waited for a write that became durable between its completion and the host's look at it, and for ever.
    rows = [
        "200000,0,W,489984,512",
        "400000,0,F,0,0",
        "2401000,0,W,490496,512",
        "2431001,0,W,535552,512",
        "4861002,0,F,0,0",
        "26112008,0,R,484352,512",
        "26113008,0,F,0,0",
        "32603008,0,R,487936,512",
        "36603008,0,R,473088,512",
    ]
    summary = case(SMALL_LOG, rows, "--replay", "closed", "--depth", "4")
    assert summary["integrity"]["wrong_reads"] == 0


def test_a_flush_waits_for_writes_whose_places_are_others_by_now(case: Case) -> None:
    # The disks had acknowledged the writes of four volumes in their caches, and reads had taken the writes' places in
    # the host: the FLUSH looked at the reads, and was acknowledged at once.
    drive = (
        f'members = ["4 * {SMALL_SSD}", "2 * st3500630a,disk.write_cache_mib=0.0625,disk.capacity_gb=0.00104858"]\n'
        'redundancy = { scheme = "hpda", log_mib = 4, stripe_kib = 512 }\narray.volumes = 4\n'
        'buffer = { dram_mib = 1, write_policy = "through" }\n'
    )
    rows = ["31000,0,W,298496,16384", "491001,0,R,340480,16384", "491002,0,R,306176,16384", "2491003,0,F,0,0"]
    summary = case(
        drive, [*rows, "9014007,0,R,1024,512"], *["trace.csv"] * 3, "--existing", "none", "--fail", "power@3ms"
    )
    assert (summary["integrity"]["lost_pages"], summary["integrity"]["volatile_pages_lost"]) == (0, 20)


def test_a_write_goes_elsewhere_if_its_plane_can_never_be_collected(case: Case) -> None:
    # Torn pages had left the only plane that gives the page a greater version too little to move its victim's pages:
    # the write waited for room there, while other planes had room.
    drive = (
        'base = "atc08-interplane"\nredundancy.scheme = "raid4"\n'
        "flash = { channels = 4, dies_per_chip = 1, blocks_per_plane = 16, pages_per_block = 4 }\n"
    )
    rows = [
        "1000,0,WF,16384,16384", "2001000,0,W,13312,16384", "10233913,0,WF,15360,16384", "10234913,0,WF,14336,1024",
        "10464913,0,WF,15360,3072", "10494913,0,W,100352,16384", "10494913,0,W,16384,3072",
        "10495913,0,W,106496,1024", "10555913,0,W,13312,3072", "10555913,0,W,15360,3072", "10556913,0,W,13312,3072",
        "10756913,0,WF,15360,16384", "10757914,0,W,13312,16384", "10958914,0,WF,34816,1024",
        "10958914,0,WF,15360,16384", "10958914,0,W,14336,3072", "12958914,0,W,13312,1024", "14958914,0,W,16384,1024",
        "36484021,0,W,15360,1024",
    ]  # fmt: skip
    summary = case(drive, rows, "--fail", "power@18req", "--fail", "power@2055us")
    assert (summary["integrity"]["power_cuts"], summary["integrity"]["lost_pages"]) == (2, 0)


@pytest.mark.parametrize(
    "words",
    [
        # The page was created at its first touch, after a power loss, in a plane whose victim had more valid pages than
        # the plane had free ones: "a program needs an erased block, or an open one".
        "8CM-128 --set redundancy.scheme=ppc --set buffer.dram_mib=0 --seed 2 --only 2387",
        # Torn pages had stopped the collection of all planes of a channel, and pages were bound to this channel.
        "atc08-interplane --set redundancy.scheme=none --seed 41 --only 2413",
        # A page was created at its first touch; that collected the block of a read that was then repeated.
        "8CM-64 --set redundancy.scheme=lrc --set redundancy.incomplete=wait --seed 10 --only 1345",
        # A unit that no member could take was moved and repaired for ever, by turns.
        "8CM-64 --set redundancy.scheme=declustered --seed 81 --only 2743",
        # A block failed while a page of it was read: what was read was to be sensed again, in the failed block.
        "qlc-capacity --set redundancy.scheme=lrc --seed 101 --only 8047",
        # A trim of a part of a page waited for a member's link: the page seemed to hold nothing, and was not rebuilt.
        "8-tlc-datacenter-raid6 --set redundancy.scheme=mirror --seed 101 --only 5106",
        # A copy was found unreadable in the instant in which the other one was replaced: it seemed to hold nothing.
        "aging-8gb --set redundancy.scheme=mirror --seed 101 --only 4286",
        # A read of a lost page waited for its stripe, while a part of the page was written, and then all of it.
        "8-tlc-datacenter-raid6 --set redundancy.scheme=ppc --seed 201 --only 3005",
        # In an untimed run with failures a block was programmed that was being erased when the power failed.
        "8CM-64 --set redundancy.scheme=mirror --seed 101 --only 1437",
        # Moves of a collection that had not begun when the power failed took up the pages that they were to fill: GC
        # had no room for the next collection, and the following power loss took a page from the controller's memory.
        "ssdsim-basic --seed 401 --only 10078",
        "atc08-gang8-async --seed 201 --only 1706",
        "8CM-64 --set redundancy.scheme=lrc --seed 21 --only 3303",
        # The drive was to be aged with more valid pages than the workload left unread: a refusal that is meant.
        "aging-8gb-aged --seed 401 --only 1858",
    ],
)
def test_cases_of_torture_that_could_not_be_reduced_far(words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(COMMAND), "torture", *words.split(), "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout


def test_a_plane_that_folding_has_filled_is_collected(case: Case) -> None:
    # What stayed empty in the last word line that folding wrote brought the plane below its threshold, and nothing
    # asked for its collection: a write waited for ever.
    drive = (
        'base = "tlc-client"\nredundancy.scheme = "raid5"\nftl.over_provisioning = 2\nbuffer.dram_mib = 0.9375\n'
        "flash = { channels = 4, chips_per_channel = 1, blocks_per_plane = 10, pages_per_block = 6, slc.blocks = 1 }\n"
        'errors = { model = "kim", scale = 5, retry.steps = 0 }\n'
    )
    rows = [
        "2553006,0,R,344064,20480", "4754007,0,WF,2479104,20480", "6954008,0,WF,2529280,20480",
        "7154008,0,R,834560,20480", "7155008,0,WF,1657856,20480", "9385008,0,R,3539968,20480",
        "9445008,0,R,2492416,20480", "9445009,0,R,2422784,20480", "9445009,0,R,1642496,20480",
        "9446009,0,WF,22528,20480", "11907009,0,WF,2865152,20480", "61764372,0,R,2760704,20480",
        "65964372,0,R,2048,20480", "70194372,0,WF,994304,20480", "70394372,0,R,1636352,20480",
        "70395372,0,WF,37888,20480", "70995374,0,WF,2214912,20480", "70995374,0,R,1574912,20480",
        "71195375,0,R,866304,20480", "75195376,0,R,2059264,20480", "75195377,0,WF,2333696,20480",
        "119811661,0,R,25600,20480", "120011661,0,R,1895424,20480", "120011661,0,WF,947200,20480",
        "121792651,0,WF,1538048,20480", "123794652,0,WF,1679360,20480", "125795654,0,WF,3246080,20480",
        "179839782,0,WF,1676288,20480",
    ]  # fmt: skip
    assert case(drive, rows, "--seed", "93")["integrity"]["wrong_reads"] == 0


def test_a_member_that_has_failed_as_a_whole_does_no_more_work(case: Case) -> None:
    # Its scheme, which knows nothing of the failure, recalled the same pages from its disk for ever.
    drive = (
        'base = "t7-backup-32"\nmembers = ["4 * t7-backup-pair,redundancy.nvram_mib=8,members='
        f"['1 * {SMALL_SSD}', '1 * st3500630a,disk.capacity_gb=0.00104858'],redundancy.nvram_mib=1,"
        'redundancy.segment_kib=512"]\n'
    )
    workload = "synth:random,requests=60,write=0.8,size=60KiB,align=1KiB,depth=4"
    summary = case(drive, workload, "--fail", "member:3@30ms")
    assert summary["integrity"]["wrong_reads"] == 0


def test_a_plane_is_collected_when_it_loses_a_page(case: Case) -> None:
    # A page turned out to be unreadable in a plane that had no room and nothing to collect. That left garbage, and
    # nothing asked for its collection.
    drive = (
        'base = "qlc-capacity"\nredundancy.scheme = "mirror"\nbuffer.dram_mib = 4\nftl.over_provisioning = 0.4\n'
        "flash = { chips_per_channel = 1, blocks_per_plane = 16, pages_per_block = 8 }\n"
        'errors = { model = "kim", scale = 5, retry.steps = 0, maintenance.scrub_days = 1e-06 }\n'
    )
    summary = case(drive, ["2601003,0,R,3355136,262144"], "--existing", "all")
    assert summary["integrity"]["wrong_reads"] == 0


def test_a_port_finishes_a_request_after_the_command_that_it_hands_down(case: Case) -> None:
    # The port of a drive finished requests while the port of the mirror above it, whose request had ended as well, was
    # handing down a command: "the port is not at work".
    drive = (
        'base = "t7-hybrid-raid1"\nbuffer.dram_mib = 1\nmembers = ["4 * t7-hybrid-mirror-base,members='
        f"['1 * {SMALL_SSD}', '1 * st3500630a,disk.write_cache_mib=16,disk.capacity_gb=0.00104858,"
        "disk.write_cache_mib=0.0625']\"]\n"
    )
    rows = [
        "2001000,0,W,13312,16384", "6261002,0,W,17408,1024", "6261002,0,F,0,0", "6262002,0,F,0,0",
        "8262002,0,R,14336,1024", "8493002,0,W,15360,16384", "10585004,0,W,12288,16384", "12816004,0,R,12288,1024",
    ]  # fmt: skip
    summary = case(drive, rows, *["trace.csv"] * 3, "--fail", "member:3/member:0@8req", "--fail", "power@4req")
    assert summary["integrity"]["wrong_reads"] == 0


BACKED_UP = (
    'base = "t7-backup-pair"\nredundancy.segment_kib = 512\nmembers = ['
    f"'1 * {SMALL_SSD}', '1 * st3500630a,disk.capacity_gb=0.00104858']\n"
)


def test_a_read_that_waits_while_its_page_is_lost_ends_in_an_error(case: Case) -> None:
    # The page was written in part behind its back. The read returned the new part and what stood for the lost one.
    rows = [
        "263004,0,R,114688,4096", "264004,0,R,72704,8192", "265004,0,R,69632,4096", "10943008,0,W,67584,4096",
    ]  # fmt: skip
    fails = ("--fail", "member:1/page:17@3req", "--fail", "member:0/channel:1@0req,replace_after=1ms")
    integrity = case(BACKED_UP, rows, "--existing", "all", *fails)["integrity"]
    assert integrity["wrong_reads"] == 0
    assert integrity["lost_pages"] == 1


def test_a_read_does_not_bring_a_trimmed_page_back(case: Case) -> None:
    # A read took the page for one that had existed before time 0, and wrote it again below a write in progress.
    rows = [
        "2000000,0,W,73728,12288", "2000001,0,W,77824,12288", "2200002,0,T,73728,12288", "2202002,0,R,69632,12288",
        "4724003,0,W,507904,12288",
    ]  # fmt: skip
    options = ("--replay", "closed", "--depth", "16", "--fail", "member:0/channel:0@14437us,replace_after=1ms")
    assert case(BACKED_UP, rows, *options)["integrity"]["wrong_reads"] == 0
    # Of three pages that are read two were trimmed, and only the other one is created.
    summary = case("", rows[2:4])
    assert summary["unmapped_reads"] == 2


VOLATILE = (
    "8 * tlc-datacenter,buffer.protected=false,flash.channels=1,flash.chips_per_channel=1,flash.blocks_per_plane=10,"
    "flash.pages_per_block=3,ftl.over_provisioning=1.25,buffer.dram_mib=0.117188"
)


def test_the_parity_knows_a_page_of_which_no_version_is_left(case: Case) -> None:
    # The new version was in a cache that lost its power, and the old one on a member whose contents had become
    # unreadable. The partial parity fitted nothing, and the page was taken for zeros until the next power loss.
    drive = f'base = "8-tlc-datacenter-raid6"\nredundancy.scheme = "ppc"\nmembers = [\'{VOLATILE}\']\n'
    rows = ["432001,0,W,760832,16384", "2693004,0,R,772096,8192"]
    fails = ("--fail", "member:7@0req,transient", *["--fail", "power@1req"] * 2)
    integrity = case(drive, rows, "--existing", "all", *fails)["integrity"]
    assert integrity["wrong_reads"] == 0
    assert integrity["lost_pages"] == 0


def test_a_log_that_a_power_loss_leaves_no_room_refuses_writes(case: Case) -> None:
    # A log of three superblocks, of which two are full: writes waited for ever.
    drive = f'base = "8-tlc-datacenter-raid6"\nredundancy.scheme = "ds"\nmembers = [\'{VOLATILE}\']\n'
    rows = [
        "30000,0,WF,32768,32768", "30000,0,W,32768,32768", "49927206,0,W,32768,32768", "84337814,0,W,8192,32768",
    ]  # fmt: skip
    for replaced, lost in (("", 10), (",replace_after=1ms", 0)):
        # Without a replacement two were lost at the cut, and the last request's eight are refused.
        fails = ("--fail", f"member:3/die:0.0.0@543us{replaced}", "--fail", "power@3req")
        integrity = case(drive, rows, "--existing", "all", *fails)["integrity"]
        assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, lost)


def test_deltas_written_together_are_on_the_platter_when_the_write_ends(case: Case) -> None:
    # The pages of a flush take a sector each, one after the other. The second power loss came when the flush had ended,
    # and took pages that the disk believed to be still under its head.
    (case.folder / "disk.toml").write_text("disk.capacity_gb = 0.01\n")
    drive = 'members = ["1 * ./member.toml", "1 * ./disk.toml"]\nredundancy.scheme = "i-cash"\n'
    member = (
        "flash.channels = 2\n"
        "flash.chips_per_channel = 1\n"
        "flash.dies_per_chip = 1\n"
        "flash.planes_per_die = 2\n"
        "flash.blocks_per_plane = 32\n"
        "flash.pages_per_block = 8\n"
        "flash.page_kib = 2\n"
        "flash.pages_per_program = 2\n"
        'flash.commands.multi_plane = "match"\n'
        "ftl.over_provisioning = 0.25\n"
        "ftl.gather_us = 50\n"
    )
    workload = "synth:random,requests=2000,size=16KiB:0.5/4KiB:0.5,write=1,depth=16"
    options = ("--seed", "767", "--existing", "none", "--fail", "power@51%", "--fail", "power@72%")
    integrity = case(drive, workload, *options, member=member)["integrity"]
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)
    assert integrity["power_cuts"] == 2


def test_a_rebuild_does_not_look_at_all_stripes_that_requests_hold_again_and_again(case: Case) -> None:
    # 2,000 requests at once hold most stripes that are to be moved: each piece of the rebuild looked at all of them,
    # every millisecond.
    drive = 'members = ["6 * ./member.toml"]\nredundancy.scheme = "declustered"\n'
    workload = "synth:random,requests=2000,size=4096:0.7/32768:0.3,write=0.3,rate=200k"
    options = ("--seed", "592", "--fail", "member:2@7req,replace_after=1s")
    summary = case(drive, workload, *options, member="disk.capacity_gb = 0.03\n")
    assert summary["integrity"]["time_to_full_redundancy_s"] > 0
    assert (summary["integrity"]["wrong_reads"], summary["integrity"]["lost_pages"]) == (0, 0)


def test_caches_are_written_back_at_the_end_after_the_last_answer(case: Case) -> None:
    # With a sample of the timeline still to come, the last request had not ended when its caches were written back.
    drive = (
        'members = ["3 * ./member.toml"]\nredundancy.scheme = "raid5"\nbuffer.dram_mib = 0.03125\n'
        'buffer.flush = "none"\n'
    )
    workload = "synth:random,requests=60,size=4KiB,write=0.5,depth=4"
    options = ("--seed", "1", "--existing", "all", "--flush-at-end", "--fail", "power@50%")
    member = "disk.capacity_gb = 0.01\n"
    plain = case(drive, workload, *options, member=member)
    shown = case(drive, workload, *options, "--timeline", "timeline.json", member=member)
    assert plain["digest"] == shown["digest"]


def test_a_log_forgets_at_a_power_cut_which_superblock_waits_for_its_erase(case: Case) -> None:
    # Pages of the superblock were current again after the cut, and writes waited for its erase for ever.
    (case.folder / "inner.toml").write_text('members = ["4 * ./member.toml"]\nredundancy.scheme = "raid4"\n')
    drive = (
        'members = ["5 * ./inner.toml"]\nredundancy.scheme = "dvs"\nredundancy.extent_kib = 8\n'
        'buffer = { dram_mib = 0.125, flush = "idle", flush_after_us = 50, flush_pages = 2 }\n'
        "condition.round = 0.02\ncondition.most_rounds = 5\n"
    )
    member = (
        "flash = { channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 32, "
        'pages_per_block = 6, page_kib = 4, bus = "rounds", timing.erase_command_ns = 0 }\n'
        'ftl.over_provisioning = 0.8\nftl.gc.run = "hold-channel"\n'
        'buffer = { dram_mib = 0.125, flush = "watermark", flush_above = 0, protected = true }\n'
    )
    rows = [
        "1,0,R,9216,4096", "30001,0,R,62464,1024", "30001,0,T,16384,1024", "60001,0,R,28672,28672",
        "60001,0,W,49152,4096", "60001,0,W,2048,3072", "2060001,0,W,9216,4096", "2060002,0,R,29696,2048",
        "2260002,0,R,3072,1024", "2260002,0,T,61440,4096", "2260002,0,R,35840,4096", "2290002,0,R,26624,4096",
        "2290003,0,W,21504,28672", "2291003,0,T,1024,2048", "2491003,0,W,34816,4096", "2491004,0,R,50176,3072",
        "2491004,0,W,34816,3072", "2491004,0,W,7168,1024", "2492004,0,R,36864,28672", "2493004,0,T,36864,2048",
        "2493004,0,W,10240,8192", "2493004,0,T,33792,8192", "2493004,0,R,4096,4096", "2493004,0,W,3072,4096",
        "2493004,0,R,50176,4096", "2523004,0,T,38912,4096", "2523004,0,T,28672,3072", "4523004,0,R,11264,1024",
        "4723004,0,W,41984,1024", "4723005,0,R,36864,28672", "4753005,0,R,53248,1024", "4753005,0,W,39936,4096",
        "4953005,0,T,64512,1024", "6953005,0,R,18432,8192", "6953005,0,R,53248,3072", "6953005,0,W,55296,1024",
        "6953005,0,W,5120,2048", "6953006,0,W,27648,28672", "6953006,0,W,33792,28672", "6953007,0,T,50176,1024",
    ]  # fmt: skip
    fails = [
        "power@72%", "member:2/member:0@17%,replace_after=10us", "member:2/member:1@36%,replace_after=10us",
        "member:2/member:2@26%,replace_after=0s", "member:2/member:3@22%,replace_after=0s",
        "member:2/member:3@23%,replace_after=20ms",
    ]  # fmt: skip
    options = [option for fail in fails for option in ("--fail", fail)]
    summary = case(
        drive, rows, "--seed", "291", "--flush-at-end", "--warmup", "10%", "--condition", *options, member=member
    )
    assert summary["integrity"]["wrong_reads"] == 0


def test_scrubbing_waits_for_data_that_must_be_moved(case: Case) -> None:
    # The drive found blocks to be due faster than it moved their data, and never came to its writes.
    drive = (
        "flash = { channels = 1, chips_per_channel = 3, dies_per_chip = 6, planes_per_die = 2, blocks_per_plane = 16, "
        'pages_per_block = 16, page_kib = 4, bus = "operations" }\n'
        'ftl = { over_provisioning = 1, read_in_flight = "flash" }\n'
        'redundancy = { scheme = "raid5", across = "die", nvram_mib = 1, stripe_data = 2 }\n'
        'errors = { model = "kim", scale = 2, retry.steps = 1, '
        "maintenance = { scrub_days = 1e-8, reclaim_reads = 0.5 } }\n"
    )
    prepared = ("--seed", "93", "--wrap", "--existing", "all", "--untimed", "--save-aged", "saved.fk")
    case(drive, "synth:random,requests=300,write=0.8,size=4KiB,depth=4", *prepared)
    rows = [
        "0,0,R,185344,15872", "0,0,R,183808,15872", "2000000,0,R,182272,16384", "2200000,0,R,181760,16384",
        "2200001,0,W,183296,16384",
    ]  # fmt: skip
    summary = case(drive, rows, "--seed", "93", "--aged", "saved.fk")
    assert summary["operations"]["read"]["scrub"] > 0
    assert summary["integrity"]["wrong_reads"] == 0


def test_an_ssd_that_lacks_a_page_reads_the_old_contents_itself(case: Case) -> None:
    # The memory had a newer version of a page than the SSD. A write of a part of the page gave the SSD that version as
    # the old contents, and they went into its parity, from which a page of the failed die is read.
    (case.folder / "disk.toml").write_text("disk = { capacity_gb = 0.01, heads = 20, cylinders = 10 }\n")
    drive = 'members = ["1 * ./member.toml", "1 * ./disk.toml"]\nredundancy = { scheme = "backup", segment_kib = 64 }\n'
    member = (
        "flash = { channels = 1, chips_per_channel = 1, dies_per_chip = 4, planes_per_die = 1, blocks_per_plane = 32, "
        "pages_per_block = 16, page_kib = 4 }\n"
        'ftl.over_provisioning = 1.0\nredundancy = { scheme = "raid4", across = "die" }\n'
    )
    rows = [
        "41367582,0,W,38400,16384", "41567582,0,W,39424,16384", "41567582,0,W,11264,16384", "43569583,0,W,15360,4096",
        "43570583,0,T,16384,28672", "43570583,0,W,17408,4096", "43802587,0,WF,26624,16384", "63879124,0,WF,24064,16384",
    ]  # fmt: skip
    options = ("--seed", "457", "--existing", "none", "--fail", "power@6req", "--fail", "member:0/die:0.0.1@0req")
    integrity = case(drive, rows, *options, member=member)["integrity"]
    assert (integrity["wrong_reads"], integrity["reconstructed_reads"]) == (0, 1)


def test_a_log_over_drives_has_room_again_after_a_power_cut(case: Case) -> None:
    # The host had written beside the copies of a collection, and no superblock of the log ended with superpages that
    # could be written again; some began with them.
    drive = 'members = ["6 * ./member.toml"]\nredundancy = { scheme = "dvs", extent_kib = 28 }\n'
    member = (
        "flash = { channels = 1, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 2, blocks_per_plane = 12, "
        "pages_per_block = 6, page_kib = 4 }\nftl.over_provisioning = 0.25\n"
    )
    rows = [
        "200000,0,W,330752,16384", "200000,0,W,330752,16384", "400001,0,T,330240,16384", "2663002,0,W,291328,16384",
        "2664002,0,T,288256,16384", "9067002,0,W,133632,16384", "9067002,0,W,133120,16384",
        "9067002,0,W,134656,16384", "11097002,0,W,229888,16384", "11097002,0,W,230912,16384",
        "13297002,0,W,230912,16384", "13297002,0,W,232960,16384", "15431333,0,W,235008,16384",
        "15431333,0,W,235008,16384", "15431334,0,W,235520,16384", "15457505,0,W,295424,16384",
        "15457506,0,W,293888,16384", "17458506,0,W,218624,16384", "23720506,0,W,507904,16384",
    ]  # fmt: skip
    integrity = case(drive, rows, "--seed", "761", "--existing", "all", "--fail", "power@18req", member=member)[
        "integrity"
    ]
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)


@pytest.mark.parametrize("fails", [["slow:die:0.0.0@9req,factor=2,for=1s"], ["power@9req"]], ids=["slow", "power"])
def test_scrubbing_ends_with_the_last_request_with_and_without_a_timeline(case: Case, fails: list[str]) -> None:
    # It ended when a part that was slow was no longer so, or, with a timeline, before the last request ended.
    drive = (
        "flash = { channels = 2, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 1, blocks_per_plane = 16, "
        "pages_per_block = 8, page_kib = 4 }\nftl.over_provisioning = 1\n"
        'errors = { model = "kim", maintenance.scrub_days = 1e-8 }\n'
    )
    workload = "synth:random,requests=50,write=0.5,size=4KiB,rate=2k"
    options = ["--seed", "1", "--existing", "all", *(word for fail in fails for word in ("--fail", fail))]
    plain = case(drive, workload, *options)
    shown = case(drive, workload, *options, "--timeline", "timeline.json")
    assert plain["operations"] == shown["operations"]
    assert plain["phases"] == shown["phases"]
    assert plain["operations"]["read"]["scrub"] < 1e6 * plain["simulated_s"]


def test_a_trim_that_the_memory_of_a_backup_has_kept_holds_after_a_power_cut(case: Case) -> None:
    # The SSD had lost the trim and had the page again; when it failed, the backup said that the page was zeros.
    (case.folder / "disk.toml").write_text("disk.capacity_gb = 0.1\n")
    drive = 'members = ["2 * ./member.toml", "1 * ./disk.toml"]\nredundancy = { scheme = "backup", segment_kib = 64 }\n'
    member = (
        "flash = { channels = 4, chips_per_channel = 3, dies_per_chip = 1, planes_per_die = 4, blocks_per_plane = 16, "
        "pages_per_block = 4, page_kib = 2 }\n"
        'ftl.over_provisioning = 0.5\nredundancy.scheme = "lifespan"\n'
        'buffer = { dram_mib = 0.125, flush = "idle", flush_after_us = 50, flush_pages = 1 }\n'
    )
    rows = ["4996340,0,R,2435072,8192", "7596343,0,T,2428928,8192", "110060238,0,R,2852864,8192"]
    options = ("--seed", "689", "--fail", "power@2req", "--fail", "member:0@2req")
    integrity = case(drive, rows, *options, member=member)["integrity"]
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)


def test_a_page_gets_another_address_after_the_commands_to_both_that_wait(case: Case) -> None:
    # The remap of page 0 waited for a read of it, whose entry was not cached; a read of the new address did not wait.
    drive = (
        "flash = { channels = 6, chips_per_channel = 3, dies_per_chip = 1, planes_per_die = 4, blocks_per_plane = 64, "
        "pages_per_block = 4, page_kib = 4 }\n"
        'ftl = { over_provisioning = 1, map = "dftl", cache_kib = 0.25, wear.rate_limit_below = 0.8 }\n'
        'redundancy = { scheme = "fra", rebuild_depth = 3 }\n'
    )
    workload = "synth:zipf,requests=21,size=16384,write=0.7,footprint=256KiB,theta=0.99,rate=200k"
    integrity = case(drive, workload, "--seed", "1", "--condition", "--fail", "channel:2@20req")["integrity"]
    assert integrity["wrong_reads"] == 0


def test_a_page_of_a_sum_is_not_replaced_by_its_newer_version(case: Case) -> None:
    # A unit of a stripe that a read around a busy part reconstructed from could not be read; the page had been written
    # elsewhere since, and what was written went into the sum.
    table = Path(__file__).parent.parent / "api" / "rber" / "high.csv"
    drive = (
        "flash = { channels = 8, chips_per_channel = 1, blocks_per_plane = 12, pages_per_block = 8, page_kib = 2 }\n"
        "ftl.over_provisioning = 0.8\nhost.queue_depth = 2\n"
        'redundancy = { scheme = "lifespan", read = "around-busy" }\n'
        f'errors = {{ ecc.corrects = 20, model = "table", file = "{table}" }}\n'
    )
    workload = "synth:zipf,requests=1054,size=8192,write=0.3,theta=0.99,rate=20k"
    fails = ("--fail", "chip:5.0@21req", "--fail", "plane:6.0.0.1@8req")
    integrity = case(drive, workload, "--seed", "206", "--existing", "none", *fails)["integrity"]
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)


def test_a_log_block_has_pages_of_logical_blocks_of_other_planes(case: Case) -> None:
    # A logical block had been given another plane when the flash of its own failed; the power cut left pages of it in a
    # log block of the old one. When they were written again, that block did not know: "a page that is left".
    drive = (
        "flash = { channels = 2, chips_per_channel = 1, dies_per_chip = 2, blocks_per_plane = 24, pages_per_block = 8, "
        'page_kib = 2 }\nftl = { over_provisioning = 0.5, map = "hybrid" }\n'
    )
    flows = [
        '{"name": "own", "workload": "synth:zipf,requests=266,size=4096,write=1,theta=0.99,depth=4", '
        '"priority": "low"}',
        '{"name": "other", "workload": "synth:random,requests=50,size=4KiB:0.5/16KiB:0.5,write=1,rate=200k", '
        '"priority": "low"}',
    ]
    fails = ["die:0.0.0@0req,replace_after=1s", "power@11%", "power@3req", "power@57%"]
    words = [word for flow in flows for word in ("--flow", flow)] + [w for fail in fails for w in ("--fail", fail)]
    integrity = case(drive, "", "--seed", "232", "--existing", "all", *words)["integrity"]
    assert integrity["wrong_reads"] == 0


def test_a_superblock_to_be_erased_may_not_even_have_been_programmed(case: Case) -> None:
    # A plane did not respond for 2 ms, and all pages of a superblock had been written again before that was programmed
    # there: recovery took it for one whose erase had begun, and with it dropped pages that were durable.
    drive = (
        "flash = { channels = 1, chips_per_channel = 1, dies_per_chip = 8, planes_per_die = 1, blocks_per_plane = 24, "
        'pages_per_block = 8 }\nftl.over_provisioning = 1.0\nredundancy = { scheme = "dvs", across = "die" }\n'
    )
    workload = "synth:zipf,requests=710,size=4096,write=1,footprint=64KiB,theta=0.5,rate=200k"
    fails = ("--fail", "stall:plane:0.0.5.0@32req,for=2ms", "--fail", "power@87%")
    integrity = case(drive, workload, "--seed", "1", "--existing", "all", *fails)["integrity"]
    assert (integrity["wrong_reads"], integrity["lost_pages"]) == (0, 0)


def test_pages_are_created_in_an_array_of_arrays_without_a_look_at_all_of_them(case: Case) -> None:
    # Each page that was created at a controller and could not be read there asked for all others that were to be
    # written, there and at all other controllers: half a minute for an array of 600 MB.
    (case.folder / "inner.toml").write_text('members = ["7 * ./member.toml"]\nredundancy.scheme = "lrc"\n')
    drive = 'members = ["4 * ./inner.toml"]\nredundancy.scheme = "mirror"\n'
    member = (
        "flash = { channels = 1, chips_per_channel = 3, dies_per_chip = 8, planes_per_die = 1, blocks_per_plane = 32, "
        "pages_per_block = 4, page_kib = 8 }\nftl = { over_provisioning = 0.25, logical_page_kib = 4 }\n"
        'redundancy = { scheme = "declustered", across = "die", width = 6 }\n'
        'errors = { model = "kim", scale = 5, retry.steps = 0, temperature_c = 40 }\n'
    )
    options = ("--seed", "812", "--existing", "all")
    integrity = case(drive, "synth:random,requests=300,size=4096,rate=20k", *options, member=member)["integrity"]
    assert integrity["wrong_reads"] == 0


def test_a_block_is_erased_with_others_only_after_the_programs_that_supersede_its_pages(case: Case) -> None:
    # The second block of a multi-plane erase did not wait for a program in another die, which a power loss then tore.
    drive = (
        "flash.channels = 2\nflash.chips_per_channel = 2\nflash.blocks_per_plane = 24\nflash.pages_per_block = 4\n"
        'flash.page_kib = 2\nflash.pages_per_program = 2\nflash.commands.multi_plane = "match"\n'
        "ftl.over_provisioning = 0.8\n"
    )
    workload = "synth:random,requests=300,write=0.8,size=16KiB,depth=4"
    cuts = ["--fail", "power@50%", "--fail", "power@80%"]
    summary = case(drive, workload, "--existing", "all", "--seed", "6", *cuts)
    assert summary["integrity"]["lost_pages"] == 0


def test_a_rebuild_that_loses_as_much_as_it_restores_ends_with_the_run(case: Case) -> None:
    # The disk has every page, so the rebuild gave the SSD back what its flash loses at once: forever.
    table = Path(__file__).parents[1] / "api" / "rber" / "high.csv"
    (case.folder / "disk.toml").write_text("disk.capacity_gb = 0.01\n")
    member = (
        "flash.channels = 1\nflash.chips_per_channel = 1\nflash.planes_per_die = 1\nflash.blocks_per_plane = 12\n"
        "flash.pages_per_block = 16\nflash.page_kib = 2\nflash.pages_per_program = 4\nftl.over_provisioning = 0.5\n"
        f'errors.model = "table"\nerrors.file = "{table}"\nerrors.scale = 3\nerrors.retry.steps = 0\n'
    )
    array = 'members = ["./member.toml", "./disk.toml"]\nredundancy.scheme = "mirror"\n'
    summary = case(array, "synth:random,requests=300,write=0.7,size=8KiB,rate=5000", member=member)
    assert any("a rebuild was given up" in warning for warning in summary["warnings"])


def test_a_rebuild_without_time_that_loses_as_much_as_it_restores_ends(case: Case) -> None:
    # Without time no request comes while a rebuild goes on.
    drive = (
        "flash.channels = 5\nflash.chips_per_channel = 1\nflash.dies_per_chip = 2\nflash.planes_per_die = 2\n"
        "flash.blocks_per_plane = 32\nflash.pages_per_block = 8\nflash.page_kib = 8\nflash.slc.blocks = 3\n"
        'ftl.over_provisioning = 0.5\nftl.map = "dftl"\nftl.cache_kib = 0.25\nredundancy.scheme = "raid-tp"\n'
        'errors.model = "kim"\nerrors.cycles = 10000\n'
    )
    workload = "synth:random,requests=300,write=0.8,size=4KiB,depth=4"
    summary = case(drive, workload, "--existing", "none", "--seed", "253", "--untimed")
    assert summary["workload"]["requests"] == 300
    assert any("a rebuild was given up" in warning for warning in summary["warnings"])


def test_a_read_that_comes_while_others_continue_waits_behind_writes_that_came_before_it(case: Case) -> None:
    # A page of the inner array was lost, and its newest version, which the log read instead, was still waiting for the
    # stripe of an earlier write. The read passed it, together with reads that had waited longer, and returned zeros.
    (case.folder / "disk.toml").write_text("disk.capacity_gb = 0.01\n")
    member = 'members = ["7 * ./disk.toml"]\nredundancy.scheme = "lrc"\n'
    array = 'members = ["4 * ./member.toml"]\nredundancy.scheme = "lifespan"\nredundancy.extent_kib = 8\n'
    rows = [
        "4400000,0,W,0,65536",
        "8400000,0,W,49152,16384",
        "8400001,0,W,48128,4096",
        "8401001,0,W,50176,512",
        "8601001,0,W,0,65536",
        "10801001,0,W,0,2048",
        "15003002,0,W,50176,4096",
        "15203003,0,R,0,65536",
        "15404003,0,W,0,65536",
        "15434004,0,W,0,65536",
    ]
    replaced = {1: "0req,replace_after=10us", 2: "3req,replace_after=0s", 3: "1req,replace_after=1ms"}
    faults = replaced | {6: "0req,replace_after=20ms", 4: "2req"}
    options = [word for disk, when in faults.items() for word in ("--fail", f"member:0/member:{disk}@{when}")]
    summary = case(array, rows, *options, member=member)
    assert summary["integrity"]["reconstructed_reads"] > 0
    assert summary["integrity"]["wrong_reads"] == 0


def test_a_rebuild_that_begins_before_time_0_ends_there(case: Case) -> None:
    # Pages that existed could not be read, and their rebuild, which takes time, was still under way when time began.
    table = Path(__file__).parents[1] / "api" / "rber" / "high.csv"
    member = (
        "flash.channels = 1\nflash.chips_per_channel = 3\nflash.dies_per_chip = 4\nflash.blocks_per_plane = 16\n"
        'redundancy.scheme = "declustered"\nredundancy.across = "die"\nageing.model = "steady"\n'
        f'errors.model = "table"\nerrors.file = "{table}"\nerrors.scale = 4\nerrors.retry.steps = 1\n'
    )
    array = 'members = ["4 * ./member.toml"]\nredundancy.scheme = "lifespan"\n'
    summary = case(array, "synth:sequential,requests=1,write=0,size=64KiB,depth=1", "--verify", member=member)
    assert summary["integrity"]["wrong_reads"] == 0
    assert any("a rebuild was given up" in warning for warning in summary["warnings"])


def test_a_plane_collects_a_block_that_fits_whatever_its_policy_proposes(case: Case) -> None:
    # Torn pages had left a plane two free pages. The block that `random` proposed needed more, and none was collected.
    drive = (
        "flash.channels = 1\nflash.chips_per_channel = 2\nflash.planes_per_die = 1\nflash.blocks_per_plane = 24\n"
        'flash.pages_per_block = 8\nftl.wear.erase_budget = 3\nftl.gc.victim = "random"\n'
    )
    workload = "synth:random,requests=160,size=32768,write=1,rate=200k"
    for seed in ("2", "5", "6", "9"):
        summary = case(drive, workload, "--seed", seed, "--fail", "power@41%")
        assert summary["integrity"]["wrong_reads"] == 0


def test_a_last_phase_ends_when_the_flash_is_at_rest(case: Case) -> None:
    # Writes acknowledged after their transfer: only with --verify was the end of the last program an event of the run.
    (case.folder / "drive.toml").write_text(
        "flash.channels = 8\nflash.chips_per_channel = 2\nflash.blocks_per_plane = 64\n"
        'redundancy.scheme = "ds"\nflash.acknowledge = "transfer"\n'
    )
    workload = "synth:zipf,requests=75,size=4KiB,write=0.5,theta=0.99,rate=100"
    options = ["--seed", "54", "--fail", "block:4.0.0.0.34@7607us", "--json"]
    ends = []
    for verify in ([], ["--verify"]):
        summary = json.loads(call(["run", "drive.toml", workload, *options, *verify], case.folder).out)
        ends.append(summary["phases"][-1]["until_s"])
    assert ends[0] == ends[1]


def test_a_log_that_cleans_in_vain_ends(case: Case) -> None:
    # A chip of a member is gone. Each superblock that was cleaned got two pages into places that this member refuses.
    member = (
        "flash.channels = 2\nflash.chips_per_channel = 1\nflash.planes_per_die = 4\nflash.blocks_per_plane = 24\n"
        'flash.pages_per_block = 4\nflash.page_kib = 2\nftl.over_provisioning = 0.5\nftl.allocation = "CW"\n'
        "buffer.dram_mib = 0.125\n"
    )
    array = (
        'members = ["4 * ./member.toml"]\nredundancy.scheme = "ds"\nredundancy.extent_kib = 4\n'
        "redundancy.stripe_data = 3\n"
    )
    workload = "synth:random,requests=600,write=0.8,size=8KiB,rate=2000"
    fails = ["--existing", "all", "--fail", "member:0/chip:0.0@50req"]
    summary = case(array, workload, *fails, member=member)
    assert summary["integrity"]["lost_pages"] == 0


@pytest.mark.parametrize(
    ("drive", "member", "words", "option"),
    [
        pytest.param(
            # The last word line of the pages that existed was programmed in part: without --verify the next program
            # went on in it.
            "flash = { channels = 1, chips_per_channel = 2, blocks_per_plane = 32, pages_per_block = 96, "
            "page_kib = 16, pages_per_program = 3 }\n"
            "ftl = { over_provisioning = 0.25, logical_page_kib = 4, gather_us = 100 }\n",
            "",
            "synth:random,requests=200,size=4096,write=1 --existing all",
            "--verify",
            id="a word line that is not full",
        ),
        pytest.param(
            # The run ended with 45 requests in the host, at an instant at which none was being served.
            "flash = { channels = 1, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 4, "
            'blocks_per_plane = 16, pages_per_block = 8, page_kib = 2, bus = "rounds" }\n'
            "ftl = { over_provisioning = 0.25 }\n"
            'host = { queue_depth = 1, order = "c-look" }\n',
            "",
            "synth:random,requests=50,size=16KiB:0.5/4KiB:0.5,write=0.7,footprint=256KiB,rate=20k --seed 943 "
            "--existing none --time-scale 0.1",
            "--timeline",
            id="requests that wait in the host",
        ),
        pytest.param(
            # A sample was the first to look whether the last request was over, after which nothing is written back.
            "flash = { channels = 2, chips_per_channel = 2, dies_per_chip = 2, planes_per_die = 2, "
            'blocks_per_plane = 64, pages_per_block = 16, page_kib = 4, bus = "rounds", '
            'commands.multi_plane = "off" }\n'
            'ftl = { over_provisioning = 0.8, stride_pages = 8, gc = { run = "steps", soft_threshold = 0.6 } }\n'
            'buffer = { dram_mib = 0.125, protected = true, flush = "idle", flush_after_us = 50, flush_pages = 1 }\n',
            "",
            "synth:random,requests=800,size=4KiB,write=0.3,footprint=512KiB,rate=20k --seed 959 --existing all "
            "--fail slow:channel:1@14req,factor=10,for=500us",
            "--timeline",
            id="the end of writing back",
        ),
        pytest.param(
            # Two pages of a write were acknowledged at once: the wait of one was measured, or that of the other.
            'members = ["6 * ./member.toml"]\nredundancy.scheme = "chained"\n',
            "flash = { channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, "
            'blocks_per_plane = 32, pages_per_block = 16, page_kib = 4, busy_unit = "chip" }\n'
            'ftl = { over_provisioning = 0.5, pool = "element" }\n',
            "synth:zipf,requests=2000,size=4096:0.7/32768:0.3,write=1,theta=0.5,rate=2k --seed 672 --existing all",
            "--timeline",
            id="pages that are acknowledged together",
        ),
        pytest.param(
            # The same of pages of several commands: plans that keep contents answer in another order.
            "flash = { channels = 4, chips_per_channel = 3, dies_per_chip = 1, planes_per_die = 4, "
            'blocks_per_plane = 24, pages_per_block = 6, page_kib = 8, bus = "operations", control_gang = 4 }\n'
            'ftl = { over_provisioning = 1.0, streams = 4 }\nredundancy = { scheme = "lifespan" }\n',
            "",
            "synth:zipf,requests=2000,size=4096:0.7/32768:0.3,write=1,footprint=64KiB,theta=0.5,rate=200k --seed 142 "
            "--existing none --fail channel:0@39req --fail stall:channel:3@88%,for=1s "
            "--fail stall:plane:3.0.0.1@27req,for=1s",
            "--verify",
            id="commands that are acknowledged together",
        ),
    ],
)
def test_an_option_that_shows_more_changes_no_result(
    tmp_path: Path, drive: str, member: str, words: str, option: str
) -> None:
    (tmp_path / "drive.toml").write_text(drive)
    (tmp_path / "member.toml").write_text(member)
    command = ["run", "drive.toml", *words.split(), "--json"]
    more = {"--verify": ["--verify"], "--timeline": ["--timeline", "timeline.json"]}[option]
    plain, shown = (json.loads(call([*command, *options], tmp_path, limit_s=60).out) for options in ([], more))
    kept = ["response_us", "latency_us", "operations"]
    if option != "--verify":
        kept.append("digest")  # it covers how many pages the verification has read back
    assert {key: plain[key] for key in kept} == {key: shown[key] for key in kept}

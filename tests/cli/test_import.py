"""Configurations of MQSim, SSDSim and DiskSim as drive files."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import flashkeep as fk
import pytest
from conftest import Command

SSDSIM = {
    "dram capacity": 131074, "chip number[0]": 2, "chip number[1]": 2, "chip number[2]": 0, "channel number": 2,
    "chip number": 4, "die number": 2, "plane number": 2, "block number": 2048, "page number": 64, "subpage page": 4,
    "page capacity": 2048, "subpage capacity": 512, "t_PROG": 200000, "t_DBSY": 50, "t_BERS": 1500000, "t_CLS": 12,
    "t_WC": 25, "t_R": 20000, "t_WB": 100, "t_RC": 25, "erase limit": 100000, "flash operating current": "25000.0",
    "flash supply voltage": 3.3, "dram active current": 125000, "dram standby current": 50000,
    "dram refresh current": 5000, "dram voltage": 3.3, "address mapping": 1, "wear leveling": 1, "gc": 1,
    "overprovide": "0.10", "gc threshold": "0.30", "buffer management": 0, "scheduling algorithm": 1,
    "gc hard threshold": "0.30", "allocation": 0, "static_allocation": 2, "dynamic_allocation": 0,
    "advanced command": 0, "advanced command priority": 0, "greed CB command": 0, "greed MPW command": 0, "aged": 0,
    "aged ratio": 0.7,
}  # fmt: skip
"""SSDSim's default parameters, advanced commands off."""

MQSIM = {
    "PCIe_Lane_Bandwidth": "1.0", "PCIe_Lane_Count": 4, "Seed": 7, "Enabled_Preconditioning": "true",
    "Memory_Type": "FLASH", "HostInterface_Type": "NVME", "IO_Queue_Depth": 1024, "Queue_Fetch_Size": 64,
    "Data_Cache_Capacity": 3 << 20, "Data_Cache_DRAM_Data_Rate": 800, "Data_Cache_DRAM_Data_Busrt_Size": 4,
    "Data_Cache_DRAM_tRCD": 13, "Data_Cache_DRAM_tCL": 13, "Data_Cache_DRAM_tRP": 13, "Address_Mapping": "PAGE_LEVEL",
    "Ideal_Mapping_Table": "true", "CMT_Capacity": 65536, "Plane_Allocation_Scheme": "PCWD",
    "Transaction_Scheduling_Policy": "OUT_OF_ORDER", "Overprovisioning_Ratio": "0.2", "GC_Exec_Threshold": "0.06",
    "GC_Hard_Threshold": "0.01", "Preemptible_GC_Enabled": "true", "GC_Block_Selection_Policy": "RGA",
    "Use_Copyback_for_GC": "true", "Static_Wearleveling_Enabled": "true", "Flash_Channel_Count": 3,
    "Flash_Channel_Width": 2, "Channel_Transfer_Rate": 400, "Chip_No_Per_Channel": 2, "Flash_Comm_Protocol": "NVDDR2",
    "Flash_Technology": "TLC", "Page_Read_Latency_LSB": 40000, "Page_Read_Latency_CSB": 60000,
    "Page_Read_Latency_MSB": 80500, "Page_Program_Latency_LSB": 500000, "Page_Program_Latency_CSB": 500000,
    "Page_Program_Latency_MSB": 500000, "Block_Erase_Latency": 3500000, "Block_PE_Cycles_Limit": 3000,
    "Die_No_Per_Chip": 2, "Plane_No_Per_Die": 2, "Block_No_Per_Plane": 400, "Page_No_Per_Block": 96,
    "Page_Capacity": 16384, "Page_Metadat_Capacity": 1872,
}  # fmt: skip

DISKSIM = {
    "Reserve pages percentage": 15, "Minimum free blocks percentage": 5, "Write policy": 2, "Cleaning policy": 2,
    "Planes per package": 8, "Blocks per plane": 2048, "Plane block mapping": 3, "Copy back": 1,
    "Number of parallel units": 1, "Allocation pool logic": 1, "Elements per gang": 1, "Gang share": 1,
    "Cleaning in background": 0, "Command overhead": "0.00", "Flash chip elements": 8, "Page size": 8,
    "Pages per block": 64, "Blocks per element": 16384, "Element stride pages": 1, "Never disconnect": 1,
    "Print stats": 1, "Max queue length": 20, "Timing model": 1, "Chip xfer latency": "0.000025",
    "Page read latency": "0.025", "Page write latency": "0.200", "Block erase latency": 1.5,
}  # fmt: skip
"""The parameters of the validation runs of DiskSim's SSD extension."""


def changed(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**values, **changes}.items() if value is not None}


def ssdsim(**changes: Any) -> str:
    values = changed(SSDSIM, changes).items()
    return "#a file\r\n" + "".join(f"{name} = {value};   a note # é\r\n" for name, value in values)


def mqsim(**changes: Any) -> str:
    leaves = "".join(f"\t<{name}>{value}</{name}>\n" for name, value in changed(MQSIM, changes).items())
    return (f'<?xml version="1.0" encoding="us-ascii"?>\n<Execution_Parameter_Set>\n<Device_Parameter_Set>\n{leaves}'
            "</Device_Parameter_Set>\n</Execution_Parameter_Set>\n")  # fmt: skip


def disksim(**changes: Any) -> str:
    values = ",\n".join(f"   {name} = {value}" for name, value in changed(DISKSIM, changes).items())
    return f"""disksim_iodriver D {{
   type = 1,
   Scheduler = disksim_ioqueue {{ Scheduling policy = 3, Timeout time/weight = 6 }} # nested
}}
disksim_bus TOP {{ Read block transfer time = 0.0, Write block transfer time = 0.0 }}
disksim_bus HBA {{
   Read block transfer time = 0.0002384,  # ms
   Write block transfer time = 0.0002384
}}
# don't mind the comment {{
ssdmodel_ssd SSD {{
{values},
   Scheduler = disksim_ioqueue {{
      Scheduling policy = 1
   }}
}}
topology disksim_iodriver d [ disksim_bus t [ ssdmodel_ssd s [] ] ]
disksim_synthio S {{
Generators = [ disksim_synthgen {{ devices = [ org0 .. org3 ], Sizes = [ exponential, 0.0, 8.0 ] }} ]
}}
"""


FLOW = {
    "Synthetic_Generator_Type": "QUEUE_DEPTH", "Read_Percentage": 60, "Address_Distribution": "RANDOM_UNIFORM",
    "Average_Request_Size": 8, "Average_No_of_Reqs_in_Queue": 16, "Total_Requests_To_Generate": 5000,
}  # fmt: skip


def scenario(**changes: Any) -> str:
    leaves = "".join(f"<{name}>{value}</{name}>\n" for name, value in changed(FLOW, changes).items())
    flow = f"<IO_Flow_Parameter_Set_Synthetic>\n{leaves}</IO_Flow_Parameter_Set_Synthetic>\n"
    return (
        f"\n\n<?xml version='1.0'?>\n<MQSim_IO_Scenarios>\n<IO_Scenario>\n{flow}</IO_Scenario>\n</MQSim_IO_Scenarios>"
    )


FILES = {"mqsim": mqsim, "ssdsim": ssdsim, "disksim": disksim}


@pytest.fixture(params=sorted(FILES))
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def given(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config"
    path.write_bytes(text.encode("latin-1"))
    return path


def imported(flashkeep: Command, tmp_path: Path, text: str) -> dict[str, Any]:
    """The keys of the drive file that is written."""
    out = flashkeep.json("drives", "import", given(tmp_path, text))
    written = tomllib.loads(out["text"])
    (tmp_path / "out.toml").write_text(out["text"])
    assert flashkeep("check", tmp_path / "out.toml").code == 0
    return written


def flat(values: dict[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found.update(flat(value, f"{above}{key}.") if isinstance(value, dict) else {above + key: value})
    return found


def differing(drive: Path, preset: str) -> dict[str, tuple[Any, Any]]:
    """The resolved keys in which a drive and a preset differ, except their names."""
    one, other = flat(fk.drive(drive).to_dict()), flat(fk.drive(preset).to_dict())
    keys = sorted({*one, *other} - {"name", "description"})
    return {key: (one.get(key), other.get(key)) for key in keys if one.get(key) != other.get(key)}


def test_every_key_says_where_it_is_from(flashkeep: Command, tmp_path: Path, form: str) -> None:
    path, out = given(tmp_path, FILES[form]()), tmp_path / "drive.toml"
    code, told, err = flashkeep("drives", "import", path, "-o", out)
    assert (code, err) == (0, "")
    text = out.read_text()
    assert told.startswith(f"{out}: written\n")
    for line in text.splitlines()[3:]:
        assert not line or line.startswith("[") or "  # " in line, line
    assert flashkeep("check", out).code == 0
    assert flashkeep("run", out, "synth:random,requests=300,rate=1k,footprint=4MiB").code == 0
    # Without -o the drive goes to standard output, and what is said about it to standard error.
    code, shown, said = flashkeep("drives", "import", path)
    assert (code, shown) == (0, text)
    assert said == told.partition("\n")[2]
    found = flashkeep.json("drives", "import", path)
    assert (found["format"], found["text"]) == (form, text)
    assert all(f"  {entry['key']} = " in said for entry in found["assumed"])
    assert all(f"  {entry['parameter']} {entry['value']}" in said for entry in found["no_counterpart"])
    taken = {entry["key"] for entry in found["keys"]} | {entry["key"] for entry in found["assumed"]}
    assert taken == set(flat(tomllib.loads(text))) - {"description"}


def test_ssdsims_default_is_the_preset(flashkeep: Command, tmp_path: Path) -> None:
    imported(flashkeep, tmp_path, ssdsim())
    # The preset's threshold is ours; its file says why.
    assert differing(tmp_path / "out.toml", "ssdsim-basic") == {"ftl.gc.threshold": (0.3, 0.05)}
    assert fk.drive(tmp_path / "out.toml").capacity_bytes == fk.drive("ssdsim-basic").capacity_bytes


def test_disksims_validation_is_the_preset(flashkeep: Command, tmp_path: Path) -> None:
    imported(flashkeep, tmp_path, disksim())
    assert differing(tmp_path / "out.toml", "atc08-32gb") == {}
    for preset, changes in {
        "atc08-rounds": {"Number of parallel units": 2},
        "atc08-gang8-bus": {"Elements per gang": 8},
        "atc08-gang16-bus": {"Elements per gang": 16, "Flash chip elements": 16},
        "atc08-gang8-async": {"Elements per gang": 8, "Gang share": 2},
        "atc08-element": {"Copy back": 0},
    }.items():
        imported(flashkeep, tmp_path, disksim(**changes))
        assert differing(tmp_path / "out.toml", preset) == {}, preset


def test_ssdsims_switches(flashkeep: Command, tmp_path: Path) -> None:
    on = {"advanced command": 31, "greed CB command": 1, "greed MPW command": 1}
    found = flat(imported(flashkeep, tmp_path, ssdsim(**on)))
    assert (found["flash.busy_unit"], found["ftl.gc.copyback"]) == ("die", "parity-skip")
    assert (found["flash.commands.multi_plane"], found["flash.commands.register_ns"]) == ("skip", 50)
    found = flat(imported(flashkeep, tmp_path, ssdsim(**{"advanced command": 4 + 2})))
    assert (found["flash.busy_unit"], found["ftl.gc.copyback"]) == ("chip", "parity")
    assert found["flash.commands.multi_plane"] == "match"
    static = ("WDPC", "CWDP", "CPWD", "CDWP", "CPDW", "CDPW")
    for number, order in enumerate(static):
        changes = {"allocation": 1, "static_allocation": number}
        assert imported(flashkeep, tmp_path, ssdsim(**changes))["ftl"]["allocation"] == order
    assert imported(flashkeep, tmp_path, ssdsim(dynamic_allocation=1))["ftl"]["allocation"] == "dynamic-in-channel"
    assert imported(flashkeep, tmp_path, ssdsim(aged=1))["ageing"] == {"model": "basic", "aged_ratio": 0.7}
    slow = flashkeep.json("drives", "import", given(tmp_path, ssdsim(t_RC=5)))
    assert tomllib.loads(slow["text"])["flash"]["timing"]["bus_ns_per_byte"] == 25
    assert "t_RC" in [entry["parameter"] for entry in slow["no_counterpart"]]


@pytest.mark.parametrize(
    ("changes", "dropped"),
    [
        ({"dynamic_allocation": 2}, "dynamic_allocation"),
        ({"allocation": 3}, "allocation"),
        ({"allocation": 1, "static_allocation": 6}, "static_allocation"),
    ],
)
def test_values_of_forks_are_assumptions(
    flashkeep: Command, tmp_path: Path, changes: dict[str, int], dropped: str
) -> None:
    found = flashkeep.json("drives", "import", given(tmp_path, ssdsim(**changes)))
    told = next(entry for entry in found["assumed"] if entry["key"] == "ftl.allocation")
    assert told["value"] == ("WDPC" if "static_allocation" in changes else "dynamic")
    assert told["why"].startswith(f"{dropped} {changes[dropped]} is a fork's own")
    assert dropped in [entry["parameter"] for entry in found["no_counterpart"]]


def test_mqsims_scenarios_are_files_of_flows(flashkeep: Command, tmp_path: Path) -> None:
    def flow(**changes: Any) -> dict[str, Any]:
        flows = flashkeep.json("drives", "import", given(tmp_path, scenario(**changes)))["flows"]
        assert len(flows) == 1
        return dict(flows[0])

    plain = flow()
    assert plain["workload"] == "synth:random,requests=5000,write=0.4,size=4096B,depth=16"
    assert (plain["scenario"], plain["flow"], plain["assumed"], plain["no_counterpart"]) == (1, 1, [], [])
    info = flashkeep.json("trace", "info", plain["workload"], "--drive", "ssdsim-basic")
    assert info["requests"] == 5000
    timed = {"Synthetic_Generator_Type": "BANDWIDTH", "Bandwidth": 8_192_000, "Stop_Time": 2_000_000_000,
             "Total_Requests_To_Generate": 0, "Average_No_of_Reqs_in_Queue": None}  # fmt: skip
    assert flow(**timed)["workload"] == "synth:random,requests=4000,write=0.4,size=4096B,rate=2000"
    aligned = flow(Address_Distribution="STREAMING", Generated_Aligned_Addresses="true", Address_Alignment_Unit=16)
    assert aligned["workload"].startswith("synth:sequential")
    assert aligned["workload"].endswith("align=8192B,depth=16")
    endless = flow(Total_Requests_To_Generate=0)
    assert endless["assumed"] == ["100,000 requests: the file has no number of them"]
    for name, value in (("Working_Set_Percentage", 50), ("Percentage_of_Hot_Region", 20), ("Chip_IDs", "0,1"),
                        ("Request_Size_Distribution", "NORMAL"), ("A_New_Parameter", 1)):  # fmt: skip
        assert [entry["parameter"] for entry in flow(**{name: value})["no_counterpart"]] == [name]
    trace = "<IO_Flow_Parameter_Set_Trace_Based><File_Path>a.trace</File_Path><Relay_Count>3</Relay_Count>"
    text = scenario().replace("</IO_Scenario>", f"{trace}</IO_Flow_Parameter_Set_Trace_Based></IO_Scenario>")
    out = flashkeep("drives", "import", given(tmp_path, text)).out
    assert "FILE --format mqsim --repeat 3" in out.splitlines()[0]
    flows = tomllib.loads(out)["flow"]
    assert [one["name"] for one in flows] == ["flow-1", "flow-2"]
    assert [one["workload"] for one in flows] == [plain["workload"], "a.trace"]
    assert flow(Priority_Class="URGENT")["priority"] == "urgent"
    two = given(tmp_path, scenario().replace("</IO_Scenario>", "</IO_Scenario>\n<IO_Scenario>\n", 1).replace(
        "</MQSim_IO_Scenarios>", scenario().split("<IO_Scenario>")[1], 1))  # fmt: skip
    assert [one["scenario"] for one in flashkeep.json("drives", "import", two, "--scenario", "2")["flows"]] == [2]
    code, _, err = flashkeep("drives", "import", two, "--scenario", "3")
    assert (code, "no scenario 3; accepted: 1 to 2" in err) == (2, True)
    file = tmp_path / "flows.toml"
    assert flashkeep("drives", "import", two, "-o", file).code == 0
    found = flashkeep.json("run", "ssdsim-basic", "--flows", file, "--limit", "100")
    assert [one["name"] for one in found["flows"]] == ["flow-1"]


def test_mqsims_units(flashkeep: Command, tmp_path: Path) -> None:
    found = flat(imported(flashkeep, tmp_path, mqsim()))
    assert [found[f"flash.{key}"] for key in ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die",
            "blocks_per_plane", "pages_per_block", "page_kib")] == [3, 2, 2, 2, 400, 96, 16]  # fmt: skip
    assert found["flash.timing.read_us"] == [40, 60, 80.5]
    assert (found["flash.timing.program_us"], found["flash.timing.erase_us"]) == (500, 3500)
    assert found["flash.page_types"] == "00000011:001122"
    assert found["flash.busy_unit"] == "chip"
    assert flat(imported(flashkeep, tmp_path, "\n\n" + mqsim())) == found, "blank lines before the declaration"
    advanced = flat(imported(flashkeep, tmp_path, mqsim(Caching_Mechanism="ADVANCED")))
    assert (advanced["buffer.flush"], advanced["buffer.flush_above"]) == ("watermark", 0)
    assert found["flash.timing.bus_ns_per_byte"] == 1.25, "1000 / (400 MT/s · 2 bytes)"
    assert found["ftl.over_provisioning"] == 0.25, "0.2 of the raw pages"
    assert (found["ftl.allocation"], found["ftl.map"], found["ftl.gc.victim"]) == ("PCWD", "page", "rga")
    assert (found["ftl.gc.threshold"], found["ftl.gc.soft_threshold"]) == (0.01, 0.06)
    assert (found["buffer.dram_mib"], found["ftl.gc.copyback"]) == (3, "on")
    assert found["buffer.hit_us"] == pytest.approx((13 + 13 + 16384 / 4 / 2 * 1.25) / 1000)
    assert (found["host.fetch"], found["host.entries"], found["host.link_us_per_sector"]) == (64, 1024, 0.128)
    assert found["start.existing"] == "all"
    raw = 3 * 2 * 2 * 2 * 400 * 96 * 16384
    assert fk.drive(tmp_path / "out.toml").capacity_bytes == raw * 8 // 10 // 512 * 512

    cached = flat(imported(flashkeep, tmp_path, mqsim(Ideal_Mapping_Table="false", HostInterface_Type="SATA",
                           IO_Queue_Depth=32, Preemptible_GC_Enabled="false", Enabled_Preconditioning="false",
                           Flash_Technology="MLC")))  # fmt: skip
    # An entry has two numbers of 921,600 pages and 32 bits: 9 bytes, of which 65,536 hold 7,281 entries.
    assert (cached["ftl.map"], cached["ftl.cache_kib"]) == ("dftl", 7281 * 8 / 1024)
    assert cached["ftl.cache_start"] == "cold", "without preconditioning the cache is empty"
    warm = flat(imported(flashkeep, tmp_path, mqsim(Ideal_Mapping_Table="false")))
    assert (warm["ftl.cache_start"], warm["start.existing"]) == ("warm", "all")
    assert (cached["host.queue_depth"], cached["start.existing"]) == (32, "reads")
    assert (cached["ftl.gc.threshold"], cached["flash.timing.read_us"]) == (0.06, [40, 80.5])
    assert "ftl.gc.soft_threshold" not in cached
    assert "host.link_us_per_sector" not in cached
    times = {"Suspend_Program_Time": 100000, "Suspend_Erase_Time": 700500}
    suspending = flat(imported(flashkeep, tmp_path, mqsim(CMD_Suspension_Support="PROGRAM_ERASE", **times)))
    assert suspending["flash.commands.suspend"] == "program-erase"
    assert suspending["flash.timing.suspend_program_us"] == 100
    assert (suspending["flash.timing.suspend_erase_us"], suspending["flash.timing.resume_us"]) == (700.5, 0)
    assert suspending["buffer.flush"] == "none"
    not_suspending = flat(imported(flashkeep, tmp_path, mqsim(CMD_Suspension_Support="NONE", **times)))
    assert not_suspending["flash.commands.suspend"] == "off"
    assert "flash.timing.suspend_erase_us" not in not_suspending
    slc = flat(imported(flashkeep, tmp_path, mqsim(Flash_Technology="SLC", GC_Exec_Threshold="0.01",
                        Preemptible_GC_Enabled=None, GC_Block_Selection_Policy="FIFO")))  # fmt: skip
    assert (slc["flash.timing.read_us"], slc["ftl.gc.victim"]) == (40, "fifo")
    assert slc["ftl.gc.threshold"] == 0.025, "10 of 400 blocks"


BAD = {
    "no configuration": ("hello\n", "config: no known configuration; accepted: MQSim's ssdconfig.xml"),
    "an empty file": ("", "config: no known configuration"),
    "no XML": (mqsim().replace("</Flash_Technology>", ""), "not XML: mismatched tag"),
    "an entity": ("<!DOCTYPE a [<!ENTITY b 'c'>]>\n" + mqsim().partition("\n")[2], "config:1: a DOCTYPE"),
    "a missing element": (mqsim(Page_Capacity=None), "config: Page_Capacity is missing"),
    "an element twice": (mqsim().replace("<Seed>7", "<Memory_Type>FLASH</Memory_Type><Seed>7"), "given twice"),
    "no channels": (mqsim(Flash_Channel_Count=0), "Count: found '0'; accepted: a whole number, 1 or more"),
    "channels of 2^40": (mqsim(Flash_Channel_Count=2**40), "Count: flash.channels: found 1099511627776;"),
    "an unknown technology": (mqsim(Flash_Technology="QLC"), "found 'QLC'; accepted: SLC or MLC or TLC"),
    "an unknown scheme": (mqsim(Plane_Allocation_Scheme="CWD"), "found 'CWD'; accepted: the letters C, W, D and P"),
    "all of it spare": (mqsim(Overprovisioning_Ratio=1), "found '1'; accepted: a number, above 0 and below 1"),
    "a time of a billion digits": (mqsim(Block_Erase_Latency="1e-999999999"), "accepted: a number, above 0"),
    "channels without end": (ssdsim(**{"channel number": 10**12}), "from 1 to 4096"),
    "a rate of no number": (mqsim(Channel_Transfer_Rate="nan"), "Channel_Transfer_Rate: found 'nan'"),
    "unequal channels": (ssdsim(**{"chip number[1]": 3}), "chip number[1]: found '3'; accepted: as many chips"),
    "a channel without chips": (ssdsim(**{"chip number[1]": None}), "chip number[1] is missing, with 2 channels"),
    "a static order of none": (ssdsim(allocation=1, static_allocation="WDPC"), "found 'WDPC'; accepted: a whole"),
    "a scenario without flows": ("<MQSim_IO_Scenarios></MQSim_IO_Scenarios>", "no flow; accepted: IO_Flow_"),
    "a flow of no size": (scenario(Average_Request_Size=0), "Average_Request_Size: found '0'; accepted: a whole"),
    "a flow of no kind": (scenario(Synthetic_Generator_Type="FAST"), "found 'FAST'; accepted: QUEUE_DEPTH or"),
    "reads of 101 %": (scenario(Read_Percentage=101), "Read_Percentage: found '101'; accepted: a percentage, 0 to 100"),
    "a line of no parameter": (ssdsim() + "hello\r\n", "found 'hello'; accepted: NAME = VALUE"),
    "pages of half a sector": (ssdsim(**{"page capacity": 2000}), "found '2000'; accepted: a multiple of"),
    "no time": (ssdsim(t_R=None), "config: t_R is missing"),
    "no end": (disksim().rpartition("topology")[0].rstrip().removesuffix("}"), "the block does not end"),
    "an old policy": (disksim(**{"Write policy": 1}), "Write policy: found '1'; accepted: 2"),
    "half a gang": (disksim(**{"Elements per gang": 3}), "Elements per gang: found '3'; accepted: a divisor of"),
    "blocks that do not add up": (disksim(**{"Blocks per element": 16000}), "Blocks per element: found '16000'"),
    "no reserve": (disksim(**{"Reserve pages percentage": 0}), "Reserve pages percentage: found '0'"),
}  # fmt: skip


@pytest.mark.parametrize("case", sorted(BAD))
def test_bad_input(flashkeep: Command, tmp_path: Path, case: str) -> None:
    text, told = BAD[case]
    path = given(tmp_path, text)
    code, out, err = flashkeep("drives", "import", path, "-o", tmp_path / "out.toml")
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith(f"flashkeep drives import: {path}")
    assert told in err, err
    assert not (tmp_path / "out.toml").exists()


def test_errors_name_the_line(flashkeep: Command, tmp_path: Path) -> None:
    wrong = {
        "Page_Capacity": mqsim(Page_Capacity="big"),
        "page number": ssdsim(**{"page number": "many"}),
        "Page size": disksim(**{"Page size": "x"}),
    }
    for element, text in wrong.items():
        line = next(at for at, words in enumerate(text.splitlines(), 1) if element in words)
        err = flashkeep("drives", "import", given(tmp_path, text)).err
        assert f"config:{line}: {element}: found " in err


def test_the_format_can_be_named(flashkeep: Command, tmp_path: Path) -> None:
    both = given(tmp_path, disksim() + "channel number = 2\n")
    assert "two formats fit, ssdsim and disksim" in flashkeep("drives", "import", both).err
    assert flashkeep("drives", "import", both, "--format", "disksim").code == 0
    assert "not XML" in flashkeep("drives", "import", both, "--format", "mqsim").err
    assert "mqsim or ssdsim" in flashkeep("drives", "import", both, "--format", "femu").err


def test_nothing_is_overwritten(flashkeep: Command, tmp_path: Path) -> None:
    path, out = given(tmp_path, ssdsim()), tmp_path / "out.toml"
    out.write_text("mine")
    code, _, err = flashkeep("drives", "import", path, "-o", out)
    assert (code, out.read_text()) == (2, "mine")
    assert "--force" in err
    assert flashkeep("drives", "import", path, "-o", out, "--force").code == 0
    assert out.read_text() != "mine"
    assert flashkeep("drives", "import", path, "-o", tmp_path).code == 2
    assert flashkeep("drives", "import", tmp_path / "nowhere").code == 2
    assert flashkeep("drives", "import", tmp_path).code == 2


def test_what_the_simulator_cannot_say_here_is_listed(flashkeep: Command, tmp_path: Path, form: str) -> None:
    extra = {"mqsim": mqsim(A_New_Parameter=3), "ssdsim": ssdsim(a_new_parameter=3), "disksim": disksim(New=3)}[form]
    found = flashkeep.json("drives", "import", given(tmp_path, extra))["no_counterpart"]
    assert [entry["why"] for entry in found if "new" in entry["parameter"].lower()] == ["not known here"]
    assert json.dumps(found)

"""A database and a backup on eight drives under RAID-6: do handles, reads around busy drives, or turns pay off?"""

import tempfile
from pathlib import Path

import flashkeep as fk

MEMBER = """
[flash]
channels = 2
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 128
pages_per_block = 64
page_kib = 4
timing = { read_us = 50, program_us = 500, erase_us = 3000, bus_ns_per_byte = 2.5 }
[ftl]
over_provisioning = 0.28
gc.threshold = 0.08
"""
ARRAY = 'members = ["8 * member.toml"]\nredundancy = { scheme = "raid6", stripe_kib = 4 }\n'
FLOWS = {
    "db": "synth:random,requests=150k,write=0.3,size=4KiB,footprint=48MiB,rate=1500,handle=0",
    "backup": "synth:sequential,requests=10k,write=1,size=96KiB,offset=48MiB,footprint=228MiB,rate=100,handle=1",
}
HANDLES = {"member.ftl.handles": 2}
AROUND = {"redundancy.read": "around-busy"}
TURNS = {"member.ftl.gc.turn_ms": 50}
REMEDIES = {
    "none": {},
    "handles": HANDLES,
    "reads around busy drives": AROUND,
    "both": HANDLES | AROUND,
    "collection in turns": TURNS,
    "all three": HANDLES | AROUND | TURNS,
}

folder = tempfile.TemporaryDirectory()
Path(folder.name, "member.toml").write_text(MEMBER)
Path(folder.name, "array.toml").write_text(ARRAY)
drive = fk.drive(Path(folder.name, "array.toml"))
print(f"{'':26}{'WAF':>6}{'erases':>8}{'db reads, µs: p99':>19}{'p99.9':>7}{'db writes: p99':>16}")
for name, keys in REMEDIES.items():
    # Without `ftl.handles` a drive has one handle, which all writes get.
    result = fk.run(
        drive.replace(**keys),
        flows=FLOWS,
        existing="all",
        warmup="40%",
        ignore_handles="member.ftl.handles" not in keys,
        requests=False,
    )
    reads, writes = (result["flows"][0]["response_us"][kind] for kind in ("read", "write"))
    print(
        f"{name:26}{result['waf_bytes']:6.2f}{result['wear']['erases_total']:8,}"
        f"{reads['p99']:19,.0f}{reads['p99_9']:7,.0f}{writes['p99']:16,.0f}"
    )

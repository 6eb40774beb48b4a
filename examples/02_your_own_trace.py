"""Your own trace: python 02_your_own_trace.py [TRACE [DRIVE]].

Without a trace it writes a small one in SSDSim's format (`arrival_ns device sector sectors op`, op 0 writes) and
takes that. Any format that `flashkeep formats` lists is detected, compressed or not.
"""

import sys
import tempfile
from pathlib import Path

import flashkeep as fk


def small_trace(folder: str) -> Path:
    """A trace of 2,000 requests of 4 KiB, one a millisecond, every third one a write."""
    path = Path(folder) / "small.ssdsim"
    lines = (f"{n * 1_000_000} 0 {n * 7 % 500 * 8} 8 {int(n % 3 > 0)}\n" for n in range(2000))
    path.write_text("".join(lines))
    return path


with tempfile.TemporaryDirectory() as folder:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else small_trace(folder)
    drive = fk.drive(sys.argv[2] if len(sys.argv) > 2 else "2CM-128")

    # What is in it? Look at the units here before you believe any result.
    info = fk.trace(path).info()
    print(f"{info.format}: {info.requests:,} requests in {info.span_s:,.3f} s, {info.writes:,} of them writes,")
    print(f"{info.mean_kib:.1f} KiB each, {info.footprint_bytes / 2**20:,.1f} MiB touched on {info.devices} device(s)")

    # `compact` places 1 MiB extents in order of first touch: the trace fits if what it touches fits.
    result = fk.run(drive, fk.trace(path, compact=True))

print(f"\n{drive.name}: mean response {result.response_us.all.mean:.1f} µs")
if result.response_us.read:
    print(f"reads: p50 {result.response_us.read.p50:.1f} µs, p99 {result.response_us.read.p99:.1f} µs")
for warning in result.warnings:
    print(f"note: {warning}")

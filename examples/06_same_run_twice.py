"""Equal arguments give equal results, to the byte; and every read returns what was written last.

`digest` stands for all that was simulated and for nothing of this machine. With `verify` pages hold 64-bit tokens,
and each read is compared with what it ought to bring.
"""

import flashkeep as fk

workload = fk.trace("synth:zipf,requests=20k,write=0.6,size=1KiB:0.4/4KiB:0.4/32KiB:0.2,footprint=64MiB,rate=200")
drive = fk.drive("2CM-128").replace(**{"buffer.dram_mib": 4})

first = fk.run(drive, workload, seed=7, requests=False)
second = fk.run(drive, workload, seed=7, requests=False)
other = fk.run(drive, workload, seed=8, requests=False)
print(f"seed 7: {first.digest[:16]}…\nseed 7: {second.digest[:16]}…\nseed 8: {other.digest[:16]}…")
assert first.digest == second.digest != other.digest

checked = fk.run(drive, workload, seed=7, verify=True, requests=False)
print(f"\n{checked.integrity.checked_reads:,} reads checked, {checked.integrity.wrong_reads} wrong")
assert checked.integrity.wrong_reads == 0
assert checked.response_us == first.response_us, "to check contents changes no time"

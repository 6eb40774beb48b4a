"""A sweep: how much DRAM does a workload want? Runs release the GIL, so threads run in parallel."""

from concurrent.futures import ThreadPoolExecutor

import flashkeep as fk

WORKLOAD = fk.trace("synth:sirf-exchange", limit=20_000)
BASE = fk.drive("4CNM-64")


def simulate(dram_mib: int) -> fk.Result:
    """One run with this much DRAM."""
    return fk.run(BASE.replace(**{"buffer.dram_mib": dram_mib}), WORKLOAD, requests=False)


sizes = [0, 4, 8, 16, 32, 64]
with ThreadPoolExecutor(2) as threads:
    results = list(threads.map(simulate, sizes))

print(f"{'DRAM, MiB':>10}{'reads, µs':>12}{'writes, µs':>12}{'write hits':>12}{'programs a page':>17}")
for size, result in zip(sizes, results, strict=True):
    buffer = result.buffer
    hits = buffer.write_hits / max(1, buffer.write_hits + buffer.write_misses)
    print(
        f"{size:10}{result.response_us.read.mean:12.1f}{result.response_us.write.mean:12.1f}"
        f"{hits:12.1%}{result.write_amplification.total:17.3f}"
    )

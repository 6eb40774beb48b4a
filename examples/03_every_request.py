"""Every request of a run as columns: percentiles, and waiting times.

Columns are NumPy arrays that look into the run's own memory; `polars.DataFrame(result.requests())`,
`pyarrow.table(…)` and DuckDB take all of them through the Arrow C interface without copying.
"""

import flashkeep as fk
import numpy as np

result = fk.run("2CNM-64", fk.trace("synth:sirf-tpcc,requests=50k", time_scale=0.1))
requests = result.requests()
response_us = requests.response_ns / 1000
reads = requests.op == 0

print(f"{len(requests):,} requests, {reads.sum():,} of them reads")
for share in (50, 90, 99, 99.9):
    found = np.percentile(response_us[reads], share, method="inverted_cdf")
    print(f"reads, p{share:<5} {found:10.3f} µs")

# Response time minus service time is the waiting time of a request, which includes waiting for its own other pages.
waited_us = (requests.response_ns - requests.service_ns) / 1000
print(f"\n{(waited_us > 0).mean():.1%} of the requests waited, the longest {waited_us.max():,.0f} µs")

by_size = {size: response_us[reads & (requests.length == size)] for size in np.unique(requests.length)}
for size, some in by_size.items():
    print(f"reads of {size // 1024:2} KiB: {some.mean():8.2f} µs on average")

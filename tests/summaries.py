"""A summary with every key that the interface fixes: what tables are tested on, and the shape real ones must have."""

from __future__ import annotations

import copy
from typing import Any

LATENCY = {
    "count": 500, "mean": 100.0, "min": 20.0, "p50": 80.0, "p90": 150.0, "p95": 180.0, "p99": 250.0, "p99_9": 400.0,
    "p99_99": None, "max": 500.0,
}  # fmt: skip

PARTS = {
    "queue": 0.0, "cache": 1.0, "buffer": 0.0, "lock": 0.0, "timer": 0.0, "compute": 0.0, "die": 20.0, "channel": 9.0,
    "array": 20.0, "transfer": 50.0, "disk": 0.0, "gc": 0.0, "maintenance": 0.0, "rebuild": 0.0, "retry": 0.0,
    "link": 0.0,
}  # fmt: skip

OPERATIONS = {
    "read": {"host": 500, "update": 10, "gc": 0, "parity": 0},
    "program": {"host": 500, "mirror": 0, "gc": 0, "parity": 0},
    "erase": {"gc": 0},
    "copyback": {},
}

SUMMARY: dict[str, Any] = {
    "schema": 1,
    "flashkeep": "0.1.0",
    "seed": 1,
    "digest": "0" * 64,
    "drive": {"name": "1CNM-64", "flash": {"channels": 8}},
    "capacity_bytes": 1 << 36,
    "workload": {
        "name": "synth:random", "format": "synthetic", "synthetic": True, "requests": 1000, "reads": 500,
        "writes": 500, "trims": 0, "flushes": 0, "fua_writes": 0, "bytes_read": 2048000, "bytes_written": 2048000,
        "span_s": 1.0, "skipped": 0, "overlapping": 0,
    },
    "simulated_s": 1.0,
    "warnings": [],
    "response_us": {"all": LATENCY, "read": LATENCY, "write": LATENCY},
    "service_us": {"all": LATENCY, "read": LATENCY, "write": LATENCY},
    "latency_us": {"read": {"mean": PARTS, "slowest": PARTS}, "write": {"mean": PARTS, "slowest": PARTS}},
    "queue": {"mean": 1.5, "max": 9, "full": 0.0},
    "throughput": {"iops": 1000.0, "read_mib_s": 1.95, "write_mib_s": 1.95},
    "operations": OPERATIONS,
    "start": "new, without data",
    "waf_bytes": 1.0,
    "write_amplification": {
        "total": 1.0, "buffer": 0.0, "mirror": 0.0, "gc": 0.0, "parity": 0.0, "wear": 0.0, "metadata": 0.0,
        "rebuild": 0.0,
    },
    "buffer": {"read_hits": 0, "read_misses": 500, "write_hits": 0, "write_misses": 500},
    "wear": {
        "erases_total": 0, "erases_min": 0, "erases_mean": 0.0, "erases_max": 0, "erases_stddev": 0.0,
        "lifetime_days": None, "tbw": None, "dwpd": None, "workload_dwpd": 0.5,
    },
    "utilization": {"channel": [0.1, 0.3], "die_mean": 0.2, "die_max": 0.4},
    "members": [],
    "integrity": {
        "checked_reads": 0, "wrong_reads": 0, "lost_pages": 0, "reconstructed_reads": 0, "unprotected_page_s": 0.0,
    },
    "phases": [],
    "rebuilds": [],
    "energy": {
        "total_j": 0.5, "mean_w": 0.5, "per_gib_written_j": 262.1,
        "flash_j": {
            "total": 0.4, "read": 0.1, "program": 0.1, "erase": 0.0, "transfer": 0.1, "standby": 0.1,
        },
        "operations_j": {"read": {"host": 0.15}, "program": {"host": 0.15}, "erase": {"gc": 0.0}},
        "dram_j": 0.1,
    },
    "run": {
        "wall_s": 0.5, "requests_per_s": 2000.0, "page_operations_per_s": 2000.0, "peak_rss_mib": 20.0, "threads": 1,
    },
}  # fmt: skip


def summary(**changes: Any) -> dict[str, Any]:
    """The summary with other figures: `summary(**{"response_us.read.mean": 50.0})`."""
    made = copy.deepcopy(SUMMARY)
    for path, value in changes.items():
        *nodes, last = path.split(".")
        node = made
        for key in nodes:
            node = node[key]
        node[last] = value
    return made


def shape(value: Any) -> Any:
    """The keys of a summary, all the way down, without its figures."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return None

"""Two drives under one workload: a plain one against a mirrored one, in three lines of figures.

The workload is synthetic: it has the request count, write share, rate and mean size that a paper published for a
build server, and nothing else of that trace. See docs/sirf-1.md.
"""

import flashkeep as fk

workload = fk.trace("synth:sirf-build")
plain = fk.run("1CNM-64", workload, requests=False)
mirrored = fk.run("2CM-128", workload, requests=False)

print(f"{'mean response, µs':20}{plain.drive.name:>12}{mirrored.drive.name:>12}{'change':>10}")
for what in ("all", "read", "write"):
    before = plain.response_us[what].mean
    after = mirrored.response_us[what].mean
    print(f"{what:20}{before:12.2f}{after:12.2f}{100 * (after / before - 1):+9.1f}%")

copies = mirrored.operations.program
print(f"\nThe mirror programmed {copies.host:,} pages and {copies.mirror:,} copies of them.")

"""Random drives under random workloads and faults, run under one or two versions of flashkeep and compared.

`draw` makes cases, `worker` runs them, `judge` says what is wrong with a result or between two, `campaign` counts.
"""

"""Random drives under random workloads and faults, run under one or two versions of flashkeep and compared.

`draw` makes cases, `worker` runs them, `judge` compares two results, `campaign` counts. What `flashkeep torture`
needs as well is in the package: the requests and failures of a case, what must hold for every result, the reduction.
"""

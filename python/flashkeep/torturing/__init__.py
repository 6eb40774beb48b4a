"""Random workloads, failures, power losses and error bursts on a drive, with verified contents.

`shrink` makes a drive small, `draw` makes cases, `trial` runs one, `judge` says what is wrong with its result,
`reduce` makes a case smaller, `campaign` runs many in worker processes.
"""

"""Sweeps: many runs from one plan, in supervised processes or on a cluster, and one table of their figures.

`plan` reads a plan, `cells` makes the runs of it, `task` carries one out in any process, `local` and `cluster` have
executors, `conduct` keeps them busy and repeats what was lost, `folder` keeps results, `tidy` makes the table.
"""

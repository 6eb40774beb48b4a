"""Which redundancy for these drives under this trace: simulated performance, probability of loss, and cost.

`designs` makes the arrays, `runs` simulates them, `front` compares them, `api` makes the result, `command` prints it.
"""

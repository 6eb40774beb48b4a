"""The probability that a fleet of arrays loses data.

`spec` reads arrays, `prices` their prices, `options` checks what is asked for, `api` asks the model and makes the
result, `command` prints it. The model itself is the crate `flashkeep-fleet`.
"""

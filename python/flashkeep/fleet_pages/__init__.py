"""The page of fleets: loss against cost, what each assumption changes, and what makes a loss ten times less likely.

`assumptions` says how each one may change, `sensitivity` asks the model, `charts` draws, `page` makes the page.
"""

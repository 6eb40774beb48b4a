"""Types that `python -m flashkeep.registry` writes."""

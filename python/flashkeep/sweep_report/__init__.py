"""Looking at sweeps: their tables, small multiples, Pareto fronts, as a page and in Python."""

"""The results of runs: in memory, as figures by path, and in the folders of `--out`."""

"""What goes into a run: drives and their keys, presets, traces and tables in memory."""

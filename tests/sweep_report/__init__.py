"""Tests of what is made from the folders of sweeps: pages, charts, the Python interface."""

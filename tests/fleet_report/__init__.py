"""Tests of the page of fleets."""

"""Trials of machines, and those of the laboratory on its emulated hardware, over many seeds."""

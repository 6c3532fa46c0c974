"""Iterative planning: solve, simulate, check between the nodes, refine or diagnose."""

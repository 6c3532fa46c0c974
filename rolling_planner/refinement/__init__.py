"""Iterative planning: solve, simulate, judge between the nodes, refine or say why not."""

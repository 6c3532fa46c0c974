"""Planners of systems: the same for ``rolling plan`` and for the planner node."""

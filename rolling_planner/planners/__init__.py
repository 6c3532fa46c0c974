"""What plans for a system: the same for ``rolling plan`` and for the planner node."""

"""Demonstrations: trials of an experiment on real nodes, evaluated by their recording."""

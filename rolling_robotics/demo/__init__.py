"""Demonstrations: trials of an experiment on real nodes, judged by their recording."""

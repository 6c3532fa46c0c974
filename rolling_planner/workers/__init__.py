"""Processes that plan while the node answers."""

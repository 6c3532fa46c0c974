"""Replay of recorded experiments: the same inputs through the same code, in one process."""

"""Figures of the demonstrations, a module each with ``draw(record, path)``."""

"""Scenarios: files that describe a rolling system, its start and what drives it."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

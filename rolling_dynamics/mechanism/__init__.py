"""Machines from parts: bodies and joints, of which rolling is one, become a rolling system."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

"""The interface of a rolling system: its required members and its optional capabilities."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

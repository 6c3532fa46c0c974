"""The contract of a rolling system: what it must offer and what it may offer."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

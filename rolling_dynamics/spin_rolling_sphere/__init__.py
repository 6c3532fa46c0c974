"""A sphere that rolls and spins on a plane: Montana's equations and their Darboux-frame form."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

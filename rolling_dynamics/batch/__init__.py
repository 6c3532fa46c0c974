"""
Many motions of one system at a time, on all processors.

Its names are loaded when they are first asked for.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

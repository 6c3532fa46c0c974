"""Rolling systems built from bodies, joints (rolling is one of them) and contacts."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

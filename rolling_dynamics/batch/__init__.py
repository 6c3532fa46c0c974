"""
Simulation of many trajectories of one system at once, on all processors.

Its names are imported on first use.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

"""
Simulation of rolling systems: adaptive with events, and fixed-step for the real-time loop.

Its names are imported on first use: a node that only needs the stepper does not load the adaptive
integrators.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

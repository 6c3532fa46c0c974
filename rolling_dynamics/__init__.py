"""
Mechanics of rolling contact: surfaces, contact kinematics and dynamics, simulation.

It exports the names that a notebook needs; each is imported on first use.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

"""
Mechanics of rolling contact: surfaces, contact kinematics and dynamics, simulation.

Its names are those that a notebook needs; they are loaded when they are asked for.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

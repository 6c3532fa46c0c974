"""Machines from parts: bodies and joints, of which rolling is one, become a rolling system."""

from rolling_dynamics.mechanism.joints import Driven, Free, Prismatic, Revolute, Rolling, Spherical
from rolling_dynamics.mechanism.loops import Contact
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.mass import Revolution, Solid
from rolling_dynamics.mechanism.shapes import Sphere, Wheel
from rolling_dynamics.mechanism.system import MachineSystem

__all__ = [
    'Contact',
    'Driven',
    'Free',
    'Machine',
    'MachineSystem',
    'Prismatic',
    'Revolute',
    'Revolution',
    'Rolling',
    'Solid',
    'Sphere',
    'Spherical',
    'Wheel',
]

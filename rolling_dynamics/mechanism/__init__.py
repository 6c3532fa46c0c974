"""Machines from parts: bodies and joints, of which rolling is one, become a rolling system."""

from rolling_dynamics.mechanism.hand_over import HandOver
from rolling_dynamics.mechanism.hybrid import HybridMachine
from rolling_dynamics.mechanism.joints import (
    Custom,
    Driven,
    Flying,
    Free,
    Guided,
    Prismatic,
    Revolute,
    Spherical,
)
from rolling_dynamics.mechanism.loops import Contact
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.mass import Revolution, Solid
from rolling_dynamics.mechanism.rolling import PureRolling, Rolling, SurfaceRolling
from rolling_dynamics.mechanism.shapes import (
    Barrel,
    Cylinder,
    Ellipsoid,
    Hollow,
    Plane,
    Sphere,
    Wheel,
)
from rolling_dynamics.mechanism.system import MachineSystem

__all__ = [
    'Barrel',
    'Contact',
    'Custom',
    'Cylinder',
    'Driven',
    'Ellipsoid',
    'Flying',
    'Free',
    'Guided',
    'HandOver',
    'Hollow',
    'HybridMachine',
    'Machine',
    'MachineSystem',
    'Plane',
    'Prismatic',
    'PureRolling',
    'Revolute',
    'Revolution',
    'Rolling',
    'Solid',
    'Sphere',
    'Spherical',
    'SurfaceRolling',
    'Wheel',
]

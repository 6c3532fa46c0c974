"""View of the cylinder: the general view with shapes."""

from dataclasses import replace

import numpy as np
from rolling_dynamics.robots.view import Curve, Disk, general_view, RobotView, Rod

from rolling_cylinder.system import RotorCylinder


def view(system: RotorCylinder, p: np.ndarray) -> RobotView:
    """Return cylinder, rotor, and the arc of the trough."""
    v = system.parameters.unpack(p)
    r, trough = float(v['radius'][0]), float(v['trough_radius'][0])
    angle = np.linspace(-1.2, 1.2, 49)
    arc = trough * np.column_stack([np.sin(angle), 0 * angle, 1 - np.cos(angle)])
    half, thin = (0.7 * r, 0, 0), 0.08 * r
    shapes = (
        Disk(name='shell', link='cylinder_link', radius=r, thickness=r, axis=(0, 1, 0)),
        Rod(name='link', link='rotor_link', start=(0, 0, 0), end=half, radius=thin),
        Curve(name='rail', link='odom', points=arc, width=0.02 * r),
    )
    return replace(general_view(system, p), shapes=shapes)

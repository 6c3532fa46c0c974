"""Model of a scenario file with ``system: rotor_cylinder``."""

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
from rolling_dynamics.scenario import Control, Scenario, ScenarioFile
from rolling_dynamics.scenario.fields import formula, quantity, TIME

from rolling_cylinder.system import RotorCylinder


class RotorCylinderFile(ScenarioFile):
    """A cylinder in a round trough, driven by a rotor on its axis."""

    radius: float = quantity('radius of the cylinder', 'm', positive=True)
    trough_radius: float = quantity('radius of the trough', 'm', positive=True)
    mass: float = quantity('mass of the cylinder', 'kg', positive=True)
    rotor_mass: float = quantity('mass of the rotor', 'kg', positive=True)
    rotor_inertia: float = quantity('of the rotor about its axis', 'kg m^2', positive=True)
    mu: float = quantity('coefficient of static friction', positive=True, default=0.6)
    gravity: float = quantity('gravity', 'm/s^2', positive=True, default=9.81)
    place: float = quantity('of the axis at the start, from the bottom', 'rad', default=0.0)
    torque: ca.SX = formula('on the rotor', 'N m', default=ca.SX(0))
    torque_limit: float = quantity('maximum torque', 'N m', positive=True, default=0.1)

    def build(self, name: str, raw: Mapping[str, Any]) -> Scenario:
        """Return the scenario of a hollow cylinder with its rotor."""
        system = RotorCylinder()
        values = {n: getattr(self, n) for n in system.parameters.names if n != 'inertia'}
        p = system.parameters.pack(**values, inertia=self.mass * self.radius**2)
        torque = ca.Function('torque', [ca.SX.sym('x', 4), TIME], [ca.densify(self.torque)])
        return Scenario(
            p=p,
            x0=np.array([self.place, 0.0, 0.0, 0.0]),
            control=Control(torque, system.control),
            control_limits=np.array([self.torque_limit]),
            **self.common(name, raw, system, {}),
        )

"""Model of a scenario file with ``system: ballbot``."""

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
from rolling_dynamics.scenario import Control, Scenario, ScenarioFile
from rolling_dynamics.scenario.fields import formulas, note, quantity, TIME, vector

from ballbot.instruments import ENCODERS, IMU, MOTORS
from ballbot.system import Ballbot


class BallbotFile(ScenarioFile):
    """A robot that balances on a ball."""

    radius: float = quantity('of the ball', 'm', positive=True)
    ball_mass: float = quantity('mass of the ball', 'kg', positive=True)
    ball_inertia: float = quantity('of the ball about its middle', 'kg m^2', positive=True)
    mass: float = quantity('of the body', 'kg', positive=True)
    height: float = quantity('of its centre of mass over the ball', 'm', positive=True)
    roll_inertia: float = quantity('of the body about x and y', 'kg m^2', positive=True)
    yaw_inertia: float = quantity('of the body about z', 'kg m^2', positive=True)
    mu: float = quantity('coefficient of static friction', positive=True, default=0.8)
    gravity: float = quantity('gravity', 'm/s^2', positive=True, default=9.81)
    steepest: float = quantity('tilt beyond which it tips over', 'rad', positive=True, default=0.6)
    torque_limit: float = quantity('maximum torque', 'N m', positive=True, default=8.0)
    lean: np.ndarray = vector(
        'rotation vector of the body at the start', 'rad', default=np.zeros(3)
    )
    measured: bool = note('whether it is measured and driven by its instruments', default=False)
    torque: list[ca.SX] = formulas('of body on ball', 'N m', default=[ca.SX(0)] * 3)

    def build(self, name: str, raw: Mapping[str, Any]) -> Scenario:
        """Return the scenario, the ball at rest at the origin."""
        system = Ballbot()
        p = system.parameters.pack(**{n: getattr(self, n) for n in system.parameters.names})
        x0 = np.zeros(system.state.size)
        x0[system.state.slice('q_WS')] = x0[system.state.slice('q_WB')] = [1, 0, 0, 0]
        turn = np.concatenate([np.zeros(5), self.lean, np.zeros(6)])
        x0 = np.array(system.retract(x0, turn)).ravel()
        x = ca.SX.sym('x', system.state.size)
        torque = ca.Function('torque', [x, TIME], [ca.densify(ca.vertcat(*self.torque))])
        sensors, motors = ((IMU, ENCODERS), (MOTORS,)) if self.measured else ((), ())
        return Scenario(
            p=p,
            x0=x0,
            control=Control(torque, system.control),
            control_limits=np.full(3, self.torque_limit),
            **self.common(name, raw, system, {}, measured=sensors, driven=motors),
        )

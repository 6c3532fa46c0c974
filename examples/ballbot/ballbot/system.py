"""
A robot that balances on a ball, as a machine from parts.

The ball rolls on the floor z = 0 of W without slip and may spin about the normal. The body B is
carried at the middle of the ball; its centre of mass lies at a height along its z axis. Three
motors drive the ball: the torque between body and ball is the control, expressed in B.
"""

import casadi as ca
import numpy as np
from rolling_dynamics.contract.rolling_system import quaternion_entry, vector_entry
from rolling_dynamics.mechanism import (
    Machine,
    MachineSystem,
    Revolution,
    Rolling,
    Sphere,
    Spherical,
)

# deviations that matter alike, of each entry of the state
SCALES = {'p_WS': 0.3, 'q_WS': 100.0, 'w_WS_W': 4.0, 'q_WB': 0.05, 'w_WB_B': 1.0}
UNITS = {
    'radius': 'm',
    'ball_mass': 'kg',
    'ball_inertia': 'kg m^2',
    'mass': 'kg',
    'height': 'm',
    'roll_inertia': 'kg m^2',
    'yaw_inertia': 'kg m^2',
    'mu': '',
    'gravity': 'm/s^2',
    'steepest': 'rad',
}


def ballbot() -> Machine:
    """Return the machine."""
    machine = Machine('ballbot')
    machine.scales.update(SCALES)
    p = {name: machine.parameter(name, unit) for name, unit in UNITS.items()}
    machine.gravity_W = ca.vertcat(0, 0, -p['gravity'])
    ball = Rolling(
        shape=Sphere(p['radius']),
        contact=vector_entry('p_WS', 'm', 'W', 'where the ball stands', 'xy'),
        attitude=quaternion_entry('q_WS', 'attitude of the ball'),
        speed=vector_entry('w_WS_W', 'rad/s', 'W', 'angular velocity of the ball'),
        mu=p['mu'],
    )
    body = Spherical(
        attitude=quaternion_entry('q_WB', 'attitude of the body'),
        speed=vector_entry('w_WB_B', 'rad/s', 'B', 'angular velocity of the body'),
        axes='body',
    )
    excess = p['yaw_inertia'] - p['roll_inertia']
    machine.body('ball', ball, Revolution(p['ball_mass'], p['ball_inertia']))
    machine.body(
        'body', body, Revolution(p['mass'], p['roll_inertia'], excess, p['height']), on='ball'
    )
    torque = machine.control(vector_entry('torque', 'N m', 'B', 'of the body on the ball'))
    machine.torque(torque, on='ball', reaction='body', frame='body')
    machine.guard('tilt', machine.links['body'].R_WB[2, 2] - ca.cos(p['steepest']))
    return machine


class Ballbot(MachineSystem):
    """The system; its parameters are named in ``UNITS``."""

    def __init__(self) -> None:
        """Describe it."""
        super().__init__(ballbot())

    def rest_goal(self, x_start: np.ndarray) -> dict[str, np.ndarray]:
        """Return what a plan ends with: at rest, upright, with the heading of its start."""
        q = x_start[self.state.slice('q_WB')]
        yaw = np.array([q[0], 0.0, 0.0, q[3]])
        return {'q_WB': yaw / np.linalg.norm(yaw), **super().rest_goal(x_start)}

"""
A robot that balances on a ball: equations by Kane's method.

The ball rolls on the floor z = 0 of W without slip and may spin about the normal. The body B is
carried at the middle of the ball; its centre of mass lies at a height along its z axis. Three
motors drive the ball: the torque between body and ball is the control, expressed in B.
"""

from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np
from rolling_dynamics.contract.layout import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.contract.mode import Mode
from rolling_dynamics.contract.rigid_body import RigidBody
from rolling_dynamics.contract.written_system import WrittenSystem
from rolling_dynamics.rotations import homogeneous, rate_body, rate_space, rotation_matrix

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


def scaled(scale: float, entry: Entry) -> Entry:
    """Return an entry whose deviations of this size matter."""
    return replace(entry, scale=scale)


class Ballbot(WrittenSystem):
    """The system; its parameters are named in ``UNITS``."""

    name = 'ballbot'
    state = Layout(
        (
            scaled(0.3, vector_entry('p_WS', 'm', 'W', 'middle of the ball over the floor', 'xy')),
            scaled(100.0, quaternion_entry('q_WS', 'attitude of the ball')),
            scaled(0.05, quaternion_entry('q_WB', 'attitude of the body')),
            scaled(0.5, vector_entry('v_WS_W', 'm/s', 'W', 'velocity of the ball', 'xy')),
            Entry(
                'spin', ('spin',), 'rad/s', 'W', text='of the ball, about the normal', scale=30.0
            ),
            scaled(1.0, vector_entry('w_WB_B', 'rad/s', 'B', 'angular velocity of the body')),
        )
    )
    control = Layout((vector_entry('torque', 'N m', 'B', 'of the body on the ball'),))
    parameters = Layout(tuple(Entry(name, (name,), unit) for name, unit in UNITS.items()))

    @cached_property
    def _motion(self) -> tuple[ca.SX, ca.SX]:
        """Rates of the six speeds (v, spin, w_WB_B), and the force of the floor on the ball."""
        at, p = self.symbols.values, self.symbols.params
        R = rotation_matrix(at['q_WB'])
        speeds = ca.vertcat(at['v_WS_W'], at['spin'], at['w_WB_B'])
        w_S = ca.vertcat(-speeds[1] / p['radius'], speeds[0] / p['radius'], speeds[2])
        w_B = speeds[3:]
        inertia = ca.diag(ca.vertcat(p['roll_inertia'], p['roll_inertia'], p['yaw_inertia']))
        v_S = ca.vertcat(speeds[:2], 0)
        v_C = v_S + R @ ca.cross(w_B, ca.vertcat(0, 0, p['height']))
        turning = ca.jtimes(v_C, at['q_WB'], rate_body(at['q_WB'], w_B))
        drive = R @ self.symbols.u
        down = ca.vertcat(0, 0, -p['gravity'])
        parts = (  # velocity, what of its rate the speeds' rates do not make, inertia, force
            (v_S, ca.SX.zeros(3), p['ball_mass'] * ca.SX.eye(3), p['ball_mass'] * down),
            (w_S, ca.SX.zeros(3), p['ball_inertia'] * ca.SX.eye(3), drive),
            (v_C, turning, p['mass'] * ca.SX.eye(3), p['mass'] * down),
            (w_B, ca.SX.zeros(3), inertia, -self.symbols.u - ca.cross(w_B, inertia @ w_B)),
        )
        M, force = ca.SX.zeros(6, 6), ca.SX.zeros(6)
        for velocity, bias, mass, applied in parts:
            J = ca.jacobian(velocity, speeds)
            M += J.T @ mass @ J
            force += J.T @ (applied - mass @ bias)
        rates = ca.solve(M, force)
        a_C = ca.jtimes(v_C, speeds, rates) + turning
        total = p['ball_mass'] * ca.vertcat(rates[:2], 0) + p['mass'] * a_C
        return rates, total - (p['ball_mass'] + p['mass']) * down

    @cached_property
    def modes(self) -> dict[str, Mode]:
        """Rolling, while the floor can hold the ball and the body does not tip over."""
        at, p = self.symbols.values, self.symbols.params
        rates, floor = self._motion
        rolled = ca.vertcat(-at['v_WS_W'][1], at['v_WS_W'][0]) / p['radius']
        turns = [
            rate_space(at['q_WS'], ca.vertcat(rolled, at['spin'])),
            rate_body(at['q_WB'], at['w_WB_B']),
        ]
        upright = rotation_matrix(at['q_WB'])[2, 2]
        guards = {
            'normal_force': floor[2],
            'friction': p['mu'] * floor[2] - ca.norm_2(floor[:2] + 1e-12),
            'tilt': upright - ca.cos(p['steepest']),
        }
        return {
            'rolling': Mode(
                dynamics=self.function('dynamics', ca.vertcat(at['v_WS_W'], *turns, rates)),
                wrench=self.function('wrench', ca.vertcat(ca.SX.zeros(3), floor)),
                guards=self.functions(guards),
            )
        }

    @cached_property
    def invariants(self) -> dict[str, ca.Function]:
        """Energy, without control."""
        at, p = self.symbols.values, self.symbols.params
        R, w_B, v = rotation_matrix(at['q_WB']), at['w_WB_B'], ca.vertcat(at['v_WS_W'], 0)
        v_C = v + R @ ca.cross(w_B, ca.vertcat(0, 0, p['height']))
        rolling = p['ball_mass'] + p['ball_inertia'] / p['radius'] ** 2
        energy = rolling * ca.sumsqr(v) + p['ball_inertia'] * at['spin'] ** 2
        energy += p['mass'] * ca.sumsqr(v_C) + p['yaw_inertia'] * w_B[2] ** 2
        energy += p['roll_inertia'] * ca.sumsqr(w_B[:2])
        height = p['mass'] * p['gravity'] * p['height'] * R[2, 2]
        return {'energy': self.function('energy', energy / 2 + height)}

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> ball, body, contact``."""
        at, radius = self.symbols.values, self.symbols.params['radius']
        centre, floor = (ca.vertcat(at['p_WS'], z) for z in (radius, 0))
        poses = [
            homogeneous(rotation_matrix(at['q_WS']), centre),
            homogeneous(rotation_matrix(at['q_WB']), centre),
            homogeneous(ca.SX.eye(3), floor),
        ]
        inputs = [self.symbols.x, self.symbols.p]
        return ca.Function('pose', inputs, poses, ['x', 'p'], ['ball', 'body', 'contact'])

    @cached_property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WCh``: the frame of the wrench."""
        inputs = [self.symbols.x, self.symbols.p]
        return ca.Function('contact_frame', inputs, [self.pose(*inputs)[2]])

    def rigid_bodies(self, p: np.ndarray) -> dict[str, RigidBody]:
        """Return masses, centres and inertias."""
        v = {name: float(values[0]) for name, values in self.parameters.unpack(p).items()}
        roll, yaw = v['roll_inertia'], v['yaw_inertia']
        return {
            'ball': RigidBody(
                mass=v['ball_mass'], centre=np.zeros(3), inertia=v['ball_inertia'] * np.eye(3)
            ),
            'body': RigidBody(
                mass=v['mass'],
                centre=np.array([0.0, 0.0, v['height']]),
                inertia=np.diag([roll, roll, yaw]),
            ),
        }

    def gravity(self, p: np.ndarray) -> np.ndarray:
        """Return gravity in W [m/s^2]."""
        return np.array([0.0, 0.0, -float(p[self.parameters.slice('gravity')][0])])

    def rest_goal(self, x_start: np.ndarray) -> dict[str, np.ndarray]:
        """Return what a plan ends with: at rest, upright, with the heading of its start."""
        q = x_start[self.state.slice('q_WB')]
        yaw = np.array([q[0], 0.0, 0.0, q[3]])
        upright = yaw / np.linalg.norm(yaw)
        return {'q_WB': upright, 'v_WS_W': np.zeros(2), 'spin': np.zeros(1), 'w_WB_B': np.zeros(3)}

"""A sphere driven by a pendulum inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import (
    Machine,
    MachineSystem,
    Revolution,
    Rolling,
    Sphere,
    Spherical,
)
from rolling_dynamics.mechanism.elimination import eliminate
from rolling_dynamics.mechanism.link import E3 as E
from rolling_dynamics.pendulum_sphere.parameters import BODIES, FLOOR, SphereParameters
from rolling_dynamics.rotations import solve_3x3
from transforms3d.quaternions import quat2mat


def pendulum_sphere() -> Machine:
    """Return the machine."""
    machine = Machine('pendulum_sphere')
    shell_mass, shell_inertia, radius, mass, length, across, excess = map(
        machine.parameter, BODIES
    )
    machine.gravity_W = machine.parameter(
        vector_entry('gravity_W', 'm/s^2', 'W', 'gravity; W is on the floor, z its normal')
    )
    mu, resistance, damping = (machine.parameter(entry) for entry in FLOOR[1:])
    shell = Rolling(
        shape=Sphere(radius),
        contact=vector_entry('contact', 'm', 'W', 'contact point on the floor', suffixes='xy'),
        attitude=quaternion_entry('q_WS', 'attitude of the shell'),
        speed=vector_entry('w_WS_W', 'rad/s', 'W', 'angular velocity of the shell'),
        mu=mu,
        resistance=resistance,
        damping=damping,
    )
    pendulum = Spherical(
        attitude=quaternion_entry(
            'q_WP', 'attitude of the pendulum, which hangs along -z of its frame'
        ),
        speed=vector_entry('w_WP_W', 'rad/s', 'W', 'angular velocity of the pendulum'),
    )
    machine.body('shell', shell, Revolution(shell_mass, shell_inertia))
    machine.body(
        'pendulum',
        pendulum,
        Revolution(mass, across, excess, offset=length, axis=ca.DM([0, 0, -1])),
        on='shell',
    )
    torque = vector_entry('tau_W', 'N m', 'W', 'torque on the pendulum, reversed on the shell')
    machine.torque(machine.control(torque), on='pendulum', reaction='shell')
    return machine


_PLAIN = pendulum_sphere()
STATE, CONTROL, PARAMETERS = _PLAIN.state, _PLAIN.control_layout, _PLAIN.parameters


def resting_direction(params: SphereParameters) -> Array:
    """
    Return the pendulum's direction at rest, a unit vector in W.

    Raises ParameterError if the slope is too steep.
    """
    turn = params.equilibrium - params.slope  # from the normal of the floor, uphill
    uphill = -np.array([np.cos(params.azimuth), np.sin(params.azimuth), 0.0])
    return np.array(np.sin(turn) * uphill - [0.0, 0.0, np.cos(turn)])


def attitude_of(n: ArrayLike) -> Array:
    """
    Return the shortest rotations q_WP, quaternions wxyz, from hanging along -z to directions n.

    Shape (..., 3) to (..., 4).
    """
    x, y, z = np.moveaxis(np.asarray(n) / np.linalg.norm(n, axis=-1, keepdims=True), -1, 0)
    q = np.stack([1 - z, y, -x, np.zeros_like(z)], axis=-1)  # -z x n = (n_y, -n_x)
    q[np.linalg.norm(q, axis=-1) < 1e-12] = [0, 1, 0, 0]  # half a turn
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))


def pendulum_direction(x: ArrayLike) -> Array:
    """Return the pendulum's direction n of a state."""
    q = np.asarray(x, dtype=float)[STATE.slice('q_WP')]
    return np.array(-quat2mat(q)[:, 2])


class PendulumSphere(MachineSystem):
    """
    A spherical shell on a floor, driven by the torque between it and a pendulum in its centre.

    W is fixed to the floor, z along its outward normal; on a slope, gravity is tilted instead.

    Examples
    --------
    >>> from rolling_dynamics import PendulumSphere
    >>> system = PendulumSphere()
    >>> system.control.names, [entry.name for entry in system.state.entries]
    (['tau_W_x', 'tau_W_y', 'tau_W_z'], ['contact', 'q_WS', 'q_WP', 'w_WS_W', 'w_WP_W'])

    """

    def __init__(self) -> None:
        """Build the system."""
        super().__init__(pendulum_sphere())

    def pack_parameters(self, params: SphereParameters) -> Array:
        """Return the vector p of checked parameters."""
        names = {f.name for f in fields(params)} & {e.name for e in PARAMETERS.entries}
        values = {name: getattr(params, name) for name in names}
        return PARAMETERS.pack(gravity_W=params.gravity_W, **values)

    def rolling_state(
        self,
        params: SphereParameters,
        *,
        contact: ArrayLike = (0.0, 0.0),
        velocity: ArrayLike = (0.0, 0.0),
        spin: float = 0.0,
        pendulum: ArrayLike | None = None,
    ) -> Array:
        """
        Return a state in which the sphere rolls and the pendulum does not move.

        Parameters
        ----------
        params
            The sphere.
        contact, velocity
            Contact point [m] and its velocity [m/s].
        spin
            Angular velocity of the shell about the normal of the floor [rad/s].
        pendulum
            Direction of the pendulum in W; its equilibrium on the slope if None.

        """
        V, R = np.asarray(velocity, dtype=float), params.shell_radius
        n = resting_direction(params) if pendulum is None else np.asarray(pendulum, dtype=float)
        if n.shape != (3,) or not np.linalg.norm(n) > 1e-9:
            raise ParameterError(f'pendulum must be a direction of 3 numbers, got {pendulum!r}')
        return STATE.pack(
            contact=contact,
            q_WP=attitude_of(n),
            w_WS_W=[-V[1] / R, V[0] / R, spin],
        )

    @cached_property
    def joint_force(self) -> ca.Function:
        """``(x, u, t, p) -> N_t`` force of the pendulum on the shell, in W [N]."""
        R = self.machine.links['pendulum'].R_WF
        carried = self.machine.dynamics.carried(1, self.machine.dynamics.rates)
        return self.function('joint_force', -(R @ carried.force))

    def rest_goal(self, x_start: Array) -> dict[str, Array]:
        """Return default values of a goal at rest: pendulum as at the start, no motion."""
        return {'q_WP': np.asarray(x_start)[STATE.slice('q_WP')], **super().rest_goal(x_start)}

    @cached_property
    def _without_torque(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Rows of the pendulum without the torque: matrix and right side, in one column."""
        matrix, right = self.machine.dynamics.equations
        right = ca.substitute(right, self.symbols.u, ca.SX.zeros(3))
        rows = ca.horzcat(matrix, right)
        return matrix[3:, :], right[3:], rows[:3, :] + rows[3:, :]

    def _balanced(self, Omega_rate: ca.SX, omega_rate: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the torque on the pendulum and the force of the floor for accelerations."""
        matrix, right, _ = self._without_torque
        rates = ca.vertcat(Omega_rate, omega_rate)
        return matrix @ rates - right, self.wrench(rates, 'shell')[3:]

    @cached_property
    def inverse_dynamics(self) -> ca.Function:
        """``(x, wdot, p) -> (Omega_rate, tau, N_o)`` for given accelerations of the pendulum."""
        rate, both = ca.SX.sym('wdot', 3), self._without_torque[2]
        rest = both[:, 6] - both[:, 3:6] @ rate
        Omega_rate = eliminate(both[:, :3], rest, symmetric=False)
        outputs = Omega_rate, *self._balanced(Omega_rate, rate)
        return self._inverse('inverse_dynamics', {'wdot': rate}, 'Omega_rate', outputs)

    @cached_property
    def prescribed_dynamics(self) -> ca.Function:
        """``(x, a, p) -> (wdot, tau, N_o)``: pendulum and torque for a given path."""
        a, both = ca.SX.sym('a', 2), self._without_torque[2]
        Omega_rate = ca.vertcat(-a[1], a[0], 0) / self.symbols.params['shell_radius']  # Eq. (5)
        rate = solve_3x3(both[:, 3:6], both[:, 6] - both[:, :3] @ Omega_rate)  # Eq. (6)
        outputs = rate, *self._balanced(Omega_rate, rate)
        return self._inverse('prescribed_dynamics', {'a': a}, 'wdot', outputs)

    def _inverse(
        self, name: str, given: Mapping[str, ca.SX], rate: str, outputs: Sequence[ca.SX]
    ) -> ca.Function:
        inputs = {'x': self.symbols.x, **given, 'p': self.symbols.p}
        dense = [ca.densify(v) for v in outputs]
        return ca.Function(name, [*inputs.values()], dense, [*inputs], [rate, 'tau', 'N_o'])

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """
        Energy, and the other invariants of free motion on a level floor.

        ``momentum_x``, ``_y``, ``_z`` of K = I Omega + R_o e x (M V + m v), with the paper's k I
        Omega - R_o k x (M V + m v), which changes at the rate -Q + tau_r there [kg m^2/s];
        ``pendulum_spin`` omega . n [rad/s]; ``vertical_momentum``, the integral that follows from
        the symmetry about the vertical [kg m^2/s].
        """
        p, (shell, pendulum) = self.symbols.params, self.machine.links.values()
        R, m, momentum = p['shell_radius'], pendulum.moments, self.momentum(ca.SX(3, 1))[0]
        K = p['shell_inertia'] * shell.w + R * ca.cross(E, momentum)
        # of the pendulum about the centre of the shell, whose motion along the floor K eliminates
        moved = p['shell_mass'] + p['shell_inertia'] / R**2 + p['pendulum_mass']
        about_centre = m.second @ pendulum.w + ca.cross(m.first, pendulum.v)
        vertical = about_centre - ca.cross(m.first, ca.cross(K, E)) / (R * moved)
        out = {f'momentum_{axis}': K[k] for k, axis in enumerate('xyz')}
        out |= {'pendulum_spin': -ca.dot(pendulum.w, pendulum.R_WB[:, 2])}
        out |= {'vertical_momentum': vertical[2]}
        return self.functions({'energy': self.energy, **out})

    def conserved(self, p: Array, x: Array) -> list[str]:  # noqa: ARG002
        """Return the invariants that hold without torque."""
        gx, gy, _ = self.gravity(p)
        values = self.parameters.unpack(p)
        if values['rolling_resistance'][0] or values['rolling_damping'][0]:
            return ['pendulum_spin']
        level = gx == 0 and gy == 0
        return ['energy', 'pendulum_spin'] + (['vertical_momentum'] if level else [])

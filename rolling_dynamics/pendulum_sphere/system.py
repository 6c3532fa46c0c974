"""A sphere with a pendulum, as a rolling system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import MachineSystem
from rolling_dynamics.mechanism.elimination import eliminate
from rolling_dynamics.pendulum_sphere.integrals import sphere_integrals
from rolling_dynamics.pendulum_sphere.machine import PARAMETERS, pendulum_sphere, STATE
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.posture import attitude_of, resting_direction
from rolling_dynamics.small_matrices import solve_3x3


class PendulumSphere(MachineSystem):
    """
    A spherical shell on a floor, driven by the torque between it and a pendulum in its centre.

    W stands on the floor, z along its outward normal; on a slope it is gravity that is tilted.
    """

    def __init__(self, *more: Entry) -> None:
        """Build the system, with ``more`` parameters that its equations do not depend on."""
        super().__init__(pendulum_sphere(*more))

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
        return self.function('joint_force', -self.carried_force('pendulum'))

    def rest_goal(self, x_start: Array) -> dict[str, Array]:
        """Return what a goal at rest has by default: pendulum as at the start, no motion."""
        return {'q_WP': np.asarray(x_start)[STATE.slice('q_WP')], **super().rest_goal(x_start)}

    @cached_property
    def _without_torque(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Rows of the pendulum without the torque: matrix and right side; both in one column."""
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
        """``(x, wdot, p) -> (Omega_rate, tau, N_o)``: what moves the pendulum as given."""
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
        """Energy, and what free motion on a level floor conserves beside it."""
        s, links = self.symbols, self.machine.links
        n, Omega, omega = -links['pendulum'].R_WB[:, 2], links['shell'].w, links['pendulum'].w
        integrals = sphere_integrals(n, Omega, omega, s.params)
        return self.functions({'energy': self.energy, **integrals})

    def conserved(self, p: Array, x: Array) -> list[str]:  # noqa: ARG002
        """Return the invariants that are kept without torque."""
        gx, gy, _ = self.gravity(p)
        values = self.parameters.unpack(p)
        if values['rolling_resistance'][0] or values['rolling_damping'][0]:
            return ['pendulum_spin']
        level = gx == 0 and gy == 0
        return ['energy', 'pendulum_spin'] + (['vertical_momentum'] if level else [])

"""A sphere with a pendulum, as a rolling system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.contract.mode import Mode
from rolling_dynamics.contract.rigid_body import RigidBody
from rolling_dynamics.contract.symbols import Symbols
from rolling_dynamics.contract.written_system import WrittenSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.equations import E, sphere_equations, SphereEquations
from rolling_dynamics.pendulum_sphere.integrals import sphere_integrals
from rolling_dynamics.pendulum_sphere.layouts import CONTROL, PARAMETERS, STATE
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.posture import attitude_of, resting_direction
from rolling_dynamics.rotations import homogeneous, rate_space, rotation_matrix


@dataclass(frozen=True, eq=False)
class _Expressions(Symbols):
    """The equations with their symbols."""

    equations: SphereEquations
    xdot: ca.SX
    wrench: ca.SX
    joint_force: ca.SX


class PendulumSphere(WrittenSystem):
    """
    A spherical shell on a floor, driven by the torque between it and a pendulum in its centre.

    W stands on the floor, z along its outward normal; on a slope it is gravity that is tilted.
    """

    name = 'pendulum_sphere'
    state, control, parameters = STATE, CONTROL, PARAMETERS

    def pack_parameters(self, params: SphereParameters) -> NDArray[np.float64]:
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
    ) -> NDArray[np.float64]:
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
    def expressions(self) -> _Expressions:
        """The equations, written once."""
        symbols = self.symbols
        values, params = symbols.values, symbols.params
        n = -rotation_matrix(values['q_WP'])[:, 2]
        Omega, omega = values['w_WS_W'], values['w_WP_W']
        equations = sphere_equations(n, Omega, omega, params)
        Omega_rate, omega_rate = equations.accelerations(symbols.u)
        N_o, N_t = equations.reactions(Omega_rate, omega_rate)
        xdot = ca.vertcat(
            params['shell_radius'] * ca.cross(Omega, E)[0:2],  # Eq. (3)
            rate_space(values['q_WS'], Omega),
            rate_space(values['q_WP'], omega),
            Omega_rate,
            omega_rate,
        )
        wrench = ca.vertcat(equations.rolling_torque(N_o), N_o)
        return _Expressions(
            **vars(symbols), equations=equations, xdot=xdot, wrench=wrench, joint_force=N_t
        )

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """One mode: rolling inside the envelope of contact."""
        e = self.expressions
        fx, fy, fz = e.wrench[3], e.wrench[4], e.wrench[5]
        guards = {
            'normal_force': fz,
            'friction': e.params['mu'] * fz - ca.sqrt(fx * fx + fy * fy + 1e-300),
        }
        return {
            'rolling': Mode(
                dynamics=self.function('dynamics', e.xdot),
                wrench=self.function('wrench', e.wrench),
                guards=self.functions(guards),
            )
        }

    @cached_property
    def joint_force(self) -> ca.Function:
        """``(x, u, t, p) -> N_t`` force of the pendulum on the shell, in W [N]."""
        return self.function('joint_force', self.expressions.joint_force)

    @cached_property
    def envelope(self) -> Mapping[str, ca.Function]:
        """The limits of contact as smooth functions over the weight, positive inside."""
        e = self.expressions
        mass = e.params['shell_mass'] + e.params['pendulum_mass']
        weight = mass * ca.norm_2(e.params['gravity_W'])
        fx, fy, fz = (e.wrench[k] / weight for k in (3, 4, 5))
        out = {'normal_force': fz, 'friction': (e.params['mu'] * fz) ** 2 - fx * fx - fy * fy}
        return self.functions(out)

    def rest_goal(self, x_start: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return what a goal at rest has by default: pendulum as at the start, no motion."""
        where = STATE.slice('q_WP')
        return {'q_WP': np.asarray(x_start)[where], 'w_WS_W': np.zeros(3), 'w_WP_W': np.zeros(3)}

    @cached_property
    def inverse_dynamics(self) -> ca.Function:
        """``(x, wdot, p) -> (Omega_rate, tau, N_o)``: what moves the pendulum as given."""
        e, rate = self.expressions, ca.SX.sym('wdot', 3)
        Omega_rate, Q = e.equations.given_pendulum(rate)
        N_o, _ = e.equations.reactions(Omega_rate, rate)
        return ca.Function(
            'inverse_dynamics',
            [e.x, rate, e.p],
            [ca.densify(v) for v in (Omega_rate, Q, N_o)],
            ['x', 'wdot', 'p'],
            ['Omega_rate', 'tau', 'N_o'],
        )

    @cached_property
    def prescribed_dynamics(self) -> ca.Function:
        """``(x, a, p) -> (wdot, tau, N_o)``: pendulum and torque for a given path."""
        e, a = self.expressions, ca.SX.sym('a', 2)
        Omega_rate = ca.vertcat(-a[1], a[0], 0) / e.params['shell_radius']  # Eq. (5)
        rate, Q = e.equations.given_shell(Omega_rate)
        N_o, _ = e.equations.reactions(Omega_rate, rate)
        return ca.Function(
            'prescribed_dynamics',
            [e.x, a, e.p],
            [ca.densify(v) for v in (rate, Q, N_o)],
            ['x', 'a', 'p'],
            ['wdot', 'tau', 'N_o'],
        )

    @cached_property
    def invariants(self) -> Mapping[str, ca.Function]:
        """Energy, and what free motion on a level floor conserves beside it."""
        e = self.expressions
        return self.functions(sphere_integrals(e.equations, e.values['contact']))

    def conserved(self, p: NDArray[np.float64], x: NDArray[np.float64]) -> list[str]:  # noqa: ARG002
        """Return the invariants that are kept without torque."""
        gx, gy, _ = self.gravity(p)
        values = self.parameters.unpack(p)
        if values['rolling_resistance'][0] or values['rolling_damping'][0]:
            return ['pendulum_spin']
        level = gx == 0 and gy == 0
        return ['energy', 'pendulum_spin'] + (['vertical_momentum'] if level else [])

    def rigid_bodies(self, p: NDArray[np.float64]) -> dict[str, RigidBody]:
        """Return mass and inertia of shell and pendulum."""
        v = {name: float(value[0]) for name, value in self.parameters.unpack(p).items()}
        about = v['pendulum_inertia'] * np.eye(3)
        about[2, 2] += v['pendulum_excess']
        return {
            'shell': RigidBody(
                mass=v['shell_mass'], centre=np.zeros(3), inertia=v['shell_inertia'] * np.eye(3)
            ),
            'pendulum': RigidBody(
                mass=v['pendulum_mass'],
                centre=np.array([0.0, 0.0, -v['pendulum_length']]),
                inertia=about,
            ),
        }

    def gravity(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return gravity in W [m/s^2]."""
        return self.parameters.unpack(p)['gravity_W']

    @cached_property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WC``, the frame of the wrench."""
        e = self.expressions
        return ca.Function('contact_frame', [e.x, e.p], [self.pose(e.x, e.p)[2]])

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> X_WS, X_WP, X_WC`` homogeneous matrices; names shell, pendulum, contact."""
        e = self.expressions
        contact = ca.vertcat(e.values['contact'], 0)
        centre = contact + e.params['shell_radius'] * E
        R_WS, R_WP = (rotation_matrix(e.values[k]) for k in ('q_WS', 'q_WP'))
        return ca.Function(
            'pose',
            [e.x, e.p],
            [
                homogeneous(R_WS, centre),
                homogeneous(R_WP, centre),
                homogeneous(ca.SX.eye(3), contact),
            ],
            ['x', 'p'],
            ['shell', 'pendulum', 'contact'],
        )

"""
Velocity control by internal masses: from a wanted velocity to accelerations of masses.

The outer loop asks for an acceleration of the ball or disk, within what friction and the reach of
the masses allow; it is turned into the place of the common centre of mass that gives the torque.
The inner loop brings the masses there along the rails, lowering them where there is a choice. What
comes out is judged before it is sent: contact forces are affine in the accelerations of the
masses, and a command that would leave the envelope is shortened until it does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import state_inputs, VELOCITY_W
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses import PointMassBall, PointMassDisk

MassDriven = PointMassBall | PointMassDisk
HALVINGS = 12  # of a command that would leave the envelope


@dataclass(frozen=True, kw_only=True)
class VelocityGains:
    """
    Gains and limits of the controller.

    Attributes
    ----------
    velocity
        From velocity error to acceleration [1/s].
    centre, rate
        From the miss of the centre of mass to the rates of the masses, and from these to their
        accelerations [1/s]; each several times faster than the one before.
    lower
        How fast masses sink where they have a choice [1/(kg m s)].
    friction_share
        Fraction of the coefficient of friction that may be used.
    normal_share
        Least normal force as a fraction of the weight.
    reach_share
        Fraction of the greatest sideways moment of the masses that is asked for.

    """

    velocity: float = 1.5
    centre: float = 8.0
    rate: float = 30.0
    lower: float = 4.0
    friction_share: float = 0.8
    normal_share: float = 0.3
    reach_share: float = 0.6

    def __post_init__(self) -> None:
        """Refuse gains that control nothing."""
        for name in ('velocity', 'centre', 'rate'):
            if not getattr(self, name) > 0:
                raise ParameterError(f'{name} must be positive [1/s], got {getattr(self, name)!r}')
        for name in ('friction_share', 'normal_share', 'reach_share'):
            if not 0 < getattr(self, name) <= 1:
                raise ParameterError(f'{name} must lie in (0, 1], got {getattr(self, name)!r}')


class MassDrivenVelocity:
    """Turns a wanted velocity on the plane into accelerations of the masses; see :class:`Law`."""

    period: float | None = None
    opaque = 'a pseudo-inverse of varying rank, and a search for the force that the floor allows'

    def __init__(
        self,
        ball: MassDriven,
        p: ArrayLike,
        gains: VelocityGains | None = None,
        *,
        rate_limit: float = 20.0,
        acceleration_limit: float = 400.0,
    ) -> None:
        """
        Prepare the functions.

        Parameters
        ----------
        ball, p
            A rolling ball with two masses on rails or more, or a disk with one or more, all of
            them controlled.
        gains
            Gains.
        rate_limit, acceleration_limit
            Greatest theta' and theta'' of a mass.

        Raises
        ------
        ParameterError
            There are too few masses to drive it wherever it can roll.

        """
        least = 1 if isinstance(ball, PointMassDisk) else 2
        if ball.control.size < least or ball.control.size != len(ball.masses):
            raise ParameterError(
                'velocity control takes a ball with two masses on rails or more, or a disk with '
                f'one or more, all of them controlled; this one has {ball.control.size} of '
                f'{len(ball.masses)}'
            )
        self.inputs, self.output = state_inputs(ball, VELOCITY_W), ball.control
        self.ball, self.p = ball, np.asarray(p, dtype=float)
        self.gains = gains or VelocityGains()
        self.rate_limit, self.acceleration_limit = rate_limit, acceleration_limit
        self._n = ball.control.size
        self._function = FastFunction(compiled(_quantities(ball))[0])
        params = ball.parameters.unpack(self.p)
        self._mass = float(params['mass'][0] + params['masses'].sum())
        self._radius, self._mu = float(params['radius'][0]), float(params['mu'][0])
        self._g = float(np.linalg.norm(params['gravity_W']))
        inertia = params['inertia'][:3] if 'inertia' in params else params['polar_inertia']
        self._inertia = float(inertia.mean())
        self._limits = [m.rail.stops for m in ball.masses]  # type: ignore[union-attr]

    def start(self, before: None = None) -> None:
        """Return that there is no memory; see :class:`rolling_controller.law.Law`."""

    def step(self, memory: None, inputs: ArrayLike, t: float) -> tuple[None, Array]:  # noqa: ARG002
        """
        Return theta'' of the masses; see :class:`rolling_controller.law.Law`.

        Parameters
        ----------
        memory
            None.
        inputs
            State, then the wanted velocity of the centre (x, y) in W [m/s] and a turn rate, which
            is not used; a disk keeps what is along x.
        t
            Time [s].

        """
        x, velocity = np.split(np.asarray(inputs, dtype=float), [-3])
        n, g = self._n, self.gains
        parts = np.split(self._function(x, t, self.p), np.cumsum([2, 3, 3 * n, 3, 3, 3 * n]))
        v, S, slope, drift, F0, F1 = parts[:6]
        A, F1 = slope.reshape(n, 3).T, F1.reshape(n, 3).T
        S_wanted = self._moment(velocity[:2] - v, abs(S[2]))
        pseudo = np.linalg.pinv(A[:2], rcond=1e-3)
        rate = pseudo @ (g.centre * (S_wanted - S[:2]) - drift[:2])
        idle = np.eye(n) - pseudo @ A[:2]
        rate = rate - g.lower * idle @ A[2]
        theta_rate = x[self.ball.state.slice('theta_rate')]
        rate = np.clip(rate, -self.rate_limit, self.rate_limit)
        u = np.clip(
            g.rate * (rate - theta_rate), -self.acceleration_limit, self.acceleration_limit
        )
        return None, self._inside(u, F0, F1)

    def _moment(self, error: Array, depth: float) -> Array:
        """Return the horizontal moment of the masses [kg m] that corrects a velocity."""
        a = self.gains.velocity * error
        most = self.gains.friction_share * self._mu * self._g
        a = a * min(1.0, most / max(float(np.linalg.norm(a)), 1e-12))
        r, M = self._radius, self._mass
        S = (M * r * r + self._inertia - r * depth) * a / (r * self._g)
        reach = self.gains.reach_share * max(depth, 1e-6)
        return np.asarray(S * min(1.0, reach / max(float(np.linalg.norm(S)), 1e-12)))

    def _inside(self, u: Array, F0: Array, F1: Array) -> Array:
        """Return the command, shortened until the contact holds."""
        for k in range(HALVINGS):
            share = 0.0 if k == HALVINGS - 1 else 0.5**k
            F = F0 + F1 @ (share * u)
            holds = np.hypot(F[0], F[1]) <= self.gains.friction_share * self._mu * F[2]
            if holds and F[2] >= self.gains.normal_share * self._mass * self._g:
                return share * u
        return 0.0 * u


def _quantities(ball: MassDriven) -> ca.Function:
    """Return ``(x, t, p) -> v, S, dS/dtheta, rate of S at rest on rails, F0, dF/du``."""
    s, shell, S_B = ball.symbols, ball.shell, ball.first_moment
    slope_B = ca.horzcat(
        *(ca.jacobian(S_B, s.values['theta'][k]) for k in range(ball.control.size))
    )
    force = ball.rolls.expressions.wrench[3:]
    F1 = ca.jacobian(force, s.u)
    F0 = ca.substitute(force, s.u, ca.SX.zeros(ball.control.size))
    out = ca.vertcat(
        ball.velocity_W[:2],
        shell.R_WB @ S_B,
        ca.vec(shell.R_WB @ slope_B),
        shell.R_WB @ ca.cross(shell.w, S_B),
        F0,
        ca.vec(ca.densify(F1)),
    )
    return ca.Function('velocity_quantities', [s.x, s.t, s.p], [ca.densify(out)])

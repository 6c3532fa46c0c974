"""
Velocity control by internal masses: from a wanted velocity to accelerations of masses.

The outer loop requests an acceleration of the ball or disk, within the limits of friction and of
the reach of the masses. It is converted to the position of the common centre of mass that gives
the torque. The inner loop brings the masses there along the rails, lowering them where there is a
choice. The result is checked before it is sent: contact forces are affine in the accelerations of
the masses. A command that would leave the envelope is scaled down until it does not.
"""

from __future__ import annotations

from itertools import combinations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import FunctionLaw, state_inputs, VELOCITY_W
from rolling_dynamics.errors import check_positive, ParameterError
from rolling_dynamics.internal_masses.system import MassDrivenSystem
from rolling_dynamics.per_system import once_per_system

HALVINGS = 12  # of a command that would leave the envelope
WEAK = 1e-3  # of the maximum singular value, below which one counts as zero
TINY = 1e-300  # keeps a quotient a number where it is not taken
GAIN = 1.5  # 1/s, from velocity error to acceleration
# 1/s, from the miss of the centre of mass to the rates of the masses, and from these to their
# accelerations; each several times faster than the one before
CENTRE, RATE = 8.0, 30.0
LOWER = 4.0  # 1/(kg m s), how fast masses sink where they have a choice
FRICTION = 0.8  # fraction of the coefficient of friction that may be used
NORMAL = 0.3  # least normal force as a fraction of the weight
REACH = 0.6  # fraction of the maximum sideways moment of the masses that is requested
ACCELERATION = 400.0  # maximum theta'' of a mass


class MassDrivenVelocity(FunctionLaw):
    """
    Law from a wanted velocity on the plane to accelerations of the masses; see :class:`Law`.

    The inputs are the state, the wanted velocity of the centre (x, y) in W [m/s] and a turn rate,
    which is not used; a disk keeps the part along x.
    """

    def __init__(
        self,
        ball: MassDrivenSystem,
        p: ArrayLike,
        *,
        velocity: float = GAIN,
        rate_limit: float = 20.0,
    ) -> None:
        """
        Prepare the function.

        Parameters
        ----------
        ball, p
            A rolling ball with at least two masses on rails, or a disk with at least one; all
            masses are controlled.
        velocity
            Gain from velocity error to acceleration [1/s].
        rate_limit
            Maximum theta' of a mass.

        Raises
        ------
        ParameterError
            There are too few masses to drive it in all directions, or the gain is not positive.

        """
        check_positive('velocity', velocity, '1/s')
        least = len(ball.plane) - 1  # directions along the floor
        if ball.control.size < least or ball.control.size != len(ball.masses):
            raise ParameterError(
                'velocity control takes a ball with two masses on rails or more, or a disk with '
                f'one or more, all of them controlled; this one has {ball.control.size} of '
                f'{len(ball.masses)}'
            )
        given = velocity, rate_limit, *np.asarray(p, dtype=float)
        super().__init__(state_inputs(ball, VELOCITY_W), ball.control, _accelerations(ball), given)


@once_per_system
def _accelerations(ball: MassDrivenSystem) -> ca.Function:
    """Return a law without memory to theta''; given are velocity gain, rate limit, and p."""
    s, shell, S_B = ball.symbols, ball.shell, ball.first_moment
    inputs, velocity = ca.SX.sym('inputs', s.x.numel() + 3), ca.SX.sym('velocity')
    rate_limit = ca.SX.sym('rate_limit')
    n, params = ball.control.size, s.params
    slope = [ca.jacobian(S_B, s.values['theta'][k]) for k in range(n)]
    A = ca.densify(shell.R_WB @ ca.horzcat(*slope))
    S, drift = shell.R_WB @ S_B, shell.R_WB @ ca.cross(shell.w, S_B)
    error = inputs[s.x.numel() : s.x.numel() + 2] - ball.velocity_W[:2]
    pseudo = _pseudo_inverse(A[:2, :])
    moment = _moment(ball, velocity * error, ca.fabs(S[2]))
    rate = pseudo @ (CENTRE * (moment - S[:2]) - drift[:2])
    down = A[2, :].T
    rate -= LOWER * (down - pseudo @ (A[:2, :] @ down))  # where there is a choice
    rate = _clipped(rate, rate_limit)
    u = _clipped(RATE * (rate - s.values['theta_rate']), ACCELERATION)
    force = ball.expressions.wrench[3:]
    F0 = ca.substitute(force, s.u, ca.SX.zeros(n))
    F1 = ca.jacobian(force, s.u)
    mu, weight = params['mu'], _mass(ball) * ca.norm_2(params['gravity_W'])
    kept = ca.SX(0)
    for k in reversed(range(HALVINGS - 1)):
        F = F0 + F1 @ (0.5**k * u)
        holds = ca.sqrt(ca.sumsqr(F[:2])) <= FRICTION * mu * F[2]
        holds = ca.logic_and(holds, F[2] >= NORMAL * weight)
        kept = ca.if_else(holds, 0.5**k, kept)
    out = ca.substitute(ca.densify(kept * u), s.x, inputs[: s.x.numel()])
    given = ca.vertcat(velocity, rate_limit, s.p)
    memory = ca.SX.sym('memory', 0)
    return ca.Function('mass_driven_velocity', [memory, inputs, s.t, given], [ca.cse(out)])


def _mass(ball: MassDrivenSystem) -> ca.SX:
    params = ball.symbols.params
    return params['mass'] + ca.sum1(params['masses'])


def _moment(ball: MassDrivenSystem, wanted: ca.SX, depth: ca.SX) -> ca.SX:
    """Return the horizontal moment of the masses [kg m] for an acceleration [m/s^2]."""
    params = ball.symbols.params
    inertia = params.get('polar_inertia', ca.SX(0))
    if 'inertia' in params:
        inertia = ca.sum1(params['inertia'][:3]) / 3
    r, gravity = params['radius'], ca.norm_2(params['gravity_W'])
    a = _shortened(wanted, FRICTION * params['mu'] * gravity)
    S = (_mass(ball) * r * r + inertia - r * depth) * a / (r * gravity)
    return _shortened(S, REACH * ca.fmax(depth, 1e-6))


def _shortened(v: ca.SX, most: ca.SX) -> ca.SX:
    """Return a vector no longer than a length, in its direction."""
    return v * ca.fmin(1, most / ca.fmax(ca.norm_2(v), 1e-12))


def _clipped(v: ca.SX, most: ca.SX | float) -> ca.SX:
    return ca.fmax(ca.fmin(v, most), -most)


def _pseudo_inverse(A: ca.SX) -> ca.SX:
    """
    Return the pseudo-inverse (n, 2) of a matrix (2, n).

    A singular value below :data:`WEAK` times the maximum counts as zero.
    """
    M = A @ A.T
    middle, half = (M[0, 0] + M[1, 1]) / 2, (M[0, 0] - M[1, 1]) / 2
    most = middle + ca.sqrt(half**2 + M[0, 1] ** 2)  # squares of the singular values
    pairs = combinations(range(A.shape[1]), 2)
    minors = [A[0, i] * A[1, j] - A[0, j] * A[1, i] for i, j in pairs]
    determinant = ca.sumsqr(ca.vertcat(*minors)) if minors else ca.SX(0)
    least = determinant / ca.fmax(most, TINY)
    adjoint = ca.vertcat(ca.horzcat(M[1, 1], -M[0, 1]), ca.horzcat(-M[0, 1], M[0, 0]))
    weak = least <= WEAK**2 * most
    along = (M - least * ca.SX.eye(2)) / ca.fmax((most - least) * most, TINY)
    return A.T @ ca.if_else(weak, along, adjoint / ca.fmax(determinant, TINY))

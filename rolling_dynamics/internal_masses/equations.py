"""Equations of balls and disks with masses inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
from rolling_dynamics.mechanism.dynamics import Dynamics, Wrench
from rolling_dynamics.mechanism.elimination import eliminate
from rolling_dynamics.mechanism.link import Link
from rolling_dynamics.mechanism.mass import Moments, MovingPoint, point_second


@dataclass(frozen=True, eq=False)
class ModeExpressions:
    """
    One mode of motion as expressions.

    Attributes
    ----------
    xdot
        Rates of the state.
    force_W
        Contact force in W (3,) [N]: friction, friction, N.
    guards
        Name -> margin.
    power
        Power of the actuators [W].

    """

    xdot: ca.SX
    force_W: ca.SX
    guards: Mapping[str, ca.SX]
    power: ca.SX


@dataclass(frozen=True, eq=False)
class PlanarPoint:
    """A mass with zeta_1, zeta_3 and their derivatives as seen from the body, shapes (2,)."""

    mass: ca.SX
    zeta: ca.SX
    zeta_dot: ca.SX
    zeta_ddot: ca.SX


@dataclass(frozen=True, eq=False)
class DiskState:
    """What the equations of motion of a disk depend on; see :class:`BallState`."""

    points: Sequence[PlanarPoint]
    inertia: ca.SX
    radius: ca.SX
    phi: ca.SX
    phi_dot: ca.SX
    gravity_W: ca.SX
    force_W: ca.SX

    @property
    def total_mass(self) -> ca.SX:
        """M [kg]."""
        return sum((p.mass for p in self.points), ca.SX(0))


def _gravity_axes(state: DiskState) -> tuple[ca.SX, ca.SX]:
    """Return gravity along E1 and E3."""
    c, s, g = ca.cos(state.phi), ca.sin(state.phi), state.gravity_W
    return c * g[0] + s * g[1], -s * g[0] + c * g[1]


def rolling_acceleration(state: DiskState) -> ca.SX:
    """Return phi'', Eqs. (4.1), (4.2); (4.5) without masses."""
    r, rate = state.radius, state.phi_dot
    c, s = ca.cos(state.phi), ca.sin(state.phi)
    g1, g3 = _gravity_axes(state)
    top, bottom = -r * state.force_W[0], state.inertia
    for p in state.points:
        z1, z3 = p.zeta[0], p.zeta[1]
        along1, along3 = r * s + z1, r * c + z3
        # with gravity (0, -g) the first two terms are g (z3 sin phi - z1 cos phi)
        K = along1 * g3 - along3 * g1
        K += r * rate**2 * (z3 * s - z1 * c)
        K += along3 * (-2 * rate * p.zeta_dot[1] + p.zeta_ddot[0])
        K -= along1 * (2 * rate * p.zeta_dot[0] + p.zeta_ddot[1])  # (4.2)
        top += p.mass * K
        bottom += p.mass * (along1**2 + along3**2)
    return top / bottom  # (4.1)


def _relative(state: DiskState, p: PlanarPoint, phi_ddot: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return the acceleration of a mass over the centre along E1, E3, Eq. (A.9) less r phi''."""
    rate = state.phi_dot
    first = -phi_ddot * p.zeta[1] - rate**2 * p.zeta[0]
    third = phi_ddot * p.zeta[0] - rate**2 * p.zeta[1]
    return (
        first - 2 * rate * p.zeta_dot[1] + p.zeta_ddot[0],
        third + 2 * rate * p.zeta_dot[0] + p.zeta_ddot[1],
    )


def contact_force(state: DiskState, phi_ddot: ca.SX) -> ca.SX:
    """Return friction along e1 and N [N], Eqs. (4.3), (4.4); (4.6), (4.7) without masses."""
    c, s, M = ca.cos(state.phi), ca.sin(state.phi), state.total_mass
    friction = -M * state.radius * phi_ddot - M * state.gravity_W[0] - state.force_W[0]
    normal = -M * state.gravity_W[1] - state.force_W[1]
    for p in state.points:
        a1, a3 = _relative(state, p, phi_ddot)
        friction += p.mass * (a1 * c - a3 * s)
        normal += p.mass * (a1 * s + a3 * c)
    return ca.vertcat(friction, normal)


def flight_acceleration(state: DiskState) -> tuple[ca.SX, ca.SX]:
    """Return phi'' and the acceleration of the centre along e1, e3, Eqs. (B.18), (B.19)."""
    c, s, M = ca.cos(state.phi), ca.sin(state.phi), state.total_mass
    F1, F3, rate = state.force_W[0], state.force_W[1], state.phi_dot
    P = [-(rate**2) * p.zeta[1] + 2 * rate * p.zeta_dot[0] + p.zeta_ddot[1] for p in state.points]
    Q = [-(rate**2) * p.zeta[0] - 2 * rate * p.zeta_dot[1] + p.zeta_ddot[0] for p in state.points]
    top, bottom = ca.SX(0), M * state.inertia
    for i, a in enumerate(state.points):
        z1, z3 = a.zeta[0], a.zeta[1]
        top += a.mass * (F1 * (z1 * s + z3 * c) - F3 * (z1 * c - z3 * s))
        bottom -= a.mass * (a.mass - M) * (z1**2 + z3**2)
        for j, b in enumerate(state.points):
            V = z1 * P[j] - z3 * Q[j]
            top += a.mass * (b.mass - (M if i == j else 0)) * V
            if j > i:
                bottom -= 2 * a.mass * b.mass * (z1 * b.zeta[0] + z3 * b.zeta[1])
    phi_ddot = top / bottom
    force = state.force_W + M * state.gravity_W
    for p in state.points:
        a1, a3 = _relative(state, p, phi_ddot)
        force -= p.mass * ca.vertcat(a1 * c - a3 * s, a1 * s + a3 * c)
    return phi_ddot, force / M


@dataclass(frozen=True, eq=False)
class Response:
    """
    Accelerations, or jumps of velocity under an impulse.

    Attributes
    ----------
    turn
        dOmega/dt in the body (3,) of a ball, phi'' of a disk.
    centre_W
        Acceleration of the geometric centre in W; (3,), of a disk (2,).

    """

    turn: ca.SX
    centre_W: ca.SX


def disk_response(state: DiskState, force_W: ca.SX) -> Response:
    """Return the answer of a disk to a force (along e1, along e3) at its contact point."""
    M, first, inertia = state.total_mass, ca.SX.zeros(2), state.inertia
    c, s = ca.cos(state.phi), ca.sin(state.phi)
    for p in state.points:
        z1, z3 = p.zeta[0], p.zeta[1]
        first += p.mass * ca.vertcat(-z1 * s - z3 * c, z1 * c - z3 * s)  # d position / d phi
        inertia += p.mass * (z1**2 + z3**2)
    torque = state.radius * force_W[0]
    turn = (torque - ca.dot(first, force_W) / M) / (inertia - ca.dot(first, first) / M)
    return Response(turn, (force_W - first * turn) / M)


@dataclass(frozen=True, eq=False)
class Sliding:
    """
    Motion under Coulomb friction.

    Attributes
    ----------
    turn, centre_W
        Accelerations.
    force_W
        Contact force.
    coefficient
        What multiplies N in the vertical acceleration of the contact; the motion is determined
        only where it is positive (Painleve).

    """

    turn: ca.SX
    centre_W: ca.SX
    force_W: ca.SX
    coefficient: ca.SX


def sliding(
    free: Response, answer: Callable[[ca.SX], Response], direction_W: ca.SX, mu: ca.SX
) -> Sliding:
    """
    Return the motion in which the contact stays on the plane and slides.

    Parameters
    ----------
    free
        Accelerations without a contact force.
    answer
        ``force_W -> Response``.
    direction_W
        Direction of slip; the last component is zero.
    mu
        Kinetic coefficient of friction.

    """
    size = direction_W.numel()
    unit = ca.vertcat(ca.SX.zeros(size - 1), 1) - mu * direction_W
    of_unit = answer(unit)
    coefficient = of_unit.centre_W[-1]
    N = -free.centre_W[-1] / coefficient
    return Sliding(
        free.turn + N * of_unit.turn, free.centre_W + N * of_unit.centre_W, N * unit, coefficient
    )


@dataclass(frozen=True, eq=False)
class BallState:
    """
    What the equations of motion of a ball depend on.

    Attributes
    ----------
    points
        The shell (chi_0, at rest in the body) and the masses.
    inertia
        Inertia of the shell about its centre of mass, 3x3 [kg m^2].
    radius
        r [m].
    R_WB
        Lambda, attitude.
    Omega
        Body angular velocity [rad/s].
    gravity_W, force_W
        Gravity [m/s^2] and external force at the geometric centre [N], in W.

    """

    points: Sequence[MovingPoint]
    inertia: ca.SX
    radius: ca.SX
    R_WB: ca.SX
    Omega: ca.SX
    gravity_W: ca.SX
    force_W: ca.SX

    @property
    def total_mass(self) -> ca.SX:
        """M [kg]."""
        return sum((p.mass for p in self.points), ca.SX(0))

    @property
    def Gamma(self) -> ca.SX:
        """The vertical in the body, Lambda^-1 e3."""
        return self.R_WB[2, :].T

    @property
    def gravity(self) -> ca.SX:
        """Gravity in the body."""
        return self.R_WB.T @ self.gravity_W

    def _dynamics(self, turn: ca.SX, move: ca.SX) -> Dynamics:
        """Return the equations where the speeds turn and move the body like this."""
        moved, zero = self.points[1:], ca.SX(3, 1)
        second = sum((point_second(p.mass, p.place) for p in self.points), self.inertia)
        first = sum((p.mass * p.place for p in self.points), zero)
        force, torque = self.R_WB.T @ self.force_W, zero
        for p in moved:
            taken = p.mass * p.coasting(self.Omega)
            force -= taken
            torque -= ca.cross(p.place, taken)
        shell = Link(
            R_WB=self.R_WB,
            R_WF=self.R_WB,
            p_WB=zero,
            w=self.Omega,
            v=zero,
            turn=turn,
            move=move,
            moments=Moments(self.total_mass, first, ca.SX(1, 1), rest=second),
        )
        return Dynamics([shell], [-1], self.gravity_W, {0: Wrench(torque, force)}, [])

    @cached_property
    def rolling(self) -> Dynamics:
        """Equations of rolling; the rates are those of Omega, Eqs. (2.20), (3.2)."""
        return self._dynamics(ca.SX.eye(3), -self.radius * ca.skew(self.Gamma))

    @cached_property
    def flight(self) -> Dynamics:
        """Equations of flight; the rates are the centre's acceleration in B and that of Omega."""
        still, all_axes = ca.SX(3, 3), ca.SX.eye(3)
        return self._dynamics(ca.horzcat(still, all_axes), ca.horzcat(all_axes, still))

    @property
    def rolling_force(self) -> ca.SX:
        """Force of the ground on the rolling ball in W (3) [N], Eqs. (3.3), (3.4)."""
        return self.R_WB @ self.rolling.carried(0, self.rolling.rates).force

    @property
    def free(self) -> tuple[ca.SX, ca.SX]:
        """dOmega/dt and acceleration of the centre in W in flight, Eqs. (B.6), (B.15), (B.17)."""
        return self._in_world(self.flight.rates)

    def answer(self, force_W: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the accelerations that a force at the contact point alone gives, as ``free``."""
        force = self.R_WB.T @ force_W
        torque = ca.cross(-self.radius * self.Gamma, force)
        matrix, _ = self.flight.equations
        return self._in_world(eliminate(matrix, ca.vertcat(force, torque), symmetric=True))

    def _in_world(self, rates: ca.SX) -> tuple[ca.SX, ca.SX]:
        return rates[3:], self.R_WB @ rates[:3]


def ball_integrals(
    state: BallState, position_W: ca.SX, velocity_W: ca.SX, *, static: bool
) -> dict[str, ca.SX]:
    """
    Return integrals by name.

    Parameters
    ----------
    state
        The ball.
    position_W, velocity_W
        Of the geometric centre.
    static
        Whether there are no masses: adds the integrals of Jellett and Routh.

    """
    R, w = state.R_WB, state.Omega
    mean = sum(p.mass * p.place for p in state.points) / state.total_mass
    kinetic = ca.dot(w, state.inertia @ w) / 2
    potential = ca.SX(0)
    linear, about_mean, about_contact = ca.SX.zeros(3), R @ state.inertia @ w, ca.SX.zeros(3)
    about_contact += R @ state.inertia @ w
    v_mean = ca.SX.zeros(3)
    speeds = [velocity_W + R @ (ca.cross(w, p.place) + p.rate) for p in state.points]
    for p, v in zip(state.points, speeds, strict=True):
        v_mean += p.mass * v / state.total_mass
    for p, v in zip(state.points, speeds, strict=True):
        kinetic += p.mass * ca.dot(v, v) / 2
        potential -= p.mass * ca.dot(state.gravity_W, position_W + R @ p.place)
        linear += p.mass * v
        about_mean += p.mass * ca.cross(R @ (p.place - mean), v - v_mean)
        about_contact += p.mass * ca.cross(R @ p.place + ca.vertcat(0, 0, state.radius), v)
    out = {'energy': kinetic + potential}
    for name, vector in (
        ('linear_momentum', linear),
        ('angular_momentum', about_mean),
        ('contact_momentum', about_contact),
    ):
        out |= {f'{name}_{s}': vector[k] for k, s in enumerate('xyz')}
    return out | (_routh(state) if static else {})


def _routh(state: BallState) -> dict[str, ca.SX]:
    """Return the integrals of Jellett and of Routh."""
    m, s = state.points[0].mass, state.radius * state.Gamma + state.points[0].place
    I1, I3 = state.inertia[0, 0], state.inertia[2, 2]
    inner = I1 * I3 + m * (I1 * (s[0] ** 2 + s[1] ** 2) + I3 * s[2] ** 2)
    return {
        'jellett': ca.dot(state.inertia @ state.Omega, s),
        'routh': state.Omega[2] * ca.sqrt(inner),
    }

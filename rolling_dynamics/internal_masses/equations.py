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
class Response:
    """
    Accelerations, or jumps of velocity under an impulse.

    Attributes
    ----------
    turn
        About the axes of the body: dOmega/dt (3,) of a ball, phi'' of a disk.
    centre_W
        Acceleration of the geometric centre in W (3,).

    """

    turn: ca.SX
    centre_W: ca.SX


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
    unit = ca.vertcat(0, 0, 1) - mu * direction_W
    of_unit = answer(unit)
    coefficient = of_unit.centre_W[2]
    N = -free.centre_W[2] / coefficient
    return Sliding(
        free.turn + N * of_unit.turn, free.centre_W + N * of_unit.centre_W, N * unit, coefficient
    )


@dataclass(frozen=True, eq=False)
class BallState:
    """
    What the equations of motion of a ball depend on; a disk is a ball in a plane.

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
    axes
        Axes in the body about which it turns (3, k).
    plane
        Axes of body and W along which it moves, by number.

    """

    points: Sequence[MovingPoint]
    inertia: ca.SX
    radius: ca.SX
    R_WB: ca.SX
    Omega: ca.SX
    gravity_W: ca.SX
    force_W: ca.SX
    axes: ca.DM
    plane: Sequence[int]

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
        """Equations of rolling; the rates are those of Omega, Eqs. (2.20), (3.2), (4.1)."""
        axes = ca.SX(self.axes)
        return self._dynamics(axes, -self.radius * ca.skew(self.Gamma) @ axes)

    @cached_property
    def flight(self) -> Dynamics:
        """Equations of flight; the rates are the centre's acceleration in B and that of Omega."""
        along = ca.SX.eye(3)[:, list(self.plane)]
        turn = ca.horzcat(ca.SX(3, along.shape[1]), ca.SX(self.axes))
        return self._dynamics(turn, ca.horzcat(along, ca.SX(*self.axes.shape)))

    @property
    def rolling_force(self) -> ca.SX:
        """Force of the ground in rolling in W (3) [N], Eqs. (3.3), (3.4), (4.3), (4.4)."""
        return self.R_WB @ self.rolling.carried(0, self.rolling.rates).force

    @property
    def free(self) -> Response:
        """Accelerations in flight, Eqs. (B.6), (B.15), (B.17); (B.18), (B.19) of a disk."""
        return self._response(self.flight.rates)

    def answer(self, force_W: ca.SX) -> Response:
        """Return the accelerations that a force at the contact point alone gives."""
        force = self.R_WB.T @ force_W
        torque = ca.cross(-self.radius * self.Gamma, force)
        right = ca.vertcat(force[list(self.plane)], ca.SX(self.axes).T @ torque)
        matrix, _ = self.flight.equations
        return self._response(eliminate(matrix, right, symmetric=True))

    def _response(self, rates: ca.SX) -> Response:
        size = len(self.plane)
        return Response(rates[size:], self.R_WB[:, list(self.plane)] @ rates[:size])


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

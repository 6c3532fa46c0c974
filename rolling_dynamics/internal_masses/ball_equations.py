"""
A ball with internal point masses as the equations see it, in rolling and in flight.

Both follow from one description: a shell that rolls, or that nothing holds, and points that move
in it. The equations are those of Putkaradze & Rogers (normal force), Sections 2, 3 and Appendix B.
Vectors are in the body frame unless named otherwise; the body's origin is the geometric centre,
and the first point is the shell with its centre of mass at chi_0. Gravity is a vector: Lambda^-1
gravity stands for -g Gamma of the paper, so that the plane may be inclined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
from rolling_dynamics.mechanism.dynamics import Dynamics, Wrench
from rolling_dynamics.mechanism.elimination import eliminate
from rolling_dynamics.mechanism.link import Link
from rolling_dynamics.mechanism.mass import Moments, MovingPoint, point_second


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

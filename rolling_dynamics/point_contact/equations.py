"""Equations of a body that touches another one in a point, where it flies and where it slips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.mechanism.dynamics import Dynamics
from rolling_dynamics.mechanism.elimination import eliminate
from rolling_dynamics.mechanism.link import Link


class Response(NamedTuple):
    """
    Accelerations of a body, or jumps of its velocities under an impulse.

    ``turn`` holds the rates of its angular speeds, in the axes of the body; ``centre`` the
    acceleration of its origin relative to free fall, in axes A.
    """

    turn: ca.SX
    centre: ca.SX

    def plus(self, factor: ca.SX, other: Response) -> Response:
        """Return the sum with a multiple of another one."""
        return Response(self.turn + factor * other.turn, self.centre + factor * other.centre)


class Sliding(NamedTuple):
    """
    Motion under Coulomb friction.

    Attributes
    ----------
    response
        Accelerations.
    force, torque
        Of the contact on the body, in axes A [N], [N m].
    margin
        Acceleration of the gap per normal force [1/kg]. The motion is determined only where it is
        positive (Painleve).

    """

    response: Response
    force: ca.SX
    torque: ca.SX
    margin: ca.SX


@dataclass(frozen=True, eq=False, kw_only=True)
class OneContact:
    """
    A body on a Flying joint that touches another one; vectors are in any axes A.

    Attributes
    ----------
    dynamics
        Equations of flight.
    body
        Number of the body.
    moves
        Number of its speeds that move its origin; they come before those that turn it.
    R_FA
        Axes A expressed in the axes of the body.
    normal
        Unit vector out of the other body.
    reach_F, reach
        Contact point from the origin of the body, in its axes and in A [m].
    bias
        Acceleration of the gap at zero rates of the speeds [m/s^2].

    """

    dynamics: Dynamics
    body: int
    moves: int
    R_FA: ca.SX
    normal: ca.SX
    reach_F: ca.SX
    reach: ca.SX
    bias: ca.SX

    @property
    def _link(self) -> Link:
        return self.dynamics.links[self.body]

    @property
    def mass(self) -> ca.SX:
        """Mass of the body with what it carries [kg]."""
        return self.dynamics.composites[self.body].mass

    @property
    def _turn(self) -> ca.SX:
        """Axes about which the body turns (3, k)."""
        return self._link.turn[:, self.moves :]

    def _response(self, rates: ca.SX) -> Response:
        return Response(rates[self.moves :], self.R_FA.T @ (self._link.move @ rates))

    def rates(self, r: Response) -> ca.SX:
        """Return the rates of the speeds."""
        along = self._link.move[:, : self.moves].T @ (self.R_FA @ r.centre)
        return ca.vertcat(along, r.turn)

    @cached_property
    def free(self) -> Response:
        """Accelerations without contact."""
        return self._response(self.dynamics.rates)

    def answer(self, force: ca.SX, torque: ca.SX | None = None) -> Response:
        """Return what a force [N] and a torque [N m] at the contact add; impulses the same."""
        M, k = self.dynamics.equations[0], self.moves
        torque = ca.SX(3, 1) if torque is None else torque
        if M[:k, k:].is_zero():  # the origin is the centre of mass
            moment = self.R_FA @ (ca.cross(self.reach, force) + torque)
            turn = eliminate(M[k:, k:], self._turn.T @ moment, symmetric=True)
            return Response(turn, force / self.mass)
        pushed = self.R_FA @ force
        moment = ca.cross(self.reach_F, pushed) + self.R_FA @ torque
        right = self._link.move.T @ pushed + self._link.turn.T @ moment
        return self._response(eliminate(M, right, symmetric=True))

    def acceleration(self, r: Response) -> ca.SX:
        """Return the acceleration of the contact point by accelerations of the body."""
        return r.centre + self.R_FA.T @ ca.cross(self._turn @ r.turn, self.reach_F)

    def _lift(self, r: Response) -> ca.SX:
        """Return the normal part of :meth:`acceleration`."""
        across = self._turn.T @ ca.cross(self.reach_F, self.R_FA @ self.normal)
        return ca.dot(self.normal, r.centre) + ca.dot(across, r.turn)

    @property
    def lift(self) -> ca.SX:
        """Acceleration of the gap without contact [m/s^2]."""
        return self._lift(self.free) + self.bias

    def sliding(self, direction: ca.SX, mu: ca.SX, torque: ca.SX | None = None) -> Sliding:
        """
        Return the motion in which the contact stays closed and slides.

        Parameters
        ----------
        direction
            Unit vector of slip.
        mu
            Kinetic coefficient of friction.
        torque
            Torque of the contact on the body over the normal force (3) [m].

        """
        twist, unit = ca.SX(3, 1) if torque is None else torque, self.normal - mu * direction
        per_force = self.answer(unit, torque)
        margin = self._lift(per_force)
        N = -self.lift / margin
        return Sliding(self.free.plus(N, per_force), N * unit, N * twist, margin)

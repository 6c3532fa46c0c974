"""What the contact point of a ball or a disk does, as functions of the state."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import casadi as ca
from rolling_dynamics.internal_masses.contact_response import Response, sliding
from rolling_dynamics.internal_masses.system import MassDrivenSystem


class ContactFunctions(MassDrivenSystem):
    """Functions for impacts and for the beginning of slip; ball and disk fill in the vectors."""

    axes: int  # 3 of a ball, 2 (x, z) of a disk

    @abstractmethod
    def answer(self, force_W: ca.SX) -> Response:
        """Return the answer to a force or an impulse at the contact point."""

    @abstractmethod
    def free(self) -> Response:
        """Return the accelerations without a contact force."""

    @abstractmethod
    def of_contact(self, turn: ca.SX, centre_W: ca.SX) -> ca.SX:
        """Return the lowest point's velocity from the velocities; accelerations alike."""

    @abstractmethod
    def velocities(self) -> tuple[ca.SX, ca.SX]:
        """Return angular velocity and velocity of the centre in W."""

    @cached_property
    def answer_to_impulse(self) -> ca.Function:
        """``(x, t, p, impulse in W) -> jumps of angular velocity and of v_WB_W``."""
        s, impulse = self.symbols, ca.SX.sym('impulse', self.axes)
        answer = self.answer(impulse)
        return ca.Function('answer', [s.x, s.t, s.p, impulse], [answer.turn, answer.centre_W])

    @cached_property
    def contact_velocity(self) -> ca.Function:
        """``(x, p) -> velocity`` of the body's lowest point in W [m/s]."""
        s = self.symbols
        return ca.Function('contact_velocity', [s.x, s.p], [self.of_contact(*self.velocities())])

    @cached_property
    def slip_onset(self) -> ca.Function:
        """``(x, u, t, p, direction) -> acceleration of slip`` when it begins in a direction."""
        s, d = self.symbols, ca.SX.sym('direction', self.axes - 1)
        motion = sliding(self.free(), self.answer, ca.vertcat(d, 0), s.params['mu_kinetic'])
        slip = self.of_contact(motion.turn, motion.centre_W)[: self.axes - 1]
        return ca.Function('slip_onset', [s.x, s.u, s.t, s.p, d], [slip])

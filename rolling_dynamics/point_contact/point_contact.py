"""What the decisions at a contact point need of a system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import casadi as ca
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.mode import Mode


class Landing(NamedTuple):
    """State after an impact, its impulse [N s], shape (3,), and whether the contact sticks."""

    state: Array
    impulse: Array
    sticks: bool


class PointContact(Protocol):
    """
    A system in which one body touches another in one point, with Coulomb friction.

    Its modes are ``rolling``, ``slipping`` and ``separated``; with spin friction also
    ``pure_rolling`` and ``pure_slipping``, and where the other body ends, ``off_hand``. Vectors
    have three numbers, the third along the normal; in a plane the second is zero.

    Attributes
    ----------
    planar
        Whether slip has the first direction only.
    slides
        Whether the motion goes on after slip begins.
    velocity_entry
        Entry of the state that holds the velocity of the body's centre; its first numbers are
        those along the other body.
    spin_entry
        Entry whose third number is the spin; None where there is no spin friction.
    touch
        ``(x, p) -> gap [m], velocity of the contact [m/s], its place [m], spin [rad/s]``.
    slip_onset
        ``(x, u, t, p, direction (2)) -> acceleration of slip (2) [m/s^2], normal force [N],
        margin``: when slip begins in a direction; where the margin is not positive, Coulomb
        friction does not determine the normal force (Painleve).
    contact_axes
        ``(x, p) -> R (3, 3)``: from the contact frame to that of the velocities; in space only.
    free_lift
        ``(x, u, t, p) -> acceleration of the gap without contact [m/s^2]``.

    """

    slides: bool
    velocity_entry: str
    spin_entry: str | None

    @property
    def planar(self) -> bool:
        """Whether slip has the first direction only."""
        ...

    @property
    def state(self) -> Layout:
        """Layout of x."""
        ...

    @property
    def parameters(self) -> Layout:
        """Layout of p."""
        ...

    @property
    def modes(self) -> Mapping[str, Mode]:
        """Modes of motion by name."""
        ...

    @property
    def touch(self) -> ca.Function:
        """Return the function; see above."""
        ...

    @property
    def slip_onset(self) -> ca.Function:
        """Return the function; see above."""
        ...

    @property
    def free_lift(self) -> ca.Function:
        """Return the function; see above."""
        ...

    @property
    def contact_axes(self) -> ca.Function:
        """Return the function; see above."""
        ...

    def landing(self, x: Array, t: float, p: Array) -> Landing:
        """Return what an impact leaves; raise JammingError if it has no end."""
        ...

    def over_hand(self, x: Array, p: Array) -> bool:
        """Tell whether the contact point lies within the edges of the other body."""
        ...

"""Contact at a point with Coulomb friction, and the direction of slip."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from typing import NamedTuple, Protocol

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.rolling_system import Mode


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


DIRECTIONS = 36  # looked at on the circle


class Onset(NamedTuple):
    """Slip that begins: its acceleration (2) [m/s^2], normal force [N], Painleve's margin."""

    acceleration: Array
    normal_force: float
    margin: float

    def grows(self, direction: Array) -> bool:
        """Tell whether slip in this direction, a unit vector, can begin."""
        determined = self.normal_force > 0 and self.margin > 0
        return determined and float(self.acceleration @ direction) > 0


def slip_direction(onset: Callable[[Array], Onset], likely: Array, *, planar: bool) -> Array:
    """
    Return the unit vector along which slip begins.

    Parameters
    ----------
    onset
        ``direction (2,) -> Onset``.
    likely
        What is chosen if several directions fit: the nearest to this one; shape (2,).
    planar
        Whether there is only the first of the two directions.

    """
    middle = math.atan2(likely[1], likely[0]) if np.any(likely) else 0.0
    if planar:
        sign = 1.0 if likely[0] >= 0 else -1.0
        d = np.array([sign, 0.0])
        return -d if not onset(d).grows(d) and onset(-d).grows(-d) else d

    def across(angle: float) -> float:
        a = onset(_unit(angle)).acceleration
        return float(-a[0] * math.sin(angle) + a[1] * math.cos(angle))

    step = 2 * math.pi / DIRECTIONS
    angles = [middle + (k - DIRECTIONS / 2 + 0.5) * step for k in range(DIRECTIONS + 1)]
    values = [across(angle) for angle in angles]
    found = []
    for k in range(DIRECTIONS):
        if values[k] > 0 >= values[k + 1]:
            angle = _root(across, angles[k], angles[k + 1])
            d = _unit(angle)
            found.append((not onset(d).grows(d), abs(angle - middle), angle))
    return _unit(min(found)[2]) if found else _unit(middle)


def _unit(angle: float) -> Array:
    return np.array([math.cos(angle), math.sin(angle)])


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    """Return where f falls through zero between low and high."""
    for _ in range(48):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return (low + high) / 2

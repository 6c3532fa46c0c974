"""State of the contact from poses and twists, fast enough for a 1 kHz loop."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contact.separation import posed_state

APART = 5e-3  # m between the bodies beyond which the contact is sought elsewhere too
REACH = 0.25  # share of the chart within which Newton's method is trusted
PLACES = (6, 2)  # of the hand's chart, where an object that was put elsewhere is looked for

Found = tuple[bool, float, NDArray[np.float64]]


class Source(Protocol):
    """What makes a state of poses and twists of hand and object, 13 numbers each."""

    def state(self, hand: ArrayLike, object_: ArrayLike) -> tuple[NDArray[np.float64], float]:
        """Return the state, and the gap between the bodies [m]."""
        ...

    def restart(self) -> None:
        """Begin anew after a state that was none."""


class StateSource:
    """
    Turns poses and twists of hand and object into the state, without iterating to a tolerance.

    The object is taken to touch the hand: a measured gap is projected away along the normal, and
    the velocity of the contact point is that of rolling.
    """

    def __init__(self, system: ContactSystem, params: ArrayLike, contact_h: ArrayLike) -> None:
        """
        Compile the conversion.

        Parameters
        ----------
        system
            A system in the representation ``attitude``.
        params
            Its parameters p.
        contact_h
            Chart coordinates of the hand near which the contact is at first.

        """
        self._start = np.array(contact_h, dtype=float)
        self._near = self._start.copy()
        self._contact = system.state.slice('contact_h')
        self._size = system.state.size
        self._convert = FastFunction(compiled(posed_state(system))[0])
        self._params = np.asarray(params, dtype=float)
        low, high = system.hand_surface.box()
        self._reach = REACH * (high - low)
        grid = (np.indices(PLACES).reshape(2, -1).T + 0.5) / PLACES
        self._places = low + grid * (high - low)

    def _found(self, hand: ArrayLike, object_: ArrayLike, near: NDArray[np.float64]) -> Found:
        """
        Return whether Newton's method went far from here, the distance left [m], and its result.

        Far away it may end a whole turn from the place that is meant, which a chart without a
        period takes for another one.
        """
        out = self._convert(hand, object_, near, self._params)
        apart = math.hypot(*out[self._size :].tolist())
        far = bool((abs(out[self._contact] - near) > self._reach).any())
        return far, apart if math.isfinite(apart) else math.inf, out

    def restart(self) -> None:
        """Search from the first contact point again."""
        self._near = self._start.copy()

    def state(self, hand: ArrayLike, object_: ArrayLike) -> tuple[NDArray[np.float64], float]:
        """
        Return the state and the gap between the bodies.

        Parameters
        ----------
        hand, object_
            q (w, x, y, z), p [m] in the world, w [rad/s], v [m/s] in the body; 13 numbers each.

        Returns
        -------
        x
            Shape (state.size,).
        gap
            Distance along the normal [m]; negative where the bodies overlap.

        """
        best = self._found(hand, object_, self._near)
        if best[:2] > (False, APART):  # it was put elsewhere: its old place misleads
            others = (self._found(hand, object_, uv) for uv in (self._start, *self._places))
            best = min((best, *others), key=itemgetter(0, 1))
        out = best[2]
        x, gap = out[: self._size], float(out[self._size])
        if np.all(np.isfinite(x)):
            self._near = x[self._contact]
        return x, gap

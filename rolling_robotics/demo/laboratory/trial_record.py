"""What was seen of a trial: angles of the object from its attitudes, modes of the contact."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array

LOST = {'separated': 'lift_off', 'slipping': 'slip'}  # mode of the contact -> its beginning


@dataclass(frozen=True, kw_only=True, slots=True)
class Offset:
    """
    How a trial is off what the controller believes.

    Attributes
    ----------
    shift, turn
        Of the object at the start [m], [rad].
    inertia, resistance
        Factors of the object's moment of inertia and of its rolling resistance.

    """

    shift: float = 0.0
    turn: float = 0.0
    inertia: float = 1.0
    resistance: float = 1.0

    def text(self) -> str:
        """Return it in words."""
        return (
            f'{1e3 * self.shift:+.1f} mm, {self.turn:+.3f} rad off, inertia '
            f'{100 * (self.inertia - 1):+.0f} %, resistance {100 * (self.resistance - 1):+.0f} %'
        )


@dataclass(eq=False, kw_only=True)
class TrialSeen:
    """
    A trial as it was seen.

    Attributes
    ----------
    law, seed, offset
        In which way, with which chance, how far off.
    times
        Since its start [s], shape (k,).
    attitudes
        Of the object (w, x, y, z), shape (k, 4).
    modes
        Changes of the contact's mode: time [s] and mode.
    complete
        Whether it lasted as long as it was to.
    reason
        Why it ended.
    balancing_since
        When balance took over [s]; None if it did not.
    void
        Why it proves nothing, by what the nodes told; empty if it does.
    span
        Stamps of its begin and its end [s].

    """

    law: str
    seed: int
    offset: Offset
    times: Array
    attitudes: Array
    modes: list[tuple[float, str]] = field(default_factory=list)
    complete: bool = True
    reason: str = ''
    balancing_since: float | None = None
    void: str = ''
    span: tuple[float, float] = (0.0, 0.0)

    def happened(self) -> list[tuple[float, str]]:
        """Return time and name of what happened to the contact: lift_off, slip."""
        out, before = [], ''
        for t, mode in self.modes:
            if mode != before and mode in LOST:
                out.append((t, LOST[mode]))
            before = mode
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Truth:
    """
    The true motion of the object over all trials, with the stamps of the messages [s].

    Attributes
    ----------
    stamps, attitudes
        Attitudes of the object (w, x, y, z), shape (k, 4), and when, shape (k,).
    modes
        When which mode of the contact was told.

    """

    stamps: Array
    attitudes: Array
    modes: list[tuple[float, str]]

    def within(self, begin: float, end: float) -> dict[str, Any]:
        """Return times, attitudes and modes of the :class:`TrialSeen` with these stamps [s]."""
        keep = (self.stamps >= begin) & (self.stamps <= end)
        before = [mode for t, mode in self.modes if t < begin][-1:]
        during = [(t - begin, mode) for t, mode in self.modes if begin <= t <= end]
        return {
            'times': self.stamps[keep] - begin,
            'attitudes': self.attitudes[keep],
            'modes': [*((0.0, mode) for mode in before), *during],
        }


def pitch(attitudes: Array) -> Array:
    """Return the turn about y [rad] of attitudes (w, x, y, z), without jumps; from -pi to pi."""
    q = np.atleast_2d(attitudes)
    angle = np.unwrap(2 * np.arctan2(q[:, 2], q[:, 0]))
    return np.asarray(angle - 2 * np.pi * np.round(angle[0] / (2 * np.pi)))


def tilt(attitudes: Array) -> Array:
    """Return the angle between z of the object and z of the world [rad], of quaternions wxyz."""
    q = np.atleast_2d(attitudes)
    return np.asarray(2 * np.arcsin(np.minimum(np.hypot(q[:, 1], q[:, 2]), 1.0)))

"""Policy that a prediction hands to the loop: controls over time and gains, in microseconds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rolling_controller.predictive.reference import Used
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction


class Policy(NamedTuple):
    """
    A predicted motion with feedback about it.

    Attributes
    ----------
    times, states, controls
        Nodes, shapes (k,), (k, n) and (k, m); controls are linear in between.
    rates
        Rates of the states at the nodes, shape (k, n).
    used
        Tangent numbers and controls that feedback uses.
    gain
        Gain K of these.
    room
        Margins of the limits of contact and states at the nodes, shape (k, c).
    by_control
        Derivatives of the limits by the active controls, shape (k, c, active).
    low, high
        Minimum and maximum controls, shape (m,).

    """

    times: Array
    states: Array
    controls: Array
    rates: Array
    used: Used
    gain: Array
    room: Array
    by_control: Array
    low: Array
    high: Array

    def command(self, t: float, x: Array, difference: FastFunction) -> Array:
        """
        Return the control at a time in a state; the last one is held after the end.

        Feedback stays within the limits that the prediction keeps. A state that jumps, as an
        estimate does after a push, would otherwise violate constraints of the program.

        Parameters
        ----------
        t
            Time [s].
        x
            State.
        difference
            ``(x, y) -> d`` of the system.

        """
        k, s, h = self._stage_at(t)
        u = self.control_at(t)
        first, second = difference.inputs
        first[:], second[:] = x, self._state(k, s, h)
        change = -self.gain @ difference.evaluate()[self.used.moving]
        falls = -self.by_control[k] @ change
        room = np.maximum((1 - s) * self.room[k] + s * self.room[k + 1], 0.0)
        tight = falls > room
        if tight.any():
            change *= (room[tight] / falls[tight]).min()
        u[self.used.active] += change
        return np.array(np.minimum(np.maximum(u, self.low), self.high))

    def state_at(self, t: float) -> Array:
        """Return the predicted state at a time [s]; held at the ends."""
        return self._state(*self._stage_at(t))

    def control_at(self, t: float) -> Array:
        """Return the predicted control at a time [s]; held at the ends."""
        k, s, _ = self._stage_at(t)
        return np.array((1 - s) * self.controls[k] + s * self.controls[k + 1])

    def _stage_at(self, t: float) -> tuple[int, float, float]:
        """Return a stage, the fraction of it that is over, and its duration [s]."""
        k = min(max(int(self.times.searchsorted(t, 'right')) - 1, 0), len(self.times) - 2)
        h = float(self.times[k + 1] - self.times[k])
        return k, min(max((t - float(self.times[k])) / h, 0.0), 1.0), h

    def _state(self, k: int, s: float, h: float) -> Array:
        """Return the predicted state inside a stage, by the cubic through rates at both ends."""
        a, b = self.states[k], self.states[k + 1]
        va, vb = h * self.rates[k], h * self.rates[k + 1]
        d = b - a
        return np.array(a + s * (va + s * (3 * d - 2 * va - vb + s * (va + vb - 2 * d))))

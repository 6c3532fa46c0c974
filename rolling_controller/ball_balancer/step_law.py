"""A law in discrete time as one function of its state: what runs here and what is exported."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.layout import Layout

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class StepLaw:
    """
    A law that is evaluated once a frame.

    Attributes
    ----------
    name
        Of the law.
    period
        Time between two frames [s].
    state
        Layout of its state z, all zero at the start.
    function
        ``(z, measurement, seen, set_point) -> (z, command)``: places in m, ``seen`` 1 or 0,
        commands in whole counts.

    """

    name: str
    period: float
    state: Layout
    function: ca.Function

    @cached_property
    def joined(self) -> ca.Function:
        """The function with state and command as one output."""
        symbols = [ca.SX.sym(f'i{k}', self.function.numel_in(k)) for k in range(4)]
        both = ca.vertcat(*self.function(*symbols))
        return ca.Function(self.function.name(), symbols, [ca.densify(both)])

    def start(self) -> RunningLaw:
        """Return the law at its start."""
        return RunningLaw(self)


class RunningLaw:
    """
    A law with its state.

    Attributes
    ----------
    z
        Its state.

    """

    def __init__(self, law: StepLaw) -> None:
        """Begin with a state of zeros."""
        self.law, self.z = law, np.zeros(law.state.size)
        self._function = FastFunction(law.joined)

    def step(self, measurement: ArrayLike, set_point: ArrayLike) -> Array:
        """
        Return the command after a frame.

        Parameters
        ----------
        measurement
            Place of the ball (2) [m]; not finite where it is not seen.
        set_point
            Where it should be (2) [m]; one that is not finite counts as the middle.

        Returns
        -------
        NDArray
            Counts that pull the ball along x and y, shape (2,).

        """
        z, y, seen, r = self._function.inputs
        place, goal = np.asarray(measurement, dtype=float), np.asarray(set_point, dtype=float)
        found = math.isfinite(place[0]) and math.isfinite(place[1])
        z[:], seen[0] = self.z, float(found)
        y[:] = place if found else 0.0
        r[:] = goal if math.isfinite(goal[0]) and math.isfinite(goal[1]) else 0.0
        self._function.evaluate()
        self.z[:] = self._function.output[: self.z.size]
        return self._function.output[self.z.size :].copy()

"""A law in discrete time as one function of its state: what runs here and what is exported."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.layout import Layout


class Running(Protocol):
    """A law with its state."""

    def begin(self) -> None:
        """Go back to the start."""

    def step(self, measurement: ArrayLike, set_point: ArrayLike) -> Array:
        """Return the output after a measurement, vectors in the units of the law; nan is none."""
        ...


class Law(Protocol):
    """What is evaluated once a period."""

    @property
    def period(self) -> float:
        """Time between two steps [s]."""
        ...

    def start(self) -> Running:
        """Return the law at its start."""
        ...


class Described(Protocol):
    """What a law is called, takes and gives; see :class:`StepLaw`."""

    @property
    def name(self) -> str:
        """Name in C."""
        ...

    @property
    def text(self) -> str:
        """What it is, in a sentence."""
        ...

    @property
    def period(self) -> float:
        """Time between two steps [s]."""
        ...

    @property
    def state(self) -> Layout:
        """Layout of its state."""
        ...

    @property
    def measurement(self) -> Layout:
        """Layout of what is measured."""
        ...

    @property
    def set_point(self) -> Layout:
        """Layout of the set point."""
        ...

    @property
    def output(self) -> Layout:
        """Layout of the output."""
        ...

    @property
    def limits(self) -> tuple[float, float]:
        """Magnitude beyond which a measurement, and a set point, counts as none."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class StepLaw:
    """
    A law, or an estimator, that is evaluated once a period.

    Attributes
    ----------
    name
        Of the law, a name in C.
    text
        What it is, in a sentence.
    period
        Time between two steps [s].
    state
        Layout of its state z, all zero at the start.
    measurement, set_point, output
        Layouts of what it takes and gives; ``set_point`` is the command sent for an estimator.
    function
        ``(z, measurement, seen, set_point) -> (z, output)``; ``seen`` is 1 or 0.
    limits
        Magnitude beyond which a measurement, and a set point, counts as none.

    """

    name: str
    text: str
    period: float
    state: Layout
    measurement: Layout
    set_point: Layout
    output: Layout
    function: ca.Function
    limits: tuple[float, float]

    @cached_property
    def joined(self) -> ca.Function:
        """The function with state and output as one vector."""
        symbols = [ca.SX.sym(f'i{k}', self.function.numel_in(k)) for k in range(4)]
        both = ca.vertcat(*self.function(*symbols))
        return ca.Function(self.name, symbols, [ca.densify(both)])

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

    def begin(self) -> None:
        """Go back to a state of zeros."""
        self.z[:] = 0.0

    def step(self, measurement: ArrayLike, set_point: ArrayLike) -> Array:
        """
        Return the output after a measurement.

        Parameters
        ----------
        measurement
            What was measured; not finite, or beyond its limit, where there is nothing.
        set_point
            Where to go; one that is not finite, or beyond its limit, counts as zero.

        """
        z, y, seen, r = self._function.inputs
        good, there = (
            bool(np.all(np.abs(given) < limit))  # false for what is not a number
            for given, limit in zip((measurement, set_point), self.law.limits, strict=True)
        )
        z[:], seen[0] = self.z, float(good)
        y[:] = measurement if good else 0.0
        r[:] = set_point if there else 0.0
        self._function.evaluate()
        self.z[:] = self._function.output[: self.z.size]
        return self._function.output[self.z.size :].copy()

"""Laws in discrete time whose memory is a vector: what is exported as C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import LawFunction, written
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import Layout


@dataclass(frozen=True, eq=False, kw_only=True)
class VectorLaw(ABC):
    """
    A law whose memory is a vector z, so that it can be written as C.

    See :class:`rolling_controller.law.Law`.

    Attributes
    ----------
    name
        Of the law, a name in C.
    text
        What it is, in a sentence.
    period
        Time between two steps [s].
    state
        Layout of its memory z.
    measurement, set_point, output
        Layouts of what it takes and gives; ``set_point`` is the command sent for an estimator.
    limits
        Magnitude beyond which a measurement, and a set point, counts as none.
    gains, tuned
        Layout of gains that may be tuned while it runs, and their values; none by default.

    """

    name: str
    text: str
    period: float
    state: Layout
    measurement: Layout
    set_point: Layout
    output: Layout
    limits: tuple[float, float]
    gains: Layout = field(default_factory=lambda: Layout(()))
    tuned: tuple[float, ...] = ()

    opaque = ''

    @cached_property
    def inputs(self) -> Layout:
        """Layout of measurement, then set point."""
        return Layout((*self.measurement.entries, *self.set_point.entries))

    def start(self, before: Array | None = None) -> Array:  # noqa: ARG002
        """Return the memory at the start; see :class:`rolling_controller.law.Law`."""
        return np.zeros(self.state.size)

    def step(self, memory: Array, inputs: ArrayLike, t: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Step; a set point that is not finite, or beyond its limit, is 0; see :meth:`start`."""
        given = np.asarray(inputs, dtype=float)
        measurement, set_point = np.split(given, [self.measurement.size])
        visible = bool(
            np.all(np.abs(measurement) < self.limits[0])
        )  # false for what is not a number
        there = bool(np.all(np.abs(set_point) < self.limits[1]))
        return self._answer(
            memory,
            measurement if visible else np.zeros(measurement.size),
            float(visible),
            set_point if there else np.zeros(set_point.size),
        )

    @abstractmethod
    def _answer(
        self, z: Array, measurement: Array, visible: float, set_point: Array
    ) -> tuple[Array, Array]:
        """Return memory and output; ``measurement`` is zero where ``visible`` is 0."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StepLaw(VectorLaw):
    """
    A law, or an estimator, that is one function; see :class:`VectorLaw`.

    Attributes
    ----------
    function
        ``(z, measurement, visible, set_point, gains) -> (z, output)``; ``visible`` is 1 or 0.
        Without gains it has four arguments.

    """

    function: ca.Function

    @cached_property
    def joined(self) -> ca.Function:
        """The function with memory and output as one vector."""
        f = self.function
        symbols = [ca.SX.sym(f'i{k}', f.numel_in(k)) for k in range(f.n_in())]
        both = ca.vertcat(*f(*symbols))
        return ca.Function(self.name, symbols, [ca.densify(both)])

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors."""
        n = self.measurement.size

        def within(values: ca.SX, limit: float) -> tuple[ca.SX, ca.SX]:
            there = ca.sum1(ca.fabs(values) < limit) > values.numel() - 0.5
            return ca.if_else(there, values, 0), there

        def step(z: ca.SX, y: ca.SX, _t: ca.SX, gains: ca.SX) -> tuple[ca.SX, ca.SX]:
            measured, set_point = within(y[:n], self.limits[0]), within(y[n:], self.limits[1])
            tuned = [gains] * (self.function.n_in() - 4)
            after, output = self.function(z, *measured, set_point[0], *tuned)
            return after, output

        return written(self, step, self.tuned, self.start())

    @cached_property
    def _tuned(self) -> list[tuple[float, ...]]:
        return [self.tuned] * (self.function.n_in() - 4)

    @cached_property
    def _fast(self) -> FastFunction:
        return FastFunction(self.joined)

    def _answer(
        self, z: Array, measurement: Array, visible: float, set_point: Array
    ) -> tuple[Array, Array]:
        """Evaluate the function."""
        out = self._fast(z, measurement, visible, set_point, *self._tuned)
        return out[: z.size], out[z.size :]

"""Laws in discrete time whose memory is a vector, for export as C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import FunctionLaw, split
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Layout


@dataclass(eq=False, kw_only=True)
class VectorLaw:
    """
    Law whose memory is a vector z, so that it can be written as C.

    See :class:`rolling_controller.law.Law`.

    Attributes
    ----------
    name
        Name of the law, an identifier in C.
    text
        Description in a sentence.
    period
        Time between two steps [s].
    state
        Layout of its memory z.
    measurement, set_point, output
        Layouts of its inputs and output; for an estimator, ``set_point`` is the sent command.
    inputs
        Layout of measurement, then set point.
    limits
        Magnitude beyond which a measurement, and a set point, counts as missing.
    gains, tuned
        Layout of gains that may be tuned at run time, and their values; none by default.
    begin
        Memory at the start, shape (state.size,); zero by default.

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
    begin: ArrayLike | None = None

    opaque = ''

    inputs: Layout = field(init=False)

    def __post_init__(self) -> None:
        """Put measurement and set point one after the other, under names of their own."""
        known = {e.name for e in self.measurement.entries}
        wanted = [
            replace(e, name=f'set_{e.name}', components=tuple(f'set_{c}' for c in e.components))
            if e.name in known
            else e
            for e in self.set_point.entries
        ]
        self.inputs = Layout((*self.measurement.entries, *wanted))

    def start(self, before: Array | None = None) -> Array:  # noqa: ARG002
        """Return the memory at the start; see :class:`rolling_controller.law.Law`."""
        none = np.zeros(self.state.size)
        return none if self.begin is None else np.array(self.begin, dtype=float)

    def counted(self, inputs: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return measurement, 1 where it counts, and set point; what does not count is zero."""
        parts = []
        for values, limit in zip(split(inputs, self.measurement.size), self.limits, strict=True):
            there = ca.sum1(ca.fabs(values) < limit) > values.numel() - 0.5
            parts += [ca.if_else(there, values, 0), there]
        measurement, visible, set_point, _ = parts
        return measurement, visible, set_point


@dataclass(eq=False, kw_only=True)
class StepLaw(VectorLaw, FunctionLaw):  # type: ignore[misc]  # its period is a number
    """
    Law, or estimator, that is one function; see :class:`VectorLaw`.

    Attributes
    ----------
    function
        ``(z, measurement, visible, set_point, gains) -> (z, output)``; ``visible`` is 1 or 0.
        Without gains it has four arguments.
    rows
        Replaces gains: given values at each step, shape (k, g); the last row holds from then on.
        The first number of its memory counts the steps.

    """

    function: ca.Function
    rows: Array | None = None

    @cached_property
    def joined(self) -> ca.Function:
        """The function with memory and output as one vector."""
        f = self.function
        symbols = [ca.SX.sym(f'i{k}', f.numel_in(k)) for k in range(f.n_in())]
        both = ca.vertcat(*f(*symbols))
        return ca.Function(self.name, symbols, [ca.densify(both)])

    def __post_init__(self) -> None:
        """Write the function of all inputs."""
        super().__post_init__()

        def step(z: ca.SX, y: ca.SX, _t: ca.SX, gains: ca.SX) -> tuple[ca.SX, ca.SX]:
            tuned = [gains] * (self.function.n_in() - 4)
            after, output = self.function(z, *self.counted(y), *tuned)
            return after, output

        given: Callable[[float], ArrayLike] | ArrayLike = self.tuned
        if (rows := self.rows) is not None:
            given = lambda t: rows[min(round(t / self.period), len(rows) - 1)]  # noqa: E731
        FunctionLaw.__init__(self, self.inputs, self.output, step, given, self.start())

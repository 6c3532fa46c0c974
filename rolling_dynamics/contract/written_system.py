"""What systems have in common whose equations are written out as expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
import hashlib

import casadi as ca
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.mode import Mode
from rolling_dynamics.contract.symbols import Symbols
from rolling_dynamics.contract.tangent_space import difference, retraction, tangent_layout


class WrittenSystem(ABC):
    """
    A rolling system whose functions are expressions in one set of symbols.

    Subclasses set the attributes and fill in :attr:`modes`; the first mode is that of plans.

    Attributes
    ----------
    state, control, parameters
        Layouts of x, u and p.

    """

    state: Layout
    control: Layout
    parameters: Layout
    independent_variable = 'time'

    @property
    @abstractmethod
    def modes(self) -> Mapping[str, Mode]:
        """Modes of motion by name."""

    @property
    def mode(self) -> Mode:
        """The mode in which a plan is made: rolling."""
        return next(iter(self.modes.values()))

    @cached_property
    def symbols(self) -> Symbols:
        """Symbols of state, control, time and parameters."""
        return Symbols.of(self.state, self.control, self.parameters)

    def function(self, name: str, output: ca.SX) -> ca.Function:
        """Return ``(x, u, t, p) -> output`` of an expression in ``symbols``."""
        return self.symbols.function(name, output)

    def functions(self, outputs: Mapping[str, ca.SX]) -> dict[str, ca.Function]:
        """Return functions ``(x, u, t, p)`` of expressions, by name."""
        return {name: self.function(name, output) for name, output in outputs.items()}

    @cached_property
    def tangent(self) -> Layout:
        """Layout of d."""
        return tangent_layout(self.state)

    @cached_property
    def retract(self) -> ca.Function:
        """``(x, d) -> x`` moved by a tangent vector; attitudes by d on the body's side."""
        return retraction(self.state, self.tangent)

    @cached_property
    def difference(self) -> ca.Function:
        """``(x, y) -> d`` with ``retract(y, d) = x``; angles to the nearest turn."""
        return difference(self.state)

    @cached_property
    def model_hash(self) -> str:
        """Content hash of the equations."""
        modes = [m for name, m in self.modes.items() if name != 'off_hand']  # as `separated`
        parts = [f.serialize() for m in modes for f in (m.dynamics, m.wrench) if f is not None]
        return hashlib.sha256(''.join(parts).encode()).hexdigest()[:16]

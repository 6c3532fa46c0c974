"""A first guess of a plan, and what gives those of a system."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from rolling_planner.arrays import Array
from rolling_planner.problem import PlanProblem
from rolling_planner.watch import Watch


@dataclass(frozen=True, eq=False)
class Guess:
    """
    Whole states and controls as functions of time, ``times (k,) -> (k, n)``.

    Attributes
    ----------
    states, controls
        The functions.
    barrier
        First barrier parameter of the solver: small for a guess that nearly holds.
    name
        For the report.

    """

    states: Callable[[Array], Array]
    controls: Callable[[Array], Array]
    barrier: float = 1e-2
    name: str = ''

    @classmethod
    def from_samples(
        cls,
        times: Array,
        states: Array,
        controls: Array,
        barrier: float = 1e-2,
        name: str = '',
    ) -> Guess:
        """Return the guess that goes straight between samples."""

        def linear(values: Array) -> Callable[[Array], Array]:
            return lambda t: np.column_stack([np.interp(t, times, v) for v in values.T])

        return cls(linear(states), linear(controls), barrier, name)


class Seeds(Protocol):
    """First guesses of a system; a system names them by its capability ``plan_seeds``."""

    def prepare(self, problem: PlanProblem) -> None:
        """Write out and compile what the guesses need, before they are asked for."""
        ...

    def guesses(self, problem: PlanProblem, watch: Watch) -> Iterator[Guess]:
        """Yield guesses, the most promising first; none where there is none."""
        ...

"""What a conformance check is given, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.rolling_system import Mode, RollingSystem
from rolling_dynamics.simulation.guards import projection
from rolling_dynamics.simulation.trajectory import Trajectory

SPREAD = 0.02  # of the states that are tried, as a fraction of the scales of the layout
SAMPLES = 4


class Failed(Exception):  # noqa: N818  a verdict
    """A check fails; the text says what was expected and what was found."""


class NotApplicable(Exception):  # noqa: N818  a verdict
    """A check does not apply; the text says why."""


@dataclass(frozen=True)
class Outcome:
    """
    What came of one check.

    Attributes
    ----------
    name
        Name of the check.
    verdict
        ``passed``, ``failed`` or ``skipped``.
    text
        Why, in one line; empty if it passed.

    """

    name: str
    verdict: str
    text: str = ''


@dataclass(frozen=True, eq=False)
class Subject:
    """
    A system with numbers.

    Attributes
    ----------
    system
        The system.
    p, x, u
        Parameters, a state from which motion can start, and a control, in the units of the
        layouts; shapes (parameters.size,), (state.size,), (control.size,).
    duration
        Duration of the simulations [s, or the unit of the independent variable].
    seed
        Random seed of the states that are tried.

    """

    system: RollingSystem
    p: Array
    x: Array
    u: Array
    duration: float = 0.5
    seed: int = 0
    simulations: dict[str, Trajectory] = field(default_factory=dict)

    @property
    def mode_name(self) -> str:
        """Name of the first mode."""
        return next(iter(self.system.modes))

    @property
    def mode(self) -> Mode:
        """The first mode."""
        return self.system.modes[self.mode_name]

    @cached_property
    def samples(self) -> list[tuple[Array, Array]]:
        """States and controls near the given ones, on the constraints."""
        rng, system = np.random.default_rng(self.seed), self.system
        onto = projection(system)
        out = [(self.x, self.u)]
        for _ in range(SAMPLES):
            d = SPREAD * rng.normal(size=system.tangent.size) * scales(system.tangent)
            x = values(onto, values(system.retract, self.x, d), self.p)
            x = values(onto, x, self.p)  # a projection takes a few steps of Newton's method
            out.append((x, self.u + rng.normal(size=self.u.size) * scales(system.control)))
        return out

    def simulated(self) -> Trajectory:
        """Return the motion from the state without control, simulated once."""
        from rolling_dynamics.simulation import simulate  # noqa: PLC0415  large

        if 'free' not in self.simulations:
            self.simulations['free'] = simulate(
                self.system,
                self.p,
                self.x,
                np.zeros_like(self.u),
                self.duration,
                t_eval=np.linspace(0, self.duration, 51),
            )
        return self.simulations['free']

    def functions(self) -> Iterator[tuple[str, ca.Function]]:
        """Yield every function ``(x, u, t, p)`` of the system with its name."""
        for name, mode in self.system.modes.items():
            yield f'modes[{name!r}].dynamics', mode.dynamics
            if mode.wrench is not None:
                yield f'modes[{name!r}].wrench', mode.wrench
            for key, guard in mode.guards.items():
                yield f'modes[{name!r}].guards[{key!r}]', guard
        for name, invariant in self.system.invariants.items():
            yield f'invariants[{name!r}]', invariant


Check = Callable[[Subject], None]


def scales(layout: Layout) -> Array:
    """Return the scale of each number of a layout, in its unit, shape (size,)."""
    return np.array([e.scale for e in layout.entries for _ in e.components], dtype=float)


def values(function: ca.Function, *arguments: object) -> Array:
    """Return the first output of a function as a flat array, shape (k,), in its units."""
    out = function(*arguments)
    return np.array(out[0] if isinstance(out, tuple) else out, dtype=float).ravel()


def close(found: Array, expected: Array, tolerance: float) -> bool:
    """
    Return whether arrays of one shape and unit agree.

    Relative to the larger of one and the greatest value.
    """
    size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    return bool(np.all(np.abs(found - expected) <= tolerance * size))

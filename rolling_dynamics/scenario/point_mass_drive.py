"""Drives of masses: accelerations along the rails as formulas of time or breakpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.control import Control, straight_between
from rolling_dynamics.scenario.fields import numbers, refused, Section, TIME
from rolling_dynamics.scenario.formulas import check_finite
from rolling_dynamics.simulation.control import PiecewiseLinear


class Breakpoints(Section):
    """Accelerations at given times."""

    times: Array = numbers('', 's', count=(2, None))
    values: Array = numbers(count=(2, None))

    @model_validator(mode='after')
    def _in_order(self) -> Breakpoints:
        if (self.times[1:] < self.times[:-1]).any():
            raise refused(f'must not decrease, got {self.times.tolist()}', 'times')
        return self

    def samples(self, path: str, duration: float) -> PiecewiseLinear:
        """Return the samples, which must last as long as the motion."""
        times = self.times
        if times[0] > 0 or times[-1] < duration:
            raise ScenarioError(
                f'{path}.times: must cover 0 to the duration {duration:g} s without a gap, got '
                f'{times[0]:g} to {times[-1]:g}'
            )
        if self.values.shape != times.shape:
            raise ScenarioError(
                f'{path}.values: takes {times.size} numbers, one for each of the times, got '
                f'{self.values.size}'
            )
        return PiecewiseLinear(times, self.values[:, None], 1)


class Drive:
    """One mass's acceleration: samples over time, or an expression of it."""

    def __init__(self, path: str, given: ca.SX | Breakpoints, duration: float) -> None:
        """Take the entry ``drive``."""
        self.samples: PiecewiseLinear | None = None
        if isinstance(given, Breakpoints):
            self.samples = given.samples(path, duration)
            return
        self._formula = given
        check_finite({path: given}, TIME, duration)
        if not ca.depends_on(given, TIME):
            self.samples = PiecewiseLinear([0.0], [[float(ca.evalf(given))]], 1)

    @property
    def expression(self) -> ca.SX:
        """It as an expression in ``TIME``."""
        if self.samples is None:
            return self._formula
        return straight_between(TIME, self.samples.times, self.samples.values[:, 0])


def read_drives(
    given: Mapping[str, ca.SX | Breakpoints], state: Layout, control: Layout, duration: float
) -> Control:
    """Return the control made of the drives of the masses on rails, in order, by their paths."""
    drives = [Drive(path, drive, duration) for path, drive in given.items()]
    parts = [d.samples for d in drives if d.samples is not None]
    if drives and len(parts) == len(drives):
        return Control(None, control, _merged(parts), states=state.size)
    x = ca.SX.sym('x', state.size)
    u = ca.vertcat(*(d.expression for d in drives)) if drives else ca.SX(0, 1)
    borders = sorted({float(t) for part in parts for t in part.times})
    function = ca.Function('control', [x, TIME], [ca.densify(u)])
    return Control(function, control, borders=tuple(borders))


def _merged(parts: Sequence[PiecewiseLinear]) -> tuple[Array, Array]:
    """Return all samples over common times; where one jumps, the time stands twice."""
    first = parts[0].times
    if all(np.array_equal(s.times, first) for s in parts[1:]):
        return first, np.hstack([s.values for s in parts])
    times = np.unique(np.concatenate([s.times for s in parts]))
    rows: list[tuple[float, list[float]]] = []
    for t in times:
        before = [_before(s, t) for s in parts]
        after = [float(s(t)[0]) for s in parts]
        if before != after:
            rows.append((float(t), before))
        rows.append((float(t), after))
    return np.array([r[0] for r in rows]), np.array([r[1] for r in rows])


def _before(samples: PiecewiseLinear, t: float) -> float:
    """Return the limit from the left."""
    k = int(np.searchsorted(samples.times, t, side='left'))
    if k < samples.times.size and samples.times[k] == t:
        return float(samples.values[k, 0])
    return float(samples(t)[0])

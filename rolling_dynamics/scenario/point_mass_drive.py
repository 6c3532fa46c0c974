"""Drives of masses: accelerations along the rails as formulas of time or breakpoints."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.scenario.control import Control, straight_between
from rolling_dynamics.scenario.formulas import check_finite, formula_of_time
from rolling_dynamics.scenario.section import located, Section
from rolling_dynamics.simulation.control import PiecewiseLinear


class Drive:
    """One mass's acceleration: samples over time, or an expression of it."""

    def __init__(self, mass: Section, t: ca.SX, duration: float) -> None:
        """Read the entry ``drive``."""
        self.samples: PiecewiseLinear | None = None
        given = mass.get('drive', 0)
        if isinstance(given, dict):
            self.samples = _breakpoints(mass.section('drive'), duration)
            return
        with located(mass.at('drive')):
            self._formula = formula_of_time(given, t)
        check_finite({mass.at('drive'): self._formula}, t, duration)
        if not ca.depends_on(self._formula, t):
            value = float(ca.evalf(self._formula))
            self.samples = PiecewiseLinear([0.0], [[value]], 1)

    def expression(self, t: ca.SX) -> ca.SX:
        """Return it as an expression of the time that it was read with."""
        if self.samples is None:
            return self._formula
        return straight_between(t, self.samples.times, self.samples.values[:, 0])


def _breakpoints(section: Section, duration: float) -> PiecewiseLinear:
    times, values = section.numbers('times'), section.numbers('values')
    if (times[1:] < times[:-1]).any():
        raise section.fail('times', f'must not decrease, got {times.tolist()}')
    if times[0] > 0 or times[-1] < duration:
        raise section.fail(
            'times',
            f'must cover 0 to the duration {duration:g} s without a gap, got '
            f'{times[0]:g} to {times[-1]:g}',
        )
    if values.shape != times.shape:
        raise section.fail(
            'values',
            f'takes {times.size} numbers, one for each of the times, got {values.size}',
        )
    return PiecewiseLinear(times, values[:, None], 1)


def read_drives(
    masses: Sequence[Section], state: Layout, control: Layout, duration: float
) -> Control:
    """Return the control made of the drives of the masses on rails, in order."""
    t, x = ca.SX.sym('t'), ca.SX.sym('x', state.size)
    drives = [Drive(m, t, duration) for m in masses]
    parts = [d.samples for d in drives if d.samples is not None]
    if drives and len(parts) == len(drives):
        return Control(None, control, _merged(parts), states=state.size)
    u = ca.vertcat(*(d.expression(t) for d in drives)) if drives else ca.SX(0, 1)
    borders = sorted({float(t) for part in parts for t in part.times})
    function = ca.Function('control', [x, t], [ca.densify(u)])
    return Control(function, control, borders=tuple(borders))


def _merged(parts: Sequence[PiecewiseLinear]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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

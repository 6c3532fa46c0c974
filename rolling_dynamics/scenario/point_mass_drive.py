"""Drives of masses: accelerations along the rails as formulas of time or breakpoints."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.layout import Layout
from rolling_dynamics.scenario.control import Control
from rolling_dynamics.scenario.formulas import formula_of_time
from rolling_dynamics.scenario.section import located, Section
from rolling_dynamics.simulation.control import PiecewiseLinear


class Drive:
    """One mass's acceleration: an expression of time, and its samples where it has some."""

    def __init__(self, mass: Section, t: ca.SX, duration: float) -> None:
        """Read the entry ``drive``."""
        self.samples: PiecewiseLinear | None = None
        given = mass.get('drive', 0)
        if not isinstance(given, dict):
            with located(mass.at('drive')):
                self.expression = formula_of_time(given, t)
            if not ca.depends_on(self.expression, t):
                value = float(ca.evalf(self.expression))
                self.samples = PiecewiseLinear([0.0], [[value]], 1)
            return
        section = mass.section('drive')
        times, values = section.numbers('times'), section.numbers('values')
        if np.any(np.diff(times) < 0):
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
        self.samples = PiecewiseLinear(times, values[:, None], 1)
        self.expression = _straight(t, times, values)


def _straight(t: ca.SX, times: NDArray[np.float64], values: NDArray[np.float64]) -> ca.SX:
    """Return what is straight between the points and may jump where a time stands twice."""
    out = ca.SX(float(values[-1]))
    for k in range(times.size - 2, -1, -1):
        if times[k + 1] == times[k]:
            continue
        share = (t - times[k]) / (times[k + 1] - times[k])
        piece = values[k] + share * (values[k + 1] - values[k])
        out = ca.if_else(t < times[k + 1], piece, out)
    return out


def read_drives(
    masses: Sequence[Section], state: Layout, control: Layout, duration: float
) -> Control:
    """Return the control made of the drives of the masses on rails, in order."""
    t, x = ca.SX.sym('t'), ca.SX.sym('x', state.size)
    drives = [Drive(m, t, duration) for m in masses]
    u = ca.vertcat(*(d.expression for d in drives)) if drives else ca.SX(0, 1)
    function = ca.Function('control', [x, t], [ca.densify(u)])
    parts = [d.samples for d in drives if d.samples is not None]
    if len(parts) < len(drives) or not drives:
        borders = sorted({float(t) for part in parts for t in part.times})
        return Control(function, control, borders=tuple(borders))
    return Control(function, control, _merged(parts))


def _merged(parts: Sequence[PiecewiseLinear]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return all samples over common times; where one jumps, the time stands twice."""
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

"""Closed loop of plant and controller in one process, in fixed steps: deterministic."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation import Stepper


class ClosedLoop(NamedTuple):
    """Times (k + 1,), states (k + 1, n), controls (k + 1, m); the last control is repeated."""

    times: NDArray[np.float64]
    states: NDArray[np.float64]
    controls: NDArray[np.float64]


def run_lockstep(
    system: RollingSystem,
    p: ArrayLike,
    x_start: ArrayLike,
    law: Callable[[float, NDArray[np.float64]], NDArray[np.float64]],
    duration: float,
    *,
    rate: float = 1000.0,
    delay: int = 0,
) -> ClosedLoop:
    """
    Return the motion under a control law that is evaluated at a fixed rate and held in between.

    Parameters
    ----------
    system, p
        The plant.
    x_start
        State at the start.
    law
        ``(t, x) -> u``.
    duration
        Duration [s].
    rate
        Evaluations of the law per second [Hz].
    delay
        Steps between the state that the law sees and the present.

    Returns
    -------
    ClosedLoop
        At every step.

    """
    steps = round(duration * rate)
    dt = duration / steps
    plant = Stepper(system, p, max_step=dt)
    x = np.array(x_start, dtype=float)
    seen: deque[NDArray[np.float64]] = deque([x] * (delay + 1), maxlen=delay + 1)
    states, controls = np.empty((steps + 1, x.size)), np.empty((steps + 1, system.control.size))
    states[0] = x
    for k in range(steps):
        controls[k] = law(k * dt, seen[0])
        x = plant.step(x, controls[k], dt, k * dt)
        states[k + 1] = x
        seen.append(x)
    controls[steps] = controls[steps - 1]
    return ClosedLoop(np.array(np.arange(steps + 1) * dt, dtype=float), states, controls)

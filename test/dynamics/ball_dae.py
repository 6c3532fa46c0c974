"""
The rolling ball as a differential-algebraic equation: a cross-check of the ODE.

Putkaradze & Rogers (normal force), Eq. (6.5): three components of the quaternion are differential,
the fourth is algebraic, |q|^2 - 1 = 0. The printed form takes q0 as the fourth and is singular
where q0 = 0. Here the algebraic component is the largest one, and is changed on the way.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.simulation.control import as_control, ControlLike

STEP = 0.1  # s, between two looks at which component is the largest


class DaeRun(NamedTuple):
    """
    What the DAE solver found.

    Attributes
    ----------
    times, states
        Shapes (N,), (N, n).
    algebraic
        Component of the quaternion that was algebraic in each step, shape (N - 1,).

    """

    times: NDArray[np.float64]
    states: NDArray[np.float64]
    algebraic: NDArray[np.int_]


def simulate_dae(
    ball: PointMassBall,
    p: ArrayLike,
    x0: ArrayLike,
    control: ControlLike,
    duration: float,
    *,
    tolerance: float = 1e-12,
    algebraic: int | None = None,
    step: float = STEP,
) -> DaeRun:
    """
    Return the motion of a rolling ball by an implicit DAE solver (IDAS, variable-order BDF).

    Parameters
    ----------
    ball, p, x0
        A ball, its parameters, its state at t = 0.
    control
        Held, or samples: their times are borders of steps.
    duration
        Time to simulate [s].
    tolerance
        Relative and absolute tolerance.
    algebraic
        Component of the quaternion that is algebraic; 0 is the printed form. None for the largest.
    step
        Longest time between two changes of the algebraic component [s].

    Raises
    ------
    SimulationError
        The solver failed: with a fixed component, where that component vanishes.

    """
    u = as_control(control, ball.control.size, ball.state.size)
    cuts = np.unique(
        np.concatenate(
            [
                np.append(np.arange(0.0, duration, step), duration),
                [t for t in getattr(u, 'times', []) if 0 < t < duration],
            ]
        )
    )
    states, used = [np.array(x0, dtype=float)], []
    where, built = ball.state.slice('q_WB'), {}
    for a, b in pairwise(cuts):
        x = states[-1]
        k = int(np.argmax(np.abs(x[where]))) if algebraic is None else algebraic
        key = k, round(b - a, 12)
        if key not in built:
            built[key] = _integrator(ball, k, b - a, tolerance)
        slope = (u((a + b) / 2) - u(a)) / ((b - a) / 2)
        states.append(_advance(ball, built[key], k, x, np.concatenate([u(a), slope, [a], p]), a))
        used.append(k)
    return DaeRun(cuts, np.array(states), np.array(used))


def _advance(
    ball: PointMassBall,
    integrator: ca.Function,
    k: int,
    x: NDArray[np.float64],
    data: NDArray[np.float64],
    t: float,
) -> NDArray[np.float64]:
    index = ball.state.slice('q_WB').start + k
    others = np.delete(np.arange(ball.state.size), index)
    try:
        out = integrator(x0=x[others], z0=x[index], p=data)
    except RuntimeError as e:
        raise SimulationError(
            f'the DAE with q_{k} as its algebraic component fails after t = {t:.6g} s, where '
            f'q_{k} = {x[index]:.4g}: {str(e).splitlines()[-1]}'
        ) from None
    y = np.empty(ball.state.size)
    y[others], y[index] = np.array(out['xf']).ravel(), float(out['zf'])
    return y


def _integrator(ball: PointMassBall, k: int, h: float, tolerance: float) -> ca.Function:
    """Return the implicit solver over a step of length h, with component k algebraic."""
    n, m = ball.state.size, ball.control.size
    index = ball.state.slice('q_WB').start + k
    others = [i for i in range(n) if i != index]
    y, z, tau = ca.SX.sym('y', n - 1), ca.SX.sym('z'), ca.SX.sym('tau')
    data = ca.SX.sym('data', 2 * m + 1 + ball.parameters.size)
    x = ca.SX(n, 1)
    x[others], x[index] = y, z
    u = data[0:m] + tau * data[m : 2 * m]
    rate = ball.mode.dynamics(x, u, data[2 * m] + tau, data[2 * m + 1 :])
    q = x[ball.state.slice('q_WB')]
    dae = {'x': y, 'z': z, 'p': data, 't': tau, 'ode': rate[others], 'alg': ca.sumsqr(q) - 1}
    options = {
        'abstol': tolerance,
        'reltol': tolerance,
        'max_num_steps': 20000,
        'calc_ic': True,
        'show_eval_warnings': False,
    }
    return ca.integrator('dae', 'idas', dae, 0.0, h, options)

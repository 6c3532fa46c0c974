"""
One motion by several integrators: that of the suite, those of SciPy, and SUNDIALS.

Putkaradze & Rogers name several solvers. Each of these integrates the same equations of their
ball, from breakpoint to breakpoint of the control, at one tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
import time
from typing import NamedTuple

import casadi as ca
from evidence.papers.row import Row, unprinted
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.internal_masses.published import ball, Example
from scipy.integrate import solve_ivp

TOLERANCE, REFERENCE = 1e-9, 1e-13
DURATION = 10.0  # s
AGREE = 1e-6  # of the state at the end, from the reference
SCIPY, SUNDIALS = ('DOP853', 'Radau', 'BDF'), ('cvodes', 'idas')
Integrate = Callable[[Array, Array, float, float], Array]  # x, line, start, end -> x


class Integrated(NamedTuple):
    """State at the end, and CPU time [s]."""

    state: Array
    seconds: float


def compare(example: Example, duration: float, tolerance: float) -> dict[str, Integrated]:
    """Return the end of a motion by name of the integrator."""
    found = {'suite, DOP853': _timed(partial(_suite, example, duration, tolerance))}
    pieces = _Pieces(example, duration, tolerance)
    for name in SCIPY:
        found[f'SciPy, {name}'] = _timed(partial(pieces.through, pieces.scipy(name)))
    for name in SUNDIALS:
        run = partial(pieces.through, pieces.sundials(name))
        found[f'SUNDIALS, {name.upper()}'] = _timed(run)
    return found


def rows() -> list[Row]:
    """Return how far each integrator ends from a tight run of the suite, and its time."""
    example = ball()
    reference = _suite(example, DURATION, REFERENCE)
    out = []
    for name, found in compare(example, DURATION, TOLERANCE).items():
        off = float(np.abs(found.state - reference).max())
        out += [
            unprinted(f'ball, {DURATION:g} s: {name}, from a run at 1e-13', off, 0.0, AGREE),
            unprinted(f'ball, {DURATION:g} s: {name}, CPU time', found.seconds, None, 0.0, 's'),
        ]
    return out


def _timed(run: Callable[[], Array]) -> Integrated:
    began = time.process_time()
    return Integrated(run(), time.process_time() - began)


def _suite(example: Example, duration: float, tolerance: float) -> Array:
    return np.asarray(example.simulated(duration, tolerance).states[-1])


class _Pieces:
    """The equations with the control as a straight line, between two breakpoints at a time."""

    def __init__(self, example: Example, duration: float, tolerance: float) -> None:
        """Write out the equations."""
        self.example, self.duration, self.tolerance = example, duration, tolerance
        system = example.system
        x, t = ca.SX.sym('x', system.state.size), ca.SX.sym('t')
        line = ca.SX.sym('line', 2 * system.control.size)  # control and its rate
        u, rate = ca.vertsplit(line, system.control.size)
        f = next(iter(system.modes.values())).dynamics
        self._symbols = x, t, line
        self._ode = ca.densify(f(x, u + t * rate, t, example.p))
        self._rates = FastFunction(ca.Function('rates', [x, t, line], [self._ode]))
        self._slope = ca.Function('slope', [x, t, line], [ca.densify(ca.jacobian(self._ode, x))])

    def through(self, integrate: Integrate) -> Array:
        """Return the state at the end."""
        times, values = self.example.control
        x = np.array(self.example.x0)
        for k, (a, b) in enumerate(pairwise(times)):
            rate = (values[k + 1] - values[k]) / (b - a)
            end = min(b, self.duration)
            if end > a:
                line = np.concatenate([values[k] - a * rate, rate])
                x = integrate(x, line, a, end)
        return x

    def scipy(self, method: str) -> Integrate:
        """Return one of SciPy's integrators, with the exact Jacobian where it is implicit."""

        def integrate(x: Array, line: Array, a: float, b: float) -> Array:
            exact = {'jac': lambda t, y: np.array(self._slope(y, t, line))}
            run = solve_ivp(
                lambda t, y: self._rates(y, t, line),
                (a, b),
                x,
                method=method,
                rtol=self.tolerance,
                atol=self.tolerance,
                **({} if method == 'DOP853' else exact),
            )
            return np.asarray(run.y[:, -1])

        return integrate

    def sundials(self, name: str) -> Integrate:
        """Return CVODES or IDAS, through CasADi."""
        x, t, line = self._symbols
        problem = {'x': x, 't': t, 'p': line, 'ode': self._ode}
        options = {
            'reltol': self.tolerance,
            'abstol': self.tolerance,
            'max_num_steps': 1_000_000,
        }

        def integrate(x0: Array, at: Array, a: float, b: float) -> Array:
            solve = ca.integrator('solve', name, problem, float(a), float(b), options)
            return np.array(solve(x0=x0, p=at)['xf']).ravel()

        return integrate

"""Adaptive integration by any of SciPy's methods, under any control."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import check_choice, SimulationError
from rolling_dynamics.simulation.compiled_solver import CompiledSolver, not_finite
from rolling_dynamics.simulation.control import Piece
from rolling_dynamics.simulation.dormand_prince import SAMPLES

if TYPE_CHECKING:
    from scipy.integrate import DenseOutput, OdeSolver

METHODS = ('DOP853', 'RK45', 'RK23', 'Radau', 'LSODA')
HAS_MEMORY = ('LSODA',)  # holds past states, so that the last one cannot be changed


class Pieces:
    """Dense output of SciPy, step by step."""

    def __init__(self, steps: list[tuple[float, DenseOutput, Array]]) -> None:
        """Take the steps, each with its start and the correction of the state to constraints."""
        self.times = np.array([t for t, _, _ in steps])
        self._steps = [dense for _, dense, _ in steps]
        self.corrections = np.array([correction for _, _, correction in steps])

    def interpolate(self, times: Array) -> Array:
        """Return the states at times, shape (M, n)."""
        k = np.clip(np.searchsorted(self.times, times, side='right') - 1, 0, self.times.size - 1)
        return np.array([self._steps[j](t) for j, t in zip(k, times, strict=True)])


class ScipySolver:
    """
    Steps of one of SciPy's methods; the same interface as the compiled solver's.

    Attributes
    ----------
    t, x
        Time [s] and state at the end of the last step; on the constraints.
    clear
        False: the guards have to be evaluated.

    """

    clear = False

    def __init__(
        self,
        system: RollingSystem,
        dynamics: ca.Function,
        projection: ca.Function,
        control: Callable[[float, Array], Array],
        p: Array,
        tolerance: tuple[float, float],
        method: str,
        max_step: float = math.inf,
        first_step: float = 0.0,
    ) -> None:
        """
        Set up.

        Parameters
        ----------
        system
            The system.
        dynamics, projection
            ``(x, u, t, p) -> xdot`` and ``(x, p) -> x``, preferably compiled.
        control
            ``(t, x) -> u``.
        p
            Parameters.
        tolerance
            Relative and absolute tolerance.
        method
            Name of SciPy's method.
        max_step
            Longest step [s].
        first_step
            Length of the first step [s]; chosen from the equations if 0.

        """
        from scipy import integrate  # noqa: PLC0415  (large, and the compiled solver needs none)

        check_choice('method', method, METHODS)
        self._method: type[OdeSolver] = getattr(integrate, method)
        self._has_memory = method in HAS_MEMORY
        self._tolerance, self._max_step = tolerance, max_step
        self._dynamics, self._projection = FastFunction(dynamics), FastFunction(projection)
        self._dynamics.inputs[3][:] = p
        self._projection.inputs[1][:] = p
        self._control, self._entries = control, system.state
        self._names = system.control.names
        self._correction = np.zeros(len(system.state.entries))
        self.t = self.t_old = self.h = 0.0
        self.x = np.zeros(system.state.size)
        self._kept: list[tuple[float, DenseOutput, Array]] = []
        self.next_step = first_step

    def control(self, t: float, x: Array) -> Array:
        """Return the control."""
        return self._control(t, x)

    def _rate(self, t: float, x: Array) -> Array:
        f = self._dynamics
        f.inputs[0][:], f.inputs[1][:], f.inputs[2][0] = x, self._control(t, x), t
        return f.evaluate().copy()

    def begin(self, t: float, x: Array, piece: Piece) -> None:
        """Start at a state; steps end at the end of the piece."""
        self.t, self.x, self._piece = t, np.array(x), piece
        if not np.all(np.isfinite(self._rate(t, self.x))):
            reason = not_finite(self._names, self._control(t, self.x))
            raise SimulationError(f'at t = {t:.9g} s {reason}')
        self._restart()

    def _restart(self) -> None:
        left = self._piece.end - self.t
        first = min(self.next_step, left) if self.next_step else None
        self._solver = self._method(
            self._piece_rate,
            self.t,
            self.x,
            self._piece.end,
            rtol=self._tolerance[0],
            atol=self._tolerance[1],
            max_step=self._max_step,
            first_step=first,
        )

    def _piece_rate(self, t: float, x: Array) -> Array:
        # the last stage of a step lies on the end of the piece, where the control may jump
        end = self._piece.end
        return self._rate(t if t < end else math.nextafter(end, -math.inf), x)

    def advance(self, _more: int = 0) -> int:
        """Take one step within the tolerance, at most to the end of the piece; keep none."""
        solver = self._solver
        try:
            message = solver.step()
        except (ValueError, np.linalg.LinAlgError) as e:
            message = str(e)
        if solver.status == 'failed' or message:
            if not np.all(np.isfinite(self._rate(self.t, self.x))):
                message = not_finite(self._names, self._control(self.t, self.x))
            raise SimulationError(f'at t = {self.t:.9g} s {message}')
        self.t_old, self.t = self.t, float(solver.t)
        self.h = self.t - self.t_old
        at_end = self.t >= self._piece.end
        self.next_step = max(self.h, self.next_step) if at_end else self.h
        self.dense = solver.dense_output()
        self._project(solver)
        return 0

    def _project(self, solver: OdeSolver) -> None:
        self._projection.inputs[0][:] = solver.y
        projected = self._projection.evaluate().copy()
        change = projected - solver.y
        if not np.all(np.isfinite(projected)):
            raise SimulationError(f'the state is no longer finite at t = {self.t:.9g} s')
        for k, entry in enumerate(self._entries.entries):
            self._correction[k] = np.linalg.norm(change[self._entries.slice(entry.name)])
        if self._has_memory:
            self.x = solver.y.copy()  # drift from the constraints is reported, not corrected
        else:
            self.x = solver.y = projected
            solver.f = solver.fun(self.t, projected)

    def set_levels(self, levels: Array) -> None:
        """
        Ignore a vector of levels, in any unit.

        This solver does not evaluate the guards.
        """

    def samples(self) -> tuple[Array, Array]:
        """Return times and states, evenly spaced over the last step."""
        times = np.linspace(self.t_old, self.t, SAMPLES + 1)
        return times, self.dense(times).T

    def state_within(self, t: float) -> Array:
        """Return the state at a time within the last step, by dense output."""
        x: Array = self.dense(t)
        return x

    def truncate(self, t: float) -> None:
        """End the last step at an earlier time."""
        if t < self.t:
            self._projection.inputs[0][:] = self.dense(t)
            self.t, self.x = t, self._projection.evaluate().copy()
            self.h = self.t - self.t_old

    def keep(self) -> None:
        """Keep the last step for dense output."""
        if self.h > 0:
            self._kept.append((self.t_old, self.dense, self._correction.copy()))

    def collect(self) -> Pieces:
        """Return the steps kept since the last call."""
        kept, self._kept = self._kept, []
        return Pieces(kept)

    @property
    def kept(self) -> int:
        """Number of steps kept."""
        return len(self._kept)


Solver = CompiledSolver | ScipySolver

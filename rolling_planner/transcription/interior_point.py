"""IPOPT on a transcription, with progress, cancellation and a time budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_planner.progress import FEASIBLE, Watch
from rolling_planner.transcription.transcription import Transcription

SOLVED = ('Solve_Succeeded', 'Solved_To_Acceptable_Level', 'Feasible_Point_Stalled')
WARM = {
    'warm_start_init_point': 'yes',
    'warm_start_bound_push': 1e-6,
    'warm_start_slack_bound_push': 1e-6,
    'warm_start_bound_frac': 1e-6,
    'warm_start_slack_bound_frac': 1e-6,
    'warm_start_mult_bound_push': 1e-6,
    'mu_init': 1e-7,
}  # near an optimum whose multipliers are known
ADAPTIVE = {
    'mu_strategy': 'adaptive',
    'quality_function_max_section_steps': 4,
    'mumps_pivot_order': 6,
}  # from far: half as many iterations, each a tenth shorter
STALL, STALLED = 12, 1e-6  # iterations with this change of a feasible cost


@dataclass(frozen=True, eq=False)
class Optimum:
    """Result of the solver."""

    z: Array  # (nodes, states + controls)
    g: Array
    lam_z: Array  # multipliers of the bounds of z, and of the constraints
    lam_g: Array
    cost: float
    violation: float
    solved: bool
    status: str
    iterations: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Bounds:
    """Bounds of variables, shape (nodes, nz), and of constraints."""

    z_low: Array
    z_high: Array
    g_low: Array
    g_high: Array

    def violation(self, g: Array) -> float:
        """Return the maximum violation of bounds by constraints, shape (m,), in their units."""
        return float(np.max(np.maximum(self.g_low - g, g - self.g_high), initial=0.0))


class _Callback(ca.Callback):  # type: ignore[misc]
    """Reports each iteration and stops the solver on request."""

    def __init__(
        self,
        sizes: dict[str, int],
        bounds: Bounds,
        report: Callable[[int, Array, float, float], None],
        watch: Watch,
    ) -> None:
        ca.Callback.__init__(self)
        self._sizes, self._bounds, self._report, self._watch = sizes, bounds, report, watch
        self.stopped = self.stalled = False
        self.number = 0
        self._costs: list[float] = []
        self.error: BaseException | None = None
        self.construct('watch', {})

    def get_n_in(self) -> int:
        return int(ca.nlpsol_n_out())

    def get_n_out(self) -> int:
        return 1

    def get_name_in(self, i: int) -> str:
        return str(ca.nlpsol_out(i))

    def get_name_out(self, _: int) -> str:
        return 'stop'

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self._sizes.get(ca.nlpsol_out(i), 0), 1)

    def eval(self, arg: Sequence[ca.DM]) -> list[int]:
        try:
            x, f, g = np.array(arg[0]).ravel(), float(arg[1]), np.array(arg[2]).ravel()
            violation = self._bounds.violation(g)
            self._report(self.number, x, f, violation)
            self.stalled = self._is_stalled(f, violation)
            self.stopped = self._watch.expired
        except BaseException as e:  # noqa: BLE001  carried past the solver, raised by solve()
            self.error, self.stopped = e, True
        self.number += 1
        return [int(self.stopped or self.stalled)]

    def _is_stalled(self, cost: float, violation: float) -> bool:
        self._costs = [*self._costs[1 - STALL :], cost] if violation < FEASIBLE else []
        spread = max(self._costs, default=0.0) - min(self._costs, default=0.0)
        return len(self._costs) == STALL and spread <= STALLED * abs(cost)


def _options(iterations: int, barrier: float | None, *, warm: bool) -> dict[str, Any]:
    """Return the options of IPOPT."""
    options = {
        'print_level': 0,
        'sb': 'yes',
        'max_iter': iterations,
        'tol': 1e-6,
        'constr_viol_tol': FEASIBLE,
        'nlp_scaling_method': 'none',
        'acceptable_tol': 1e-4,
        'acceptable_iter': 10,
    }
    if warm:
        return options | WARM
    return options | (ADAPTIVE if barrier is None else {'mu_init': barrier})


def solve(
    transcription: Transcription,
    bounds: Bounds,
    guess: Array,
    data: Array,
    *,
    iterations: int,
    barrier: float | None,
    watch: Watch,
    report: Callable[[int, Array, float, float], None],
    previous: Optimum | None = None,
) -> Optimum:
    """
    Solve a transcription.

    Parameters
    ----------
    transcription
        The nonlinear programme.
    bounds
        Bounds of variables and constraints.
    guess
        Start, shape (nodes, nz).
    data
        Data of the nodes, shape (nodes, n_data).
    iterations
        Maximum number of iterations.
    barrier
        Initial barrier parameter: small for a good guess; None to adapt it.
    watch
        Progress and remaining time.
    report
        Called with (iteration, z, cost, violation); an exception ends the solve.
    previous
        Optimum of the same programme with slightly different bounds, the source of ``guess``.

    Returns
    -------
    Optimum
        The last point, solved or not.

    """
    n, ng = transcription.nlp['x'].numel(), transcription.nlp['g'].numel()
    sizes = {'x': n, 'f': 1, 'g': ng, 'lam_x': n, 'lam_g': ng, 'lam_p': data.size}
    callback = _Callback(sizes, bounds, report, watch)
    solver = ca.nlpsol(
        'plan',
        'ipopt',
        transcription.nlp,
        {
            'grad_f': transcription.grad_f,
            'jac_g': transcription.jac_g,
            'hess_lag': transcription.hess_lag,
            'no_nlp_grad': True,
            'calc_lam_p': False,
            'iteration_callback': callback,
            'print_time': False,
            'error_on_fail': False,
            'ipopt': _options(iterations, barrier, warm=previous is not None),
        },
    )
    result = solver(
        x0=guess.ravel(),
        p=data.ravel(),
        lbx=bounds.z_low.ravel(),
        ubx=bounds.z_high.ravel(),
        lbg=bounds.g_low,
        ubg=bounds.g_high,
        **({'lam_x0': previous.lam_z, 'lam_g0': previous.lam_g} if previous else {}),
    )
    if callback.error is not None:
        raise callback.error
    status = solver.stats()['return_status']
    if callback.stopped:
        status = 'out of time'
    elif callback.stalled:
        status = 'Feasible_Point_Stalled'
    g = np.array(result['g']).ravel()
    return Optimum(
        z=np.array(result['x']).reshape(guess.shape),
        g=g,
        lam_z=np.array(result['lam_x']).ravel(),
        lam_g=np.array(result['lam_g']).ravel(),
        cost=float(result['f']),
        violation=bounds.violation(g),
        solved=status in SOLVED,
        status=status,
        iterations=callback.number,
    )

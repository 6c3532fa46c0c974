"""The regulator along the plan of a scenario as a law in discrete time, exported for a board."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.polynomial.chebyshev import chebvander
from rolling_controller.balance.hold import Hold, PERIOD
from rolling_controller.export.c import as_c, CSource
from rolling_controller.export.hold_law import drive_law, hold_law, machine_law
from rolling_controller.robot_laws import robot_kind
from rolling_controller.step_law import StepLaw
from rolling_controller.time_varying_lqr import regulator, TimeVaryingLqr
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan
from rolling_planner.planners.planner import planner_of

TERMS = 25  # of the polynomials in time
ROUGH = 0.02  # of the greatest value, or limit, of a group of numbers: what a polynomial may miss


def follow_law(scenario: Scenario, plan: Plan | None = None) -> StepLaw:
    """
    Return the regulator along a plan, then the hold at its end; without one it regulates on.

    Its memory is the time; its gains and the planned motion are polynomials in time. It has no set
    point but a number that says nothing.

    Parameters
    ----------
    scenario
        The machine.
    plan
        The plan; the scenario's where None.

    Raises
    ------
    ParameterError
        There is no plan, no regulator follows it, or a polynomial does not.

    """
    system = scenario.system
    if plan is None:
        plan = planner_of(system.name).plan(scenario, lambda _: True).plan
    kind = robot_kind(system.name)
    following = kind.make(scenario, {o.name: o.default for o in kind.options}).follow(plan)
    law, hold = following.law, following.hold
    if not isinstance(law, TimeVaryingLqr):
        raise ParameterError(f'plans of {system.name} are not followed by a regulator')
    end, limits = float(law.times[-1]), np.concatenate(law.limits)
    table = ca.sparsify(ca.DM(_fitted(law)))

    def step(
        memory: ca.SX, x: ca.SX, _: ca.SX, _unused: ca.SX, _gains: ca.SX
    ) -> tuple[ca.SX, ca.SX]:
        s = 2 * ca.fmin(memory / end, 1) - 1
        terms = [ca.SX(1), s]
        for _ in range(TERMS - 2):
            terms.append(2 * s * terms[-1] - terms[-2])
        u = regulator(system)([], x, 0, ca.vertcat(table @ ca.vertcat(*terms), limits))
        if isinstance(hold, Hold):
            one = hold.as_function()
            u = ca.if_else(memory < end - PERIOD / 2, u, one.function([], x, 0, one.given(0.0)))
        return ca.fmin(memory + PERIOD, end), u

    return machine_law(
        system,
        'follow',
        'regulator along the plan of the scenario, then the hold at its end',
        (Entry('time', ('time',), 's'),),
        Layout((Entry('unused', ('unused',), ''),)),
        step,
        np.zeros(system.control.size),
    )


def _fitted(law: TimeVaryingLqr) -> Array:
    """Return polynomials in time of the records of a law."""
    values = np.array([law.record(float(t)) for t in law.times])
    terms = chebvander(2 * law.times / law.times[-1] - 1, TERMS - 1)
    found: Array = np.linalg.lstsq(terms, values, rcond=None)[0].T
    size, n = np.abs(values).max(axis=0), law.system.state.size
    controls = slice(n, n + law.system.control.size)
    limit = np.abs(law.limits).min(axis=0)
    size[controls] = np.maximum(size[controls], np.where(np.isfinite(limit), limit, 0.0))
    for group in (slice(0, n), controls, slice(controls.stop, None)):
        missed = np.abs(terms @ found[group].T - values[:, group]).max()
        if missed > ROUGH * size[group].max():
            raise ParameterError(
                f'a polynomial of {TERMS} terms misses the plan by {missed:.3g}: it is too rough '
                'for a board'
            )
    return found


def machine_sources(scenario: Scenario) -> dict[str, Callable[[], CSource]]:
    """Return what writes the laws of any machine as C, by name."""
    return {
        'hold': lambda: as_c(hold_law(scenario), library=True),
        'drive': lambda: as_c(drive_law(scenario), library=True),
        'follow': lambda: as_c(follow_law(scenario), library=True),
    }

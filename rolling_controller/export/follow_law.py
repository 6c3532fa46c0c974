"""The regulator along the plan of a scenario as a law in discrete time, exported for a board."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.polynomial.chebyshev import chebvander
from rolling_controller.balance.hold import Hold, PERIOD
from rolling_controller.export.c import as_c, CSource
from rolling_controller.export.hold_law import (
    aligned,
    drive_law,
    FARTHEST,
    held,
    hold_law,
    sent_entry,
)
from rolling_controller.robot_laws import robot_kind
from rolling_controller.step_law import StepLaw
from rolling_controller.time_varying_lqr import TimeVaryingLqr
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan
from rolling_planner.planners.planner import planner_of

TERMS = 25  # of the polynomials in time
ROUGH = 0.02  # of the greatest value of a group of numbers, by which a polynomial may miss them


def follow_law(scenario: Scenario, plan: Plan | None = None) -> StepLaw:
    """
    Return the regulator along a plan, then the hold at its end; without one it regulates on.

    Its memory is the time; feedback is to first order about the plan, its gains and the planned
    motion being polynomials in time. It has no set point but a number that says nothing.

    Parameters
    ----------
    scenario
        The machine.
    plan
        The plan; that of the scenario where None.

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
    n, m = system.state.size, system.control.size
    end, (low, high) = float(law.times[-1]), law.limits
    table = _fitted(law)
    memory, x = ca.SX.sym('memory', 1 + m), ca.SX.sym('x', n)
    visible, unused = ca.SX.sym('seen'), ca.SX.sym('unused')
    s = 2 * ca.fmin(memory[0] / end, 1) - 1
    terms = [ca.SX(1), s]
    for _ in range(TERMS - 2):
        terms.append(2 * s * terms[-1] - terms[-2])
    record = ca.sparsify(ca.DM(table)) @ ca.vertcat(*terms)
    near, gain = record[:n], ca.reshape(record[n + m :], n, m).T
    u = ca.fmin(ca.fmax(record[n : n + m] - gain @ aligned(system, x, near), low), high)
    if isinstance(hold, Hold):
        u = ca.if_else(memory[0] < end - PERIOD / 2, u, held(hold, x))
    sent = ca.if_else(visible > 0.5, u, memory[1:])
    after = ca.vertcat(ca.fmin(memory[0] + PERIOD, end), sent)
    return StepLaw(
        name='follow',
        text='regulator along the plan of the scenario, then the hold at its end',
        period=PERIOD,
        state=Layout((Entry('time', ('time',), 's'), sent_entry(system.control))),
        measurement=system.state,
        set_point=Layout((Entry('unused', ('unused',), ''),)),
        output=system.control,
        function=ca.Function('follow', [memory, x, visible, unused], [after, sent]),
        limits=(FARTHEST, FARTHEST),
    )


def _fitted(law: TimeVaryingLqr) -> Array:
    """Return polynomials in time of planned state, of control at state zero, and of gains."""
    system, (n, m) = law.system, (law.system.state.size, law.system.control.size)
    x, y = ca.SX.sym('x', n), ca.SX.sym('y', n)
    slope = ca.Function('slope', [x, y], [ca.jacobian(system.difference(x, y), x)])
    rows = []
    for t in law.times:
        record = law.record(float(t))
        near, u, gain = record[:n], record[n : n + m], record[n + m :].reshape(m, -1)
        on_state = gain @ np.array(slope(near, near))
        rows.append([*near, *(u + on_state @ near), *on_state.ravel()])
    values = np.array(rows)
    terms = chebvander(2 * law.times / law.times[-1] - 1, TERMS - 1)
    found: Array = np.linalg.lstsq(terms, values, rcond=None)[0].T
    for group in (slice(0, n), slice(n, n + m), slice(n + m, None)):
        missed = np.abs(terms @ found[group].T - values[:, group]).max()
        if missed > ROUGH * np.abs(values[:, group]).max():
            raise ParameterError(
                f'a polynomial of {TERMS} terms misses the plan by {missed:.3g}: it is too rough '
                'for a board'
            )
    return found


def machine_sources(scenario: Scenario) -> dict[str, Callable[[], CSource]]:
    """Return what writes the laws of any machine as C, by name."""
    return {
        'hold': lambda: as_c(hold_law(scenario)),
        'drive': lambda: as_c(drive_law(scenario)),
        'follow': lambda: as_c(follow_law(scenario)),
    }

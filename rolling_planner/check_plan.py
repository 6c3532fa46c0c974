"""Check whether the contact holds along a plan, or along a given trajectory of the hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
import math
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import CancelledError, RollingError
from rolling_dynamics.simulation import simulate, Trajectory
from rolling_dynamics.simulation.control import ControlLike, Timed
from rolling_dynamics.simulation.guards import joined
from rolling_planner.hand_trajectory import hand_trajectory
from rolling_planner.plan import check_plan_fits, Plan

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem

POINTS, LEAST = 20, 4  # points between two samples of the hand at which margins are checked
MANY = 10_000  # maximum total number of these points
RTOL, ATOL = 1e-9, 1e-11
WORDS = {
    'normal_force': 'the normal force falls to zero: the object leaves the hand',
    'friction': 'the friction limit is reached: the object slides or spins',
    'edge': 'the contact reaches the edge of the hand',
    'relative_curvature': 'the contact is no longer a point: the surfaces fit too closely',
}


@dataclass(frozen=True, eq=False, kw_only=True)
class HandCheck:
    """
    Result of a check of the contact.

    Attributes
    ----------
    ok
        Whether it holds from start to end.
    margins
        Minimum of each guard up to the end or the first failure; positive inside.
    first_failure_time
        Time since the first sample [s]; NaN when ok.
    reason
        First failure, or the empty string.
    trajectory
        The simulated motion, None if it could not start.

    """

    ok: bool
    margins: dict[str, float]
    first_failure_time: float
    reason: str
    trajectory: Trajectory | None = None


def check_hand_trajectory(
    system: ContactSystem,
    p: Array,
    x_start: Array,
    times: ArrayLike,
    *,
    q_WH: ArrayLike,
    p_WH: ArrayLike,
    w_WH_H: ArrayLike | None = None,
    v_WH_H: ArrayLike | None = None,
    alpha_WH_H: ArrayLike | None = None,
    a_WH_H: ArrayLike | None = None,
    on_progress: Callable[[float], object] | None = None,
) -> HandCheck:
    """
    Simulate the object on a hand that follows a trajectory, and check the contact.

    Parameters
    ----------
    system, p
        The contact system and its parameters.
    x_start
        State at the start; the hand's state is taken from the trajectory.
    times, q_WH, p_WH, w_WH_H, v_WH_H, alpha_WH_H, a_WH_H
        Samples of the hand's motion, see :func:`hand_trajectory`.
    on_progress
        Called repeatedly with the time; False cancels.

    Returns
    -------
    HandCheck
        Margins, and the first failure of the contact.

    Raises
    ------
    ParameterError
        The trajectory or the state is not valid.
    CancelledError
        ``on_progress`` returned False.

    """
    hand = hand_trajectory(
        times, q_WH, p_WH, w_WH_H=w_WH_H, v_WH_H=v_WH_H, alpha_WH_H=alpha_WH_H, a_WH_H=a_WH_H
    )
    x = np.array(x_start, dtype=float)
    for name, value in hand.start.items():
        x[system.state.slice(name)] = value
    return _check(
        system, p, x, hand.times, Timed(hand.controls, hand.times), hand.controls, on_progress
    )


def check_plan(
    system: RollingSystem,
    p: Array,
    plan: Plan,
    x_start: Array | None = None,
    *,
    on_progress: Callable[[float], object] | None = None,
) -> HandCheck:
    """
    Simulate the controls of a plan, without feedback, and check the contact.

    If a system has a reset for a guard, such as to slip or flight, the motion continues in that
    mode and the guard is not a failure.

    Parameters
    ----------
    system, p
        The system and its parameters.
    plan
        Plan made for that system.
    x_start
        State at the start; None for the plan's.
    on_progress
        Called repeatedly with the time; False cancels.

    Returns
    -------
    HandCheck
        Margins, and the first failure of the contact.

    Raises
    ------
    ParameterError
        The plan is for another system.
    CancelledError
        ``on_progress`` returned False.

    """
    check_plan_fits(plan, system)
    times, controls = plan.control_samples()
    x = np.array(plan.states[0] if x_start is None else x_start, dtype=float)
    return _check(system, p, x, plan.times, (times, controls), plan.controls_at, on_progress)


def _check(
    system: RollingSystem,
    p: Array,
    x: Array,
    times: Array,
    control: ControlLike,
    controls_at: Callable[[Array], Array],
    on_progress: Callable[[float], object] | None,
) -> HandCheck:
    """Simulate under a control given at times, and check the guards at points between them."""
    begin, duration = float(times[0]), float(times[-1] - times[0])
    values = _values(system, p, x[None], controls_at(times[:1]), times[:1])
    at_start = dict(zip(_terminal_guards(system), values[:, 0].tolist(), strict=True))
    broken = _broken(at_start)
    if broken:
        return _failed(at_start, 0.0, broken[0], None)
    between = len(times) - 1
    samples = between * max(LEAST, min(POINTS, MANY // between)) + 1
    points = np.interp(np.linspace(0, 1, samples), np.linspace(0, 1, len(times)), times)
    try:
        motion = simulate(
            system,
            p,
            x,
            control,
            duration,
            start=begin,
            rtol=RTOL,
            atol=ATOL,
            on_progress=on_progress,
        )
    except CancelledError:
        raise
    except RollingError as e:
        return HandCheck(
            ok=False, margins=at_start, first_failure_time=0.0, reason=f'the motion fails: {e}'
        )
    end = motion.segments[-1].end
    points = np.append(points[points < end], end)
    rows = []
    for charted, times_there in groupby(points, motion.system_at):  # its charts may change
        group = np.array(list(times_there))
        rows.append(_values(charted, p, motion.state_in_use(group), controls_at(group), group))
    along = dict(zip(at_start, np.concatenate(rows, axis=1), strict=True))
    margins = {name: float(here.min()) for name, here in along.items()}
    event = motion.terminal_event
    if event is not None:
        return _failed(margins, event.time - begin, event.name, motion)
    if _left_for_good(motion):
        event = motion.events[-1]
        return _failed(margins, event.time - begin, event.name, motion)
    fails = {name: points[np.argmin(along[name] > 0)] for name in _broken(margins)}
    if fails:  # without a change of sign: it only touches zero, or is NaN
        first = min(fails, key=lambda name: fails[name])
        return _failed(margins, float(fails[first]) - begin, first, motion)
    return HandCheck(
        ok=True, margins=margins, first_failure_time=math.nan, reason='', trajectory=motion
    )


def _values(system: RollingSystem, p: Array, x: Array, u: Array, t: Array) -> Array:
    """Return the guards at times, a row for each; no columns for a kinematic model."""
    guards = list(_terminal_guards(system).values())
    if not guards:
        return np.zeros((0, len(t)))
    return np.array(joined('margins', system, guards)(x.T, u.T, t[None], p))


def _terminal_guards(system: RollingSystem) -> dict[str, ca.Function]:
    """Return the guards that have to hold: those without a following mode."""
    first = next(iter(system.modes.values()))
    return {name: guard for name, guard in first.guards.items() if name not in first.resets}


def _left_for_good(motion: Trajectory) -> bool:
    """Return whether the motion ends in a final mode in which it did not start."""
    first, last = (motion.segments[k].system.modes for k in (0, -1))
    return bool(next(iter(first.values())).guards) and not next(iter(last.values())).guards


def _broken(margins: dict[str, float]) -> list[str]:
    """Return the names of the margins that are not positive, including NaN."""
    return [name for name, margin in margins.items() if not margin > 0]


def _failed(
    margins: dict[str, float], time: float, name: str, motion: Trajectory | None
) -> HandCheck:
    words = WORDS.get(name, f'{name} falls through zero')
    return HandCheck(
        ok=False,
        margins=margins,
        first_failure_time=time,
        reason=f'{words} {time:.4g} s after the start',
        trajectory=motion,
    )

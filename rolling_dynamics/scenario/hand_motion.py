"""The ``hand_motion`` of a scenario: what drives the hand, as a control of the contact system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.rotations import conjugate, product, rotation_matrix
from rolling_dynamics.scenario.attitude import attitude_expression, IDENTITY, read_attitude
from rolling_dynamics.scenario.control import Control
from rolling_dynamics.scenario.formulas import check_finite, formula_of_time
from rolling_dynamics.scenario.section import located, Section

ACCELERATIONS = tuple(f'{name}[{k}]' for name in ('alpha_WH_H', 'a_WH_H') for k in range(3))
Samples = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, eq=False, kw_only=True)
class HandStart:
    """Configuration and twist of the hand at t = 0; see the layout of the contact system."""

    q_WH: NDArray[np.float64]
    p_WH: NDArray[np.float64]
    w_WH_H: NDArray[np.float64]
    v_WH_H: NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class HandMotion:
    """A control, and where it fixes the start of the hand."""

    control: Callable[[Layout, Layout], Control]
    start: HandStart | None = None


def read_hand_motion(scenario: Section, duration: float) -> HandMotion:
    """Return what the section ``hand_motion`` of a scenario asks for."""
    if 'hand_motion' not in scenario:
        return _of_time(ca.SX.sym('t'), ca.SX(6, 1))
    section = scenario.section('hand_motion')
    form = section.only()
    return _FORMS[form](section, form, duration)


def _of_time(t: ca.SX, u: ca.SX, samples: Samples | None = None) -> HandMotion:
    def control(state: Layout, layout: Layout) -> Control:
        x = ca.SX.sym('x', state.size)
        return Control(ca.Function('control', [x, t], [ca.densify(u)]), layout, samples)

    return HandMotion(control=control)


def _formulas(values: Sequence[str | float], path: str, t: ca.SX, duration: float) -> ca.SX:
    out = {}
    for k, value in enumerate(values):
        with located(f'{path}[{k}]'):
            out[f'{path}[{k}]'] = formula_of_time(value, t)
    check_finite(out, t, duration)
    return ca.vertcat(*out.values())


def _acceleration(section: Section, key: str, duration: float) -> HandMotion:
    given, t = section.section(key), ca.SX.sym('t')
    u = [
        _formulas(given.get(k, [0, 0, 0]), given.at(k), t, duration)
        for k in ('alpha_WH_H', 'a_WH_H')
    ]
    return _of_time(t, ca.vertcat(*u))


def _twist_rate(section: Section, key: str, duration: float) -> HandMotion:
    """Turn the derivative of the components into the true acceleration, dv/dt + w x v."""
    t = ca.SX.sym('t')
    rate = _formulas(section[key], section.at(key), t, duration)

    def control(state: Layout, layout: Layout) -> Control:
        x = ca.SX.sym('x', state.size)
        w, v = x[state.slice('w_WH_H')], x[state.slice('v_WH_H')]
        u = ca.vertcat(rate[0:3], rate[3:6] + ca.cross(w, v))
        return Control(ca.Function('control', [x, t], [ca.densify(u)]), layout)

    return HandMotion(control=control)


def _motion(section: Section, key: str, duration: float) -> HandMotion:
    """Differentiate position and attitude twice, exactly."""
    given, t = section.section(key), ca.SX.sym('t')
    p = _formulas(given.get('position', [0, 0, 0]), given.at('position'), t, duration)
    q = ca.SX(ca.DM(IDENTITY))
    if 'attitude' in given:
        attitude = given.section('attitude')
        form = attitude.only()
        parts = _formulas(attitude[form], attitude.at(form), t, duration)
        q = attitude_expression(form, ca.vertsplit(parts))
    w = 2 * product(conjugate(q), ca.jacobian(q, t))[1:4]
    v_W = ca.jacobian(p, t)
    R = rotation_matrix(q)
    u = ca.vertcat(ca.jacobian(w, t), R.T @ ca.jacobian(v_W, t))
    values = [
        np.array(v, dtype=float).reshape(-1)
        for v in ca.Function('start', [t], [ca.densify(e) for e in (q, p, w, R.T @ v_W, u)])(0)
    ]
    if not all(np.all(np.isfinite(v)) for v in values):
        raise section.fail(
            key,
            'position and attitude must be twice differentiable at t = 0 (and a quaternion '
            'must not vanish), got a value that is no number',
        )
    accelerations = (f'{section.at(key)}: {name} that follows' for name in ACCELERATIONS)
    check_finite(dict(zip(accelerations, ca.vertsplit(u), strict=True)), t, duration)
    start = HandStart(q_WH=values[0], p_WH=values[1], w_WH_H=values[2], v_WH_H=values[3])
    return HandMotion(control=_of_time(t, u).control, start=start)


def _breakpoints(section: Section, key: str, duration: float) -> HandMotion:
    given, t = section.section(key), ca.SX.sym('t')
    times = given.numbers('times')
    if not np.all(np.diff(times) > 0):
        raise given.fail('times', f'must increase, got {times.tolist()}')
    if times[0] > 0 or times[-1] < duration:
        raise given.fail(
            'times',
            f'must cover 0 to the duration {duration:g} s without a gap, got '
            f'{times[0]:g} to {times[-1]:g}',
        )
    columns = []
    for k in ('alpha_WH_H', 'a_WH_H'):
        values = given.numbers(k, np.zeros((times.size, 3)))
        if values.shape != (times.size, 3):
            raise given.fail(
                k, f'takes {times.size} vectors, one for each of the times, got {len(values)}'
            )
        columns.append(values)
    samples = np.hstack(columns)
    u = ca.vertcat(*(ca.pw_lin(t, ca.DM(times), ca.DM(column)) for column in samples.T))
    return _of_time(t, u, (times, samples))


_FORMS: dict[str, Callable[[Section, str, float], HandMotion]] = {
    'acceleration': _acceleration,
    'twist_rate': _twist_rate,
    'motion': _motion,
    'breakpoints': _breakpoints,
}


def read_hand_start(initial: Section, motion: HandMotion) -> HandStart:
    """Return the start of the hand: that of a prescribed motion, or ``initial.hand``."""
    if motion.start is not None:
        if 'hand' in initial:
            raise ScenarioError(
                f'{initial.at("hand")}: hand_motion.motion gives the start of the hand already; '
                'leave one of the two out'
            )
        return motion.start
    hand, zero = initial.section('hand'), np.zeros(3)
    return HandStart(
        q_WH=read_attitude(hand, 'attitude'),
        p_WH=hand.numbers('position', zero),
        w_WH_H=hand.numbers('angular_velocity', zero),
        v_WH_H=hand.numbers('velocity', zero),
    )

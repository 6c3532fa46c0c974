"""Adaptive integration with events, changes of mode and of chart, and dense output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import offers, StartMode, StateCheck
from rolling_dynamics.contract.rolling_system import Follower, MotionState, RollingSystem
from rolling_dynamics.errors import check_choice, check_names, check_positive, ParameterError
from rolling_dynamics.simulation.control import as_control, ControlLike
from rolling_dynamics.simulation.guards import off_pole
from rolling_dynamics.simulation.modes import ACTIONS, RECORD, STOP
from rolling_dynamics.simulation.run import Run, Settings
from rolling_dynamics.simulation.trajectory import Trajectory


def simulate(
    system: RollingSystem,
    p: ArrayLike,
    x0: ArrayLike,
    control: ControlLike,
    duration: float,
    *,
    t_eval: ArrayLike | None = None,
    rtol: float = 1e-12,
    atol: float = 1e-14,
    method: str = 'DOP853',
    events: Mapping[str, str] | Sequence[str] | None = None,
    guards: Mapping[str, ca.Function] | None = None,
    start: float = 0.0,
    max_step: float = math.inf,
    dense: bool = True,
    mode: str | None = None,
    switch_charts: bool = True,
    follower: Follower | None = None,
    on_progress: Callable[[float], object] | None = None,
) -> Trajectory:
    """
    Return the motion of a rolling system.

    Parameters
    ----------
    system
        The system.
    p
        Its parameters, shape (parameters.size,).
    x0
        State at the start, shape (state.size,).
    control
        An array, held; ``(times, values)``, piecewise linear, whose times are borders of steps; a
        casadi.Function ``(x, t) -> u``; a Python function of t, or of t and x, which is by far the
        slowest; None for zero.
    duration
        Time to simulate [s], positive.
    t_eval
        Output times [s], increasing, within the simulated time; the borders of the steps if None.
    rtol, atol
        Relative and absolute tolerance of a step.
    method
        ``DOP853``, which is compiled unless the control is a Python function, or another of
        SciPy's.
    events
        Guard -> ``stop``, ``record`` or ``ignore``; or the guards that stop, while the others are
        recorded. If None, and for guards that are not named, those with a reset apply it, such as
        a change of mode, and the others stop.
    guards
        Further guards by name, ``(x, u, t, p) -> scalar``, recorded unless ``events`` has another
        action.
    start
        Time at the start [s].
    max_step
        Longest step [s].
    dense
        Whether the trajectory can be evaluated at any time afterwards. Otherwise ``t_eval`` is
        required, and memory does not grow with the duration.
    mode
        Mode of motion at the start; if None, the mode of the state, for a system that offers
        :class:`StartMode`, else the first.
    switch_charts
        Whether the state changes to another chart of its surface where its own degenerates, which
        is an event; states of the trajectory are still on the charts of ``system``. Otherwise, and
        with a control that is a function of the state, the simulation ends there.
    follower
        Tracks quantities along the steps, also between output times; its result is the
        trajectory's ``followed``.
    on_progress
        Called repeatedly with the time; False ends the simulation with CancelledError.

    Returns
    -------
    Trajectory
        It ends early if an event stopped it.

    Raises
    ------
    ParameterError, SurfaceError
        An argument is out of range, or rolling cannot start from the state.
    SimulationError
        The motion became singular or not finite.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario, simulate
    >>> s = load_scenario('pendulum_slope')
    >>> motion = simulate(s.system, s.p, s.x0, s.control.simplest, 0.5)
    >>> motion.end, motion.states.shape[1] == s.system.state.size
    (0.5, True)

    """
    p, x0 = _vector('p', p, system.parameters.size), _vector('x0', x0, system.state.size)
    duration, start = _number('duration', duration), _number('start', start)
    check_positive('duration', duration, 's')
    if mode is not None:
        check_choice('mode', mode, system.modes)
    times = _output_times(t_eval, start, start + duration)
    if times is None and not dense:
        raise ParameterError('without dense output, output times t_eval are needed')
    extra = dict(guards or {})
    driven = as_control(control, system.control.size, system.state.size)
    settings = Settings(
        method=method,
        rtol=rtol,
        atol=atol,
        max_step=max_step,
        dense=dense,
        switch_charts=switch_charts and not driven.closes_loop,
        actions=_actions(events, system, list(extra)),
        extra=extra,
        follower=follower,
        on_progress=on_progress,
    )
    moved = off_pole(system, p, x0) if settings.switch_charts else None
    started, at = (system, x0) if moved is None else (moved.system, moved.state)
    checked = offers(started, StateCheck)
    if checked is not None:
        checked.check_state(p, at)
    run = Run(system, p, driven, settings, times)
    starts = offers(system, StartMode) if mode is None else None
    if starts is not None:
        first = starts.begin(p, x0, np.asarray(driven(start, x0)), start)
    else:
        first = MotionState(t=start, x=x0, mode=mode or next(iter(system.modes)), p=p)
    return run.trajectory(first, start + duration)


def _vector(name: str, given: ArrayLike, size: int) -> Array:
    array = np.array(given, dtype=float)
    if array.shape != (size,):
        raise ParameterError(f'{name} takes {size} numbers, got shape {array.shape}')
    if not np.all(np.isfinite(array)):
        raise ParameterError(f'{name} must be finite, got {array.tolist()}')
    return array


def _number(name: str, given: float) -> float:
    if not (isinstance(given, (int, float, np.number)) and math.isfinite(given)):
        raise ParameterError(f'{name} must be a finite number [s], got {given!r}')
    return float(given)


def _output_times(given: ArrayLike | None, start: float, end: float) -> Array | None:
    if given is None:
        return None
    times = np.array(given, dtype=float).reshape(-1)
    slack = 1e-9 * max(1.0, abs(end))
    inside = np.all(np.isfinite(times)) and np.all(np.diff(times) > 0) and times.size > 0
    if not (inside and start - slack <= times[0] and times[-1] <= end + slack):
        raise ParameterError(
            f't_eval takes increasing times between {start:.9g} and {end:.9g} s, got '
            f'{times[:3].tolist()} ... {times[-1:].tolist()}'
        )
    clipped: Array = np.clip(times, start, end)
    return clipped


def _actions(
    given: Mapping[str, str] | Sequence[str] | None, system: RollingSystem, extra: list[str]
) -> dict[str, str]:
    """Return the actions at guards that differ from those of their mode."""
    guards = [name for mode in system.modes.values() for name in mode.guards] + extra
    if isinstance(given, str):
        given = (given,)
    if isinstance(given, Mapping):
        actions, chosen = dict.fromkeys(extra, RECORD), dict(given)
    else:
        actions = dict.fromkeys(extra if given is None else guards, RECORD)
        chosen = dict.fromkeys(given or (), STOP)
    check_names(chosen, list(dict.fromkeys(guards)), 'events: no guard')
    for name, action in chosen.items():
        if action not in ACTIONS:
            raise ParameterError(f'event {name!r}: one of {ACTIONS} is needed, got {action!r}')
    return actions | chosen

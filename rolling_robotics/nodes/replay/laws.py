"""
Commands of laws, computed again: what each step was given through the same law.

The log of a controller has the inputs and the output of each step. With the parameters in force,
and the plan that was followed, that is all on which a law depends: its commands come out bit by
bit, in wall-clock time as well as in simulated time. Plans and laws of the laboratory are computed
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from rolling_controller.law import GoingOn, Law, replay
from rolling_controller.nodes.controller_node import machine_of
from rolling_controller.nodes.step_log import COLUMNS, EXECUTION, HOLD, rows_in, SECOND, TASK
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.parameters import FINGERPRINT
from rolling_planner.plan import Plan
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.estimates import replay_estimates
from rolling_robotics.nodes.replay.executions import converted_runs, plans_of, settings_of
from rolling_robotics.nodes.replay.replayed import Replayed

STEPS, FRAMES = 'controller/steps', 'controller/frames'  # the latter of rigs in older recordings
Run = tuple[dict[str, Any], Array]  # parameters and steps


class _Made(NamedTuple):
    """A law, the maximum magnitude of each control, and the memory from which it starts."""

    law: Law[Any]
    limits: Array | None = None
    memory: Any = None


class _Ended(NamedTuple):
    """A run that was computed whole: its law with the memory at its end, start [ns] and plan."""

    number: int
    made: _Made
    start: int
    plan: Plan | None


def replay_recording(
    recorded: Recorded, say: Callable[[str], None] = lambda _: None
) -> list[Replayed]:
    """
    Compute every estimate and command of a recording again.

    Parameters
    ----------
    recorded
        The recording.
    say
        Called with the name of the present task.

    Raises
    ------
    ParameterError
        Nothing in it can be replayed, or a part of the inputs is missing.

    """
    say('estimates')
    found = replay_estimates(recorded)
    if not found or any(recorded.topic(name) for name in (STEPS, FRAMES, 'execution/plan')):
        found += replay_laws(recorded, say)
    return found


def replay_laws(recorded: Recorded, say: Callable[[str], None] = lambda _: None) -> list[Replayed]:
    """
    Compute the commands of every run again: of executions, holds, drives and experiments.

    Parameters
    ----------
    recorded
        Recording with the log of the controller and its parameters.
    say
        Called with the name of the present task.

    Returns
    -------
    list of Replayed
        One for each run that starts in the recording.

    Raises
    ------
    ParameterError
        No run starts in it, its parameters are missing, or a law cannot be created again.

    """
    plans = dict(plans_of(recorded))
    before: _Ended | None = None
    out, counts = [], Counter[str]()
    for values, rows in _runs(recorded):
        task = values['task']
        counts[task] += 1
        loop = f', {"open" if values.get("open_loop") else "closed"} loop'
        more = {EXECUTION: loop, TASK: f', {values.get("law")}'}.get(task, '')
        title = f'{task} {counts[task]}{more}'
        say(title)
        computed, before = _computed(values, rows, before, plans)
        expected = rows[:, -computed.shape[1] :]
        out.append(Replayed(title, computed, expected, values[FINGERPRINT]))
    return out


def _runs(recorded: Recorded) -> Iterator[Run]:
    """Yield parameters and steps of the runs that start in a recording."""
    path, kind = recorded.path, recorded.topics.get(recorded.topic(STEPS) or '', '')
    if recorded.topic(FRAMES) or kind.endswith('/Int64MultiArray'):
        raise ParameterError(
            f'{path}: the log of its controller is of an earlier version, without the inputs of '
            'the law: replay it by the version that recorded it'
        )
    if not kind:
        yield from converted_runs(recorded)
        return
    runs: list[list[Array]] = []
    for _, _, message in recorded.messages([STEPS]):
        rows = rows_in(message)
        if rows[0, 1] == 0:
            runs.append([rows])
        elif runs and runs[-1][0][0, 0] == rows[0, 0]:
            runs[-1].append(rows)  # others are of a run that started before the recording
    if not runs:
        raise ParameterError(
            f'{path}: {STEPS} lacks the beginning of a run; start the recorder before it'
        )
    settings = iter(settings_of(recorded))
    for parts in runs:
        number = parts[0][0, 0]
        values = next((values for values in settings if values['run'] == number), None)
        if values is None:
            raise ParameterError(f'{path}: holds no parameters of run {number:g}')
        yield values, np.concatenate(parts)


def _computed(
    values: dict[str, Any], rows: Array, before: _Ended | None, plans: dict[int, Plan]
) -> tuple[Array, _Ended | None]:
    """Return the outputs of a run, and the memory from which the next one may continue."""
    number, first = int(rows[0, 0]), len(COLUMNS)
    if before is not None and before.number != number - 1:
        before = None
    found: dict[int, Array] = {}  # outputs from a step on
    whole = int(np.cumprod(rows[:, 1] == np.arange(len(rows))).sum())  # before a step is missing
    held = int((rows[:whole, 2] > 0).sum())  # steps of the law before

    def compute(made: _Made, begin: int, end: int) -> Any:
        last = first + made.law.inputs.size
        inputs, times = rows[begin:end, first:last], rows[begin:end, 5]
        outputs, memory = replay(made.law, inputs, times, made.memory)
        if made.limits is not None:
            outputs = np.minimum(np.maximum(outputs, -made.limits), made.limits)
        found[begin] = outputs
        return memory

    if before is not None and held and _width(before.made.law) <= rows.shape[1]:
        compute(_Made(GoingOn(before.made.law, before.made.memory, 0.0)), 0, held)
    ended = None
    if held < whole:
        seconds, nanoseconds, t = rows[held, 3:6].tolist()
        start = int(seconds) * SECOND + int(nanoseconds) - round(t * 1e9)
        plan = before.plan if before is not None else None
        plan = plans.get(start) if values['task'] == EXECUTION else plan
        made = _made(values, before, plan)
        if made is not None:
            if rows.shape[1] != _width(made.law):
                raise ParameterError(f'{STEPS} is damaged: run {number} is of another law')
            memory = compute(made, held, whole)
            if whole == len(rows):
                ended = _Ended(number, made._replace(memory=memory), start, plan)
    size = next((outputs.shape[1] for outputs in found.values()), 1)
    computed = np.full((len(rows), size), np.nan)
    for begin, outputs in found.items():
        computed[begin : begin + len(outputs)] = outputs
    return computed, ended


def _width(law: Law[Any]) -> int:
    """Return how many numbers a step has in the log of a law."""
    return len(COLUMNS) + law.inputs.size + law.output.size


def _made(values: dict[str, Any], before: _Ended | None, plan: Plan | None) -> _Made | None:
    """Return the law of a run; None where it continues an unknown one."""
    if not values.get('continues'):
        return _Made(*machine_of(values).law_of(values, plan))
    if before is None or values['task'] != HOLD:
        return None if before is None else before.made
    law, memory, limits = before.made.law, before.made.memory, before.made.limits
    return _Made(GoingOn(law, memory, before.start * 1e-9), limits)

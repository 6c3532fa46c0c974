"""What a demonstration tells: progress, endings, and both errors side by side."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rolling_robotics.demo.demo import Demo
from rolling_robotics.demo.record import Execution, Record

REACHED, MISSED, VOID = 0, 1, 4
VOID_SHARE = 0.1  # of missed deadlines in a second beyond which a missed goal proves nothing


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def progress_text(feedback: Any) -> str:
    """Return what a planner tells of its progress; not all of them tell everything."""
    parts = [f'{feedback.segments:4d} segments, iteration {feedback.iteration:3d}']
    told = {
        'cost': f'{feedback.cost:.4g}',
        'violation': f'{feedback.violation:.2e}',
        'goal error': f'{feedback.goal_error:.2e}',
    }
    return ', '.join([*parts, *(f'{k} {v}' for k, v in told.items() if v != 'nan')])


def ending_text(run: Execution) -> str:
    """Return how an execution ended."""
    return f'final error {run.final_error:.3g}' + (f' ({run.text})' if run.text else '')


def conclude(demo: Demo, record: Record, out: Path) -> int:
    """
    Print the comparison, draw the figure and return the exit status.

    A goal that was missed while a node could not keep the clock is not judged: the status is VOID.
    """
    errors = {label: run.final_error for label, run in record.runs.items()}
    ratio = errors['open loop'] / max(errors['closed loop'], 1e-12)
    say('')
    say('final error     norm of m, rad, m/s, rad/s     distance from the goal [mm]')
    for label, error in errors.items():
        say(f'  {label:<12}  {error:26.5f}     {1e3 * record.miss(label):27.3f}')
    if math.isfinite(ratio):
        say(f'under feedback the error is {ratio:.3g} times smaller')
    figure = out / f'{demo.experiment}.png'
    demo.draw(record, figure)
    say(f'figure: {figure}')
    closed_loop = record.runs['closed loop']
    if closed_loop.code == 0:
        say('the goal was reached')
        return REACHED
    say(f'the goal was missed: {closed_loop.text}')
    if closed_loop.late <= VOID_SHARE:
        return MISSED
    say(
        f'the run is void: {closed_loop.latest} missed {closed_loop.late:.0%} of its deadlines in '
        f'a second, more than {VOID_SHARE:.0%}; this machine did not keep the clock'
    )
    return VOID

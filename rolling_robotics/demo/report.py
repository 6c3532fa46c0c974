"""What a demonstration tells: progress, endings, and both errors side by side."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from rolling_robotics.demo.demo import Demo
from rolling_robotics.demo.record import Execution, Record
from rolling_robotics.demo.verdict import margin_text, MISSED, REACHED, say, VOID


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
    """Print the comparison, draw the figure and return the exit status."""
    errors = {label: run.final_error for label, run in record.runs.items()}
    ratio = errors['open loop'] / max(errors['closed loop'], 1e-12)
    say('')
    say('final error     norm of m, rad, m/s, rad/s     distance from the goal [mm]')
    for label, error in errors.items():
        say(f'  {label:<12}  {error:26.5f}     {1e3 * record.miss(label):27.3f}')
    if math.isfinite(ratio):
        say(f'under feedback the error is {ratio:.3g} times smaller')
    figure = out / f'{Path(demo.experiment).stem}.png'
    demo.draw(record, figure)
    say(f'figure: {figure}')
    closed_loop = record.runs['closed loop']
    reached = closed_loop.code == 0
    say('the goal was reached' if reached else f'the goal was missed: {closed_loop.text}')
    if closed_loop.void:
        say(f'the run is void: {closed_loop.void}')
        return VOID
    if math.isfinite(closed_loop.final_error):
        say(margin_text(closed_loop.final_error, closed_loop.tolerance))
    return REACHED if reached else MISSED

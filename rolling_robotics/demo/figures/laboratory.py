"""Figure of the laboratory: angle of the object, open loop beside closed loop, and its error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_robotics.demo.figures.panels import saved_panels
from rolling_robotics.demo.laboratory.demos import LaboratoryDemo
from rolling_robotics.demo.laboratory.trial_record import TrialSeen

COLOURS = {
    'predictive': '#6a3d9a',
    'closed_loop': '#1f6fb4',
    'replay_balance': '#7a8b2f',
    'open_loop': '#c1440e',
}
STEP = 0.005  # s between two points of a mean
LEAST = 1e-4  # rad, the least error that is drawn
ROOM = 0.15  # above and below what feedback does, as a share of its range
GOAL: dict[str, Any] = {'color': '0.4', 'linewidth': 0.8, 'linestyle': '--'}


def draw(demo: LaboratoryDemo, seen: Sequence[TrialSeen], path: Path) -> None:
    """
    Write the figure, a PNG file: mean and two standard deviations over the trials of each law.

    Trials that ended early are left out, unless all of a law did. Woodruff & Lynch, Figs. 10, 13.
    """
    with saved_panels(path, 'a;b', sharex=True) as axes:
        for law in demo.lengths():
            made = [t for t in seen if t.law == law and len(t.times) > 1]
            trials = [t for t in made if t.complete] or made
            if not trials:
                continue
            times, rows = _on_one_grid(demo, trials)
            left_out = f', {len(made) - len(trials)} cut short' if len(made) > len(trials) else ''
            count = f'{len(trials)} trial{"s" if len(trials) > 1 else ""}'
            label = f'{law.replace("_", " ")} ({count}{left_out})'
            mean, spread = rows.mean(axis=0), 2 * rows.std(axis=0)
            colour = COLOURS[law]
            axes['a'].plot(times, mean, label=label, color=colour)
            axes['a'].fill_between(times, mean - spread, mean + spread, alpha=0.25, color=colour)
            error = np.maximum(np.abs(demo.error(rows)).max(axis=0), LEAST)
            axes['b'].semilogy(times, error, color=colour)
            if law == demo.law:
                axes['a'].axhline(mean[-1] - demo.error(mean[-1:])[0], **GOAL)
            if law == demo.law and not demo.faster:  # what falls over is not followed
                low, high = min(rows.min(), demo.goal), max(rows.max(), demo.goal)
                room = ROOM * (high - low)
                axes['a'].set_ylim(low - room, high + room)
        axes['a'].set(ylabel=demo.angle_text, title='mean and two standard deviations')
        axes['b'].axhline(demo.tolerance, **GOAL)
        axes['b'].set(
            xlabel='time [s]', ylabel='[rad]', title='greatest distance from the goal, tolerance'
        )
        axes['a'].set_xlim(0.0, max(demo.lengths().values()))


def _on_one_grid(demo: LaboratoryDemo, trials: Sequence[TrialSeen]) -> tuple[Array, Array]:
    """Return times, shape (k,), and the angle of each trial there, shape (n, k)."""
    end = min(float(t.times[-1]) for t in trials)
    times = np.arange(0.0, end, STEP)
    rows = [np.interp(times, t.times, demo.angle(t.attitudes)) for t in trials]
    return times, np.array(rows)

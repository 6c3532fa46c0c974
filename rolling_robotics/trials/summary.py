"""What many trials show together: mean and spread over time, time to rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_robotics.trials.judge import Criterion
from rolling_robotics.trials.prepare import setting
from rolling_robotics.trials.run import Trial


class Band(NamedTuple):
    """Times [s], mean, and two standard deviations over trials; shape (k,) each."""

    times: Array
    mean: Array
    spread: Array


def band(trials: Sequence[Trial], value: Callable[[Trial], Array] | None = None) -> Band:
    """
    Return mean and two standard deviations of a value over trials, as in Figs. 10 and 13.

    Parameters
    ----------
    trials
        Run to the end, all of one length.
    value
        Of a trial at its times, shape (k,); the turn of the object in the world if None.

    Raises
    ------
    ParameterError
        There are no trials, or some ended early.

    """
    if len({len(trial.times) for trial in trials}) != 1:
        raise ParameterError(
            'trials of one length are needed; run them with to_the_end, got lengths '
            f'{sorted({len(trial.times) for trial in trials})}'
        )
    rows = np.array([trial.angles if value is None else value(trial) for trial in trials])
    return Band(trials[0].times, rows.mean(axis=0), 2 * rows.std(axis=0))


def rest_time(trial: Trial, name: str = 'damping') -> float:
    """Return when the object has come to within the tolerance for good [s]; infinite if never."""
    known = setting(name)
    criterion = Criterion(goal=known['goal'], tolerance=known['tolerance'])
    return criterion.rest_time(trial.times, trial.angles)

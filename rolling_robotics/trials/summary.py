"""Mean and spread of many trials over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_robotics.trials.judge import ANGLE
from rolling_robotics.trials.trial import Record


class Band(NamedTuple):
    """Times [s], mean, and two standard deviations over trials; shape (k,) each."""

    times: Array
    mean: Array
    spread: Array


def band(trials: Sequence[Record]) -> Band:
    """
    Return mean and two standard deviations of the angle over trials, as in Figs. 10 and 13.

    Parameters
    ----------
    trials
        Run to the end, all of one length.

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
    rows = np.array([trial[ANGLE] for trial in trials])
    return Band(trials[0].times, rows.mean(axis=0), 2 * rows.std(axis=0))

"""The experiments of all systems, by name: each plug-in brings its own."""

from __future__ import annotations

from collections.abc import Mapping

from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import roles
from rolling_dynamics.suggestion import suggestion
from rolling_robotics.experiment import Experiment

EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment for _, found in roles('experiments') for experiment in found
}


def find_experiment(name: str) -> Experiment:
    """Return an experiment, or raise ParameterError naming those that exist."""
    try:
        return EXPERIMENTS[name]
    except KeyError:
        known = suggestion(name, list(EXPERIMENTS))
        raise ParameterError(f'no experiment {name!r}{known}') from None

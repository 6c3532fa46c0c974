"""The experiments of all systems, by name: each plug-in brings its own."""

from __future__ import annotations

from collections.abc import Mapping
import logging

from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import roles
from rolling_dynamics.suggestion import suggestion
from rolling_dynamics.text import printable
from rolling_robotics.experiment import Experiment

LOG = logging.getLogger(__name__)


def by_name() -> dict[str, Experiment]:
    """Return the experiments of all plug-ins but those that are none or whose name is taken."""
    out: dict[str, Experiment] = {}
    for system, found in roles('experiments'):
        for experiment in found:
            if not isinstance(experiment, Experiment) or experiment.name in out:
                told = printable(getattr(experiment, 'name', experiment))
                why = 'that name is taken' if told in out else 'an Experiment is expected'
                LOG.warning('plug-in %s: experiment %s is left out: %s', system, told, why)
            else:
                out[experiment.name] = experiment
    return out


EXPERIMENTS: Mapping[str, Experiment] = by_name()


def find_experiment(name: str) -> Experiment:
    """Return an experiment, or raise ParameterError naming those that exist."""
    try:
        return EXPERIMENTS[name]
    except KeyError:
        known = suggestion(name, list(EXPERIMENTS))
        raise ParameterError(f'no experiment {name!r}{known}') from None

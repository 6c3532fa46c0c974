"""The experiments of all systems, by name: each plug-in brings its own."""

from __future__ import annotations

from collections.abc import Mapping
import logging
from pathlib import Path
from typing import Any

from rolling_dynamics.configuration import find_config, find_scenario
from rolling_dynamics.errors import ParameterError, printable, ScenarioError, suggestion
from rolling_dynamics.plugin import roles
from rolling_dynamics.scenario_model import load_robot
from rolling_robotics.experiment import Experiment, of_robot
import yaml

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
    """
    Return an experiment by its name, or that of a robot by its scenario.

    Parameters
    ----------
    name
        Name of an experiment, or a scenario of a rolling robot: a path, or an example.

    Raises
    ------
    ParameterError
        There is neither, or the scenario is not one of a robot; the text names the experiments.

    """
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    try:
        path = find_scenario(name)
    except ScenarioError:
        known = suggestion(name, list(EXPERIMENTS))
        raise ParameterError(f'no experiment {name!r}{known}') from None
    return of_scenario(path)


def of_scenario(path: Path) -> Experiment:
    """Return the experiment of a robot that a scenario describes; raise ParameterError if none."""
    model = load_robot(str(path))
    return of_robot(
        path.stem,
        model.scenario.description or f'A {model.system.name}.',
        str(path),
        demo='rolling_robotics.demo.demo:demo',
        files='robot',
    )


def parameters_of(name: str, node: str) -> Mapping[str, Any]:
    """Return the parameters of a node in the file of an experiment, by name."""
    sections = yaml.safe_load(find_config(find_experiment(name).params_file).read_text())
    found: Mapping[str, Any] = sections[f'/**/{node}']['ros__parameters']
    return found

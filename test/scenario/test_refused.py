"""
Error texts stay as they are: ``refused.json`` holds what hostile documents get.

A case is a shipped scenario with one entry replaced (``put``), taken out (``gone``) or renamed,
and the lines of the error. The order of the lines does not matter.
"""

import copy
import json
from pathlib import Path

import pytest
from rolling_dynamics.errors import RollingError
from rolling_dynamics.scenario import load_scenario
from rolling_planner.planners.planner import planner_of
from rolling_robotics.sweep.points import read_sweep
import yaml

SCENARIOS = Path(__file__).resolve().parents[2] / 'config/scenarios'
CASES = json.loads((Path(__file__).parent / 'refused.json').read_text())


def changed(document, path, how, value):
    document = copy.deepcopy(document)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    if how == 'put':
        inner[path[-1]] = value
        return document
    taken = inner.pop(path[-1])
    if how == 'renamed':
        inner[value] = taken
    return document


def told(document):
    """Return the lines that are said of a document."""
    try:
        scenario = load_scenario(document)
        if 'plan' in scenario.raw:
            planner_of(scenario.system.name).problem(scenario)
        if 'sweep' in scenario.raw:
            read_sweep(scenario.raw)
    except RollingError as e:
        return str(e).splitlines()
    return []


@pytest.mark.parametrize('name', CASES)
def test_texts(name):
    document = yaml.safe_load((SCENARIOS / f'{name}.yaml').read_text())
    different = [
        (path, how, value, lines, found)
        for path, how, value, lines in CASES[name]
        if sorted(found := told(changed(document, path, how, value))) != sorted(lines)
    ]
    assert not different

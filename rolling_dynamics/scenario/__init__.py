"""Scenarios: files that describe a rolling system, its start and what drives it."""

from rolling_dynamics.scenario.common import ScenarioFile
from rolling_dynamics.scenario.control import Control
from rolling_dynamics.scenario.registry import load_scenario
from rolling_dynamics.scenario.scenario import Scenario, Tolerances

__all__ = [
    'Control',
    'Scenario',
    'ScenarioFile',
    'Tolerances',
    'load_scenario',
]

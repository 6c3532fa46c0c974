"""Scenarios: files that describe a rolling system, its start and what drives it."""

from rolling_dynamics.scenario.control import Control
from rolling_dynamics.scenario.scenario import load_scenario, Scenario, ScenarioFile, Tolerances

__all__ = [
    'Control',
    'Scenario',
    'ScenarioFile',
    'Tolerances',
    'load_scenario',
]

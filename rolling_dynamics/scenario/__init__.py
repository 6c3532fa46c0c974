"""Scenarios: files that describe a rolling system, its start and what drives it."""

from rolling_dynamics.scenario.control import Control
from rolling_dynamics.scenario.registry import load_scenario, register_reader, ScenarioReader
from rolling_dynamics.scenario.scenario import Scenario, Tolerances

__all__ = [
    'Control',
    'Scenario',
    'ScenarioReader',
    'Tolerances',
    'load_scenario',
    'register_reader',
]

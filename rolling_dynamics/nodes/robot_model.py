"""The rolling robot that a scenario describes, as the nodes use it; no ROS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.robots import robot_view, RobotView
from rolling_dynamics.scenario import load_scenario, Scenario


@dataclass(frozen=True, eq=False, kw_only=True)
class RobotModel:
    """
    A robot with its numbers.

    Attributes
    ----------
    title
        What it is, for the log.
    system
        The system.
    params
        Its parameters p.
    start
        State x at the start.
    control_limits
        Greatest magnitude of each control, None for no limit.
    view
        What it shows of itself.
    scenario
        The scenario as loaded.

    """

    title: str
    system: RollingSystem
    params: NDArray[np.float64]
    start: NDArray[np.float64]
    control_limits: NDArray[np.float64] | None
    view: RobotView
    scenario: Scenario

    @property
    def hybrid(self) -> bool:
        """Whether the scenario asks for the motion beyond rolling."""
        return 'hybrid' in self.scenario.raw

    @property
    def sliding(self) -> bool:
        """Whether a motion beyond rolling goes on after slip begins; of itself it does."""
        return bool(self.scenario.raw.get('hybrid', {'sliding': True}).get('sliding', False))


def load_robot(scenario_file: str) -> RobotModel:
    """
    Return the robot of a scenario file.

    Parameters
    ----------
    scenario_file
        A path, or the name of an example.

    Raises
    ------
    ParameterError, ScenarioError
        There is no such file, an entry is wrong, or the system is no robot.

    """
    scenario = load_scenario(scenario_file)
    limits = scenario.control_limits
    return RobotModel(
        title=scenario.name,
        system=scenario.system,
        params=scenario.p,
        start=scenario.x0,
        control_limits=limits if np.any(np.isfinite(limits)) else None,
        view=robot_view(scenario.system, scenario.p),
        scenario=scenario,
    )

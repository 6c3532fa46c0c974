"""Scene of a ball or a disk with masses inside."""

from __future__ import annotations

import numpy as np
from rolling_dynamics.scenario import Scenario
from rolling_robotics.files import Arrays, Values
from rolling_robotics.scene.general import scene_on_floor
from rolling_robotics.scene.parts import cross
from rolling_robotics.scene.scene import Line, Scene


def mass_scene(scenario: Scenario, arrays: Arrays) -> Scene:
    """Return the scene of a ball or a disk on its floor, with the goal of a plan."""
    return scene_on_floor(scenario, arrays, _goal(arrays, arrays.parameter('radius')))


def _goal(arrays: Arrays, radius: float) -> tuple[Line, ...]:
    """Return a cross at the contact point that is the goal of a plan."""
    goal = arrays.result.get('goal', {}).get('p')
    if goal is None:
        return ()
    place: Values = np.array([*goal['values'], 0.0])[:2]
    return cross(list(place), radius / 4)

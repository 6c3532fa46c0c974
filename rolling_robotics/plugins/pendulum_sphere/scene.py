"""Scene of a sphere with a pendulum."""

from __future__ import annotations

from rolling_dynamics.scenario import Scenario
from rolling_robotics.result_arrays import Arrays
from rolling_robotics.scene.general import scene_on_floor
from rolling_robotics.scene.parts import circle, cross
from rolling_robotics.scene.scene import Line, Scene


def pendulum_scene(scenario: Scenario, arrays: Arrays) -> Scene:
    """Return the scene of a sphere on its floor, with waypoints and obstacles of a manoeuvre."""
    return scene_on_floor(scenario, arrays, _course(scenario, arrays.parameter('shell_radius')))


def _course(scenario: Scenario, radius: float) -> tuple[Line, ...]:
    """Return crosses at the waypoints and circles round the obstacles of a manoeuvre."""
    plan = scenario.raw.get('plan', {})
    crosses = [c for w in plan.get('waypoints', ()) for c in cross(w['position'], radius / 4)]
    circles = [circle(c['center'], float(c['radius'])) for c in plan.get('obstacles', ())]
    return (*crosses, *circles)

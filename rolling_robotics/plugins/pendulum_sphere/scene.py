"""Scene of a sphere with a pendulum."""

from __future__ import annotations

from dataclasses import replace

from rolling_dynamics.scenario import Scenario
from rolling_robotics.files import Arrays
from rolling_robotics.scene.general import scene_on_floor
from rolling_robotics.scene.parts import circle, cross, pillar
from rolling_robotics.scene.scene import fixed_body, GROUND, Line, Scene


def pendulum_scene(scenario: Scenario, arrays: Arrays) -> Scene:
    """Return the scene of a sphere on its floor, with waypoints and obstacles of a manoeuvre."""
    radius = arrays.parameter('shell_radius')
    scene = scene_on_floor(scenario, arrays, _course(scenario, radius))
    circles = scenario.raw.get('plan', {}).get('obstacles', ())
    if not circles:
        return scene
    pillars = (pillar(c['center'], float(c['radius']), 2 * radius) for c in circles)
    obstacles = replace(fixed_body('obstacles', len(scene.times), *pillars), layer=GROUND)
    return replace(scene, bodies=(scene.bodies[0], obstacles, *scene.bodies[1:]))


def _course(scenario: Scenario, radius: float) -> tuple[Line, ...]:
    """Return crosses at the waypoints and circles round the obstacles of a manoeuvre."""
    plan = scenario.raw.get('plan', {})
    crosses = [c for w in plan.get('waypoints', ()) for c in cross(w['position'], radius / 4)]
    circles = [circle(c['center'], float(c['radius'])) for c in plan.get('obstacles', ())]
    return (*crosses, *circles)

"""Scene of a sphere that rolls and spins on a plane."""

from __future__ import annotations

import numpy as np
from rolling_dynamics.robots.view import OBJECT
from rolling_dynamics.scenario import Scenario
from rolling_planner.spin_rolling.motion import read_spin_rolling_problem
from rolling_robotics.files import Arrays
from rolling_robotics.scene.general import control_strips
from rolling_robotics.scene.parts import cross, floor_body, rolling_traces, sphere_mesh
from rolling_robotics.scene.scene import Body, Frame, Line, Scene


def spin_rolling_scene(scenario: Scenario, arrays: Arrays) -> Scene:
    """
    Return sphere, plane, the contact's path on both, and the inputs.

    Parameters
    ----------
    scenario
        Scenario of the system ``spin_rolling_sphere``; the model is kinematic, without a force.
    arrays
        Arrays of the simulation.

    """
    radius = arrays.parameter('radius')
    attitude, contact = arrays['object_attitude'], arrays['contact_position']
    over_time = scenario.system.independent_variable == 'time'  # else it has no view of a robot
    sphere = Body(
        name='object',
        position=arrays['object_position'],
        attitude=attitude,
        meshes=(sphere_mesh(radius, OBJECT),),
    )
    return Scene(
        title=scenario.name,
        system=scenario.system.name,
        times=arrays.time,
        time_unit='s' if over_time else 'm',
        bodies=(floor_body(len(contact), contact, radius, _marks(scenario, radius)), sphere),
        frames=(Frame(name='contact', position=contact, attitude=arrays['contact_attitude']),),
        traces=rolling_traces(
            contact, attitude, radius, ('on the plane', 'on the sphere', 'object')
        ),
        strips=control_strips(scenario, arrays),
    )


def _marks(scenario: Scenario, radius: float) -> tuple[Line, ...]:
    """Return the goal of a plan, and the rectangle that it may not leave."""
    if 'plan' not in scenario.raw:
        return ()
    problem = read_spin_rolling_problem(scenario)
    marks: list[Line] = [*cross((problem.goal.u_s, problem.goal.v_s), radius / 5)]
    u, v = problem.region.u_bounds, problem.region.v_bounds
    if np.all(np.isfinite([u, v])):
        corners = [(u[i], v[j], 0.0) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))]
        marks.append(Line(points=np.array(corners), width=1.6))
    return tuple(marks)

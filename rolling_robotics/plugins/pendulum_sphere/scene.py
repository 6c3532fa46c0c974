"""Scene of a sphere with a pendulum."""

from __future__ import annotations

import math

import numpy as np
from rolling_dynamics.scenario import Scenario
from rolling_robotics.result_arrays import Arrays
from rolling_robotics.scene.meshes import cylinder_mesh, INNER, moved_mesh, SHELL, sphere_mesh
from rolling_robotics.scene.parts import (
    circle,
    contact_strips,
    contact_wrench,
    cross,
    floor_body,
    rolling_traces,
    under,
)
from rolling_robotics.scene.scene import (
    Body,
    Frame,
    Line,
    Mesh,
    Scene,
    still,
)

GLASS = 0.25
THICKNESS = 0.03  # half that of the pendulum's disk, in radii of the shell


def pendulum_scene(scenario: Scenario, arrays: Arrays) -> Scene:
    """
    Return shell and pendulum, waypoints and obstacles, the contact's path and its force.

    The pendulum is drawn as the thin disk that has its inertia. W stands on the floor: of a slope
    it is gravity that is tilted.

    Parameters
    ----------
    scenario
        Of the system ``pendulum_sphere``.
    arrays
        What was simulated.

    """
    radius = arrays.parameter('shell_radius')
    shell, attitude = arrays['shell_position'], arrays['shell_attitude']
    contact = under(shell, radius)
    return Scene(
        title=scenario.name,
        system=scenario.system.name,
        times=arrays.time,
        bodies=(
            floor_body(contact, radius, _course(scenario, radius)),
            Body(
                name='shell',
                position=shell,
                attitude=attitude,
                meshes=(sphere_mesh(radius, SHELL, opacity=GLASS),),
            ),
            Body(
                name='pendulum',
                position=arrays['pendulum_position'],
                attitude=arrays['pendulum_attitude'],
                meshes=(_disk(arrays, radius),),
                lines=(_rod(arrays),),
            ),
        ),
        frames=(Frame(name='contact', position=contact, attitude=still(len(contact))[1]),),
        traces=rolling_traces(
            contact, attitude, radius, ('on the floor', 'on the shell', 'shell')
        ),
        wrench=contact_wrench(arrays, radius),
        strips=contact_strips(arrays),
    )


def _disk(arrays: Arrays, radius: float) -> Mesh:
    length, mass = arrays.parameter('pendulum_length'), arrays.parameter('pendulum_mass')
    along = arrays.parameter('pendulum_inertia') + arrays.parameter('pendulum_excess')
    fits = math.sqrt(radius**2 - length**2)  # another body of this inertia may be smaller
    mesh = cylinder_mesh(min(math.sqrt(2 * along / mass), 0.97 * fits), THICKNESS * radius, INNER)
    return moved_mesh(mesh, np.eye(3), np.array([0.0, 0.0, -length]))


def _rod(arrays: Arrays) -> Line:
    length = arrays.parameter('pendulum_length')
    return Line(points=np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -length]]), width=2.5)


def _course(scenario: Scenario, radius: float) -> tuple[Line, ...]:
    """Return crosses at the waypoints and circles round the obstacles of a manoeuvre."""
    plan = scenario.raw.get('plan', {})
    crosses = [c for w in plan.get('waypoints', ()) for c in cross(w['position'], radius / 4)]
    circles = [circle(c['center'], float(c['radius'])) for c in plan.get('obstacles', ())]
    return (*crosses, *circles)

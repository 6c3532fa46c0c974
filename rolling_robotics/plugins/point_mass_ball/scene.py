"""Scene of a ball or a disk with masses inside."""

from __future__ import annotations

import numpy as np
from rolling_dynamics.internal_masses import PointMassBall, PointMassDisk
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.scenario import Scenario
from rolling_robotics.result_arrays import Arrays, Values
from rolling_robotics.scene.meshes import (
    cylinder_mesh,
    INNER,
    moved_mesh,
    SHELL,
    sphere_mesh,
)
from rolling_robotics.scene.parts import (
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

GLASS = 0.28  # opacity of a shell that shows what is in it
THICKNESS = 0.06  # half that of the disk, in radii
LARGEST = 0.09  # radius of the heaviest mass, in radii of the body
ALONG_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def mass_scene(scenario: Scenario, arrays: Arrays) -> Scene:
    """
    Return shell, rails and masses, the contact's path on floor and shell, and its force.

    Parameters
    ----------
    scenario
        Of a ball or a disk.
    arrays
        What was simulated.

    """
    system = scenario.system
    if not isinstance(system, PointMassBall | PointMassDisk):
        raise TypeError(system.name)
    radius = arrays.parameter('radius')
    shell, attitude = arrays['shell_position'], arrays['shell_attitude']
    contact = under(shell, radius)
    return Scene(
        title=scenario.name,
        system=system.name,
        times=arrays.time,
        bodies=(
            floor_body(contact, radius, _goal(arrays, radius)),
            Body(
                name='shell',
                position=shell,
                attitude=attitude,
                meshes=(_shell(system, radius),),
                lines=_rails(system),
            ),
            *_masses(system, arrays, radius),
        ),
        frames=(Frame(name='contact', position=contact, attitude=still(len(contact))[1]),),
        traces=rolling_traces(
            contact, attitude, radius, ('on the floor', 'on the shell', 'shell')
        ),
        wrench=contact_wrench(arrays, radius),
        strips=contact_strips(arrays),
    )


def _shell(system: PointMassBall | PointMassDisk, radius: float) -> Mesh:
    if isinstance(system, PointMassBall):
        return sphere_mesh(radius, SHELL, opacity=GLASS)
    flat = cylinder_mesh(radius, THICKNESS * radius, SHELL, opacity=GLASS)
    return moved_mesh(flat, ALONG_Y, np.zeros(3))


def _rails(system: PointMassBall | PointMassDisk) -> tuple[Line, ...]:
    return tuple(
        Line(points=m.rail.sample(73), width=1.2) for m in system.masses if isinstance(m, RailMass)
    )


def _masses(
    system: PointMassBall | PointMassDisk, arrays: Arrays, radius: float
) -> tuple[Body, ...]:
    heaviest = max((m.mass for m in system.masses), default=1.0) or 1.0
    return tuple(
        Body(
            name=f'mass_{k}',
            position=arrays[f'mass_{k}_position'],
            attitude=arrays[f'mass_{k}_attitude'],
            meshes=(sphere_mesh(LARGEST * radius * np.cbrt(m.mass / heaviest), INNER, cells=10),),
        )
        for k, m in enumerate(system.masses, 1)
    )


def _goal(arrays: Arrays, radius: float) -> tuple[Line, ...]:
    """Return a cross at the contact point that is the goal of a plan."""
    goal = arrays.result.get('goal', {}).get('p')
    if goal is None:
        return ()
    place: Values = np.array([*goal['values'], 0.0])[:2]
    return cross(list(place), radius / 4)

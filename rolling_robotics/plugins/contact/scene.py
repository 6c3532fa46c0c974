"""Scene of an object on a moving hand."""

from __future__ import annotations

from typing import cast

import numpy as np
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.robots.view import HAND, OBJECT
from rolling_dynamics.rotations import quaternions
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.surfaces.surface import Surface
from rolling_robotics.files import Arrays
from rolling_robotics.scene.parts import (
    contact_strips,
    contact_wrenches,
    drawn_box,
    ON_BODY,
    ON_GROUND,
    surface_mesh,
)
from rolling_robotics.scene.scene import (
    Body,
    Frame,
    GROUND,
    Line,
    Mesh,
    rotation_matrices,
    Scene,
    Trace,
)


def contact_scene(scenario: Scenario, arrays: Arrays) -> Scene:
    """
    Return hand and object with their surfaces, both contact frames, both traces and the wrench.

    Parameters
    ----------
    scenario
        Scenario of the system ``contact``.
    arrays
        Arrays of the simulation.

    """
    system = cast('ContactSystem | HybridContactSystem', scenario.system)
    obj = surface_mesh(
        system.object_surface, drawn_box(system.object_surface, arrays['contact_o']), OBJECT
    )
    size = float(np.ptp(obj.vertices, axis=0).max())
    wrenches = contact_wrenches(arrays, {'': arrays.parameter('mu')}, size / 2)
    return Scene(
        title=scenario.name,
        system=system.name,
        times=arrays.time,
        bodies=(
            Body(
                name='hand',
                position=arrays['hand_position'],
                attitude=arrays['hand_attitude'],
                meshes=(_hand_mesh(system.hand_surface, arrays, size),),
                lines=_goal(arrays, system.hand_surface, size),
                layer=GROUND,
            ),
            Body(
                name='object',
                position=arrays['object_position'],
                attitude=arrays['object_attitude'],
                meshes=(obj,),
            ),
        ),
        frames=(
            Frame(
                name='contact_hand',
                position=arrays['contact_position'],
                attitude=arrays['contact_attitude'],
                wrench=wrenches.get(''),
            ),
            _object_frame(system, arrays),
        ),
        traces=(
            Trace(name='on the hand', body='hand', points=arrays['p_HC'], colour=ON_GROUND),
            Trace(name='on the object', body='object', points=arrays['p_OC'], colour=ON_BODY),
        ),
        strips=contact_strips(wrenches),
    )


def _hand_mesh(surface: Surface, arrays: Arrays, size: float) -> Mesh:
    path = arrays['contact_h']
    edges = np.array(arrays.result['parameters']['hand_edges']['values'], dtype=float)
    if surface.name == 'plane':  # flat: as far as the object reaches
        low, high = np.nanmin(path, axis=0) - size, np.nanmax(path, axis=0) + size
        box = np.array([np.maximum(low, edges[[0, 2]]), np.minimum(high, edges[[1, 3]])])
    else:
        box = drawn_box(surface, path, edges)
    return surface_mesh(surface, box, HAND, closed=surface.name not in ('plane', 'expression'))


def _goal(arrays: Arrays, surface: Surface, size: float) -> tuple[Line, ...]:
    """Return a cross on the hand where the contact is to end."""
    goal = arrays.result.get('goal', {}).get('contact_h')
    if goal is None:
        return ()
    place = np.asarray(surface.numeric()(goal['values'], surface.parameter_values)[0]).ravel()
    frame = np.asarray(surface.numeric()(goal['values'], surface.parameter_values)[1])
    arm = 0.08 * size * (frame[:, 0] + frame[:, 1]), 0.08 * size * (frame[:, 0] - frame[:, 1])
    return tuple(
        Line(points=np.array([place - a, place + a]), colour=(0, 0, 0), width=1.6) for a in arm
    )


def _object_frame(system: ContactSystem | HybridContactSystem, arrays: Arrays) -> Frame:
    """Return the contact frame of the object; NaN at the poles of its first chart."""
    uv = arrays['contact_o']
    surface = system.object_surface
    values = surface.numeric().map(len(uv))(np.nan_to_num(uv, nan=1.0).T, surface.parameter_values)
    R_OCo = np.array(values[1]).T.reshape(-1, 3, 3).transpose(0, 2, 1)
    R_WCo = rotation_matrices(arrays['object_attitude']) @ R_OCo
    attitude = quaternions(R_WCo)
    attitude[np.isnan(uv).any(axis=1)] = np.nan
    return Frame(name='contact_object', position=arrays['contact_position'], attitude=attitude)

"""From a result file to a scene, which the plug-in of its system builds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import plugin_of
from rolling_dynamics.scenario import load_scenario
from rolling_robotics.damaged import damage_told
from rolling_robotics.result_arrays import Arrays
from rolling_robotics.scene.general import general_scene
from rolling_robotics.scene.meshes import ghost_mesh
from rolling_robotics.scene.parts import error_strips
from rolling_robotics.scene.scene import Body, GROUND, resample, resample_attitude, Scene


def scene_of(result: dict[str, Any], plan: dict[str, Any] | None = None) -> Scene:
    """
    Return the scene of a result, with a plan as a ghost.

    Parameters
    ----------
    result
        Of `rolling simulate` or `rolling plan`, as read from its file.
    plan
        A result of `rolling plan` whose motion is the ghost; if None, a result that is a plan
        itself has its end as the ghost.

    Raises
    ------
    ParameterError
        The system is not known, the result is damaged, or the plan is of another system.

    """
    name = result.get('system')
    build = plugin_of(str(name)).load('scene') or general_scene
    if plan is not None and plan.get('system') != name:
        raise ParameterError(
            f'--plan: is of the system {plan.get("system")!r}, the file of {name!r}; give a plan '
            'of the same system'
        )
    with damage_told('the result'):
        scenario = load_scenario(result['scenario'])
        scenario = replace(scenario, name=result.get('name', scenario.name))
        scene: Scene = build(scenario, Arrays(result))
        ghosts = _ghosts(scene, result, plan)
        errors = error_strips(scene.bodies, ghosts) if plan is not None else ()
        return replace(scene, ghosts=ghosts, strips=(*scene.strips, *errors))


def _ghosts(scene: Scene, result: dict[str, Any], plan: dict[str, Any] | None) -> tuple[Body, ...]:
    """Return the bodies as another plan moves them, or where this plan ends."""
    moving = [b for b in scene.bodies if GROUND not in (b.layer, *(m.layer for m in b.meshes))]
    if plan is not None:
        arrays = Arrays(plan)
        return tuple(
            replace(
                b,
                lines=(),
                meshes=tuple(ghost_mesh(m) for m in b.meshes),
                position=resample(arrays.time, arrays[f'{b.name}_position'], scene.times),
                attitude=resample_attitude(arrays.time, arrays[f'{b.name}_attitude'], scene.times),
            )
            for b in moving
        )
    if 'plan' not in result:
        return ()
    return tuple(
        replace(
            b,
            lines=(),
            meshes=tuple(ghost_mesh(m) for m in b.meshes),
            position=np.broadcast_to(b.position[-1], b.position.shape),
            attitude=np.broadcast_to(b.attitude[-1], b.attitude.shape),
        )
        for b in moving
    )

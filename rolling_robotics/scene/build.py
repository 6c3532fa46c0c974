"""From a result file to a scene: which builder draws which system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_robotics.damaged import damage_told
from rolling_robotics.result_arrays import Arrays
from rolling_robotics.scene.contact import contact_scene
from rolling_robotics.scene.internal_masses import mass_scene
from rolling_robotics.scene.parts import error_strips
from rolling_robotics.scene.pendulum_sphere import pendulum_scene
from rolling_robotics.scene.scene import (
    Body,
    GROUND,
    resample,
    resample_attitude,
    Scene,
)
from rolling_robotics.scene.spin_rolling_sphere import spin_rolling_scene

BUILDERS: dict[str, Callable[[Scenario, Arrays], Scene]] = {
    'contact': contact_scene,
    'point_mass_ball': mass_scene,
    'point_mass_disk': mass_scene,
    'pendulum_sphere': pendulum_scene,
    'spin_rolling_sphere': spin_rolling_scene,
}


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
    if name not in BUILDERS:
        raise ParameterError(f'no scene of a system {name!r}; there are: {", ".join(BUILDERS)}')
    if plan is not None and plan.get('system') != name:
        raise ParameterError(
            f'--plan: is of the system {plan.get("system")!r}, the file of {name!r}; give a plan '
            'of the same system'
        )
    with damage_told('the result'):
        scenario = load_scenario(result['scenario'])
        scenario = replace(scenario, name=result.get('name', scenario.name))
        scene = BUILDERS[name](scenario, Arrays(result))
        ghosts = _ghosts(scene, result, plan)
        errors = error_strips(scene.bodies, ghosts) if plan is not None else ()
        return replace(scene, ghosts=ghosts, strips=(*scene.strips, *errors))


def _ghosts(scene: Scene, result: dict[str, Any], plan: dict[str, Any] | None) -> tuple[Body, ...]:
    """Return the bodies as another plan moves them, or where this plan ends."""
    moving = [b for b in scene.bodies if b.layer != GROUND]
    if plan is not None:
        arrays = Arrays(plan)
        return tuple(
            replace(
                b,
                lines=(),
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
            position=np.broadcast_to(b.position[-1], b.position.shape),
            attitude=np.broadcast_to(b.attitude[-1], b.attitude.shape),
        )
        for b in moving
    )

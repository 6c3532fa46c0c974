"""A plan of an object on a hand in space that stays in the plane x-z, as one of planar rolling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.planar_rolling import PlanarRolling
from rolling_planner.plan import Plan

OUT_OF_PLANE = 1e-6  # of a state that leaves the plane [m, m/s, rad/s]


def planar_plan(plan: Plan, model: PlanarRolling) -> Plan:
    """
    Return a plan in space as one of planar rolling.

    Parameters
    ----------
    plan
        A plan of the contact system, chart-free.
    model
        The same object in the plane.

    Raises
    ------
    ParameterError
        The plan is for another system, or leaves the plane.

    """
    space = model.contact_system
    if plan.state_names != tuple(space.state.names):
        raise ParameterError(f'the plan is for {plan.system!r}, not for an object on a hand')
    columns = dict(zip(plan.state_names, plan.states.T, strict=True))
    controls = dict(zip(plan.control_names, plan.controls.T, strict=True))
    kept = {}
    for name in ('WH', 'HO'):
        w, y = columns.pop(f'q_{name}_w'), columns.pop(f'q_{name}_y')
        kept[f'beta_{name}'] = np.unwrap(2 * np.arctan2(y, w))
    kept |= {name: columns.pop(name) for name in model.state.names if name in columns}
    driven = {name: controls.pop(name) for name in model.control.names}
    for name, values in (columns | controls).items():
        if np.abs(values).max() > OUT_OF_PLANE:
            raise ParameterError(
                f'the plan must stay in the plane x-z, its {name} goes to '
                f'{values[np.abs(values).argmax()]:.3g}'
            )
    return replace(
        plan,
        system=model.name,
        model_hash=model.model_hash,
        state_names=tuple(model.state.names),
        control_names=tuple(model.control.names),
        states=np.column_stack([kept[name] for name in model.state.names]),
        controls=np.column_stack([driven[name] for name in model.control.names]),
    )

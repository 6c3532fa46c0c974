"""From a plan to the feedback that follows it; no ROS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rolling_controller.nodes.tracker import Law, Nominal, OpenLoop
from rolling_controller.nominal import nominal_trajectory
from rolling_controller.time_varying_lqr import KNOT, LqrWeights, TimeVaryingLqr
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.model import Model
from rolling_dynamics.nodes.parameters import Parameter
from rolling_planner.plan import Plan

_DEFAULT = LqrWeights()


def _table(group: str, defaults: Mapping[str, float], text: str) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(
            name=f'{group}.{name}',
            default=value,
            low=0.0,
            high=1e12,
            text=f'{text} of {name} in the regulator, from the next goal on',
        )
        for name, value in defaults.items()
    )


WEIGHTS: tuple[Parameter, ...] = (
    *_table('tracking', _DEFAULT.tracking, 'weight per second'),
    *_table('terminal', _DEFAULT.terminal, 'weight at the end'),
    Parameter(
        name='control_weight',
        default=float(_DEFAULT.control),
        low=1e-12,
        high=1e12,
        text='weight per second of each control in the regulator, from the next goal on',
    ),
)


def check_plan_fits(plan: Plan, model: Model) -> None:
    """Raise ParameterError if a plan was made for another system."""
    system = model.system
    if plan.system != system.name:
        raise ParameterError(f'plan.system must be {system.name!r}, got {plan.system!r}')
    for what, given, wanted in (
        ('state_names', plan.state_names, system.state.names),
        ('control_names', plan.control_names, system.control.names),
    ):
        if list(given) != list(wanted):
            raise ParameterError(
                f'plan.{what} must be {", ".join(wanted)}, got {", ".join(given)}'
            )
    if plan.model_hash and plan.model_hash != system.model_hash:
        raise ParameterError(
            f'plan.model_hash is {plan.model_hash}, this controller runs {system.model_hash}: the '
            'plan was made with other equations; plan again with the scenario of this controller'
        )


def design_law(
    model: Model, plan: Plan, weights: Mapping[str, Any] | None
) -> tuple[Law, Nominal, str]:
    """
    Return the feedback along a plan.

    Parameters
    ----------
    model
        System and parameters.
    plan
        The plan.
    weights
        Values of :data:`WEIGHTS` by name; None for the planned controls without feedback.

    Returns
    -------
    law, nominal, warning
        The regulator, the motion that the planned controls cause, and what a user should know
        about the regulator or the empty string.

    Raises
    ------
    ParameterError
        A weight is not right.

    """
    if weights is None:
        times, states, _ = nominal_trajectory(model.system, model.params, plan, 'simulated', KNOT)
        return OpenLoop(plan), (times, states), ''
    groups: dict[str, dict[str, float]] = {'tracking': {}, 'terminal': {}}
    for name, value in weights.items():
        group, _, entry = name.partition('.')
        if entry:
            groups[group][entry] = value
    law = TimeVaryingLqr(
        model.system,
        model.params,
        plan,
        LqrWeights(**groups, control=weights['control_weight']),
        control_limits=_limits(model),
    )
    return law, (law.times, law.states), law.warning


def _limits(model: Model) -> dict[str, tuple[float, float]]:
    if model.control_limits is None:
        return {}
    pairs = zip(model.system.control.names, model.control_limits.tolist(), strict=True)
    return {name: (-limit, limit) for name, limit in pairs}

"""What the section ``plan`` of a scenario may hold, for a plan by optimisation."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Annotated, Any, Literal

from rolling_dynamics.arrays import Array
from rolling_dynamics.scenario.entry import Either, Numbers, Quantity, Tensor
from rolling_dynamics.scenario.fields import note, quantity, whole
from rolling_dynamics.scenario.model import Section
from rolling_planner.problem.plan_problem import PlanProblem, Weights


class Wanted(Tensor):
    """What is wanted of a name: numbers, an attitude as a mapping, or null for nothing."""

    types = (*Tensor.types, dict, NoneType)

    def read(self, given: Any) -> Any:  # noqa: ANN401
        """Return an array, the mapping, or None."""
        return given if given is None or isinstance(given, dict) else super().read(given)


class PlanSection(Section):
    """What `rolling plan` looks for."""

    goal: dict[str, Annotated[Any, Wanted()]] = note(
        'wanted values by name: an entry of the state (`contact_h: [0, -0.033]`), one of its '
        'numbers (`u_h: 0`), or the motion of the object in the world (`p_WO`, `q_WO`, `v_WO_W`, '
        '`w_WO_W`, also `_H`, `_O`, and `v_HO_H`); an attitude as in `initial`, or as quaternion '
        'w, x, y, z. What is not named is free, except that hand and object end at rest and the '
        'hand in its first attitude; null frees one of these, and none of them holds with '
        '`release` or where a velocity of the object is wanted',
        min_length=1,
    )
    goal_tolerance: float = quantity(
        'maximum error of the simulated plan, Euclidean norm in m, rad, m/s, rad/s',
        positive=True,
        default=PlanProblem.goal_tolerance,
    )
    goal_mode: Literal['hard', 'terminal_weight'] = note('', default='hard')
    quiet_ends: bool = note('the controls are zero at start and end', default=False)
    release: bool = note('the object is let go into free flight at the end', default=False)
    horizon: float | None = quantity(
        'duration of the plan (default: that of the scenario)', 's', positive=True, default=None
    )
    active_controls: list[str] | None = note(
        'controls that may be used, as entries (`alpha_WH_H`) or numbers (`alpha_WH_H_x`); all '
        'by default',
        min_length=1,
        default=None,
    )
    state_limits: Mapping[
        str,
        Annotated[Array | float, Either(scalar=Quantity(), several=Numbers(count=2))],
    ] = note(
        'minimum and maximum by scalar name of the state, or one number for both signs',
        default={},
    )
    normal_force_min: float = quantity(
        'minimum normal force as a share of the weight',
        least=0,
        default=PlanProblem.normal_force_min,
    )
    friction_cone: bool = note(
        'keep the force inside the friction cone of `friction.mu`', default=True
    )
    spin_friction: bool = note('keep the spin torque inside `friction.mu_spin`', default=True)
    method: Literal['hermite_simpson', 'trapezoidal', 'cross_entropy'] = note(
        'of collocation, or `cross_entropy`: by samples about `hand_motion`, for motions that '
        'slide, fly and land',
        default='hermite_simpson',
    )
    segments: int = whole('segments of the first plan', 2, 1600, default=PlanProblem.segments)
    refinements: int = whole(
        'how often their number may be doubled', 0, 10, default=PlanProblem.refinements
    )
    iterations: int = whole(
        'maximum number of iterations of one optimisation',
        1,
        100_000,
        default=PlanProblem.iterations,
    )
    samples: int = whole(
        'points of a segment at which the limits are judged', 2, 1000, default=PlanProblem.samples
    )
    time_budget: float = quantity(
        'maximum wall-clock time (default: none)',
        's',
        positive=True,
        default=PlanProblem.time_budget,
    )
    guess: Literal['kinematic', 'stationary'] = note(
        '`stationary` is that of the paper', default='kinematic'
    )
    seed: int = whole('seed of the random starts', 0, default=PlanProblem.seed)
    weights: Weights = Weights()

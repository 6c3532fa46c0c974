"""Problem of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import AfterValidator, ConfigDict, Field, PlainValidator, StrictBool, StrictInt
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import CarriedObject, Envelope, offers, RestGoal
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import (
    check_choice,
    check_names,
    check_positive,
    ParameterError,
    ScenarioError,
    suggestion,
)
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.fields import (
    array,
    Brought,
    either,
    entry,
    NotNegative,
    Number,
    quantity,
    SECTION,
    tensor,
    types,
)
from rolling_dynamics.scenario.hand_motion import Attitude, quaternion_of
from rolling_planner.plan import Plan
from rolling_planner.problem.constraints import (
    aligned,
    axis_entries,
    check_within,
    OBJECT_ENTRIES,
    object_entry,
    state_limits,
)


def _target(given: Any) -> Any:  # noqa: ANN401
    return given if given is None or isinstance(given, dict) else np.reshape(tensor(given), -1)


BY_SAMPLES = 'cross_entropy'
GoalMode = Literal['hard', 'terminal_weight']
Guess = Literal['kinematic', 'stationary']
Method = Literal['hermite_simpson', 'trapezoidal', 'cross_entropy']
View = Literal['tangent', 'chart']
# numbers, an attitude as a mapping, or null for no goal
Target = Annotated[
    ArrayLike | None,
    PlainValidator(_target),
    types('number', 'string', 'array', 'object', 'null'),
]
ByName = Mapping[str, NotNegative]


def _both_signs(limits: Array | float) -> tuple[float, float]:
    """Return minimum and maximum."""
    low, high = (-limits, limits) if isinstance(limits, float) else limits.tolist()
    return low, high


@dataclass(frozen=True, kw_only=True)
class Weights:
    """
    Weights of the cost.

    Source: Woodruff & Lynch, Eq. (48).

    Attributes
    ----------
    control
        R: one value, or one for each active control.
    view
        Vector on which Q and P1 act: ``tangent`` (difference from the goal, names of the tangent
        layout) or ``chart`` (the paper's state s, names of the chart view).
    tracking
        Q by name; the desired trajectory goes straight from start to goal.
    terminal
        P1 by name; used by the goal mode ``terminal_weight``.

    Examples
    --------
    >>> from rolling_planner import Weights
    >>> Weights(control=0.01).control, Weights().view
    (0.01, 'tangent')

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    control: Annotated[
        ArrayLike,
        entry(
            either(scalar=NotNegative, several=array(NotNegative, (1, None))),
            'R: one number, or one for each active control',
        ),
    ] = 1e-3
    view: Annotated[
        View,
        Field(description='what the others act on: tangent space, or the state of the paper'),
    ] = 'tangent'
    tracking: Annotated[ByName, Field(description='Q by name')] = field(default_factory=dict)
    terminal: Annotated[
        ByName, Field(description='P1 by name, for the goal mode `terminal_weight`')
    ] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Reject a view that does not exist, and negative weights."""
        check_choice('view', self.view, View)
        given: dict[str, ArrayLike] = {'control': self.control}
        for group in ('tracking', 'terminal'):
            given |= {f'{group}.{name}': v for name, v in getattr(self, group).items()}
        for name, value in given.items():
            check_positive(name, value, zero=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class PlanProblem:
    """
    A motion planning problem.

    Attributes
    ----------
    system, p
        The system and its parameters.
    x_start
        State at the start.
    goal
        Desired values by entry or scalar name of the state, or of the object's motion in the world
        (``p_WO``, ``q_WO``, ``v_WO_W``, ``w_WO_W``, and those in other frames, see
        :mod:`rolling_planner.problem.constraints`). Other entries are free, except for the rest
        goal of the system (velocities zero, hand oriented as at the start); None frees an entry of
        it. There is no rest goal with ``release``, or with a goal for a velocity of the object. An
        attitude is a quaternion wxyz, or a mapping as in a scenario: ``{'rpy': [0, 0, 1]}``.
    horizon
        Duration [s]; that of the scenario if its section gives none.
    active_controls
        Names of the controls that may be used, entries or scalars; all if empty. They are
        converted to scalar names.
    control_limits
        Minimum and maximum by scalar name, or one value for all: +- that value.
    state_limits
        Minimum and maximum by scalar name.
    goal_tolerance
        Maximum goal error of the simulated plan.
    goal_mode
        ``hard``, or ``terminal_weight`` as in the paper.
    method
        ``hermite_simpson``, ``trapezoidal``, or ``cross_entropy``, see
        :func:`rolling_planner.sampling.plan_by_samples`.
    segments
        Segments of the first, coarsest plan.
    refinements
        How often the number of segments may be doubled.
    normal_force_min
        Minimum normal force as a fraction of the object's weight.
    friction_cone, spin_friction
        Whether the contact force and torque must stay inside the friction limits of p.
    weights
        Weights of the cost.
    guess
        ``kinematic`` or ``stationary``.
    time_budget
        Maximum wall-clock time [s]; none if infinite.
    iterations
        Maximum number of iterations of one optimisation.
    effort
        Maximum number of iterations of all optimisations, each weighted by the refinement of its
        grid. Unlike a time budget it gives the same result on any machine.
    samples
        Points of a segment at which constraints are checked on the simulated trajectory.
    seed
        Seed of the random starts.
    quiet_ends
        The controls are zero at start and end, so that a command that arrives a step late at the
        end of a plan has little effect.
    start_controls
        Controls at the start by scalar name, for a plan that takes over from another motion and
        continues with its commands.
    release
        The plan ends in free flight: the contact force vanishes at the end, and the margin of
        the normal force is dropped in the last segment only.
    warm_start
        A plan to start from, for example of a similar problem; it is stretched to the horizon.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_planner import read_problem
    >>> problem = read_problem(load_scenario('ball_on_plate_straight'))
    >>> replace(problem, horizon=3.0).horizon
    3.0

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    system: Brought[RollingSystem]
    p: Brought[Array]
    x_start: Brought[Array]
    goal: Annotated[
        Mapping[str, Target],
        Field(
            description='wanted values by name: an entry of the state (`contact_h: [0, -0.033]`), '
            'one of its numbers (`u_h: 0`), the direction of one axis of an attitude, free about '
            'it (`z_WB: [0, 0, 1]` of `q_WB`), or the motion of the object in the world (`p_WO`, '
            '`q_WO`, `v_WO_W`, `w_WO_W`, also `_H`, `_O`, and `v_HO_H`); an attitude as in '
            '`initial`, or as quaternion w, x, y, z. What is not named is free, except that hand '
            'and object end at rest and the hand in its first attitude; null frees one of these, '
            'and none of them holds with `release` or where a velocity of the object is wanted',
            min_length=1,
        ),
    ]
    goal_tolerance: Annotated[
        float,
        quantity(
            'maximum error of the simulated plan, Euclidean norm in m, rad, m/s, rad/s',
            positive=True,
        ),
    ] = 1e-3
    goal_mode: GoalMode = 'hard'
    quiet_ends: Annotated[
        StrictBool, Field(description='the controls are zero at start and end')
    ] = False
    release: Annotated[
        StrictBool, Field(description='the object is let go into free flight at the end')
    ] = False
    horizon: Annotated[
        float,
        quantity('duration of the plan (default: that of the scenario)', 's', positive=True),
    ] = math.inf
    active_controls: Annotated[
        Sequence[str],
        Field(
            description='controls that may be used, as entries (`alpha_WH_H`) or numbers '
            '(`alpha_WH_H_x`); all by default',
            min_length=1,
        ),
    ] = ()
    state_limits: Annotated[
        Mapping[
            str,
            Annotated[
                tuple[float, float],
                entry(either(scalar=Number, several=array(count=2))),
                AfterValidator(_both_signs),
            ],
        ],
        Field(
            description='minimum and maximum by scalar name of the state, or one number for both '
            'signs'
        ),
    ] = field(default_factory=dict)
    normal_force_min: Annotated[
        float, quantity('minimum normal force as a fraction of the weight', least=0)
    ] = 0.05
    friction_cone: Annotated[
        StrictBool,
        Field(description='keep the force inside the friction cone of `friction.mu`'),
    ] = True
    spin_friction: Annotated[
        StrictBool,
        Field(description='keep force and spin torque together inside the limit of friction'),
    ] = True
    method: Annotated[
        Method,
        Field(
            description='of collocation, or `cross_entropy`: by samples about `hand_motion`, for '
            'motions that slide, fly and land'
        ),
    ] = 'hermite_simpson'
    segments: Annotated[
        StrictInt, Field(description='segments of the first plan', ge=2, le=1600)
    ] = 25
    refinements: Annotated[
        StrictInt, Field(description='how often their number may be doubled', ge=0, le=10)
    ] = 4
    iterations: Annotated[
        StrictInt,
        Field(description='maximum number of iterations of one optimisation', ge=1, le=100_000),
    ] = 300
    samples: Annotated[
        StrictInt,
        Field(description='points of a segment at which the limits are judged', ge=2, le=1000),
    ] = 50
    time_budget: Annotated[
        float, quantity('maximum wall-clock time (default: none)', 's', positive=True)
    ] = math.inf
    guess: Annotated[Guess, Field(description='`stationary` is that of the paper')] = 'kinematic'
    seed: Annotated[StrictInt, Field(description='seed of the random starts', ge=0)] = 0
    weights: Weights = field(default_factory=Weights)
    control_limits: Brought[Mapping[str, tuple[float, float]] | float] = math.inf
    effort: Brought[float] = math.inf
    start_controls: Brought[Mapping[str, float]] = field(default_factory=dict)
    warm_start: Brought[Plan | None] = None

    def __post_init__(self) -> None:
        """Reject an invalid problem."""
        check_positive('horizon', self.horizon, 's')
        check_positive('goal_tolerance', self.goal_tolerance)
        for name, value, known in (
            ('method', self.method, Method),
            ('goal_mode', self.goal_mode, GoalMode),
            ('guess', self.guess, Guess),
        ):
            check_choice(name, value, known)
        for name, count, least in (
            ('segments', self.segments, 2),
            ('iterations', self.iterations, 1),
            ('samples', self.samples, 2),
            ('refinements', self.refinements, 0),
        ):
            if not (isinstance(count, int) and count >= least):
                raise ParameterError(f'{name} must be an integer, at least {least}, got {count!r}')
        check_positive('time_budget', self.time_budget, 's', most=math.inf)
        check_positive('effort', self.effort, most=math.inf)
        _check_vector('p', self.p, self.system.parameters.size)
        _check_vector('x_start', self.x_start, self.system.state.size)
        object.__setattr__(self, 'active_controls', self._active())
        if any(isinstance(value, Mapping) for value in self.goal.values()):
            goal = {name: self._quaternion(name, value) for name, value in self.goal.items()}
            object.__setattr__(self, 'goal', goal)
        self._check_names()
        self._check_limits()
        self._check_time()
        thrown = offers(self.system, Envelope) is not None and 'mass' in self.system.parameters
        if self.release and not thrown:
            raise ParameterError(
                f'release: a system of type {self.system.name!r} holds no object that it could '
                'release; leave it out'
            )
        if self.warm_start is not None and (
            self.warm_start.state_names != tuple(self.system.state.names)
        ):
            raise ParameterError('warm_start: the plan has another system or representation')
        x_goal, matters = self.goal_state
        self.object_goal  # noqa: B018  checks its values
        check_within(self.system, 'x_start', np.asarray(self.x_start), self.limits)
        where = [n for n, m in zip(self.system.state.names, matters, strict=True) if m]
        check_within(
            self.system, 'goal', x_goal, {n: self.limits[n] for n in where if n in self.limits}
        )

    def _check_time(self) -> None:
        """Reject equations that depend explicitly on time, which a plan does not support."""
        dynamics = next(iter(self.system.modes.values())).dynamics
        if dynamics.jac_sparsity(0, 2).nnz() > 0:
            raise ParameterError(
                'system: its equations depend explicitly on time, by a drive, a trajectory or a '
                'force with t, which plans do not support; control the masses, and leave t out of '
                'the force'
            )

    def _active(self) -> list[str]:
        """Return the scalar names of the active controls, with entries expanded."""
        control = self.system.control
        known = {e.name: list(e.components) for e in control.entries}
        known |= {name: [name] for name in control.names}
        names: list[str] = []
        for k, name in enumerate(self.active_controls or control.names):
            if name not in known:
                raise ParameterError(
                    f'active_controls[{k}]: no such control: {name!r}'
                    f'{suggestion(name, list(known))}'
                )
            names += known[name]
        return list(dict.fromkeys(names))

    def _quaternion(
        self, name: str, value: ArrayLike | Mapping[str, Any] | None
    ) -> ArrayLike | None:
        """Return the quaternion of an attitude in any of its forms, and other values as given."""
        if not isinstance(value, Mapping):
            return value
        components, turns = self._components(name)
        if not turns:
            raise ParameterError(f'goal.{name}: takes {len(components)} numbers, got {value!r}')
        try:
            return quaternion_of(check(Attitude, value, f'goal.{name}'))
        except ScenarioError as e:
            raise ParameterError(str(e)) from None

    def _check_names(self) -> None:
        """Reject names that the system does not have."""
        controls = self.system.control.names
        check_names(self.start_controls, self.active_controls, 'start_controls: no active control')
        for name in self.state_limits:
            if name not in (names := self.system.state.names):
                raise ParameterError(
                    f'state_limits.{name}: no such number of the state{suggestion(name, names)}'
                )
        if isinstance(self.control_limits, Mapping):
            check_names(self.control_limits, controls, 'control_limits: no control')
        count = np.size(self.weights.control)
        if count not in (1, len(self.active_controls)):
            raise ParameterError(
                f'weights.control takes 1 or {len(self.active_controls)} numbers, got {count}'
            )
        if self.weights.view == 'tangent':  # names of the chart view are checked with the cost
            groups = {'tracking': self.weights.tracking, 'terminal': self.weights.terminal}
            for what, given in groups.items():
                for name in given:
                    self.system.tangent.index(name, f'weights.{what}: no tangent entry')

    def _check_limits(self) -> None:
        limits = dict(self.state_limits)
        if isinstance(self.control_limits, Mapping):
            limits |= self.control_limits
        else:
            check_positive('control_limits', self.control_limits, most=math.inf)
        for name, pair in limits.items():
            if len(pair) != 2 or not pair[0] < pair[1]:
                what = 'state_limits' if name in self.state_limits else 'control_limits'
                raise ParameterError(f'{what}.{name} must increase, got {[*pair]!r}')

    def control_limit(self, name: str) -> tuple[float, float]:
        """Return minimum and maximum of a control."""
        limits = self.control_limits
        if not isinstance(limits, Mapping):
            return -float(limits), float(limits)
        low, high = limits.get(name, (-math.inf, math.inf))
        return float(low), float(high)

    @cached_property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Minimum and maximum of states: given ones, edges of the hand, poles of charts."""
        return state_limits(self.system, self.p, self.state_limits)

    @cached_property
    def goal_state(self) -> tuple[Array, NDArray[np.bool_]]:
        """
        The desired state, and which of its components belong to the goal.

        An attitude belongs to the goal with all its components.
        """
        layout = self.system.state
        x = np.array(self.x_start, dtype=float)
        matters = np.zeros(layout.size, dtype=bool)
        wanted = {
            **self._rest_goal(x),
            **{n: v for n, v in self.goal.items() if not self._is_object(n)},
        }
        for name, (attitude, axis) in self.axis_goals.items():
            given, names = wanted.pop(name), self._components(name)[0]
            direction = _numbers(name, () if given is None else given, names, turns=False)
            wanted[attitude] = aligned(name, x[layout.slice(attitude)], axis, direction)
        for name, value in wanted.items():
            components, turns = self._components(name)
            where = layout.index(name)
            matters[where] = value is not None
            if value is not None:
                x[where] = _numbers(name, value, components, turns)
        return x, matters

    @cached_property
    def axis_goals(self) -> dict[str, tuple[str, int]]:
        """Entry and axis of each goal that leaves the rotation about an axis of a body free."""
        known = axis_entries(self.system.state)
        asked = {n: known[n] for n in self.goal if n in known}
        for name, (turn, _) in asked.items():
            if self.goal.get(turn) is not None or [e for e, _ in asked.values()].count(turn) > 1:
                raise ParameterError(
                    f'goal.{name}: {turn} has another goal too; give the attitude or one axis'
                )
        return asked

    @property
    def free_axes(self) -> dict[str, int]:
        """Index, by attitude entry, of the axis about which its goal leaves the rotation free."""
        return dict(self.axis_goals.values())

    def _rest_goal(self, x: Array) -> dict[str, ArrayLike]:
        moving = any(
            self._is_object(n) and n[0] in 'vw' and v is not None for n, v in self.goal.items()
        )
        resting = offers(self.system, RestGoal)
        if self.release or moving or resting is None:
            return {}
        return dict(resting.rest_goal(x))

    @cached_property
    def object_goal(self) -> dict[str, tuple[Array, NDArray[np.bool_]]]:
        """Desired values of the object's motion by entry, in its shape and unit, and mask."""
        out: dict[str, tuple[Array, NDArray[np.bool_]]] = {}
        for name, value in self.goal.items():
            if not self._is_object(name) or value is None:
                continue
            entry, where = object_entry(name)
            size = OBJECT_ENTRIES[entry]
            values, matters = out.setdefault(entry, (np.zeros(size), np.zeros(size, dtype=bool)))
            values[where] = _numbers(name, value, *self._components(name))
            matters[where] = True
        return out

    def _is_object(self, name: str) -> bool:
        """Return whether a name of the goal is the object's motion, which is not a state."""
        if offers(self.system, CarriedObject) is None:
            return False
        entry, _ = object_entry(name)
        return entry in OBJECT_ENTRIES and entry not in self.system.state

    def _components(self, name: str) -> tuple[Sequence[str], bool]:
        """Return the scalar names of a name of the goal, and whether it is an attitude."""
        layout = self.system.state
        if self._is_object(name):
            entry, where = object_entry(name)
            suffixes = 'wxyz' if entry == 'q_WO' else 'xyz'
            return [f'{entry}_{s}' for s in suffixes[where]], entry == 'q_WO'
        if name in layout:
            return layout.entry(name).components, layout.entry(name).kind == 'quaternion'
        if name in axis_entries(layout):
            return [f'{name}_{c}' for c in 'xyz'], False
        scalars = [c for e in layout.entries if e.kind != 'quaternion' for c in e.components]
        if name in scalars:
            return [name], False
        carried = OBJECT_ENTRIES if offers(self.system, CarriedObject) is not None else ()
        names = [e.name for e in layout.entries]
        known = dict.fromkeys([*names, *sorted(scalars), *axis_entries(layout), *carried])
        raise ParameterError(f'goal.{name}: no such state{suggestion(name, list(known))}')


def _numbers(name: str, value: ArrayLike, components: Sequence[str], turns: bool) -> Array:
    """Return the checked values of a goal; a quaternion with norm 1."""
    given = np.asarray(value, dtype=float).reshape(-1)
    if given.size != len(components):
        names = f' {" ".join(components)}' if len(components) > 1 else ''
        raise ParameterError(
            f'goal.{name}: takes {len(components)} numbers{names}, got {given.size}: '
            f'{given.tolist()}'
        )
    if not np.all(np.isfinite(given)):
        raise ParameterError(f'goal.{name} must be finite, got {given.tolist()}')
    if not turns:
        return given
    norm = float(np.linalg.norm(given))
    if not abs(norm - 1) < 1e-3:
        raise ParameterError(f'goal.{name} must be a unit quaternion, norm is {norm:.6g}')
    return given / norm


def _check_vector(name: str, given: ArrayLike, size: int) -> None:
    numbers = np.asarray(given, dtype=float)
    if numbers.shape != (size,) or not np.all(np.isfinite(numbers)):
        raise ParameterError(f'{name} takes {size} finite numbers, got shape {numbers.shape}')

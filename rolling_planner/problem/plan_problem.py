"""What a plan is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict, Field
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import Envelope, offers, RestGoal
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario.entry import Either, Numbers, Quantity
from rolling_dynamics.scenario.model import SECTION
from rolling_dynamics.suggestion import check_names, suggestion
from rolling_planner.plan import Plan
from rolling_planner.problem.limits import check_within, state_limits
from rolling_planner.problem.object_motion import OBJECT_ENTRIES, object_entry
from rolling_planner.transcription.collocation import METHODS

BY_SAMPLES = 'cross_entropy'
GOAL_MODES = ('hard', 'terminal_weight')
GUESSES = ('kinematic', 'stationary')
VIEWS = ('tangent', 'chart')
ByName = Mapping[str, Annotated[float, Quantity(least=0)]]


@dataclass(frozen=True, kw_only=True)
class Weights:
    """
    Weights of the cost.

    Source: Woodruff & Lynch, Eq. (48).

    Attributes
    ----------
    control
        R: one number, or one for each active control.
    view
        What Q and P1 act on: ``tangent`` (difference from the goal, names of the tangent layout)
        or ``chart`` (the paper's state s, names of the chart view).
    tracking
        Q by name; the desired trajectory goes straight from start to goal.
    terminal
        P1 by name; used by the goal mode ``terminal_weight``.

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    control: Annotated[
        ArrayLike,
        Either(
            'R: one number, or one for each active control',
            scalar=Quantity(least=0),
            several=Numbers(of=Quantity(least=0), count=(1, None)),
        ),
    ] = 1e-3
    view: Annotated[
        Literal['tangent', 'chart'],
        Field(description='what the others act on: tangent space, or the state of the paper'),
    ] = 'tangent'
    tracking: Annotated[ByName, Field(description='Q by name')] = field(default_factory=dict)
    terminal: Annotated[
        ByName, Field(description='P1 by name, for the goal mode `terminal_weight`')
    ] = field(default_factory=dict)


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
        Wanted values by entry or scalar name of the state, or of the object's motion in the world
        (``p_WO``, ``q_WO``, ``v_WO_W``, ``w_WO_W``, and those in other frames, see
        :mod:`rolling_planner.problem.object_motion`). What is not named is free, but for the rest
        goal of the system (velocities zero, hand turned as at the start); None frees an entry of
        that. There is no rest goal with ``release``, or where a velocity of the object is wanted.
    horizon
        Duration [s].
    active_controls
        Scalar names of the controls that may be used.
    control_limits
        Least and greatest value by scalar name, or one number for all: +- that number.
    state_limits
        Least and greatest value by scalar name.
    goal_tolerance
        Greatest goal error of the simulated plan.
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
        Least normal force as a share of the object's weight.
    friction_cone, spin_friction
        Whether the contact force and torque must stay inside the friction limits of p.
    weights
        Weights of the cost.
    guess
        ``kinematic`` or ``stationary``.
    time_budget
        Maximum wall-clock time [s]; none if infinite.
    iterations
        Greatest number of iterations of one optimisation.
    effort
        Greatest number of iterations of all optimisations, those of a finer grid counted as many
        times as it is finer; unlike a time budget it ends where it does on any machine.
    samples
        Points of a segment at which constraints are judged on the simulated trajectory.
    seed
        Seed of the random starts.
    quiet_ends
        The controls are zero at start and end, so that a command that comes a step late at the
        end of a plan does little.
    start_controls
        Controls at the start by scalar name, where others are wanted there: a plan that takes
        over from another motion goes on with what that one commands.
    release
        The plan ends in free flight: the contact force vanishes at the end, and the margin of
        the normal force is lifted in the last segment only.
    warm_start
        A plan to start from, for instance of a similar problem; stretched to the horizon.

    """

    system: RollingSystem
    p: Array
    x_start: Array
    goal: Mapping[str, ArrayLike | None]
    horizon: float
    active_controls: Sequence[str]
    control_limits: Mapping[str, tuple[float, float]] | float = math.inf
    state_limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    goal_tolerance: float = 1e-3
    goal_mode: str = 'hard'
    method: str = 'hermite_simpson'
    segments: int = 25
    refinements: int = 4
    normal_force_min: float = 0.05
    friction_cone: bool = True
    spin_friction: bool = True
    weights: Weights = field(default_factory=Weights)
    guess: str = 'kinematic'
    time_budget: float = math.inf
    iterations: int = 300
    effort: float = math.inf
    samples: int = 50
    seed: int = 0
    release: bool = False
    quiet_ends: bool = False
    start_controls: Mapping[str, float] = field(default_factory=dict)
    warm_start: Plan | None = None

    def __post_init__(self) -> None:
        """Refuse what no planner can do."""
        _check_number('horizon', self.horizon, 's')
        _check_number('goal_tolerance', self.goal_tolerance, '')
        for name, value, known in (
            ('method', self.method, (*METHODS, BY_SAMPLES)),
            ('goal_mode', self.goal_mode, GOAL_MODES),
            ('guess', self.guess, GUESSES),
            ('weights.view', self.weights.view, VIEWS),
        ):
            if value not in known:
                raise ParameterError(f'{name} must be one of {known}, got {value!r}')
        for name, count, least in (
            ('segments', self.segments, 2),
            ('iterations', self.iterations, 1),
            ('samples', self.samples, 2),
            ('refinements', self.refinements, 0),
        ):
            if not (isinstance(count, int) and count >= least):
                raise ParameterError(f'{name} must be an integer, at least {least}, got {count!r}')
        if not self.time_budget > 0:
            raise ParameterError(f'time_budget must be positive [s], got {self.time_budget!r}')
        if not self.effort > 0:
            raise ParameterError(f'effort must be positive, got {self.effort!r}')
        _check_vector('p', self.p, self.system.parameters.size)
        _check_vector('x_start', self.x_start, self.system.state.size)
        self._check_names()
        self._check_limits()
        self._check_time()
        if self.release and offers(self.system, Envelope) is None:
            raise ParameterError(f'release: a system of kind {self.system.name!r} has no contact')
        if self.warm_start is not None and (
            self.warm_start.state_names != tuple(self.system.state.names)
        ):
            raise ParameterError('warm_start: the plan is one of another system or representation')
        x_goal, matters = self.goal_state
        self.object_goal  # noqa: B018  its numbers are checked there
        check_within(self.system, 'x_start', np.asarray(self.x_start), self.limits)
        where = [n for n, m in zip(self.system.state.names, matters, strict=True) if m]
        check_within(
            self.system, 'goal', x_goal, {n: self.limits[n] for n in where if n in self.limits}
        )

    def _check_time(self) -> None:
        """Refuse equations that depend on the time itself: a plan would stand still in it."""
        dynamics = next(iter(self.system.modes.values())).dynamics
        if dynamics.jac_sparsity(0, 2).nnz() > 0:
            raise ParameterError(
                'system: its equations depend on the time itself, by a drive, a trajectory or a '
                'force with t, and a plan cannot; leave the masses to the control, and t out of '
                'the force'
            )

    def _check_names(self) -> None:
        """Refuse names that the system does not have."""
        controls = self.system.control.names
        check_names(self.active_controls, controls, 'active_controls: no control')
        check_names(self.start_controls, self.active_controls, 'start_controls: no active control')
        check_names(self.state_limits, self.system.state.names, 'state_limits: no state')
        if isinstance(self.control_limits, Mapping):
            check_names(self.control_limits, controls, 'control_limits: no control')
        count = np.size(self.weights.control)
        if count not in (1, len(self.active_controls)):
            raise ParameterError(
                f'weights.control takes 1 or {len(self.active_controls)} numbers, got {count}'
            )
        if self.weights.view == 'tangent':  # those of the chart view are checked with the cost
            groups = {'tracking': self.weights.tracking, 'terminal': self.weights.terminal}
            for what, given in groups.items():
                for name in given:
                    self.system.tangent.index(name, f'weights.{what}: no tangent entry')

    def _check_limits(self) -> None:
        limits = dict(self.state_limits)
        if isinstance(self.control_limits, Mapping):
            limits |= self.control_limits
        elif not self.control_limits > 0:
            raise ParameterError(f'control_limits must be positive, got {self.control_limits!r}')
        for name, pair in limits.items():
            if len(pair) != 2 or not pair[0] < pair[1]:
                raise ParameterError(f'limits of {name} must be increasing, got {pair!r}')

    @cached_property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Least and greatest value of states: those given, edges of the hand, poles of charts."""
        return state_limits(self.system, self.p, self.state_limits)

    @cached_property
    def goal_state(self) -> tuple[Array, NDArray[np.bool_]]:
        """
        The wanted state and which of its numbers matter.

        Attitudes matter as a whole.
        """
        layout = self.system.state
        x = np.array(self.x_start, dtype=float)
        matters = np.zeros(layout.size, dtype=bool)
        wanted = {
            **self._rest_goal(x),
            **{n: v for n, v in self.goal.items() if not self._is_object(n)},
        }
        for name, value in wanted.items():
            where = self._where(name)
            if value is None:
                matters[where] = False
                continue
            turns = name in layout and layout.entry(name).kind == 'quaternion'
            x[where], matters[where] = _numbers(name, value, where.stop - where.start, turns), True
        return x, matters

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
        """Wanted values of the object's motion by entry, in its shape and unit; which matter."""
        out: dict[str, tuple[Array, NDArray[np.bool_]]] = {}
        for name, value in self.goal.items():
            if not self._is_object(name) or value is None:
                continue
            entry, where = object_entry(name)
            size = where.stop - where.start
            values, matters = out.setdefault(
                entry,
                (np.zeros(OBJECT_ENTRIES[entry]), np.zeros(OBJECT_ENTRIES[entry], dtype=bool)),
            )
            values[where] = _numbers(name, value, size, entry == 'q_WO')
            matters[where] = True
        return out

    def _is_object(self, name: str) -> bool:
        return is_object(name) and object_entry(name)[0] not in self.system.state

    def _where(self, name: str) -> slice:
        layout = self.system.state
        if name in layout:
            return layout.slice(name)
        if name in layout.names:
            entry = next(e for e in layout.entries if name in e.components)
            if entry.kind == 'quaternion':
                raise ParameterError(f'goal.{name}: give the whole attitude {entry.name}')
            k = layout.names.index(name)
            return slice(k, k + 1)
        scalars = (c for e in layout.entries if e.kind != 'quaternion' for c in e.components)
        known = dict.fromkeys([*(e.name for e in layout.entries), *scalars, *OBJECT_ENTRIES])
        raise ParameterError(f'goal.{name}: no such state{suggestion(name, list(known))}')


def is_object(name: str) -> bool:
    """Tell whether a name of a goal stands for the object's motion in the world."""
    return object_entry(name)[0] in OBJECT_ENTRIES


def _numbers(name: str, value: ArrayLike, size: int, turns: bool) -> Array:
    """Return the numbers of a goal, checked; of a quaternion, with norm 1."""
    given = np.asarray(value, dtype=float).reshape(-1)
    if given.size != size:
        raise ParameterError(f'goal.{name} takes {size} numbers, got {given.size}')
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


def _check_number(name: str, value: float, unit: str) -> None:
    if not (isinstance(value, (int, float)) and math.isfinite(value) and value > 0):
        raise ParameterError(f'{name} must be positive and finite [{unit}], got {value!r}')

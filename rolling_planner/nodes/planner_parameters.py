"""Parameters of the planner node."""

from __future__ import annotations

from typing import Any

from rolling_node_kit.parameters import Parameter, ParameterTable
from rolling_planner.planners.planner import DEFAULTS
from rolling_planner.transcription.transcription import METHODS

WORK = 'rolling_planner.planners.job:work'

TABLE = (
    Parameter(
        name='scenario_file',
        default='',
        read_only=True,
        text='scenario with bodies, surfaces and limits; a path, or a name in config/',
    ),
    Parameter(
        name='work',
        default=WORK,
        read_only=True,
        text='function that the worker process runs, package.module:name',
    ),
    Parameter(
        name='method',
        default=DEFAULTS['method'],
        choices=tuple(METHODS),
        text='collocation scheme if a goal has no planner_id',
    ),
    Parameter(
        name='segments',
        default=DEFAULTS['segments'],
        low=2,
        high=1600,
        text='number of segments of the first, coarsest grid',
    ),
    Parameter(
        name='refinements',
        default=DEFAULTS['refinements'],
        low=0,
        high=8,
        text='maximum number of times that the segments are doubled',
    ),
    Parameter(
        name='goal_tolerance',
        default=DEFAULTS['goal_tolerance'],
        low=1e-9,
        high=10.0,
        text='maximum goal error of a simulated plan if a goal has no tolerances',
    ),
    Parameter(
        name='normal_force_min',
        default=DEFAULTS['normal_force_min'],
        low=0.0,
        high=10.0,
        text='minimum normal force as a share of the weight of the object',
    ),
    Parameter(
        name='quiet_ends',
        default=DEFAULTS['quiet_ends'],
        text='whether controls are zero at start and end, so that a late last command does little',
    ),
    Parameter(
        name='sample_rate',
        default=DEFAULTS['sample_rate'],
        low=10.0,
        high=2000.0,
        unit='Hz',
        text='minimum sample rate of the plan of a rolling robot',
    ),
    Parameter(
        name='time_budget',
        default=DEFAULTS['time_budget'],
        low=0.01,
        high=3600.0,
        unit='s',
        text='planning time if a goal has no time_budget',
    ),
    Parameter(
        name='state_timeout',
        default=5.0,  # a new subscription finds its writers in a second or two on a busy machine
        low=0.05,
        high=60.0,
        unit='s',
        text='maximum wait for a state if a goal has no start',
    ),
    Parameter(
        name='place_duration',
        default=2.0,
        low=0.01,
        high=120.0,
        unit='s',
        text='duration of the motion to a place that has no horizon, where the planner finds none',
    ),
    Parameter(name='world_frame', default='world', read_only=True, text='name of the world frame'),
    Parameter(
        name='frame_prefix',
        default='',
        read_only=True,
        text='prefix of that frame, where it belongs to a robot',
    ),
)

COLLOCATION = ('method', 'segments', 'refinements', 'normal_force_min', 'quiet_ends')
OPTIONS = tuple(DEFAULTS)


def planning_options(values: ParameterTable) -> dict[str, Any]:
    """Return the values of the parameters that a job of planning takes along."""
    return {name: values[name] for name in OPTIONS}

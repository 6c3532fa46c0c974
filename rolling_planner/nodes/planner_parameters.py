"""Parameters of the planner node."""

from __future__ import annotations

from typing import Any

from rolling_node_kit.parameters import Parameter, ParameterTable
from rolling_planner.planners.planner import DEFAULTS
from rolling_planner.transcription.transcription import METHODS

WORK = 'rolling_planner.planners.job:work'

TABLE = (
    Parameter(
        'scenario_file',
        '',
        'scenario with bodies, surfaces and limits; a path, or a name in config/',
        read_only=True,
    ),
    Parameter(
        'work', WORK, 'function that the worker process runs, package.module:name', read_only=True
    ),
    Parameter(
        'method',
        DEFAULTS['method'],
        'collocation scheme if a goal has no planner_id',
        choices=tuple(METHODS),
    ),
    Parameter(
        'segments',
        DEFAULTS['segments'],
        'number of segments of the first, coarsest grid',
        limits=(2, 1600),
    ),
    Parameter(
        'refinements',
        DEFAULTS['refinements'],
        'maximum number of times that the segments are doubled',
        limits=(0, 8),
    ),
    Parameter(
        'goal_tolerance',
        DEFAULTS['goal_tolerance'],
        'maximum goal error of a simulated plan if a goal has no tolerances',
        limits=(1e-9, 10.0),
    ),
    Parameter(
        'normal_force_min',
        DEFAULTS['normal_force_min'],
        'minimum normal force as a fraction of the weight of the object',
        limits=(0.0, 10.0),
    ),
    Parameter(
        'quiet_ends',
        DEFAULTS['quiet_ends'],
        'whether controls are zero at start and end, so that a late last command does little',
    ),
    Parameter(
        'sample_rate',
        DEFAULTS['sample_rate'],
        'minimum sample rate of the plan of a rolling robot',
        limits=(10.0, 2000.0),
        unit='Hz',
    ),
    Parameter(
        'time_budget',
        DEFAULTS['time_budget'],
        'planning time if a goal has no time_budget',
        limits=(0.01, 3600.0),
        unit='s',
    ),
    Parameter(
        'state_timeout',
        5.0,  # a new subscription finds its writers in a second or two on a busy machine
        'maximum wait for a state if a goal has no start',
        limits=(0.05, 60.0),
        unit='s',
    ),
    Parameter(
        'place_duration',
        2.0,
        'duration of the motion to a place that has no horizon, where the planner finds none',
        limits=(0.01, 120.0),
        unit='s',
    ),
    Parameter('world_frame', 'world', 'name of the world frame', read_only=True),
    Parameter(
        'frame_prefix', '', 'prefix of that frame, where it belongs to a robot', read_only=True
    ),
)

COLLOCATION = ('method', 'segments', 'refinements', 'normal_force_min', 'quiet_ends')
OPTIONS = tuple(DEFAULTS)


def planning_options(values: ParameterTable) -> dict[str, Any]:
    """Return the values of the parameters that a job of planning takes along."""
    return {name: values[name] for name in OPTIONS}

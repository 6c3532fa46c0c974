"""Parameters of the robot controller."""

from __future__ import annotations

from rolling_controller.nodes.controller_parameters import EXECUTION, option_parameter
from rolling_controller.robot_laws import robot_kinds
from rolling_node_kit.parameters import Parameter

_OPTIONS = {
    f'{kind.group}.{option.name}': option_parameter(option, kind.group)
    for kind in robot_kinds().values()
    for option in kind.options
}

TABLE = (
    *EXECUTION,
    Parameter(
        name='command_timeout',
        default=0.5,
        low=0.01,
        high=60.0,
        unit='s',
        text='age of a cmd_vel beyond which the robot is stopped',
    ),
    Parameter(
        name='frame_prefix', default='', read_only=True, text='prefix of the frame base_link'
    ),
    *_OPTIONS.values(),
)

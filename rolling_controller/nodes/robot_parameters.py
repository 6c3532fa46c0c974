"""Parameters of the robot controller."""

from __future__ import annotations

from rolling_controller.nodes.controller_parameters import EXECUTION, option_parameter
from rolling_controller.robot_laws import RobotKind
from rolling_node_kit.parameters import Parameter

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
    Parameter(
        name='enable_stamped_cmd_vel',
        default=True,
        read_only=True,
        text='whether cmd_vel is a TwistStamped; else a Twist',
    ),
)


def robot_parameters(kind: RobotKind) -> tuple[Parameter, ...]:
    """Return the parameters of the laws of a kind of robot."""
    return tuple(option_parameter(option, kind.group) for option in kind.options)

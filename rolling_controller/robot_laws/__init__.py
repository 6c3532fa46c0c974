"""Feedback for the rolling robots: one law each for following plans and for being driven."""

import warnings

from rolling_controller.robot_laws.registry import (
    register_robot,
    robot_kind,
    robot_kinds,
    RobotKind,
)
from rolling_controller.robot_laws.robot import Drive, Robot

__all__ = ['Drive', 'Robot', 'RobotKind', 'register_robot', 'robot_kind', 'robot_kinds']


def __getattr__(name: str) -> object:
    """Return ``KINDS``, which is ``robot_kinds()`` now."""
    if name != 'KINDS':
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    warnings.warn(f'{name} is robot_kinds() now', DeprecationWarning, stacklevel=2)
    return robot_kinds()

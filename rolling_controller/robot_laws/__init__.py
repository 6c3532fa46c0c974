"""Feedback for the rolling robots: one law each for following plans and for being driven."""

from rolling_controller.robot_laws.registry import (
    robot_kind,
    robot_kinds,
    RobotKind,
)
from rolling_controller.robot_laws.robot import Drive, Robot, STILL, Velocity

__all__ = ['STILL', 'Drive', 'Robot', 'RobotKind', 'Velocity', 'robot_kind', 'robot_kinds']

"""Feedback for the rolling robots: one law each for following plans and for being driven."""

from rolling_controller.robot_laws.regulator import (
    robot_kind,
    RobotKind,
)

__all__ = ['RobotKind', 'robot_kind']

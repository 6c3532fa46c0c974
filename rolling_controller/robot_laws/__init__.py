"""Feedback for the rolling robots: one law each for following plans and for being driven."""

from rolling_controller.robot_laws.registry import KINDS, register_robot, robot_kind, RobotKind
from rolling_controller.robot_laws.robot import Drive, Robot

__all__ = ['KINDS', 'Drive', 'Robot', 'RobotKind', 'register_robot', 'robot_kind']

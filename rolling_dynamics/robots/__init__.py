"""What a rolling robot shows of itself: links, joints, shapes, and where it heads."""

from rolling_dynamics.robots.general_view import general_view
from rolling_dynamics.robots.heading import Heading
from rolling_dynamics.robots.observation import Observation, Observer
from rolling_dynamics.robots.registry import robot_view
from rolling_dynamics.robots.shapes import Ball, Block, Curve, Disk, Floor, Rod, Shape
from rolling_dynamics.robots.view import Link, RobotView, view_symbols, ViewSymbols

__all__ = [
    'Ball',
    'Block',
    'Curve',
    'Disk',
    'Floor',
    'Heading',
    'Link',
    'Observation',
    'Observer',
    'RobotView',
    'Rod',
    'Shape',
    'ViewSymbols',
    'general_view',
    'robot_view',
    'view_symbols',
]

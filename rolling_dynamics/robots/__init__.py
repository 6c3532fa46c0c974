"""What a rolling robot shows of itself: links, joints, shapes, and where it heads."""

from rolling_dynamics.robots.view import (
    Ball,
    Block,
    Curve,
    Disk,
    Floor,
    general_view,
    Heading,
    Link,
    Observation,
    Observer,
    robot_view,
    RobotView,
    Rod,
    Shape,
    view_symbols,
    ViewSymbols,
)

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

"""Demonstration of the disk with masses inside: that of the ball, from another start."""

from dataclasses import replace

from rolling_robotics.plugins.point_mass_ball.demo import DEMO as OF_BALL

SHIFT, RADIUS = 0.02, 0.3  # where the disk is and how it is turned are one: it has rolled there
DEMO = replace(
    OF_BALL,
    experiment='point_mass_disk',
    position_off=(SHIFT, 0.0),
    rotation_off=(0.0, round(SHIFT / RADIUS, 4), 0.0),
)

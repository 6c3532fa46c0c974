"""All tasks by the name that their environment has after ``rolling/``."""

from rolling_robotics.learning.flip_up import FlipUpEllipse
from rolling_robotics.learning.paths import PendulumSphere, PointMassBall
from rolling_robotics.learning.plate import BallOnPlate, ReorientBall
from rolling_robotics.learning.task import Task

TASKS: dict[str, type[Task]] = {
    f'{task.__name__}-v0': task
    for task in (BallOnPlate, ReorientBall, FlipUpEllipse, PendulumSphere, PointMassBall)
}

"""
Environments for learning, as Gymnasium has them: importing this registers ``rolling/...-v0``.

``gymnasium.make('rolling_robotics.learning:rolling/BallOnPlate-v0')`` makes one environment,
``gymnasium.make_vec`` many that are stepped together. A version changes whenever an observation,
an action, a reward or an end of episodes does.
"""

from rolling_dynamics.extras import need
from rolling_robotics.learning.tasks import (
    BallOnPlate,
    FlipUpEllipse,
    PendulumSphere,
    PointMassBall,
    ReachGoal,
    ReorientBall,
    Task,
)

need('rolling_robotics.learning', 'gymnasium')
import gymnasium  # noqa: E402  optional

__all__ = ['TASKS']

TASKS: dict[str, type[Task]] = {
    f'{task.__name__}-v0': task
    for task in (
        BallOnPlate,
        ReorientBall,
        FlipUpEllipse,
        PendulumSphere,
        PointMassBall,
        ReachGoal,
    )
}

for _name, _task in TASKS.items():
    gymnasium.register(
        f'rolling/{_name}',
        entry_point='rolling_robotics.learning.environments:RollingEnv',
        vector_entry_point='rolling_robotics.learning.environments:RollingVectorEnv',
        max_episode_steps=_task.steps,
        kwargs={'task': _name},
    )

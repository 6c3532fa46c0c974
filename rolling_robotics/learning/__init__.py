"""
Environments for learning, as Gymnasium has them: importing this registers ``rolling/...-v0``.

``gymnasium.make('rolling_robotics.learning:rolling/BallOnPlate-v0')`` makes one environment,
``gymnasium.make_vec`` many that are stepped together. A version changes whenever an observation,
an action, a reward or an end of episodes does.
"""

from rolling_dynamics.errors import ParameterError
from rolling_robotics.learning.tasks import TASKS

try:
    import gymnasium
except ImportError:
    raise ParameterError(
        'environments for learning need gymnasium; install it with '
        '`pip install rolling_robotics[learning]`'
    ) from None

__all__ = ['TASKS']

for _name, _task in TASKS.items():
    gymnasium.register(
        f'rolling/{_name}',
        entry_point='rolling_robotics.learning.environments:RollingEnv',
        vector_entry_point='rolling_robotics.learning.environments:RollingVectorEnv',
        max_episode_steps=_task.steps,
        kwargs={'task': _name},
    )

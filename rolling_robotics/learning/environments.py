"""Environments of Gymnasium on batches: one at a time, or many that are stepped together."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_robotics.learning.episodes import Episodes
from rolling_robotics.learning.picture import Filmed
from rolling_robotics.learning.tasks import TASKS

Observation = NDArray[np.float32]
OPTIONS = ('randomise', 'noise', 'delay')  # of Episodes; the others go to the task


class RollingEnv(gymnasium.Env[Any, Any]):
    """
    One environment.

    ``info`` has ``success``, whether the goal is met, and ``stopped``, the guard of the system
    that ended the episode, empty if none did. Seeds are those of Gymnasium: a reset with a seed
    gives the same episode again, one without goes on in the same random numbers.
    """

    metadata: dict[str, Any] = {'render_modes': ['rgb_array'], 'render_fps': 20}  # noqa: RUF012

    def __init__(self, task: str, *, render_mode: str | None = None, **options: Any) -> None:  # noqa: ANN401  see Episodes
        """
        Make the environment of a task.

        Parameters
        ----------
        task
            Name in ``TASKS``.
        render_mode
            ``rgb_array``, or None.
        **options
            ``randomise``, ``noise`` and ``delay`` of :class:`Episodes`; others go to the task.

        Raises
        ------
        ParameterError
            An option is out of range.

        """
        self.render_mode = render_mode
        self._episodes = _episodes(task, 1, options)
        self.observation_space, self.action_space = _spaces(self._episodes)
        self._film: Filmed | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; return what is observed, and that it is not over."""
        super().reset(seed=seed, options=options)
        seen = self._episodes.begin(np.ones(1, bool), [self.np_random])
        if self.render_mode is not None:
            lanes, task = self._episodes.lanes, self._episodes.task
            self._film = Filmed(task, lanes.states[0].copy(), lanes.parameters[0].copy())
        return seen[0], {'success': False, 'stopped': ''}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """
        Hold an action for a step; return observation, reward, whether it failed, and info.

        Action and observation are vectors in the units that the task names.
        """
        actions = np.asarray(action, dtype=float)[None]
        seen, verdict = self._episodes.step(actions, [self.np_random], np.ones(1, bool))
        if self._film is not None:
            self._film.controls.append(self._episodes.controls(np.clip(actions, -1, 1))[0])
        info = {'success': bool(verdict.success[0]), 'stopped': self._episodes.stopped[0]}
        return seen[0], float(verdict.reward[0]), bool(verdict.failed[0]), False, info

    def render(self) -> NDArray[np.uint8] | None:
        """
        Return the scene as `rolling animate` draws it: pixels [0 to 255].

        Shape (rows, columns, 3).
        """
        return None if self._film is None else self._film.picture()

    def result(self) -> dict[str, Any]:
        """Return the episode so far, as `rolling simulate` writes a motion."""
        if self._film is None:
            raise ParameterError("result: needs render_mode='rgb_array', and a reset")
        return self._film.result()


class RollingVectorEnv(VectorEnv[Any, Any, Any]):
    """
    Many environments that are stepped together.

    Lane k, reset with the seed s, is the environment that is reset with s + k, bit by bit. A lane
    that has ended begins anew at the step after, whose action it does not see and whose reward is
    zero.
    """

    metadata: dict[str, Any] = {'autoreset_mode': AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        task: str,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        **options: Any,  # noqa: ANN401  see Episodes
    ) -> None:
        """
        Make environments of a task.

        Parameters
        ----------
        task, **options
            As of :class:`RollingEnv`.
        num_envs
            How many.
        max_episode_steps
            After how many steps an episode is truncated; None: as the task says.

        """
        self.num_envs = num_envs
        self._episodes = _episodes(task, num_envs, options)
        self._most = max_episode_steps or self._episodes.task.steps
        self.single_observation_space, self.single_action_space = _spaces(self._episodes)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rngs = [np.random.default_rng() for _ in range(num_envs)]
        self._over = np.ones(num_envs, bool)
        self._steps = np.zeros(num_envs, int)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin episodes in all lanes, or in those of ``options['reset_mask']``."""
        if seed is not None:
            seeds = range(seed, seed + self.num_envs) if isinstance(seed, int) else seed
            for k, one in enumerate(seeds):
                if one is not None:
                    self._rngs[k] = gymnasium.utils.seeding.np_random(one)[0]
        which = np.ones(self.num_envs, bool)
        if options is not None and 'reset_mask' in options:
            which = np.asarray(options['reset_mask'], dtype=bool)
        return self._begun(which), {}

    def _begun(self, which: NDArray[np.bool_]) -> Observation:
        self._steps[which], self._over[which] = 0, False
        return self._episodes.begin(which, self._rngs)

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Observation, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Hold actions [1] for a step, shape (num_envs, number of actions)."""
        begins = self._over.copy()
        given = np.asarray(actions, dtype=float)
        seen, verdict = self._episodes.step(given, self._rngs, ~begins)
        self._steps += 1
        stopped = np.array(self._episodes.stopped)
        if begins.any():
            seen = self._begun(begins)
            stopped[begins] = ''
        failed = verdict.failed & ~begins
        truncated = (self._steps >= self._most) & ~begins
        self._over = failed | truncated
        every = np.ones(self.num_envs, bool)
        info = {
            'success': verdict.success & ~begins,
            '_success': every,
            'stopped': stopped,
            '_stopped': every,
        }
        return seen, np.where(begins, 0.0, verdict.reward), failed, truncated, info


def _episodes(task: str, size: int, options: dict[str, Any]) -> Episodes:
    own = {name: options[name] for name in OPTIONS if name in options}
    others = {name: value for name, value in options.items() if name not in OPTIONS}
    return Episodes(TASKS[task](**others), size, **own)


def _spaces(episodes: Episodes) -> tuple[Box, Box]:
    """Return the spaces of observations and actions of one lane."""
    most = episodes.most.astype(np.float32)
    count = len(episodes.task.actions)
    return Box(-most, most, dtype=np.float32), Box(-1.0, 1.0, (count,), dtype=np.float32)

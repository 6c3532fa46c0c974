"""Environments of Gymnasium, and the episodes of a batch behind them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
import math
from typing import Any

import gymnasium
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.batch.emulation import EmulatedBatch
from rolling_dynamics.errors import check_names, check_positive, ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import simulate
from rolling_robotics.animation.movie import HEAD, pictures, Shot
from rolling_robotics.learning import TASKS
from rolling_robotics.learning.tasks import Batch, Flags, MOST, Observed, Task, Verdict
from rolling_robotics.result import arrays, follower_of, heading
from rolling_robotics.scene.general import scene_of

WIDTH, ROWS = 640, 480 + HEAD
RATE = 20.0  # of the scene's times [1/s]
SHORTEST = 1e-3  # duration simulated for the picture of a start [s]


class Episodes:
    """
    Settings of environments.

    An environment depends on its own generator of random numbers alone, not on the other
    environments. Actions are commands to the actuators of the scenario, where it has some.

    Attributes
    ----------
    observed
        Entries of an observation: those of the task, or of the scenario's sensors.
    dt
        Time for which a control is held [s], a part of the task's where something is emulated.
    held
        Controls in the last step, shape (parts, size, control.size).

    """

    def __init__(
        self,
        task: Task,
        size: int,
        *,
        randomise: Mapping[str, float] | None = None,
        noise: Mapping[str, float] | None = None,
        delay: int | None = None,
    ) -> None:
        """
        Create environments that are not started.

        Parameters
        ----------
        task
            The task.
        size
            Number of environments.
        randomise
            Entry of the system's parameters -> maximum fraction by which an episode's differs from
            the scenario's, such as ``{'mass': 0.1}``.
        noise
            Unit of observed entries -> standard deviation, such as ``{'m': 2e-4}``.
        delay
            Delay of observations in steps. Where neither this nor ``noise`` is given and the
            scenario has sensors, their measurements are observed, instead of the task's.

        Raises
        ------
        ParameterError
            A name is not known, or a number is out of range.

        """
        scenario = task.scenario
        system, sensors = scenario.system, scenario.sensors
        self.task, self.size, self.observed = task, size, task.observed
        if noise is not None or delay is not None:
            sensors = ()
        elif sensors:
            self.observed = tuple(
                Observed(name=f'{s.name} {e.name}', unit=e.unit, size=e.size, most=MOST)
                for s in sensors
                for e in s.output.entries
            )
        self._spread = dict(randomise or {})
        self._noise, delay = dict(noise or {}), 0 if delay is None else delay
        check_names(
            self._spread, [e.name for e in system.parameters.entries], 'randomise: no parameter'
        )
        units = [e.unit for e in self.observed]
        check_names(self._noise, list(dict.fromkeys(units)), 'noise: no observation of the unit')
        for name, spread in self._spread.items():
            if not 0 <= spread < 1:
                raise ParameterError(
                    f'randomise: {name} must be at least 0 and below 1, got {spread!r}'
                )
        for unit, deviation in self._noise.items():
            check_positive(f'noise: {unit}', deviation, zero=True)
        if not (isinstance(delay, (int, np.integer)) and 0 <= delay <= task.steps):
            raise ParameterError(f'delay must be a number of steps from 0 on, got {delay!r}')
        self._deviation = np.repeat([self._noise.get(u, 0.0) for u in units], self._widths)
        emulated = sensors or scenario.actuators
        self._parts = math.ceil(task.dt / task.max_step * (1 - 1e-12)) if emulated else 1
        self.dt = task.dt / self._parts
        self._batch = BatchSimulator(system, size, self.dt, max_step=task.max_step)
        self._plant = EmulatedBatch(self._batch, sensors, scenario.actuators)
        self.held = np.zeros((self._parts, size, system.control.size))
        self._goals = np.empty((size, 0))
        self._waiting: deque[Array] = deque(maxlen=int(delay) + 1)  # the first is reported
        self._columns = [system.control.names.index(name) for name in task.actions]
        self._scale = np.array(list(task.actions.values()))

    @property
    def _widths(self) -> list[int]:
        return [e.size for e in self.observed]

    @property
    def most(self) -> Array:
        """Maximum absolute values of an observation, shape (n,), in its units."""
        return np.repeat([e.most for e in self.observed], self._widths)

    @property
    def batch(self) -> Batch:
        """All motions now."""
        b = self._batch
        return Batch(states=b.states, parameters=b.parameters, goals=self._goals, times=b.times)

    @property
    def stopped(self) -> list[str]:
        """Names of the guards that ended the environments, empty where none did."""
        return [str(name) for name in self._batch.stopped]

    def begin(self, which: Flags, rngs: Sequence[np.random.Generator]) -> NDArray[np.float32]:
        """Start environments again, each by its own generator; return all observations."""
        scenario = self.task.scenario
        states = np.tile(scenario.x0, (self.size, 1))
        parameters = np.tile(scenario.p, (self.size, 1))
        layout = scenario.system.parameters
        for k in np.flatnonzero(which).tolist():
            states[k], goal = self.task.start(rngs[k])
            if self._goals.shape[1] != goal.size:
                self._goals = np.zeros((self.size, goal.size))
            self._goals[k] = goal
            for name, spread in self._spread.items():
                parameters[k, layout.slice(name)] *= 1 + spread * rngs[k].uniform(-1, 1)
        self._batch.reset(which, states=states, parameters=parameters)
        seeds = [
            int(rng.integers(2**62)) if begins and self._plant.sensors else 0
            for rng, begins in zip(rngs, which.tolist(), strict=True)
        ]
        self._plant.restart(seeds, which)
        observed = self._measured(which, rngs)
        if not self._waiting:
            self._waiting.extend(observed.copy() for _ in range(self._waiting.maxlen or 1))
        for old in self._waiting:  # nothing is reported of the episode before
            old[which] = observed[which]
        return self._delayed()

    def step(
        self, actions: Array, rngs: Sequence[np.random.Generator], going: Flags
    ) -> tuple[NDArray[np.float32], Verdict]:
        """
        Hold actions for a step.

        Parameters
        ----------
        actions
            Shape (size, number of actions); cut to -1 and 1.
        rngs
            A generator for each environment.
        going
            Environments whose observations count; of the others no random numbers are drawn.

        Returns
        -------
        tuple
            Observations, shape (size, n), and the verdict.

        """
        held = np.clip(np.nan_to_num(actions.astype(float)), -1.0, 1.0)
        self.held = self._plant.step(self.controls(held), self._parts)
        verdict = self.task.judge(self.batch, held)
        fell = ~self._batch.running
        self._waiting.append(self._measured(going, rngs))
        return self._delayed(), Verdict(
            reward=np.where(fell, 0.0, verdict.reward),
            success=verdict.success & ~fell,
            failed=verdict.failed | fell,
        )

    def controls(self, actions: Array) -> Array:
        """Return the commands of actions, shape (size, control.size)."""
        controls = np.zeros((len(actions), self.task.scenario.system.control.size))
        controls[:, self._columns] = actions * self._scale
        return controls

    def _measured(self, which: Flags, rngs: Sequence[np.random.Generator]) -> Array:
        sensed = self._plant.sensors
        observed: Array = self._plant.values.copy() if sensed else self.task.observe(self.batch)
        if self._noise:
            for k in np.flatnonzero(which).tolist():
                observed[k] += self._deviation * rngs[k].standard_normal(observed.shape[1])
        return np.clip(np.nan_to_num(observed), -self.most, self.most)

    def _delayed(self) -> NDArray[np.float32]:
        return self._waiting[0].astype(np.float32)


Observation = NDArray[np.float32]
OPTIONS = ('randomise', 'noise', 'delay')  # of Episodes; the others go to the task


class RollingEnv(gymnasium.Env[Any, Any]):
    """
    One environment.

    ``info`` has ``success``, whether the goal is met, and ``stopped``, the guard of the system
    that ended the episode, empty if none did. Seeds are as in Gymnasium: a reset with a seed gives
    the same episode again, one without continues with the same random numbers.
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
        self._filmed: Scenario | None = None  # the episode, if it is drawn
        self._held: list[Array] = []  # controls in force so far

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; return the observation, and an empty verdict."""
        super().reset(seed=seed, options=options)
        observed = self._episodes.begin(np.ones(1, bool), [self.np_random])
        if self.render_mode is not None:
            batch, scenario = self._episodes.batch, self._episodes.task.scenario
            x0, p = batch.states[0].copy(), batch.parameters[0].copy()
            self._filmed, self._held = replace(scenario, x0=x0, p=p), []
        return observed[0], {'success': False, 'stopped': ''}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """
        Hold an action for a step; return observation, reward, whether it failed, and info.

        Action and observation are vectors in the units that the task names.
        """
        actions = np.asarray(action, dtype=float)[None]
        observed, verdict = self._episodes.step(actions, [self.np_random], np.ones(1, bool))
        if self._filmed is not None:
            self._held += [*self._episodes.held[:, 0]]
        info = {'success': bool(verdict.success[0]), 'stopped': self._episodes.stopped[0]}
        return observed[0], float(verdict.reward[0]), bool(verdict.failed[0]), False, info

    def render(self) -> NDArray[np.uint8] | None:
        """
        Return the scene as `rolling animate` draws it: pixels [0 to 255].

        Shape (rows, columns, 3).
        """
        if self._filmed is None:
            return None
        scene = scene_of(self.result())
        shot = Shot(width=WIDTH, strips=False, at=float(scene.times[-1]))
        (drawn,) = pictures(scene, shot, still=True)
        whole = np.full((ROWS, WIDTH, 3), 255, dtype=np.uint8)
        above = max(0, (ROWS - drawn.shape[0]) // 2)
        whole[above : above + drawn.shape[0]] = drawn[:ROWS]
        return whole

    def result(self) -> dict[str, Any]:
        """Return the episode so far, as `rolling simulate` writes a motion."""
        if (s := self._filmed) is None:
            raise ParameterError("result: needs render_mode='rgb_array', and a reset")
        count = len(self._held)
        held = np.array(self._held) if count else np.zeros((1, s.system.control.size))
        end = max(count * self._episodes.dt, SHORTEST)
        times = np.linspace(0.0, end, max(count, 1) + 1)
        trajectory = simulate(
            s.system,
            s.p,
            s.x0,
            (np.repeat(times, 2)[1:-1], np.repeat(held, 2, axis=0)),
            end,
            t_eval=np.linspace(0.0, end, max(2, round(end * RATE))),
            events=dict.fromkeys(next(iter(s.system.modes.values())).guards, 'record'),
            follower=follower_of(s),
        )
        return {**heading('rolling/simulation', s), 'arrays': arrays(s, trajectory)}


class RollingVectorEnv(VectorEnv[Any, Any, Any]):
    """
    Many environments that are stepped together.

    Environment k, reset with the seed s, is the environment that is reset with s + k, bit by bit.
    An environment that has ended starts again at the step after, which ignores its action and has
    no reward.
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
        Create environments of a task.

        Parameters
        ----------
        task, **options
            See :class:`RollingEnv`.
        num_envs
            Number of environments.
        max_episode_steps
            Number of steps after which an episode is truncated; the task's if None.

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
        """Start episodes in all environments, or those of ``options['reset_mask']``."""
        if seed is not None:
            seeds = range(seed, seed + self.num_envs) if isinstance(seed, int) else seed
            for k, one in enumerate(seeds):
                if one is not None:
                    self._rngs[k] = gymnasium.utils.seeding.np_random(one)[0]
        which = np.ones(self.num_envs, bool)
        if options is not None and 'reset_mask' in options:
            which = np.asarray(options['reset_mask'], dtype=bool)
        return self._start(which), {}

    def _start(self, which: NDArray[np.bool_]) -> Observation:
        self._steps[which], self._over[which] = 0, False
        return self._episodes.begin(which, self._rngs)

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Observation, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Hold actions [1] for a step, shape (num_envs, number of actions)."""
        begins = self._over.copy()
        given = np.asarray(actions, dtype=float)
        observed, verdict = self._episodes.step(given, self._rngs, ~begins)
        self._steps += 1
        stopped = np.array(self._episodes.stopped)
        if begins.any():
            observed = self._start(begins)
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
        return observed, np.where(begins, 0.0, verdict.reward), failed, truncated, info


def _episodes(task: str, size: int, options: dict[str, Any]) -> Episodes:
    own = {name: options[name] for name in OPTIONS if name in options}
    others = {name: value for name, value in options.items() if name not in OPTIONS}
    return Episodes(TASKS[task](**others), size, **own)


def _spaces(episodes: Episodes) -> tuple[Box, Box]:
    """Return the spaces of observations and actions of one environment."""
    most = episodes.most.astype(np.float32)
    count = len(episodes.task.actions)
    return Box(-most, most, dtype=np.float32), Box(-1.0, 1.0, (count,), dtype=np.float32)

"""Episodes of a task in all lanes of a batch: parameters, noise and delay drawn for each lane."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
import math

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.suggestion import check_names
from rolling_robotics.learning.task import Flags, Lanes, Task, Verdict


class Episodes:
    """
    What environments are made of.

    A lane depends on its own generator of random numbers alone, not on the other lanes.
    """

    def __init__(
        self,
        task: Task,
        size: int,
        *,
        randomise: Mapping[str, float] | None = None,
        noise: Mapping[str, float] | None = None,
        delay: int = 0,
    ) -> None:
        """
        Make lanes that are not started.

        Parameters
        ----------
        task
            What it is about.
        size
            Number of lanes.
        randomise
            Entry of the system's parameters -> greatest share by which an episode's differs from
            the scenario's, such as ``{'mass': 0.1}``.
        noise
            Unit of observed entries -> standard deviation, such as ``{'m': 2e-4}``.
        delay
            Steps by which observations are late.

        Raises
        ------
        ParameterError
            A name is not known, or a number is out of range.

        """
        system = task.scenario.system
        self.task, self.size = task, size
        self._spread, self._noise = dict(randomise or {}), dict(noise or {})
        check_names(
            self._spread, [e.name for e in system.parameters.entries], 'randomise: no parameter'
        )
        units = [e.unit for e in task.observed]
        check_names(self._noise, list(dict.fromkeys(units)), 'noise: no observation of the unit')
        for name, share in self._spread.items():
            if not 0 <= share < 1:
                raise ParameterError(
                    f'randomise: {name} must be at least 0 and below 1, got {share!r}'
                )
        for unit, deviation in self._noise.items():
            if not 0 <= deviation < math.inf:
                raise ParameterError(f'noise: {unit} must be zero or positive, got {deviation!r}')
        if not (isinstance(delay, (int, np.integer)) and 0 <= delay <= task.steps):
            raise ParameterError(f'delay must be a number of steps from 0 on, got {delay!r}')
        self._deviation = np.repeat([self._noise.get(u, 0.0) for u in units], self._widths)
        self._batch = BatchSimulator(system, size, task.dt, max_step=task.max_step)
        self._goals = np.empty((size, 0))
        self._seen: deque[Array] = deque(maxlen=int(delay) + 1)  # the first is what is told
        self._columns = [system.control.names.index(name) for name in task.actions]
        self._scale = np.array(list(task.actions.values()))

    @property
    def _widths(self) -> list[int]:
        return [e.size for e in self.task.observed]

    @property
    def most(self) -> Array:
        """Greatest absolute values of an observation, shape (n,), in its units."""
        return np.repeat([e.most for e in self.task.observed], self._widths)

    @property
    def lanes(self) -> Lanes:
        """All motions now."""
        b = self._batch
        return Lanes(states=b.states, parameters=b.parameters, goals=self._goals, times=b.times)

    @property
    def stopped(self) -> list[str]:
        """Names of the guards that ended the lanes, empty where none did."""
        return [str(name) for name in self._batch.stopped]

    def begin(self, which: Flags, rngs: Sequence[np.random.Generator]) -> NDArray[np.float32]:
        """Start lanes anew, each by its own generator; return what is observed in all lanes."""
        scenario = self.task.scenario
        states = np.tile(scenario.x0, (self.size, 1))
        parameters = np.tile(scenario.p, (self.size, 1))
        layout = scenario.system.parameters
        for k in np.flatnonzero(which).tolist():
            states[k], goal = self.task.start(rngs[k])
            if self._goals.shape[1] != goal.size:
                self._goals = np.zeros((self.size, goal.size))
            self._goals[k] = goal
            for name, share in self._spread.items():
                parameters[k, layout.slice(name)] *= 1 + share * rngs[k].uniform(-1, 1)
        self._batch.reset(which, states=states, parameters=parameters)
        seen = self._measured(which, rngs)
        if not self._seen:
            self._seen.extend(seen.copy() for _ in range(self._seen.maxlen or 1))
        for old in self._seen:  # nothing is told of the episode before
            old[which] = seen[which]
        return self._told()

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
            A generator for each lane.
        going
            Lanes whose observations count; of the others no random numbers are drawn.

        Returns
        -------
        tuple
            What is observed, shape (size, n), and the verdict.

        """
        held = np.clip(np.nan_to_num(actions.astype(float)), -1.0, 1.0)
        self._batch.step(self.controls(held))
        verdict = self.task.judge(self.lanes, held)
        fell = ~self._batch.running
        self._seen.append(self._measured(going, rngs))
        return self._told(), Verdict(
            reward=np.where(fell, 0.0, verdict.reward),
            success=verdict.success & ~fell,
            failed=verdict.failed | fell,
        )

    def controls(self, actions: Array) -> Array:
        """Return the controls of actions, shape (size, control.size)."""
        controls = np.zeros((len(actions), self.task.scenario.system.control.size))
        controls[:, self._columns] = actions * self._scale
        return controls

    def _measured(self, which: Flags, rngs: Sequence[np.random.Generator]) -> Array:
        seen = self.task.observe(self.lanes)
        if self._noise:
            for k in np.flatnonzero(which).tolist():
                seen[k] += self._deviation * rngs[k].standard_normal(seen.shape[1])
        return np.clip(np.nan_to_num(seen), -self.most, self.most)

    def _told(self) -> NDArray[np.float32]:
        return self._seen[0].astype(np.float32)

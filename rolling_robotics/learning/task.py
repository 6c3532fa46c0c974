"""What an environment is about: a system, what is observed of it, and what is rewarded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.scenario import load_scenario, Scenario

Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Observed:
    """
    Some numbers of an observation.

    Attributes
    ----------
    name, unit
        What they are, in SI units; empty for numbers without a unit.
    size
        How many.
    most
        Greatest absolute value that is told; what lies beyond is cut to it.

    """

    name: str
    unit: str
    size: int
    most: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Lanes:
    """
    Many motions at one moment: a row each.

    Attributes
    ----------
    states, parameters, goals
        Shapes (size, state.size), (size, parameters.size) and (size, k); goals as the task drew
        them.
    times
        Time since the episode began [s], shape (size,).

    """

    states: Array
    parameters: Array
    goals: Array
    times: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Verdict:
    """
    What a step was worth.

    Attributes
    ----------
    reward
        Shape (size,), from 0 to 1: as none is negative, no policy gains by ending early.
    success
        Whether the goal is met now.
    failed
        Whether the episode ends; what the system's guards find ends it too.

    """

    reward: Array
    success: Flags
    failed: Flags


class Task(ABC):
    """
    A task on one system; its docstring says what is rewarded, what ends an episode, and why.

    Attributes
    ----------
    described
        The scenario that has the system: its name, or what its file would hold.
    dt, max_step
        Time for which an action is held, and longest step of the simulation [s].
    steps
        Actions in an episode.
    actions
        Component of the control -> its value for an action of 1; the others are zero.
    observed
        The entries of an observation, in order.

    """

    described: ClassVar[str | Mapping[str, Any]]
    dt: ClassVar[float]
    max_step: ClassVar[float]
    steps: ClassVar[int]
    actions: ClassVar[Mapping[str, float]]
    observed: ClassVar[tuple[Observed, ...]]

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario, read once."""
        return replace(load_scenario(self.described), name=type(self).__name__)

    def of(self, lanes: Lanes, entry: str) -> Array:
        """Return an entry of the state, shape (size, its size)."""
        return lanes.states[:, self.scenario.system.state.slice(entry)]

    @abstractmethod
    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a state to start from and a goal, drawn at random."""

    @abstractmethod
    def observe(self, lanes: Lanes) -> Array:
        """
        Return what is observed without noise or delay.

        Shape (size, n), units as in ``observed``.
        """

    @abstractmethod
    def judge(self, lanes: Lanes, actions: Array) -> Verdict:
        """Return what a step was worth, after it; ``actions`` [1] have shape (size, m)."""


def near(distance: Array, scale: float) -> Array:
    """
    Return 1 at a distance of zero, 0.24 at the scale, and 0 far away; both in one unit.

    A share in the shape of the distance.
    """
    return np.asarray(1 - np.tanh(distance / scale))


def less_effort(actions: Array) -> Array:
    """Return 1 without action, 0.9 where all are at their limits; actions [1]: shape (size, m)."""
    return np.asarray(1 - 0.1 * np.mean(actions**2, axis=1))


def one_sided(quaternions: Array) -> Array:
    """Return unit quaternions of which none has a negative real part."""
    return np.where(quaternions[:, :1] < 0, -quaternions, quaternions)


def circling(goals: Array, times: Array) -> tuple[Array, Array]:
    """
    Return place and velocity of targets on circles.

    Parameters
    ----------
    goals
        Centre x, y and radius [m], angle at the start [rad], angular velocity [rad/s], in the
        first five columns; of radius zero, a target at rest.
    times
        Time since the start [s].

    """
    angle = goals[:, 3] + goals[:, 4] * times
    along = np.column_stack([np.cos(angle), np.sin(angle)])
    across = np.column_stack([-np.sin(angle), np.cos(angle)])
    radius, rate = goals[:, 2:3], goals[:, 4:5]
    return goals[:, :2] + radius * along, radius * rate * across

"""A learned policy as a law: a small network of deviations from a plan, read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, PositiveFloat, ValidationError
from rolling_controller.law import Course, state_inputs
from rolling_controller.nominal import nominal_trajectory
from rolling_controller.time_varying_lqr import KNOT
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import read_regular
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import check_names, ParameterError
from rolling_planner.plan import Plan

LARGEST = 16_000_000  # of a file [bytes]


class _Part(BaseModel):
    model_config = ConfigDict(extra='forbid', frozen=True)


class Observation(_Part):
    """
    One observation of a policy.

    Attributes
    ----------
    of
        Scalar of the system's tangent space -> factor of its deviation from the plan; summed up.
    most
        Maximum absolute value; larger ones are cut.

    """

    of: dict[str, FiniteFloat]
    most: PositiveFloat = math.inf


class Layer(_Part):
    """Weights, a row for each output, and biases."""

    weights: Annotated[
        list[Annotated[list[FiniteFloat], Field(min_length=1)]], Field(min_length=1)
    ]
    bias: list[FiniteFloat]


class LearnedPolicy(_Part):
    """
    Policy in its file format, JSON.

    Attributes
    ----------
    format
        1.
    period
        Time for which an action is held [s].
    observations
        Observations of the policy.
    layers
        Layers of a network in sequence, tanh between them; the output of the last one is cut to -1
        and 1. A single layer is a linear policy.
    actions
        Component of the control -> addition to the planned one for an action of 1, in its unit.

    """

    format: Literal[1]
    period: PositiveFloat
    observations: Annotated[list[Observation], Field(min_length=1)]
    layers: Annotated[list[Layer], Field(min_length=1)]
    actions: dict[str, FiniteFloat]

    @classmethod
    def read(cls, file: str | Path) -> LearnedPolicy:
        """
        Return the policy of a file.

        Raises
        ------
        ParameterError
            The file cannot be read, or is invalid; the text names the faulty entry.

        """
        content = read_regular(Path(file), LARGEST)
        try:
            policy = cls.model_validate_json(content)
        except ValidationError as error:
            first = error.errors()[0]
            where = '.'.join(map(str, first['loc'])) or 'the whole'
            raise ParameterError(f'policy {file}: {where}: {first["msg"]}') from None
        size = len(policy.observations)
        for k, layer in enumerate(policy.layers):
            widths = {len(row) for row in layer.weights}
            if widths != {size} or len(layer.bias) != len(layer.weights):
                raise ParameterError(
                    f'policy {file}: layers.{k}: rows of {size} weights and as many biases as '
                    f'rows are needed, got rows of {sorted(widths)}, {len(layer.weights)} rows '
                    f'and {len(layer.bias)} biases'
                )
            size = len(layer.weights)
        if size != len(policy.actions):
            raise ParameterError(
                f'policy {file}: the last layer gives {size} numbers for '
                f'{len(policy.actions)} actions'
            )
        return policy


class Held(NamedTuple):
    """Memory of the law: when the next action is due [s], and the addition of the last one."""

    due: float
    added: Array


class LearnedLaw:
    """The planned control and the policy's action on the deviation; see :class:`Law`."""

    period: float | None = None
    opaque = 'a learned network, whose action is held for a period of its own'

    def __init__(
        self,
        system: RollingSystem,
        p: Array,
        plan: Plan,
        policy: LearnedPolicy,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        """
        Simulate the plan; deviations are relative to its motion.

        Raises
        ------
        ParameterError
            The plan is not one of this system, or the policy names entries that the system lacks.
        SimulationError
            The motion under the planned controls is not finite.
        CancelledError
            The call was interrupted.

        """
        self._matrix = _matrix(
            [o.of for o in policy.observations], system.tangent.names, 'policy: no tangent scalar'
        )
        self._most = np.array([o.most for o in policy.observations])
        self._layers = [(np.array(a.weights), np.array(a.bias)) for a in policy.layers]
        actions = [{name: factor} for name, factor in policy.actions.items()]
        self._scale = _matrix(actions, system.control.names, 'policy: no control').T
        times, states, *_ = nominal_trajectory(system, p, plan, None, KNOT, interrupted)
        self.course = Course(times, states, float(times[-1]), plan.states[-1])
        self._plan, self._difference = plan, system.difference
        self.inputs, self.output = state_inputs(system), system.control
        self._held_for = policy.period

    def start(self, before: Held | None = None) -> Held:  # noqa: ARG002
        """Return the memory at the start; see :class:`rolling_controller.law.Law`."""
        return Held(-math.inf, np.zeros(self.output.size))

    def step(self, memory: Held, inputs: ArrayLike, t: float) -> tuple[Held, Array]:
        """Return the memory, and the control in a state at a time of the plan [s]."""
        if t >= memory.due - 1e-9:
            action = self.action(t, np.asarray(inputs, dtype=float))
            memory = Held(t + self._held_for, self._scale @ action)
        planned: Array = self._plan.control_at(t)
        return memory, planned + memory.added

    def action(self, t: float, x: Array) -> Array:
        """Return the policy's action in a state at a time of the plan [s], from -1 to 1."""
        off = np.array(self._difference(x, self.course.at(t))).ravel()
        out = np.clip(self._matrix @ off, -self._most, self._most)
        for k, (weights, bias) in enumerate(self._layers):
            out = weights @ (np.tanh(out) if k else out) + bias
        return np.asarray(np.clip(out, -1.0, 1.0))


def _matrix(rows: Sequence[Mapping[str, float]], names: Sequence[str], what: str) -> Array:
    """Return rows of factors, a column for each name."""
    for row in rows:
        check_names(row, list(names), what)
    return np.array([[row.get(name, 0.0) for name in names] for row in rows])

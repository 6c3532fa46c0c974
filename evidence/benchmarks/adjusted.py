"""A law whose output is looked at, and may be changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import Law
from rolling_dynamics.arrays import Array


class Adjusted:
    """A law whose output a function sees, and may change; see :class:`Law`."""

    def __init__(
        self, law: Law[Any], function: Callable[[float, Array, Array], ArrayLike]
    ) -> None:
        """Take the law, and ``(t, inputs, output) -> output``."""
        self.inputs, self.output, self.period = law.inputs, law.output, law.period
        self.opaque = 'a function of Python'
        self._law, self._function = law, function

    def start(self, before: Any = None) -> Any:  # noqa: ANN401  the memory of the law
        """Return the memory of the law at its start."""
        return self._law.start(before)

    def step(self, memory: Any, inputs: ArrayLike, t: float) -> tuple[Any, Array]:  # noqa: ANN401
        """Return the memory of the law, and the output, shape (output.size,), in its units."""
        given = np.asarray(inputs, dtype=float)
        memory, output = self._law.step(memory, given, t)
        return memory, np.array(self._function(t, given, output), dtype=float)

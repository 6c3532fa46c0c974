"""
The log of a controller: inputs and outputs of its laws at each step.

Each run of a law has a number. Its parameters are a message of their own, with the entries of
:data:`RUN` among them. Its steps are rows of a matrix, some in a message: see :data:`COLUMNS`,
then the inputs and the output of the law, in the units of their layouts. A law depends on nothing
else, so a replay needs only this and the plan that was followed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from rcl_interfaces.msg import ParameterEvent
from rolling_controller.law import Law
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.qos import LOG
from rolling_node_kit.suite_node import SuiteNode
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

EXECUTION, HOLD, DRIVE, TASK = 'execution', 'hold', 'drive', 'run'
RUN = (
    Parameter('run', 0, 'number of the run', limits=(0, None)),
    Parameter('task', EXECUTION, 'task of the run', choices=(EXECUTION, HOLD, DRIVE, TASK)),
    Parameter('continues', False, 'whether the law continues from the previous run'),
    Parameter('state', [0.0], 'state at which it is created, where not by a plan'),
    Parameter('yaw', 0.0, 'heading at which it is created'),
)
# before: 1 where the law of the run before still holds the machine. The command acts at a time by
# the clock of the node, in two parts; `time` is the same by the law.
COLUMNS = ('run', 'step', 'before', 'seconds', 'nanoseconds', 'time')
KEPT, DELAY = 50, 0.05  # maximum number of steps in a message, and the time that they cover [s]
SECOND = 10**9  # ns


class RunLog:
    """Collects the steps of a run into messages."""

    def __init__(
        self,
        law: Law[Any],
        number: int = 0,
        send: Callable[[Float64MultiArray], object] = lambda _: None,
    ) -> None:
        """Send messages with this."""
        self._send, self._number, self._steps, self._filled = send, number, 0, 0
        names = (*COLUMNS, *law.inputs.names, *law.output.names)
        kept = KEPT if law.period is None else min(max(int(DELAY / law.period), 1), KEPT)
        self._rows, self._output = np.zeros((kept, len(names))), len(names) - law.output.size
        self._columns = MultiArrayDimension(label=' '.join(names), size=len(names))

    def note(self, at: int, t: float, given: Array, u: Array, *, before: bool = False) -> None:
        """
        Note a step.

        Parameters
        ----------
        at, t
            When the command acts, by the clock [ns] and by the law [s].
        given, u
            Inputs and output of the law.
        before
            Whether it is the law of the run before.

        """
        row, first = self._rows[self._filled], len(COLUMNS)
        row[:first] = self._number, self._steps, before, at // SECOND, at % SECOND, t
        known = given[: self._output - first]  # the law before may take more
        row[first : first + known.size], row[self._output :] = known, u
        self._steps, self._filled = self._steps + 1, self._filled + 1
        if self._filled == len(self._rows):
            self.flush()

    def flush(self) -> None:
        """Send the collected steps."""
        if self._filled:
            size = MultiArrayDimension(label='steps', size=self._filled)
            data = array('d', self._rows[: self._filled].tobytes())
            layout = MultiArrayLayout(dim=[size, self._columns])
            self._send(Float64MultiArray(layout=layout, data=data))
            self._filled = 0


Begin = Callable[[Law[Any], Mapping[str, Any]], RunLog]


def step_log(node: SuiteNode, settings: str) -> Begin:
    """
    Create the topics of the log, ``~/steps`` and the parameters; return the start of a run.

    It takes the law, and entries of :data:`RUN` or other parameters by name.
    """
    steps = node.writer(Float64MultiArray, '~/steps', LOG)
    parameters, numbers = node.writer(ParameterEvent, settings, LOG), count(1)

    def begin(law: Law[Any], about: Mapping[str, Any]) -> RunLog:
        number = next(numbers)
        parameters.publish(node.values.in_force(run=number, **about))
        return RunLog(law, number, steps.publish)

    return begin


def rows_in(message: Any) -> Array:
    """Return the rows of a message; raise ParameterError if it is damaged."""
    sizes: Sequence[int] = [dimension.size for dimension in message.layout.dim]
    data = np.array(message.data, dtype=float)
    if len(sizes) != 2 or sizes[1] <= len(COLUMNS) or data.size != sizes[0] * sizes[1]:
        raise ParameterError('the log of the controller is damaged')
    return data.reshape(sizes)

"""A client that asks for goals without waiting for them, and disturbs the nodes meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import time
from typing import Any

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rolling_interfaces.action import PlanRolling
from rolling_robotics.nodes.client import Client, ClientError

CODES = {
    value: name
    for name, value in vars(PlanRolling.Result).items()
    if name.isupper() and isinstance(value, int)
}
REFUSED = 'REFUSED'


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A goal that was sent: its handle, when it was sent [s, steady clock], and its answer."""

    handle: Any
    begun: float
    coming: Any

    @property
    def over(self) -> bool:
        """Whether there is an answer."""
        return self.coming is None or bool(self.coming.done())


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How a goal ended: the name of its error code, the text, the time [s], and the result."""

    code: str
    text: str
    seconds: float
    result: Any


class SoakClient(Client):
    """Asks, cancels, and switches nodes off and on."""

    def ask(self, goal: Any) -> Asked:
        """Send a goal of either action; wait until it is accepted or refused."""
        begun = time.monotonic()
        client = self._planner if isinstance(goal, PlanRolling.Goal) else self._controller
        handle = self._answered(
            'no answer to the goal', client.send_goal_async, goal, lambda _: None
        )
        coming = self._in_turn(handle.get_result_async) if handle.accepted else None
        return Asked(handle=handle, begun=begun, coming=coming)

    def answer(self, asked: Asked, patience: float) -> Answer:
        """
        Wait for the end of a goal [s].

        Raises
        ------
        ClientError
            There is none in this time.

        """
        if asked.coming is None:
            code, text, result = REFUSED, '', None
        else:
            result = self._result('no answer to a goal', asked.coming, patience).result
            code, text = CODES[result.error_code], result.error_string
        seconds = time.monotonic() - asked.begun
        return Answer(code=code, text=text, seconds=seconds, result=result)

    def wait(self, seconds: float, asked: Sequence[Asked]) -> None:
        """Wait some time [s], or until one of the goals has an answer."""
        end = time.monotonic() + seconds
        self._wait('', lambda: time.monotonic() > end or any(a.over for a in asked), seconds + 9)

    def cancel(self, asked: Asked) -> None:
        """Cancel a goal, and wait until that is answered."""
        if asked.coming is not None:
            call = self._in_turn(asked.handle.cancel_goal_async)
            self._result('no answer to a cancel', call, 60.0)

    def switch(self, node: str, *, on: bool) -> None:
        """Activate or deactivate a node."""
        kind = Transition.TRANSITION_ACTIVATE if on else Transition.TRANSITION_DEACTIVATE
        request = ChangeState.Request(transition=Transition(id=kind))
        if not self._call(ChangeState, f'{node}/change_state', request).success:
            raise ClientError(f'{node} refused to be {"" if on else "de"}activated')

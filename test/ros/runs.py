"""Runs of an experiment of the laboratory, by the action."""

from pathlib import Path
import sys
import threading

from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rclpy.action import ActionClient
from rolling_interfaces.action import RunExperiment

sys.path.append(str(Path(__file__).parent))

from deadline import Deadline

LONG = 60.0


def await_active(peer, node, timeout):
    """Wait until a node takes goals."""
    end = Deadline(timeout)
    while True:
        state = peer.call(GetState, f'{node}/get_state', GetState.Request(), timeout).current_state
        if state.id == State.PRIMARY_STATE_ACTIVE:
            return
        assert end.left > 0.0, f'{node} is {state.label} {end}'
        threading.Event().wait(0.05)


class Runner:
    """A client of run_experiment; ``told`` keeps the feedback on the newest run."""

    def __init__(self, peer):
        self._peer, self.told = peer, []
        self._client = ActionClient(peer.node, RunExperiment, 'run_experiment')

    def begin(self, **goal):
        """Return the handle of a run that goes on."""
        self.told, began = [], threading.Event()

        def take(message):
            self.told.append(message.feedback)
            if message.feedback.phase != RunExperiment.Feedback.PHASE_WAITING:
                began.set()

        goal = RunExperiment.Goal(**goal)
        handle = self._peer.send_goal(self._client, goal, take, timeout=LONG)
        assert handle.accepted
        self._peer.result_or(began, handle, LONG)
        return handle

    def result(self, handle):
        return self._peer.result(handle, timeout=LONG)

    def run(self, **goal):
        """Run, and return how it ended."""
        return self.result(self.begin(**goal))

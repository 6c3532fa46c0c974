"""What the controller of a hand read and commanded, from a recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rolling_controller.design import follow, PREDICTIVE
from rolling_controller.law import Following
from rolling_dynamics.contact.contact_view import StateSource
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.measurements import Measurements
from rolling_dynamics.scenario_model import Model
from rolling_planner.plan import Plan
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.replayed import NOT_AGAIN, Timed


class HandSource:
    """
    The object on a hand: two streams of odometry, accelerations of the hand.

    Attributes
    ----------
    commands
        Topic of the commands.
    system
        The system.
    limits
        Greatest magnitude of each control; None for no limit.

    """

    commands = 'hand/accel_command'

    def __init__(self, model: Model) -> None:
        """Take the model."""
        self._model, self.system, self.limits = model, model.system, model.control_limits
        contact_h = model.start[model.system.state.slice('contact_h')]
        self._measured = Measurements(StateSource(model.system, model.params, contact_h))

    def states(self, recorded: Recorded) -> Iterator[Timed]:
        """Yield the states as the controller read them."""
        for topic, _, data in recorded.raw(['hand/odometry', 'object/odometry']):
            if self._measured.take(data, is_hand=topic == 'hand/odometry'):
                found = self._measured.state()
                if found is not None:
                    yield found

    def follow(self, plan: Plan, settings: Mapping[str, Any]) -> Following:
        """Return the feedback along a plan."""
        if settings.get('law') == PREDICTIVE and not settings['open_loop']:
            raise ParameterError(NOT_AGAIN)
        return follow(self._model, plan, settings)

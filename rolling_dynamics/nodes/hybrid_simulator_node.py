"""
Simulator of an object that rolls, slides, flies and lands on a plate, in place of the hardware.

It takes accelerations of the hand and publishes what sensors would, as the simulator of rolling.
"""

from __future__ import annotations

import sys
from typing import Any

from geometry_msgs.msg import AccelStamped
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.hybrid_contact.simulated_plant import SimulatedHybridPlant
from rolling_dynamics.nodes.hybrid_topics import HybridObservation, HybridTopics, observation
from rolling_dynamics.nodes.plant_node import Loaded
from rolling_dynamics.nodes.plant_parameters import ROLLING_RESISTANCE, SLIP_SHARE
from rolling_dynamics.nodes.simulator_node import SimulatorNode
from rolling_dynamics.nodes.simulator_node import TABLE as ROLLING_TABLE
from rolling_dynamics.scenario_model import load_model
from rolling_node_kit.conversions import nanoseconds_to_time, time_to_nanoseconds
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.process import run_node
from rolling_node_kit.suite_node import Health, OK


def _factor(name: str, text: str) -> Parameter:
    return Parameter(name=name, default=1.0, low=0.1, high=10.0, text=text)


TABLE = (
    *ROLLING_TABLE,
    Parameter(
        name='planar',
        default=True,
        read_only=True,
        text='whether all motion is in the vertical plane x-z',
    ),
    SLIP_SHARE,
    ROLLING_RESISTANCE,
    _factor('inertia_factor', 'factor on the inertia of the object, applied at ~/reset'),
    _factor('resistance_factor', 'factor on the rolling resistance, applied at ~/reset'),
)


class ObservedPlant(SimulatedHybridPlant):
    """The plant as the node steps it."""

    def observe(self) -> HybridObservation:
        """Return what can be seen now."""
        return observation(self)


class HybridSimulatorNode(SimulatorNode):
    """The simulator of an object on a moving plate that it may leave."""

    table = TABLE
    _plant: ObservedPlant

    def load(self) -> Loaded:
        """Load the scenario; make the plant, held at its start, and its topics."""
        v = self.values
        model = load_model(v['scenario_file'])
        plant = ObservedPlant(
            model.system,
            model.params,
            model.start,
            planar=v['planar'],
            slip_share=v['slip_share'],
            resistance=v['rolling_resistance'],
            brake_time=v['brake_time'],
            limits=model.control_limits,
        )
        topics = HybridTopics(
            self,
            model.system,
            model.mu,
            model.mu_spin,
            world=v['world_frame'],
            prefix=v['frame_prefix'],
            estimate=v['publish_estimate'],
        )
        self._shown, self._placed = '', 0
        return Loaded(model.title, plant, topics)

    def read_command(self, message: AccelStamped) -> NDArray[np.float64]:
        """Return the accelerations of the hand; the first one after a reset frees the object."""
        u = super().read_command(message)
        stamp = time_to_nanoseconds(message.header.stamp)
        if stamp and stamp >= self._placed:  # the last word of a controller has no stamp
            self._plant.release()
        return u

    def news(self) -> list[str]:
        """Return what has happened to the contact."""
        events, self._plant.events = self._plant.events, []
        return [f'at {event.time:.4f} s: {event.text}' for event in events]

    def _publish_slowly(self, seen: Any, now: int, fault: str) -> None:
        """Publish what is due, and a mode of the contact as soon as it is another."""
        if seen.mode != self._shown:
            self._shown = seen.mode
            self._topics.contact_state(seen, nanoseconds_to_time(now), fault)
        super()._publish_slowly(seen, now, fault)

    def _reset(self, request: Any, response: Any) -> Any:
        self._plant.factors = {
            'inertia': self.values['inertia_factor'],
            'rolling_resistance': self.values['resistance_factor'],
        }
        self._placed = self.stamp if self.sim_time else self.now()
        return super()._reset(request, response)

    def health(self) -> Health:
        """Return the mode of the contact, commands and punctuality."""
        level, message, values = super().health()
        if level == OK and message == 'rolling':
            message = 'held until the first command' if self._plant.held else self._plant.mode
        return level, message, values


def main() -> int:
    """Run the node."""
    return run_node(HybridSimulatorNode)


if __name__ == '__main__':
    sys.exit(main())

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
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.hybrid_contact.from_contact_system import hybrid_of, planar_hybrid_of
from rolling_dynamics.nodes.plant_node import ROLLING_RESISTANCE, SLIP_SHARE
from rolling_dynamics.nodes.simulator_node import SimulatorNode
from rolling_dynamics.nodes.simulator_node import TABLE as ROLLING_TABLE
from rolling_dynamics.scenario_model import Model
from rolling_node_kit.conversions import nanoseconds_to_time, time_to_nanoseconds
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.process import run_node
from rolling_node_kit.suite_node import Health, OK


def _factor(name: str, text: str) -> Parameter:
    return Parameter(name, 1.0, text, limits=(0.1, 10.0))


TABLE = (
    *ROLLING_TABLE,
    Parameter('planar', True, 'whether all motion is in the vertical plane x-z', read_only=True),
    SLIP_SHARE,
    ROLLING_RESISTANCE,
    _factor('inertia_factor', 'factor on the inertia of the object, applied at ~/reset'),
    _factor('resistance_factor', 'factor on the rolling resistance, applied at ~/reset'),
)


class HybridSimulatorNode(SimulatorNode):
    """The simulator of an object on a moving plate that it may leave."""

    table = TABLE
    _plant: EmulatedObject

    def emulated(self, model: Model) -> EmulatedObject:
        """Return the object, held at its start."""
        v = self.values
        self._shown, self._placed = '', 0
        bodies = planar_hybrid_of if v['planar'] else hybrid_of
        hybrid = bodies(
            model.system,
            model.params,
            slip_share=v['slip_share'],
            resistance=v['rolling_resistance'],
        )
        return EmulatedObject(
            model.system,
            model.params,
            model.start,
            hybrid=hybrid,
            brake_time=v['brake_time'],
            limits=model.control_limits,
        )

    def read_command(self, message: AccelStamped) -> NDArray[np.float64]:
        """Return the accelerations of the hand; the first one after a reset frees the object."""
        u = super().read_command(message)
        stamp = time_to_nanoseconds(message.header.stamp)
        if stamp and stamp >= self._placed:  # the last word of a controller has no stamp
            self._plant.release()
        return u

    def _publish_slowly(self, seen: Any, now: int, fault: str) -> None:
        """Publish what is due, and a mode of the contact as soon as it is another."""
        if self._plant.contact_mode != self._shown:
            self._shown = self._plant.contact_mode
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
            message = (
                'held until the first command'
                if self._plant.emulation.held
                else self._plant.contact_mode
            )
        return level, message, values


def main() -> int:
    """Run the node."""
    return run_node(HybridSimulatorNode)


if __name__ == '__main__':
    sys.exit(main())

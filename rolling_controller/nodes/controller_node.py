"""
Controller of any machine: its tasks follow from its scenario, the law from its parameters.

A plug-in names the machine of its systems by the role ``controller``; the default is a robot.
"""

from __future__ import annotations

from collections.abc import Mapping
import sys
import threading
from typing import Any

from rolling_controller.nodes.control_loop import Controlled
from rolling_controller.nodes.machines import ControlledRobot
from rolling_dynamics.nodes.chosen import chosen, CompilingNode, given_parameters, system_of
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.periodic_loop import PeriodicLoop
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import EVENT
from rolling_node_kit.signals import drop_priority
from rolling_node_kit.suite_node import Health, OK, WARN
from std_srvs.srv import Trigger


class ControllerNode(CompilingNode):
    """Lifecycle node that answers the states of a machine with commands."""

    def __init__(self, kind: type[Controlled], system: str) -> None:
        """Declare the parameters of a machine; everything else happens in configure."""
        super().__init__('controller', kind.parameters(system))
        self._kind = kind
        self._machine: Controlled | None = None
        self._preparation: threading.Thread | None = None

    def configure(self) -> None:
        """Load the scenario, create topics and services, and start preparation."""
        self._machine = machine = self._kind(self)
        if machine.stopped:
            self.service(Trigger, '~/stop', self._stop)
            self.reader(RollingContact, 'contact/state', self._take_contact, EVENT)

        def prepare() -> None:
            drop_priority()
            machine.prepare()

        self._preparation = threading.Thread(target=prepare, name='preparation', daemon=True)
        self._preparation.start()

    @property
    def preparing(self) -> str:
        """Parts of the loop that are still being written out or compiled, in words."""
        busy = self._preparation is not None and self._preparation.is_alive()
        waits = '' if self._machine is None else self._machine.preparing(busy=busy)
        return super().preparing or waits

    def activate(self) -> None:
        """Start work."""
        if self._machine is not None:
            self._machine.activate()

    def deactivate(self) -> None:
        """End the present task, the machine safe."""
        if self._machine is not None:
            self._machine.deactivate()

    def cleanup(self) -> None:
        """Forget the scenario."""
        if self._machine is not None:
            self._machine.deactivate()
            self._machine.current = False
        self._machine = None

    def _stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._machine is not None:
            self._machine.stop()
        response.success, response.message = True, self._kind.stopped
        return response

    def _take_contact(self, message: RollingContact) -> None:
        control = None if self._machine is None else self._machine.control
        if control is not None:
            control.contact_mode = message.mode

    @property
    def loop(self) -> PeriodicLoop | None:
        """The loop that is at work."""
        control = None if self._machine is None else self._machine.control
        return None if control is None else control.loop

    def health(self) -> Health:
        """Return the report of the machine, with the number of received states."""
        if self._machine is None:
            return OK, 'not running', {}
        measured = self._machine.equipment.machine.measured
        level, text, values = self._machine.health()
        values |= {'states accepted': measured.count, 'state age [s]': measured.age}
        if level == OK and measured.refused:
            level, text, measured.refused = WARN, measured.refused, ''
        return level, text, values


def machine_of(given: Mapping[str, Any]) -> type[Controlled]:
    """Return the machine that parameters name, as a controller runs it."""
    found: type[Controlled] = chosen('controller', given) or ControlledRobot
    return found


def make_node() -> ControllerNode:
    """Return the controller of the machine that the parameters at the start name."""
    given = given_parameters('controller', ('scenario_file', 'experiment'))
    return ControllerNode(machine_of(given), system_of(given))


def main() -> int:
    """Run the node."""
    return run_node(make_node)


if __name__ == '__main__':
    sys.exit(main())

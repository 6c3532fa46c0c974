"""An object on a moving hand as a simulator runs it: it only rolls, or goes through all modes."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from geometry_msgs.msg import AccelStamped, Vector3
from rolling_dynamics.errors import ParameterError, quoted
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.hybrid_contact.from_contact_system import hybrid_of, planar_hybrid_of
from rolling_dynamics.nodes.plant_topics import PlantTopics
from rolling_dynamics.nodes.simulated import (
    perturbation_parameters,
    plant_parameters,
    PublishedTopics,
    Simulated,
)
from rolling_dynamics.scenario_model import load_model, Model
from rolling_node_kit.conversions import accel_to_control, finite, time_to_nanoseconds
from rolling_node_kit.parameters import fixed, Parameter
from rolling_node_kit.qos import EVENT
from rolling_node_kit.suite_node import Health, OK

if TYPE_CHECKING:
    from rolling_dynamics.nodes.simulator_node import SimulatorNode

MOTIONS = ('rolling', 'all_modes', 'on_arm')
MOTION = fixed(
    'motion',
    MOTIONS[0],
    'rolling ends where the contact breaks; all_modes goes on, sliding and in flight; '
    'on_arm does so on an arm with motors, encoders and a camera',
    choices=MOTIONS,
)


class RollingObject(Simulated):
    """An object that rolls; it takes accelerations of the hand."""

    body, command = 'hand', (AccelStamped, 'hand/accel_command')
    table = (
        *plant_parameters(body, 1000.0),
        *perturbation_parameters(
            'offset of the contact point on the hand at ~/reset, in its chart',
            'rotation of the object about its own axes at ~/reset',
        ),
        MOTION,
        fixed('publish_estimate', True, 'publish object/odometry too; off beside an estimator'),
        fixed('world_frame', 'world', 'name of the world frame'),
    )
    plant: EmulatedObject
    topics: PublishedTopics

    def __init__(self, node: SimulatorNode) -> None:
        """Load the scenario; make the object, at its start, and its topics."""
        self.node, v = node, node.values
        model = load_model(v['scenario_file'])
        self.title, self.plant = model.title, self.emulated(model)
        self.topics = PlantTopics(
            node,
            model,
            self.plant,
            world=v['world_frame'],
            prefix=v['frame_prefix'],
            estimate=v['publish_estimate'],
        )

    def emulated(self, model: Model) -> EmulatedObject:
        """Return the object at its start; make what strikes it."""
        plant = EmulatedObject(
            model.system,
            model.params,
            model.start,
            brake_time=self.node.values['brake_time'],
            limits=model.control_limits,
        )
        self.node.reader(Vector3, '~/push', lambda message: self._push(plant, message), EVENT)
        return plant

    def read(self, message: Any) -> tuple[int, Any]:
        """Return the accelerations of the hand; refuse another frame and what is not finite."""
        frame = f'{self.node.values["frame_prefix"]}hand'
        if message.header.frame_id not in ('', frame):
            raise ParameterError(
                f'it is in frame {quoted(message.header.frame_id)}, {frame!r} is needed'
            )
        if not finite(message.accel.linear, message.accel.angular):
            raise ParameterError('it is not finite')
        return time_to_nanoseconds(message.header.stamp), accel_to_control(message.accel)

    def _push(self, plant: EmulatedObject, message: Vector3) -> None:
        if not finite(message):
            text = '~/push: not finite; give the impulse over the mass [m/s]'
            self.node.get_logger().warning(text)
            return
        with self.node.lock:
            plant.push((message.x, message.y, message.z))


def factor(name: str, text: str) -> Parameter:
    """Return the parameter of a factor of what a scenario says."""
    return Parameter(name, 1.0, text, limits=(0.1, 10.0))


SLIP_SHARE = fixed('slip_share', 0.8, 'ratio of kinetic to static friction', limits=(0.0, 1.0))
ROLLING_RESISTANCE = fixed(
    'rolling_resistance',
    0.0,
    'rolling resistance: torque per normal force and rate of rolling',
    limits=(0.0, 1.0),
    unit='m s/rad',
)


class HybridObject(RollingObject):
    """An object on a plate that it may leave; the first command after a reset lets it go."""

    table = (
        *RollingObject.table,
        fixed('planar', True, 'whether all motion is in the vertical plane x-z'),
        SLIP_SHARE,
        ROLLING_RESISTANCE,
        factor('inertia_factor', 'factor on the inertia of the object, applied at ~/reset'),
        factor('resistance_factor', 'factor on the rolling resistance, applied at ~/reset'),
    )
    placed = 0

    def emulated(self, model: Model) -> EmulatedObject:
        """Return the object, held at its start."""
        v = self.node.values
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

    def obey(self, stamp: int, command: Any) -> Any:
        """Return the accelerations of the hand; the first one after a reset frees the object."""
        if stamp and stamp >= self.placed:  # the last word of a controller has no stamp
            self.plant.release()
        return command

    def place(self, stamp: int) -> None:
        """Apply the factors, and hold the object from a time [ns] on."""
        v = self.node.values
        self.placed = stamp
        self.plant.factors = {
            'inertia': v['inertia_factor'],
            'rolling_resistance': v['resistance_factor'],
        }

    def health(self) -> Health:
        """Return the mode of the contact."""
        held = self.plant.emulation.held
        return OK, 'held until the first command' if held else self.plant.contact_mode, {}

"""An object on a moving hand as a simulator runs it: it only rolls, or goes through all modes."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import AccelStamped, Vector3, WrenchStamped
from nav_msgs.msg import Odometry
import numpy as np
from rolling_dynamics.contact.contact_view import ContactView, NAMES
from rolling_dynamics.errors import ParameterError, quoted
from rolling_dynamics.hybrid_contact.emulated_object import (
    EmulatedObject,
    held_object,
    Observation,
)
from rolling_dynamics.nodes.markers import (
    ContactMarkers,
    HAND_COLOURS,
    OBJECT_COLOURS,
    surface_marker,
)
from rolling_dynamics.nodes.simulated import (
    perturbation_parameters,
    plant_parameters,
    PublishedTopics,
    Simulated,
    SimulatorNode,
    Slow,
)
from rolling_dynamics.nodes.topics import body_matrix, ratio
from rolling_dynamics.scenario_model import load_model, Model
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.cdr import OdometryEncoder
from rolling_node_kit.conversions import (
    accel_to_control,
    array_to_wrench,
    finite,
    matrix_to_transform,
    time_to_nanoseconds,
)
from rolling_node_kit.parameters import fixed, Parameter
from rolling_node_kit.qos import EVENT, LATCHED, STREAM_WRITER
from rolling_node_kit.suite_node import Health, OK, SuiteNode
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

MOTIONS = ('rolling', 'all_modes', 'on_arm')
MOTION = fixed(
    'motion',
    MOTIONS[0],
    'rolling ends where the contact breaks; all_modes goes on, sliding and in flight; '
    'on_arm does so on an arm with motors, encoders and a camera',
    choices=MOTIONS,
)


class PlantTopics:
    """Publishers of state, contact, frames and markers."""

    def __init__(
        self,
        node: SuiteNode,
        model: Model,
        plant: EmulatedObject,
        *,
        world: str,
        prefix: str,
        estimate: bool,
    ) -> None:
        """
        Create the publishers.

        Parameters
        ----------
        node
            Node that publishes.
        model, plant
            Object and hand, and the emulated plant.
        world
            Name of the world frame.
        prefix
            Prefix of the name of every other frame.
        estimate
            Whether ``object/odometry`` is published too, instead of by an estimator.

        """
        self._plant, self._world = plant, world
        self.slow: Slow = (
            ('contact_rate', self.contact),
            ('tf_rate', self.frames),
            ('marker_rate', self.markers),
        )
        self._mu, self._mu_spin = model.mu, model.mu_spin
        system = model.system
        edges = model.params[system.parameters.slice('hand_edges')]
        self._hand, self._object = f'{prefix}hand', f'{prefix}object'
        self._contact_h, self._contact_o = f'{prefix}contact_hand', f'{prefix}contact_object'
        self._view = ContactView(system.object_surface, system.hand_surface)
        self._markers = ContactMarkers(self._hand, self._contact_h)

        def stream(kind: type, name: str) -> Any:
            return node.writer(kind, name, STREAM_WRITER)

        self._hand_odometry = stream(Odometry, 'hand/odometry')
        self._object_odometry = stream(Odometry, 'object/odometry') if estimate else None
        self._truth = stream(Odometry, 'object/ground_truth')
        self._coordinates = stream(JointState, 'contact/coordinates')
        self._wrench = stream(WrenchStamped, 'contact/wrench')
        self._tf = stream(TFMessage, '/tf')
        self._marker_publisher = stream(MarkerArray, '~/markers')
        self._state = node.writer(RollingContact, 'contact/state', EVENT)
        surfaces = node.writer(MarkerArray, '~/surfaces', LATCHED)
        self._encode_hand = OdometryEncoder(world, self._hand).encode
        self._encode_object = OdometryEncoder(world, self._object).encode
        surfaces.publish(
            MarkerArray(
                markers=[
                    surface_marker(system.object_surface, self._object, 0, OBJECT_COLOURS),
                    surface_marker(system.hand_surface, self._hand, 1, HAND_COLOURS, edges=edges),
                ]
            )
        )

    def forget(self) -> None:
        """Start a new path of the contact point."""
        self._markers.forget()

    def state(self, observed: Observation, stamp: int) -> None:
        """Publish hand and object state at a time [ns]; the fast part."""
        self._hand_odometry.publish(self._encode_hand(stamp, observed.hand.tolist()))
        if self._object_odometry is not None:
            self._object_odometry.publish(self._encode_object(stamp, observed.object_.tolist()))

    def contact(self, observed: Observation, stamp: Time) -> None:
        """Publish ground truth, contact coordinates and contact wrench."""
        self._truth.publish(
            self._encode_object(time_to_nanoseconds(stamp), observed.object_.tolist())
        )
        X_WH, X_WO = body_matrix(observed.hand), body_matrix(observed.object_)
        q, _ = self._view.coordinates(X_WO, X_WH, observed.X_WCh[:3, 3])
        joints = JointState(name=list(NAMES), position=q.tolist())
        joints.header.stamp = stamp
        self._coordinates.publish(joints)
        wrench = WrenchStamped(wrench=array_to_wrench(observed.wrench))
        wrench.header.stamp, wrench.header.frame_id = stamp, self._contact_h
        self._wrench.publish(wrench)

    def contact_state(self, observed: Observation, stamp: Time) -> None:
        """Publish mode, gap and margins of the contact."""
        tangential = float(np.hypot(observed.wrench[3], observed.wrench[4]))
        normal, spin = float(observed.wrench[5]), abs(float(observed.wrench[2]))
        message = RollingContact(mode=self._plant.contact_mode, gap=max(observed.gap, 0.0))
        message.wrench = array_to_wrench(observed.wrench)
        message.header.stamp, message.header.frame_id = stamp, self._contact_h
        message.required_friction = ratio(tangential, normal)
        message.friction_utilisation = ratio(tangential, self._mu * normal)
        message.spin_utilisation = ratio(spin, self._mu_spin * normal) if self._mu_spin else 0.0
        message.object_chart, message.hand_chart = self._view.charts
        self._state.publish(message)

    def frames(self, observed: Observation, stamp: Time) -> None:
        """Publish the frames."""
        X_WH, X_WO = body_matrix(observed.hand), body_matrix(observed.object_)
        _, X_OCo = self._view.coordinates(X_WO, X_WH, observed.X_WCh[:3, 3])
        self._tf.publish(
            TFMessage(
                transforms=[
                    matrix_to_transform(X_WH, stamp, self._world, self._hand),
                    matrix_to_transform(X_WO, stamp, self._world, self._object),
                    matrix_to_transform(
                        np.linalg.inv(X_WH) @ observed.X_WCh, stamp, self._hand, self._contact_h
                    ),
                    matrix_to_transform(X_OCo, stamp, self._object, self._contact_o),
                ]
            )
        )

    def markers(self, observed: Observation, stamp: Time) -> None:
        """Publish the markers that move, and the state of the contact."""
        self.contact_state(observed, stamp)
        X_WH = body_matrix(observed.hand)
        p_HC = X_WH[:3, :3].T @ (observed.X_WCh[:3, 3] - X_WH[:3, 3])
        forces = [(np.zeros(3), observed.wrench[3:6])]
        self._marker_publisher.publish(self._markers.update(stamp, p_HC, forces))


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
        """Return the accelerations of the hand; reject other frames and infinite numbers."""
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
    """Return the parameter of a factor of a scenario's value."""
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
        return held_object(model, self.node.values.__getitem__)

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

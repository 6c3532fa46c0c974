"""A source of states for tests, that can be spoilt, and plans in which all rests."""

import math

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
import numpy as np
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.scenario_model import load_model
from rolling_node_kit.cdr import OdometryEncoder
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.qos import STREAM_WRITER
from rolling_planner.nodes.conversions import plan_to_message
from rolling_planner.plan import Plan
from sensor_msgs.msg import JointState

OFF = 1_000_000_000  # by which stamps are wrong [ns]
PERIOD = 0.01  # between two messages [s]


class Source:
    """
    Publishes one state again and again, well or with a fault.

    ``told`` is the stamp [ns] of the last good message; ``noise`` the standard deviation of its
    numbers, which is gone where they repeat themselves.
    """

    def __init__(self, peer, bodies, prefix=''):
        self._peer, self._out = peer, {}
        self._values = {name: np.array(values) for name, values in bodies.items()}
        for name in bodies:
            self._out[name] = peer.node.create_publisher(
                Odometry if name.endswith('odometry') else JointState,
                f'{prefix}{name}',
                STREAM_WRITER,
            )
        self._encode = OdometryEncoder('world', '').encode
        self.names = []
        self.fault, self._begun, self.told = '', 0, 0
        self.noise, self._rng = 0.0, np.random.default_rng(1)

    def now(self):
        return self._peer.node.get_clock().now().nanoseconds

    def break_down(self, fault):
        self._begun, self.fault = self.now(), fault

    def recover(self):
        self.fault = ''

    def tell(self):
        fault, now = self.fault, self.now()
        stamp = self._stamp(fault, now)
        for name, values in self._values.items():
            spoilt = name != 'hand/odometry'
            if fault == 'silent' or (fault == 'one_body_missing' and spoilt):
                continue
            x = values.copy()
            if self.noise and fault != 'repeated':
                x += self.noise * self._rng.normal(size=x.size)
            if fault == 'zero_quaternion' and spoilt:
                x[:4] = 0.0
            if fault == 'not_finite' and spoilt:
                x[-1] = math.nan
            self._out[name].publish(self._message(name, stamp, x))
        if not fault:
            self.told = stamp

    def _stamp(self, fault, now):
        begun = self._begun
        return {
            'frozen': begun,
            'alternating': begun - (now // 5_000_000) % 2 * 10_000_000,
            'late': now - OFF,
            'slow': begun + (now - begun) // 3,
            'ahead': now + OFF,
        }.get(fault, now)

    def _message(self, name, stamp, x):
        if name.endswith('odometry'):
            return bytes(self._encode(stamp, x.tolist()))
        message = JointState(name=self.names, position=x.tolist())
        message.header.stamp = nanoseconds_to_time(stamp)
        return message


def still(name, system, start, duration, control=0.0):
    """Return a plan in which nothing moves, whatever its controls."""
    plan = Plan(
        system=name,
        model_hash=system.model_hash,
        state_names=tuple(system.state.names),
        control_names=tuple(system.control.names),
        times=np.linspace(0.0, duration, 3),
        states=np.tile(start, (3, 1)),
        controls=np.full((3, system.control.size), control),
    )
    return plan_to_message(plan, Time(), 'world')


def hand_and_object(scenario):
    """Return model, and poses and twists of hand and object at its start."""
    model = load_model(scenario)
    seen = EmulatedObject(model.system, model.params, model.start).observe()
    return model, {'hand/odometry': seen.hand, 'object/odometry': seen.object_}

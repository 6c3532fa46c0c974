"""What the robot measures, what drives it, and the law that balances it by these alone."""

from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from rolling_controller.law import Law
from rolling_dynamics.contract.instruments import Actuator, MotionExpressions, Sensor
from rolling_dynamics.contract.layout import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation.sensing import Measurement
from transforms3d.quaternions import axangle2quat, qmult, rotate_vector

DRIVES = tuple(f'drive_{axis}' for axis in 'xyz')


def turning(at: MotionExpressions) -> ca.SX:
    """Return the angular velocity of the ball as the drives, fixed to the body, see it."""
    return at.body('body')[:3, :3].T @ at.state['w_WS_W'] - at.state['w_WB_B']


IMU = Sensor(
    name='imu',
    output=Layout(
        (quaternion_entry('orientation'), vector_entry('angular_velocity', 'rad/s', 'B', 'gyro'))
    ),
    measure=lambda at: ca.vertcat(at.state['q_WB'], at.state['w_WB_B']),
    covariance=np.diag([2.5e-7] * 4 + [4e-6] * 3),
    rate=500.0,
    delay=2e-3,
    message='imu',
    topic='imu',
    frame='body_link',
)
ENCODERS = Sensor(
    name='encoders',
    output=Layout((Entry('velocity', tuple(f'{d}_velocity' for d in DRIVES), 'rad/s'),)),
    measure=turning,
    covariance=1e-4 * np.eye(3),
    rate=500.0,
    delay=2e-3,
    message='joint_states',
    topic='drive_states',
)
MOTORS = Actuator(
    name='motors',
    control='torque',
    joints=DRIVES,
    limits=np.full(3, 8.0),
    dead_time=2e-3,
    message='effort',
    topic='drive_command',
)


class Odometry:
    """The state by the instruments: attitude and rates as measured, place as it has rolled."""

    inputs = Layout((*IMU.output.entries, *ENCODERS.output.entries))

    def __init__(self, scenario: Scenario) -> None:
        """Take the robot, at the start of its scenario."""
        self._layout, self.start = scenario.system.state, scenario.x0
        self._radius = float(scenario.p[scenario.system.parameters.slice('radius')][0])

    def step(self, x: np.ndarray, measured: np.ndarray, dt: float) -> np.ndarray:
        """Return the state after a time [s]; what was not measured is not a number."""
        v = self._layout.unpack(x)
        attitude, gyro, drives = np.split(np.asarray(measured), [4, 7])
        if np.isfinite(attitude).all():
            v['q_WB'], v['w_WB_B'] = attitude / np.linalg.norm(attitude), gyro
        if np.isfinite(drives).all():
            w = rotate_vector(drives + v['w_WB_B'], v['q_WB'])
            mean, v['w_WS_W'] = (v['w_WS_W'] + w) / 2, w
            v['p_WS'] = v['p_WS'] + self._radius * dt * np.array([mean[1], -mean[0]])
            turned = axangle2quat(mean, dt * np.linalg.norm(mean)) if mean.any() else [1, 0, 0, 0]
            v['q_WS'] = qmult(turned, v['q_WS'])
        return self._layout.pack(**v)


class Belief(NamedTuple):
    """Estimated state, when the encoders came last [s], and the memory of the law."""

    x: np.ndarray
    time: float
    law: Any


class Measured:
    """A law of the state that gets it from the instruments."""

    period, opaque = None, 'a function of Python'
    inputs = Odometry.inputs

    def __init__(self, scenario: Scenario, law: Law[Any]) -> None:
        """Take the law; the robot stands at the start of its scenario."""
        self._odometry, self._law, self.output = Odometry(scenario), law, law.output

    def start(self, before: Belief | None = None) -> Belief:
        """Return the memory at the start."""
        return before or Belief(self._odometry.start, 0.0, self._law.start())

    def step(self, memory: Belief, inputs: np.ndarray, t: float) -> tuple[Belief, np.ndarray]:
        """Return memory and torque; what an instrument did not measure is not a number."""
        x = self._odometry.step(memory.x, inputs, t - memory.time)
        law, torque = self._law.step(memory.law, x, t)
        return Belief(x, memory.time if np.isnan(inputs[-1]) else t, law), torque


def given(measurement: Measurement) -> np.ndarray:
    """Return the inputs of the law from one measurement."""
    nothing = {e.name: np.full(e.size, np.nan) for e in Odometry.inputs.entries}
    found = measurement.sensor.output.unpack(measurement.value)
    return np.concatenate([{**nothing, **found}[e.name] for e in Odometry.inputs.entries])

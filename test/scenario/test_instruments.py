"""Sensors and actuators that do not fit their system are refused as the scenario is loaded."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.contract.rolling_system import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.document import read_document

HOP = load_scenario('point_mass_hop')  # in several modes
SHELL = load_scenario('pendulum_torque')
RIG = load_scenario('ball_balancer')
(CAMERA,), (SERVOS,) = RIG.sensors, RIG.actuators


def imu(*entries, **changes):
    """Return a gyroscope, or another inertial sensor, that fits but for what changes."""
    entries = entries or (vector_entry('angular_velocity', 'rad/s'),)
    size = sum(e.size for e in entries)
    given = {
        'name': 'imu',
        'output': Layout(entries),
        'measure': lambda _: ca.DM.ones(size),
        'covariance': np.eye(size),
        'rate': 100.0,
        'message': 'imu',
        'topic': 'imu',
        'frame': 'shell_link',
    }
    return Sensor(**{**given, **changes})


def joint_states(*entries, **changes):
    return imu(*entries, message='joint_states', **changes)


def gyro(unit='rad/s', suffixes='xyz'):
    return vector_entry('angular_velocity', unit, suffixes=suffixes)


def read(*names, of='position', unit='rad'):
    return Entry(of, names, unit)


def test_what_fits_is_taken():
    both = quaternion_entry('orientation'), gyro()
    encoders = joint_states(
        read('a_position', 'b_position'),
        read('a_velocity', 'b_velocity', of='velocity', unit='rad/s'),
        name='encoders',
        topic='~/joints',
        frame='',
    )
    replace(SHELL, sensors=(imu(*both, topic='/front/imu'), encoders))
    slope = np.outer([1, 2, 3], [1, 2, 3])  # semidefinite, but for rounding
    replace(SHELL, sensors=(imu(covariance=slope / 7),))


@pytest.mark.parametrize(
    ('make', 'text'),
    [
        (lambda: imu(gyro('deg/s')), "angular_velocity of 'imu' has rad/s, got deg/s; convert it"),
        (lambda: imu(gyro('m')), "angular_velocity of 'imu' has rad/s, got m;"),
        (lambda: imu(gyro(suffixes='xy')), 'angular_velocity_z; got .*_x., .angular_velocity_y.'),
        (lambda: imu(gyro(suffixes=['x', 'y', 'up'])), 'takes 3 numbers, angular_velocity_x'),
        (
            lambda: imu(vector_entry('orientation', '')),
            "orientation of 'imu' takes 4 numbers, orientation_w",
        ),
        (lambda: joint_states(read('a', 'b')), 'JOINT_position for the same joints'),
        (lambda: joint_states(read('_position')), 'JOINT_position for the same joints'),
        (
            lambda: joint_states(
                read('a_position'), read('b_velocity', of='velocity', unit='rad/s')
            ),
            'JOINT_velocity for the same joints in each entry',
        ),
        (lambda: joint_states(read('a_position', unit='deg')), 'rad or m, got deg'),
        (
            lambda: imu(vector_entry('marker', 'mm'), message='points'),
            "marker of 'points' has m, got mm",
        ),
        (lambda: imu(rate=1e9), 'at most 100000 Hz, got 1000000000.0'),
        (lambda: imu(topic=''), "topic takes letters, .* got ''"),
        (lambda: imu(topic='my imu'), "topic takes letters, .* got 'my imu'"),
        (lambda: imu(topic='3d/imu'), 'topic takes letters'),
        (lambda: imu(topic='imu/'), 'topic takes letters'),
        (lambda: imu(frame='shel_link'), "no frame 'shel_link'; did you mean 'shell_link'"),
        (lambda: imu(covariance=np.eye(3) + np.eye(3, k=1)), 'covariance must be a symmetric'),
        (lambda: imu(covariance=np.full((3, 3), np.nan)), 'covariance must be a symmetric'),
        (lambda: imu(measure=lambda _: ca.SX.zeros(3) / 0), 'is not finite at the start'),
        (lambda: imu(measure=lambda at: at.poses), 'measure: AttributeError: .* no attribute'),
        (lambda: imu(measure=lambda at: at.state['q'][7:]), "'q'; there are .*'q_WS'"),
        (lambda: imu(measure=lambda at: at.body('shell')[7, :]), 'measure: .*[Oo]ut of bounds'),
        (lambda: imu(measure=lambda _: ca.SX.sym('x', 3)), 'measure: .*free'),
    ],
)
def test_a_sensor_that_does_not_fit_is_refused_by_its_name(make, text):
    with pytest.raises(ParameterError, match=f"sensor 'imu'.*{text}"):
        replace(SHELL, sensors=(make(),))


def test_every_mode_of_a_sensor_is_tried():
    modes = []

    def force(at):
        modes.append(at)
        return at.wrench[3:] if len(modes) < 3 else at.wrench[4:]

    meter = imu(vector_entry('force', 'N'), message='wrench', measure=force, frame='')
    with pytest.raises(ParameterError, match=r"of 'point_mass_ball', mode 'separated'.* 2"):
        replace(HOP, sensors=(meter,))


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        (
            {'message': 'effort'},
            "'effort' carries N m or N, and the control 'command' is in rad; ",
        ),
        ({'message': 'velocities'}, "use message 'positions'"),
        ({'joints': ('a', 'a')}, r"joints takes 2 names, each once, got \['a', 'a'\]"),
        ({'control': 'comand'}, "control: no entry 'comand'; did you mean 'command'"),
        ({'topic': 'servo command'}, 'topic takes letters'),
        ({'limits': np.array([0.1, np.nan])}, 'limits takes 2 positive numbers'),
        ({'rate': 1e9}, 'rate must be at most 100000 Hz'),
    ],
)
def test_an_actuator_that_does_not_fit_is_refused_by_its_name(changes, text):
    with pytest.raises(ParameterError, match=f"actuator 'servos'.*{text}"):
        replace(RIG, actuators=(replace(SERVOS, **changes),))


@pytest.mark.parametrize(
    ('sensors', 'actuators', 'text'),
    [
        ([CAMERA, replace(CAMERA, topic='other')], [], "name 'camera' of 'ball_balancer'"),
        ([CAMERA, replace(CAMERA, name='other')], [], "topic 'vision/object_pose'"),
        ([CAMERA], [replace(SERVOS, topic=CAMERA.topic)], "topic 'vision/object_pose'"),
        ([], [SERVOS, replace(SERVOS, joints=('a', 'b'))], "control 'command'"),
    ],
)
def test_what_two_instruments_cannot_both_have_is_refused(sensors, actuators, text):
    with pytest.raises(ParameterError, match=f'{text}.* is given twice'):
        replace(RIG, sensors=tuple(sensors), actuators=tuple(actuators))


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({'rate': 1e9}, 'machine.sensors.imu: .*at most 100000 Hz'),
        ({'topic': 'a b'}, "machine: sensor 'imu' of 'machine': topic takes letters"),
        ({'topic': 'encoders'}, "machine: sensors and actuators: topic 'encoders'"),
    ],
)
def test_a_fault_in_a_file_begins_with_its_path(changes, text):
    document = read_document('two_wheeler')
    document['machine']['sensors']['imu'] |= changes
    with pytest.raises(ScenarioError, match=text):
        load_scenario(document)

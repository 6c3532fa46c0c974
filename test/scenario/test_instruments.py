"""Sensors and actuators in the scenario file of any system."""

import numpy as np
import pytest
from rolling_controller.measured_state import SensorFilter
from rolling_dynamics import load_scenario
from rolling_dynamics.errors import ParameterError, RollingError
from rolling_dynamics.scenario.document import read_document
from rolling_dynamics.scenario_model import load_robot
from rolling_dynamics.simulation.emulation import Emulation
from transforms3d.quaternions import quat2mat

TRACKER = {'kind': 'pose', 'body': 'shell', 'rate': 100.0, 'position': 1e-3, 'orientation': 2e-3}
GIVEN = {
    'pendulum_start': (
        {
            'tracker': TRACKER,
            'imu': {'kind': 'imu', 'body': 'pendulum', 'rate': 200.0, 'angular_velocity': 0.01},
        },
        {'tau_W': {'dead_time': 0.01, 'slew': 50.0}},
    ),
    'point_mass_ball': (
        {
            'tracker': TRACKER,
            'rails': {'kind': 'encoders', 'of': ['theta'], 'rate': 200.0, 'position': 1e-3},
        },
        {'theta_acceleration': {'dead_time': 0.01, 'topic': 'motors', 'rate': 200.0}},
    ),
    'spin_rolling_pure': (
        {'camera': {**TRACKER, 'body': 'object', 'frame_of': 'contact', 'delay': 0.02}},
        {'w_SO_S': {'dead_time': 0.01}},
    ),
    'laboratory_damping': (
        {'camera': {**TRACKER, 'body': 'object', 'frame_of': 'hand'}},
        {'alpha_WH_H': {'dead_time': 0.01}},
    ),
}


def loaded(name, sensors, actuators):
    return load_scenario(read_document(name) | {'sensors': sensors, 'actuators': actuators})


@pytest.fixture(params=GIVEN, scope='module')
def scenario(request):
    return loaded(request.param, *GIVEN[request.param])


def test_entries_of_any_system_are_its_sensors_and_actuators(scenario):
    assert [s.name for s in scenario.sensors] == list(scenario.raw['sensors'])
    assert [a.name for a in scenario.actuators] == list(scenario.raw['actuators'])
    assert all(a.dead_time == 0.01 for a in scenario.actuators)


def test_an_emulation_measures_and_drives_by_them(scenario):
    """The command acts once the dead time is over, and each sensor measures what it names."""
    rig = Emulation(scenario.system, scenario.p, scenario.sensors, scenario.actuators)
    rig.restart(scenario.x0, scenario.control(0.0, scenario.x0))
    wanted = np.array(rig.u) + 1e-3
    controls, seen = [], {}
    for _ in range(20):
        for measurement in rig.step(wanted, 2e-3):
            seen.setdefault(measurement.sensor.name, []).append(measurement.value)
        controls.append(np.array(rig.u))
    assert np.abs(controls[2] - wanted).max() > 5e-4
    np.testing.assert_allclose(controls[-1], wanted, atol=1e-9)
    assert {*seen} == {s.name for s in scenario.sensors}
    sensor = scenario.sensors[0]
    f = next(iter(sensor.function(scenario.system, m) for m in scenario.system.modes))
    y = np.array(f(rig.state.x, rig.u, 0.0, scenario.p)).ravel()
    assert np.abs(seen[sensor.name][-1][:3] - y[:3]).max() < 0.02


@pytest.mark.parametrize('name', ['pendulum_start', 'point_mass_ball'])
def test_a_filter_of_them_estimates_the_state(name):
    scenario = loaded(name, *GIVEN[name])
    known = SensorFilter(scenario.system, scenario.p, scenario.sensors, scenario.x0)
    measured = {s.name: next(iter(scenario.system.modes)) for s in scenario.sensors}
    u, belief = np.array(scenario.control(0.0, scenario.x0)), known.start()
    y = [
        np.array(s.function(scenario.system, measured[s.name])(scenario.x0, u, 0, scenario.p))
        for s in scenario.sensors
    ]
    belief, x = known.step(belief, np.concatenate(y).ravel(), 0.0)
    off = np.array(scenario.system.difference(x, scenario.x0)).ravel()
    assert np.abs(off).max() < 1e-2


@pytest.mark.parametrize(
    ('name', 'sensors', 'actuators', 'text'),
    [
        (
            'pendulum_start',
            {'a': TRACKER | {'body': 'shel'}},
            {},
            "sensors.a.body: got 'shel'.*shell",
        ),
        ('pendulum_start', {'a': TRACKER | {'rate': 0}}, {}, 'sensors.a.rate'),
        ('pendulum_start', {'a': {**TRACKER, 'kind': 'gps'}}, {}, 'imu, pose, odometry, encoders'),
        (
            'point_mass_ball',
            {'a': {'kind': 'encoders', 'of': ['p'], 'rate': 9, 'position': 1}},
            {},
            "sensors.a.of: 'p' has no hinge or slide.*theta",
        ),
        ('point_mass_ball', {}, {'theta': {}}, 'actuators.theta: .*theta_acceleration'),
        ('point_mass_ball', {}, {'theta_acceleration': {'dead_time': -1}}, 'dead_time'),
        ('spin_rolling_pure', {'a': TRACKER}, {}, "sensors.a.body: got 'shell'.*object"),
        (
            'pendulum_start',
            {'odom': TRACKER},
            {},
            "sensor 'odom' of 'pendulum_sphere': topic 'odom' .* nodes use.*'measured/odom'",
        ),
        ('pendulum_start', {'a': TRACKER | {'topic': '/tf'}}, {}, "sensor 'a'.*'measured/tf'"),
        ('pendulum_start', {'': TRACKER}, {}, "sensor '' of .* its name is empty"),
        ('pendulum_start', {}, {'tau_W': {'topic': 'cmd_vel'}}, "actuator 'tau_W'.*nodes use"),
        ('ball_balancer', {}, {'command': {'dead_time': 0.1}}, "control 'command'.*given twice"),
        ('two_wheeler', {'imu': TRACKER | {'body': 'body'}}, {}, "name 'imu'.*given twice"),
    ],
)
def test_what_does_not_fit_its_system_is_refused_with_its_entry(name, sensors, actuators, text):
    with pytest.raises(RollingError, match=text):
        loaded(name, sensors, actuators)


def test_a_sensor_stays_off_the_joints_that_the_simulator_publishes():
    scenario = loaded('pendulum_start', {'joint_states': TRACKER}, {})
    with pytest.raises(ParameterError, match=r"'joint_states' .* is one that the nodes use"):
        load_robot(scenario.raw)


def test_odometry_is_pose_and_velocity_in_the_axes_of_the_body_with_all_its_errors():
    errors = {'bias': 0.01, 'outlier': 0.1, 'outlier_size': 2.0, 'loss': 0.2, 'blackout': 0.5}
    given = TRACKER | errors | {'kind': 'odometry', 'linear': 0.01, 'angular': 0.01}
    scenario = loaded('pendulum_start', {'o': given}, {})
    system, (sensor,) = scenario.system, scenario.sensors
    assert {name: getattr(sensor, name) for name in errors} == errors
    x = scenario.x0 + 0.1 * np.arange(scenario.x0.size)
    q = system.state.slice(next(e.name for e in system.state.entries if e.kind == 'quaternion'))
    x[q] /= np.linalg.norm(x[q])
    u, mode, h = np.zeros(system.control.size), next(iter(system.modes)), 1e-6
    f = sensor.function(system, mode)
    rate = np.array(system.modes[mode].dynamics(x, u, 0, scenario.p)).ravel()
    y, before, after = (
        np.array(f(x + k * h * rate, u, 0, scenario.p)).ravel() for k in (0, -1, 1)
    )
    R, turn = quat2mat(y[3:7]), quat2mat(before[3:7]).T @ quat2mat(after[3:7])
    np.testing.assert_allclose(R @ y[7:10], (after - before)[:3] / (2 * h), atol=1e-6)
    twist = np.array([turn[2, 1], turn[0, 2], turn[1, 0]]) / (2 * h)
    np.testing.assert_allclose(y[10:], twist, rtol=1e-5)
    assert np.linalg.norm(y[7:]) > 0.1

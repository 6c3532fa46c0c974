"""Sensors and actuators as data, and the emulation that follows from them."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.contract.instruments import Actuator, MotionExpressions, Sensor
from rolling_dynamics.contract.layout import Entry, Layout, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.simulation.emulation import Emulation

PENDULUM = load_scenario('pendulum_torque')
BALANCER = load_scenario('ball_balancer')
GRAVITY = 9.81


def sensor(**changes):
    """Return a noiseless tracker of the shell of a pendulum sphere."""
    given = {
        'name': 'tracker',
        'output': Layout((vector_entry('position', 'm', 'W'),)),
        'measure': lambda at: at.body('shell')[:3, 3],
        'covariance': np.zeros((3, 3)),
        'rate': 50.0,
        'message': 'pose',
        'topic': 'tracker/pose',
    }
    return Sensor(**{**given, **changes})


def imu(noise=0.0):
    """Return an inertial measurement unit in the middle of the shell: specific force, in W."""
    return sensor(
        name='imu',
        output=Layout((vector_entry('linear_acceleration', 'm/s^2', 'W'),)),
        measure=lambda at: (
            at.derivative(at.derivative(at.body('shell')[:3, 3])) + ca.vertcat(0, 0, GRAVITY)
        ),
        covariance=noise**2 * np.eye(3),
        rate=200.0,
        message='imu',
        topic='imu',
    )


def actuator(**changes):
    given = {
        'name': 'servos',
        'control': 'command',
        'joints': ('servo_x', 'servo_y'),
        'limits': np.array([0.1, 0.1]),
        'dead_time': 0.03,
        'message': 'positions',
        'topic': 'servo_command',
    }
    return Actuator(**{**given, **changes})


def emulation(*sensors, actuators=(), scenario=PENDULUM, seed=3):
    made = Emulation(scenario.system, scenario.p, sensors, actuators, seed=seed)
    made.restart(scenario.x0, np.zeros(scenario.system.control.size))
    return made


def shell(x):
    poses = dict(
        zip(
            PENDULUM.system.pose.name_out(),
            PENDULUM.system.pose.call([x, PENDULUM.p]),
            strict=True,
        )
    )
    return np.array(poses['shell'])[:3, 3]


def test_each_sensor_measures_at_its_rate_and_is_known_after_its_delay():
    plant = emulation(sensor(delay=0.013), imu())
    known = []
    for k in range(1, 101):
        for m in plant.advance(k * 0.005):
            assert (k - 1) * 0.005 < m.arrival + 1e-9 <= k * 0.005 + 2e-9 or k == 1
            known.append(m)
    stamps = {
        name: [m.stamp for m in known if m.sensor.name == name] for name in ('tracker', 'imu')
    }
    np.testing.assert_allclose(stamps['tracker'], np.arange(len(stamps['tracker'])) / 50)
    np.testing.assert_allclose(stamps['imu'], np.arange(101) / 200)
    assert len(stamps['tracker']) == 25  # of 0.48 s: the newest is still on its way


def test_a_noiseless_sensor_measures_the_motion_of_the_plant():
    plant = emulation(sensor())
    direct = Stepper(PENDULUM.system, PENDULUM.p, max_step=2e-3)
    for m in plant.advance(0.5):
        x = direct.step(PENDULUM.x0, np.zeros(3), m.stamp)
        np.testing.assert_allclose(m.value, shell(x), atol=1e-10)


def test_an_exposure_averages_the_motion_before_the_stamp():
    exposure = 0.04
    measured = emulation(sensor(exposure=exposure)).advance(0.4)
    stepper = Stepper(PENDULUM.system, PENDULUM.p, max_step=1e-3)
    at = [
        shell(stepper.step(PENDULUM.x0, np.zeros(3), t))
        for t in np.linspace(measured[-1].stamp - exposure, measured[-1].stamp, 81)
    ]
    moved = np.abs(at[-1] - at[0]).max()
    assert moved > 1e-4
    np.testing.assert_allclose(measured[-1].value, np.mean(at, axis=0), atol=0.01 * moved)


def test_an_accelerometer_measures_the_second_derivative_of_the_position():
    """Against central differences of the position, of a motion that accelerates."""
    plant = emulation(imu())
    measured = {round(m.stamp, 6): m.value for m in plant.advance(0.3)}
    stepper, h, t = Stepper(PENDULUM.system, PENDULUM.p, max_step=1e-3), 1e-3, 0.2
    p = [shell(stepper.step(PENDULUM.x0, np.zeros(3), t + k * h)) for k in (-1, 0, 1)]
    expected = (p[2] - 2 * p[1] + p[0]) / h**2 + [0, 0, GRAVITY]
    assert np.abs(expected[:2]).max() > 1e-2
    np.testing.assert_allclose(measured[t], expected, atol=1e-5)


def test_noise_has_the_covariance_and_loss_the_fraction_that_the_sensor_declares():
    L = np.array([[2e-3, 0, 0], [1e-3, 1e-3, 0], [0, 0, 0]])
    plant = emulation(sensor(covariance=L @ L.T, loss=0.2, rate=20_000.0))
    plant.held = True
    values = np.array([m.value for m in plant.advance(0.5)])
    seen = values[np.isfinite(values[:, 0])]
    assert 1 - len(seen) / len(values) == pytest.approx(0.2, abs=0.02)  # 5 standard deviations
    np.testing.assert_allclose(np.cov(seen.T), L @ L.T, atol=0.07 * (L @ L.T).max())
    np.testing.assert_array_equal(seen[:, 2], seen[0, 2])


def test_a_seed_gives_the_same_measurements_and_sensors_draw_independently():
    first, again, other = (
        emulation(sensor(covariance=1e-6 * np.eye(3)), imu(0.1), seed=s).advance(0.2)
        for s in (1, 1, 2)
    )
    np.testing.assert_array_equal([m.value for m in first], [m.value for m in again])
    assert not np.array_equal(first[0].value, other[0].value)
    alone = emulation(sensor(covariance=1e-6 * np.eye(3)), seed=1).advance(0.2)
    both = [m.value for m in first if m.sensor.name == 'tracker']
    np.testing.assert_allclose([m.value for m in alone], both, atol=1e-10)  # other steps


def test_a_command_takes_effect_after_the_dead_time_within_the_limits():
    plant = emulation(actuators=[actuator()], scenario=BALANCER)
    plant.advance(0.1)
    plant.send([0.3, -0.05], 0.1)
    plant.advance(0.13 - 1e-6)
    np.testing.assert_array_equal(plant.u, [0, 0])
    plant.advance(0.13 + 1e-6)
    np.testing.assert_array_equal(plant.u, [0.1, -0.05])


@pytest.mark.parametrize('sensors', [(), (sensor(rate=20.0),)])
def test_long_steps_are_those_of_short_ones(sensors):
    """Where something is measured, the motion between two measurements is kept in short steps."""
    long, short = emulation(*sensors), emulation(*sensors)
    u = np.array([0.02, 0.01, 0.0])
    long.step(u, 0.1)
    for _ in range(50):
        short.step(u, 2e-3)
    assert long.state.x == pytest.approx(short.state.x, abs=1e-12)
    assert len(short.times) == 51
    assert len(long.times) == (51 if sensors else 2)


def test_a_plant_that_is_held_stands_still_while_time_goes_on():
    plant = emulation(sensor())
    plant.held = True
    measured = plant.advance(0.3)
    assert plant.state.t == pytest.approx(0.3)
    assert len({tuple(m.value) for m in measured}) == 1


def test_past_motion_is_dropped_but_for_exposures_under_way():
    plant = emulation(sensor(exposure=0.02))
    for k in range(1, 200):
        plant.advance(k * 0.01)
        plant.forget()
    assert plant.times[0] >= 1.99 - 0.02 - 2 * 2e-3
    assert len(plant.times) == len(plant.states) < 30


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({'rate': 0.0}, "sensor 'tracker': rate must be positive, got 0.0"),
        ({'delay': -1.0}, 'delay must be zero or positive'),
        ({'message': 'poes'}, "no message 'poes'"),
        ({'message': 'imu'}, "no entry 'position'"),
        ({'covariance': np.eye(2)}, 'positive semidefinite matrix of 3 rows'),
        ({'covariance': -np.eye(3)}, 'positive semidefinite matrix of 3 rows'),
    ],
)
def test_a_sensor_that_cannot_be_is_refused(changes, text):
    with pytest.raises(ParameterError, match=text):
        sensor(**changes)


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({'measure': lambda at: at.body('shel')[:3, 3]}, "no body 'shel'.*shell"),
        ({'measure': lambda at: at.state['nothing']}, "sensor 'tracker' of 'pendulum_sphere'"),
        (
            {'measure': lambda at: at.body('shell')[:2, 3]},
            'its layout has 3 numbers, its output 2',
        ),
    ],
)
def test_a_sensor_that_does_not_fit_its_system_is_refused_when_the_scenario_is_loaded(
    changes, text
):
    with pytest.raises(ParameterError, match=text):
        replace(PENDULUM, sensors=(sensor(**changes),))


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({'control': 'comand'}, "no entry 'comand'"),
        ({'joints': ('servo',)}, 'joints takes 2 names'),
        ({'limits': np.array([0.1])}, 'limits takes 2 positive numbers'),
        ({'limits': np.array([0.1, -0.1])}, 'limits takes 2 positive numbers'),
        ({'dead_time': np.nan}, 'dead_time must be zero or positive'),
        ({'message': 'torques'}, "no message 'torques'"),
    ],
)
def test_an_actuator_that_does_not_fit_its_system_is_refused(changes, text):
    with pytest.raises(ParameterError, match=text):
        replace(BALANCER, actuators=(actuator(**changes),))


def test_expressions_are_named_by_bodies_and_entries():
    at = MotionExpressions.of(BALANCER.system, 'rolling')
    assert set(at.pose) == {'ball', 'plate', 'contact'}
    assert set(at.state) >= {'ball', 'ball_rate', 'servo'}
    assert at.wrench.shape == (6, 1)
    joints = sensor(
        name='encoders',
        output=Layout((Entry('position', ('servo_x_position', 'servo_y_position'), 'rad'),)),
        measure=lambda at: at.state['servo'],
        covariance=np.zeros((2, 2)),
        message='joint_states',
    )
    f = joints.function(BALANCER.system, 'rolling')
    x = BALANCER.x0.copy()
    x[BALANCER.system.state.slice('servo')] = [0.02, -0.03]
    np.testing.assert_allclose(np.array(f(x, 0, 0, BALANCER.p)).ravel(), [0.02, -0.03])

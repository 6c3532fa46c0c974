"""Sensors and actuators as data, and the emulation that follows from them."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.contract.instruments import Actuator, MotionExpressions, Sensor, SensorClock
from rolling_dynamics.contract.rolling_system import Entry, Layout, vector_entry
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


def test_blackouts_have_the_fraction_and_the_length_that_the_sensor_declares():
    plant = emulation(sensor(loss=0.2, blackout=5e-3, rate=10_000.0))
    plant.held = True
    seen = np.isfinite([m.value[0] for m in plant.advance(1.0)])
    starts = np.count_nonzero(seen[:-1] & ~seen[1:])
    assert np.mean(~seen) == pytest.approx(0.2, abs=0.1)
    assert np.count_nonzero(~seen) / starts / 10_000.0 == pytest.approx(5e-3, rel=0.4)


def tracked(**changes):
    """Two points of the shell, a metre apart along x."""
    entries = tuple(vector_entry(name, 'm', 'W') for name in ('one', 'two'))

    def measure(at):
        p = at.body('shell')[:3, 3]
        return ca.vertcat(p, p + ca.vertcat(1, 0, 0))

    given = {'output': Layout(entries), 'measure': measure, 'covariance': np.zeros((6, 6)),
             'message': 'points', 'rate': 2000.0}  # fmt: skip
    plant = emulation(sensor(**given, **changes))
    plant.held = True
    measured = plant.advance(0.5)
    return measured, np.array([m.value.reshape(2, 3) for m in measured])


def test_entries_are_missing_exchanged_and_in_error_as_often_as_declared():
    _, points = tracked(hidden=0.1)
    assert np.isnan(points[:, :, 0]).mean() == pytest.approx(0.1, abs=0.03)
    _, points = tracked(swap=0.2)
    assert np.mean(points[:, 0, 0] > points[:, 1, 0]) == pytest.approx(0.2, abs=0.05)
    _, points = tracked(outlier=0.2, outlier_size=0.3)
    away = np.linalg.norm(points[:, 1] - points[:, 0] - [1, 0, 0], axis=1)
    assert np.mean(away > 1e-9) == pytest.approx(0.2, abs=0.05)
    np.testing.assert_allclose(away[away > 1e-9], 0.3)


def test_a_bias_is_drawn_at_each_start_and_stays():
    _, points = tracked(bias=0.01)
    error = points[:, 0] - emulation(sensor()).advance(0.0)[0].value
    assert np.ptp(error, axis=0).max() < 1e-12
    assert 0 < np.abs(error[0]).max() < 0.05


def test_arrivals_are_spread_evenly_and_stay_in_order():
    measured, _ = tracked(delay=0.01, jitter=2e-4)
    late = np.array([m.arrival - m.stamp for m in measured])
    assert late.min() >= 0.01 - 2e-4
    assert np.ptp(late) == pytest.approx(4e-4, rel=0.1)
    measured, _ = tracked(delay=0.01, jitter=0.01)
    arrivals = [m.arrival for m in measured]
    assert arrivals == sorted(arrivals)


def test_a_clock_of_its_own_stamps_and_a_sensor_that_runs_free_goes_on_after_a_restart():
    clock = SensorClock(offset=0.25, spread=0.1, drift=1e-3)
    plant = emulation(sensor(clock=clock, free_running=True))
    offset, before = plant.streams['tracker'].offset, plant.advance(1.0)
    assert 0.15 < offset < 0.35
    gaps = np.diff([m.stamp for m in before])
    np.testing.assert_allclose(gaps, 0.02 * (1 + 1e-3))
    plant.restart(PENDULUM.x0, np.zeros(3))
    first = plant.advance(0.02)[0]
    assert 1.0 + first.stamp - before[-1].stamp == pytest.approx(0.02 * (1 + 1e-3))


def test_each_fault_of_a_sensor_does_what_it_says():
    plant = emulation(sensor(covariance=1e-6 * np.eye(3), rate=1000.0))
    stream = plant.streams['tracker']
    stream.inject('frozen')
    assert len({tuple(m.value) for m in plant.advance(0.05)}) == 1
    stream.inject('off')
    assert plant.advance(0.1) == []
    stream.inject('hidden')
    assert all(np.isnan(m.value).all() for m in plant.advance(0.15))
    stream.inject('messages_dropped')
    assert 15 < len(plant.advance(0.2)) < 35
    stream.inject('none')
    assert len(plant.advance(0.25)) == 50
    with pytest.raises(ParameterError, match=r"sensor 'tracker': no fault 'frosen'.*frozen"):
        stream.inject('frosen')


def test_an_actuator_takes_commands_at_its_rate():
    plant = emulation(actuators=[actuator(rate=20.0, dead_time=0.0)], scenario=BALANCER)
    plant.advance(0.01)
    plant.send([0.02, 0.0], 0.01)
    plant.send([0.04, 0.0], 0.02)
    plant.advance(0.05 - 1e-6)
    np.testing.assert_array_equal(plant.u, [0, 0])
    plant.advance(0.05 + 1e-6)
    np.testing.assert_array_equal(plant.u, [0.04, 0.0])


def test_an_actuator_slews_and_does_not_answer_within_its_dead_band():
    plant = emulation(actuators=[actuator(slew=0.5, dead_time=0.0)], scenario=BALANCER)
    plant.send([0.1, -0.02], 0.0)
    plant.advance(0.1)
    np.testing.assert_allclose(plant.u, [0.05, -0.02], atol=1e-12)
    plant.advance(0.3)
    np.testing.assert_allclose(plant.u, [0.1, -0.02], atol=1e-12)
    plant = emulation(actuators=[actuator(dead_band=0.01, dead_time=0.0)], scenario=BALANCER)
    for command, expected in ((0.05, 0.05), (0.055, 0.05), (0.07, 0.07)):
        plant.send([command, 0.0], plant.state.t)
        plant.advance(plant.state.t + 0.01)
        assert plant.u[0] == expected


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
        ({'rate': 0.0}, "sensor 'tracker': rate must be positive, at most 100000 Hz, got 0.0"),
        ({'delay': -1.0}, 'delay must be zero or positive'),
        ({'jitter': 0.1}, 'jitter must not exceed the delay of 0 s, got 0.1 s'),
        ({'loss': 1.0}, 'loss must be less than 1, got 1.0'),
        ({'swap': 0.1}, "swap needs two entries of the layout, there is only 'position'"),
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


def test_functions_of_a_sensor_in_several_modes_have_names_of_their_own():
    """They are compiled into one library."""
    system = load_scenario('ball_thrown_into_dish').system
    somewhere = sensor(measure=lambda at: at.state['p_HO_H'])
    names = {somewhere.function(system, mode).name() for mode in system.modes}
    assert len(names) == len(system.modes) > 1


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

"""A machine from a scenario file alone, from its equations to its sensors and motors."""

from dataclasses import replace

import numpy as np
import pytest
from rolling_controller.balance.hold import Hold
from rolling_controller.export.machine_laws import drive_law, hold_law
from rolling_controller.law import StateFeedback
from rolling_controller.lockstep import run_emulated, run_lockstep
from rolling_controller.measured_state import MeasuredLaw, SensorFilter
from rolling_controller.robot_laws.steering import VelocityHold
from rolling_dynamics.equilibrium import linear_model
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.simulation.emulation import Emulation
from rolling_dynamics.testing import check_system
from rolling_robotics.trials.trial import state_goal

G, M, H, R, WHEEL, AXLE = 9.81, 3.0, 0.2, 0.08, 0.3, 0.12
PITCH, YAW = 0.045 + M * H**2, 0.012
SPIN, ACROSS = WHEEL * R**2 / 2, WHEEL * R**2 / 4


@pytest.fixture(scope='module')
def scenario():
    return load_scenario('two_wheeler')


def leaning(scenario, angle):
    system = scenario.system
    d = np.zeros(system.tangent.size)
    d[system.tangent.names.index('d_body_y')] = angle
    return np.array(system.retract(scenario.x0, d)).ravel()


def rates(scenario, x, u):
    system = scenario.system
    motion = system.modes['rolling']
    return system.state.unpack(np.array(motion.dynamics(x, u, 0, scenario.p)).ravel())


@pytest.mark.parametrize('lean', [0.0, 0.3, -0.7])
@pytest.mark.parametrize('torque', [(0.0, 0.0), (0.1, 0.1), (0.2, -0.05)])
def test_accelerations_are_those_of_lagrange_by_hand(scenario, lean, torque):
    found = rates(scenario, leaning(scenario, lean), torque)
    left, right = torque
    along = M + 2 * WHEEL + 2 * SPIN / R**2
    coupling = M * H * np.cos(lean)
    inertia = np.array([[along, coupling], [coupling, PITCH]])
    drive = left + right
    a, pitch = np.linalg.solve(inertia, [drive / R, M * G * H * np.sin(lean) - drive])
    assert found['v_body'][0] == pytest.approx(a, abs=1e-10)
    assert found['w_body'][1] == pytest.approx(pitch, abs=1e-10)
    if lean == 0.0:
        wheels = 2 * (WHEEL * AXLE**2 + SPIN * AXLE**2 / R**2 + ACROSS)
        turn = (right - left) * AXLE / R / (YAW + wheels)
        assert found['w_body'][2] == pytest.approx(turn, abs=1e-10)


def test_it_falls_at_the_rate_of_a_pendulum_on_a_cart(scenario):
    system = scenario.system
    linear = linear_model(system, scenario.p, scenario.x0, np.zeros(2))
    along = M + 2 * WHEEL + 2 * SPIN / R**2
    rate = np.sqrt(M * G * H * along / (along * PITCH - (M * H) ** 2))
    assert np.linalg.eigvals(linear.A).real.max() == pytest.approx(rate, rel=1e-8)


def test_an_imu_and_encoders_measure_by_names_of_bodies(scenario):
    system, generator = scenario.system, np.random.default_rng(3)
    turning = generator.normal(size=3)
    values = system.state.unpack(leaning(scenario, 0.3)) | {'w_body': turning, 'left': [0.4]}
    x = system.state.pack(**values)
    imu, encoders = (s.function(system, 'rolling') for s in scenario.sensors)
    seen = np.array(imu(x, [0, 0], 0, scenario.p)).ravel()
    assert seen[:4] == pytest.approx(values['q_body'], abs=1e-14)
    assert seen[4:] == pytest.approx(turning, abs=1e-13)
    assert np.array(encoders(x, [0, 0], 0, scenario.p)).ravel() == pytest.approx([0.4, 0])


def test_an_accelerometer_feels_weight_and_motion(scenario):
    raw = scenario.raw | {'machine': dict(scenario.raw['machine'])}
    raw['machine']['sensors'] = {
        'imu': {'kind': 'imu', 'body': 'body', 'rate': 100, 'linear_acceleration': 0.1}
    }
    felt = load_scenario(raw)
    (imu,) = felt.sensors
    u, x = np.array([0.1, 0.1]), leaning(felt, 0.2)
    force = np.array(imu.function(felt.system, 'rolling')(x, u, 0, felt.p)).ravel()
    a = rates(felt, x, u)['v_body'][0]
    c, s = np.cos(0.2), np.sin(0.2)
    assert force == pytest.approx([c * a - s * G, 0, s * a + c * G], abs=1e-10)


def test_lockstep_carries_out_commands_as_the_drives_do(scenario):
    system, pushed = scenario.system, np.array([0.1, 0.1])
    late = [replace(a, dead_time=0.02) for a in scenario.actuators]

    def end(begun, actuators):
        law = StateFeedback(system, lambda t, *_: pushed * (t > begun - 1e-9))
        run = run_lockstep(system, scenario.p, scenario.x0, law, 0.1, actuators=actuators)
        return run.states[-1]

    assert end(0.03, ()) == pytest.approx(end(0.01, late), abs=1e-13)
    assert np.abs(end(0.03, ()) - end(0.01, ())).max() > 1e-3


@pytest.mark.parametrize(
    ('lean', 'duration'), [(0.05, 0.4), pytest.param(-0.2, 6.0, marks=pytest.mark.slow)]
)
def test_it_stands_on_its_sensors_behind_dead_time(scenario, lean, duration):
    system, sensors = scenario.system, scenario.sensors
    plant = Emulation(system, scenario.p, sensors, scenario.actuators, seed=1)
    plant.restart(leaning(scenario, lean), np.zeros(2))
    state = SensorFilter(system, scenario.p, sensors, scenario.x0)
    hold = Hold(system, scenario.p, scenario.x0, control_limits=scenario.control_limits)
    late = sensors[0].delay + scenario.actuators[0].dead_time
    law = MeasuredLaw(state, hold, latency=late)
    run = run_emulated(plant, law, state.given, duration, lambda u: u)
    assert run.ended is None
    settled = system.state.unpack(run.states[-1])
    assert abs(settled['q_body'][2]) < 5e-3
    assert duration < 1 or abs(settled['v_body'][0]) < 0.05
    assert np.abs(run.controls).max() <= scenario.control_limits[0]


@pytest.mark.parametrize(
    ('ahead', 'turn'), [(0.3, 0.6), pytest.param(-0.2, -1.0, marks=pytest.mark.slow)]
)
def test_it_is_driven_by_velocity_commands(scenario, ahead, turn):
    system, dt = scenario.system, 2e-3
    law = VelocityHold(scenario, scenario.x0, 0.0)
    assert law.possible.tolist() == [1, 0, 1]
    memory, plant = law.start(), Stepper(system, scenario.p, max_step=dt)
    s = plant.begin(scenario.x0, np.zeros(2))
    for k in range(2500):
        memory, u = law.step(memory, np.append(s.x, [ahead, 0.1, turn]), k * dt)
        s = plant.step(s, u, dt)
        assert s.ended is None
    x = system.state.unpack(s.x)
    q = x['q_body']
    yaw = 2 * np.arctan2(q[3], q[0])
    forward = np.cos(yaw) * x['v_body'][0] + np.sin(yaw) * x['v_body'][1]
    assert forward == pytest.approx(ahead, rel=0.02)  # it settles with 0.8 s
    assert x['w_body'][2] == pytest.approx(turn, rel=0.02, abs=1e-9)


def test_its_exported_drive_goes_on_where_nothing_is_measured(scenario):
    """Along its heading at the velocity that it had, from where it was, with the last control."""
    law = drive_law(scenario)
    memory, x = law.start(), np.full(scenario.system.state.size, np.nan)
    at = {e.name: law.state.slice(e.name) for e in law.state.entries}
    memory[at['place']], memory[at['yaw']], memory[at['velocity']] = [0.5, 0.3], 0.7, [0.2, 0, 0]
    memory[at['sent']] = 0.01
    for k in range(1, 21):
        memory, u = law.step(memory, [*x, 0.2, 0.0, 0.0], 0.0)
        way = 0.2 * k * law.period * np.array([np.cos(0.7), np.sin(0.7)])
        assert memory[at['place']] == pytest.approx(np.add([0.5, 0.3], way), abs=1e-12)
    _, at_rest = law.step(law.start(), [*x, 0.0, 0.0, 0.0], 0.0)
    assert u == pytest.approx(at_rest + 0.01)


def test_a_goal_may_name_the_axis_of_a_body(scenario):
    goal = state_goal(scenario).goal
    assert goal['p_body_x'] == 0.5
    assert [goal[f'z_body_{c}'] for c in 'xyz'] == [0, 0, 1]


@pytest.mark.parametrize(
    ('name', 'law', 'text'),
    [
        ('ball_and_wall', hold_law, 'has no control that could hold it'),
        ('spin_rolling_straight', drive_law, 'driven over the arc length'),
    ],
)
def test_what_cannot_be_held_or_driven_says_why(name, law, text):
    with pytest.raises(ParameterError, match=text):
        law(load_scenario(name))


@pytest.mark.parametrize(
    ('path', 'value', 'text'),
    [
        (('sensors', 'imu', 'body'), 'bdy', "got 'bdy'; did you mean 'body'"),
        (('sensors', 'imu', 'rate'), 0, 'sensors.imu.rate'),
        (('sensors', 'imu', 'orientation'), -1, 'sensors.imu.orientation'),
        (('sensors', 'encoders', 'of'), ['body'], "of: 'body' has no hinge or slide"),
        (('sensors', 'encoders', 'position'), None, 'give the noise of one of position, velocity'),
        (('sensors', 'encoders', 'kind'), 'gps', 'imu, pose, odometry, encoders'),
        (('scales', 'lft'), 1, "did you mean 'left'"),
        (('scales', 'left'), 0, 'scales.left'),
        (('drives', 'motor_left', 'dead_time'), -1, 'drives.motor_left.dead_time'),
        (('sensors', 'imu', 'jitter'), 0.1, 'jitter must not exceed the delay'),
    ],
)
def test_what_does_not_fit_is_rejected_by_name(scenario, path, value, text):
    machine = dict(scenario.raw['machine'])
    inner = machine
    for name in path[:-1]:
        inner[name] = dict(inner[name])
        inner = inner[name]
    inner[path[-1]] = value
    if value is None:
        del inner[path[-1]]
    with pytest.raises(ScenarioError) as error:
        load_scenario(scenario.raw | {'machine': machine})
    assert text in str(error.value)


def test_it_passes_every_check_of_a_system(scenario):
    """Its wheel angles have a scale of many turns, so that a hold leaves them free."""
    given = {'sensors': scenario.sensors, 'actuators': scenario.actuators}
    outcomes = check_system(scenario.system, scenario.p, scenario.x0, **given)
    assert [o.name for o in outcomes if o.verdict == 'failed'] == []

"""A robot on a ball with three omni wheels: its equations beside others, and its energy."""

from pathlib import Path
import sys

import casadi as ca
import numpy as np
import pytest
from rolling_controller.balance.hold import Hold
from rolling_controller.lockstep import run_emulated
from rolling_controller.measured_state import MeasuredLaw, SensorFilter
from rolling_dynamics.equilibrium import linear_model
from rolling_dynamics.plugin import register_plugin
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate, Stepper
from rolling_dynamics.simulation.emulation import Emulation

sys.path.insert(0, str(Path(__file__).parent / 'mechanism'))
from kane_oracle import rates_by_kane

G, R, WHEEL, BALL = 9.81, 0.125, 0.06, 2.65
BODY, HEIGHT, TILTING = 17.4, 0.2, 0.45  # kg, m, kg m^2
HEAVY, SPIN = 0.4, 0.4 * WHEEL**2 / 2  # of a wheel: kg, kg m^2
TURNS = 2 * np.pi / 3 * np.arange(3)
AXES = np.array([np.cos(TURNS), np.sin(TURNS), -np.ones(3)]) / np.sqrt(2)  # (3, 3), a column each
WHEELS = 'wheel_1', 'wheel_2', 'wheel_3'


@pytest.fixture(scope='module')
def scenario():
    return load_scenario('three_wheel_ballbot')


def moving(scenario, rng, size=1.0):
    """Return a state of random attitudes and speeds that the contacts allow."""
    system = scenario.system
    q = {name: rng.normal(size=4) for name in ('q_body', 'q_ball')}
    values = {name: v / np.linalg.norm(v) for name, v in q.items()}
    values |= {name: size * rng.normal(size=3) for name in ('v_body', 'w_body', 'w_ball')}
    place, angles = rng.normal(size=2), dict.fromkeys(WHEELS, rng.normal(size=1))
    x = system.state.pack(c_ball=place, p_body=[*place, R], **values, **angles)
    return np.array(system.projection(x, scenario.p)).ravel()


def rims_do_not_slip(poses, moving, turning):
    """Return velocities of the rims over the ball, except those along the axles."""
    ball, rows = poses['ball'][:3, 3], []
    for name, axis_B in zip(WHEELS, AXES.T, strict=True):
        centre, axis = poses[name][:3, 3], poses['body'][:3, :3] @ ca.DM(axis_B)
        across = centre - ball - axis * ca.dot(axis, centre - ball)
        spoke = -WHEEL * across / ca.norm_2(across)
        normal = (centre + spoke - ball) / ca.norm_2(centre + spoke - ball)
        of_wheel = moving[name] + ca.cross(turning[name], spoke)
        slip = of_wheel - moving['ball'] - ca.cross(turning['ball'], centre + spoke - ball)
        along = ca.cross(axis, normal)
        rows += [ca.dot(normal, slip), ca.dot(along / ca.norm_2(along), slip)]
    return ca.vertcat(*rows)


def test_it_moves_in_space_as_by_kane(scenario):
    """With multipliers for the rims, at random states of any lean."""
    system, p, rng = scenario.system, scenario.p, np.random.default_rng(5)
    R_WB = system.machine.links['body'].R_WB

    def motors(turning, u, _moving):
        about = R_WB @ ca.DM(AXES)
        return sum(
            u[k] * ca.dot(about[:, k], turning[name] - turning['body'])
            for k, name in enumerate(WHEELS)
        )

    kane = rates_by_kane(system, system.speed_names, motors, rims_do_not_slip)
    own = [k for n in system.speed_names for k in range(system.state.size)[system.state.slice(n)]]
    for _ in range(20):
        x, u = moving(scenario, rng), rng.normal(size=3)
        system.check_state(p, x)
        expected = np.array(kane(x, u, 0, p)).ravel()
        found = np.array(system.mode.dynamics(x, u, 0, p)).ravel()[own]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def in_a_plane():
    """
    Return mass matrix (2, 2) at a lean of 0, masses times heights [kg m], and levers (2, 3).

    Of the rates of ball and body about y; a lever is the rate of a wheel over the body by each.
    """
    lever, up = AXES[1] * R / WHEEL, (R + WHEEL) / np.sqrt(2)
    levers = np.array([-lever, lever])
    spins = levers + np.array([np.zeros(3), AXES[1]])  # of the wheels about their axles, over W
    places = (R + WHEEL) / np.sqrt(2) * np.array([np.cos(TURNS), np.sin(TURNS), np.ones(3)])
    body = TILTING + BODY * HEIGHT**2
    body += HEAVY * (places[0] ** 2 + places[2] ** 2).sum() + SPIN / 2 * (1 - AXES[1] ** 2).sum()
    first = BODY * HEIGHT + 3 * HEAVY * up
    rolling = (0.4 * BALL + BALL + BODY + 3 * HEAVY) * R**2
    M = np.diag([rolling, body]) + SPIN * spins @ spins.T
    return M, first, levers


def test_in_a_plane_it_is_a_wheeled_pendulum_with_geared_motors(scenario):
    """Lagrange's equations; what the wheels turn faster than the ball is their gear."""
    system, rng = scenario.system, np.random.default_rng(1)
    M, first, levers = in_a_plane()
    for tilt, rate, ball, torque in rng.uniform(-0.5, 0.5, (10, 4)) * [1, 4, 8, 4]:
        turning = levers.T @ [ball, rate]
        x = system.state.pack(
            p_body=[0, 0, R],
            q_body=[np.cos(tilt / 2), 0, np.sin(tilt / 2), 0],
            v_body=[R * ball, 0, 0],
            w_body=[0, rate, 0],
            w_ball=[0, ball, 0],
            **{f'{name}_rate': turning[k] for k, name in enumerate(WHEELS)},
        )
        system.check_state(scenario.p, x)
        u = np.array([0, torque, -torque])
        xdot = np.array(system.mode.dynamics(x, u, 0, scenario.p)).ravel()
        found = system.state.unpack(xdot)
        c, s = first * np.cos(tilt), first * np.sin(tilt)
        coupled = M + R * c * np.array([[0, 1], [1, 0]])
        expected = np.linalg.solve(coupled, levers @ u + [R * s * rate**2, G * s])
        assert found['w_ball'] == pytest.approx([0, expected[0], 0], abs=1e-10)
        assert found['w_body'] == pytest.approx([0, expected[1], 0], abs=1e-10)


def test_it_falls_at_the_rate_of_that_pendulum(scenario):
    M, first, _ = in_a_plane()
    whole = np.linalg.inv(M + R * first * np.array([[0, 1], [1, 0]]))
    linear = linear_model(scenario.system, scenario.p, scenario.x0, np.zeros(3))
    greatest = np.linalg.eigvals(linear.A).real.max()
    assert greatest == pytest.approx(np.sqrt(whole[1, 1] * G * first), rel=1e-6)


def test_light_wheels_act_as_the_torque_of_the_ballbot_without_wheels(scenario):
    """``examples/ballbot``: torques of the motors are reversed on the ball, by the gear."""
    sys.path.insert(0, str(Path(__file__).parents[1] / 'examples' / 'ballbot'))
    from ballbot.plugin import PLUGIN

    register_plugin(PLUGIN)
    other = load_scenario(PLUGIN.example).system
    given = scenario.system.parameters.unpack(scenario.p)
    given |= {f'{name}_mass': [1e-9] for name in WHEELS}
    p, rng = scenario.system.parameters.pack(**given), np.random.default_rng(2)
    about = {'mass': BODY, 'height': HEIGHT, 'roll_inertia': TILTING, 'yaw_inertia': 0.18}
    of_ball = {'radius': R, 'ball_mass': BALL, 'ball_inertia': 0.4 * BALL * R**2}
    p_other = other.parameters.pack(**of_ball, **about, mu=0.8, gravity=G, steepest=1.0)
    for _ in range(20):
        x, u = moving(scenario, rng), rng.normal(size=3)
        at = scenario.system.state.unpack(x)
        turning = {'w_WS_W': at['w_ball'], 'w_WB_B': at['w_body']}
        y = other.state.pack(p_WS=at['c_ball'], q_WS=at['q_ball'], q_WB=at['q_body'], **turning)
        torque = -R / WHEEL * AXES @ u
        rates = np.array(other.modes['rolling'].dynamics(y, torque, 0, p_other)).ravel()
        own = np.array(scenario.system.mode.dynamics(x, u, 0, p)).ravel()
        expected, found = other.state.unpack(rates), scenario.system.state.unpack(own)
        for name, mine in (('w_WS_W', 'w_ball'), ('w_WB_B', 'w_body')):
            scale = np.abs(expected[name]).max()
            np.testing.assert_allclose(found[mine], expected[name], rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize('duration', [1.0, pytest.param(10.0, marks=pytest.mark.slow)])
def test_it_keeps_its_energy_and_its_wheels_at_the_ball(scenario, duration):
    """Its body swings below, as a pendulum on the ball does."""
    system, p = scenario.system, scenario.p
    x = system.state.pack(p_body=[0, 0, R], q_body=[0.3, 0.9, 0.3, 0.1], w_body=[0.3, 0.2, 0.5])
    x[system.state.slice('q_body')] /= np.linalg.norm(x[system.state.slice('q_body')])
    x = np.array(system.projection(x, p)).ravel()
    events = dict.fromkeys(system.mode.guards, 'record')
    run = simulate(system, p, x, np.zeros(3), duration, rtol=1e-11, atol=1e-12, events=events)
    assert run.times[-1] == duration
    energy = run.evaluate(lambda s: s.invariants['energy'])[:, 0]
    assert np.ptp(energy) < 1e-9 * np.abs(energy).max()
    gaps = [np.abs(np.array(system.gap_function(x, p))).max() for x in run.states]
    assert max(gaps) < 1e-14
    assert np.ptp(run.states[:, system.state.slice('c_ball')], axis=0).min() > 0.05


def leaning(scenario, angle):
    """Return the start with the body turned about y, and wheels that do not slip."""
    system = scenario.system
    d = np.zeros(system.tangent.size)
    d[system.tangent.names.index('d_body_y')] = angle
    x = np.array(system.retract(scenario.x0, d)).ravel()
    return np.array(system.projection(x, scenario.p)).ravel()


@pytest.fixture(scope='module')
def hold(scenario):
    limits = scenario.control_limits
    return Hold(scenario.system, scenario.p, scenario.x0, control_limits=limits)


@pytest.mark.parametrize('lean', [0.05, 0.2, pytest.param(-0.3, marks=pytest.mark.slow)])
def test_its_hold_rights_it_and_no_wheel_slips(scenario, hold, lean):
    plant, dt = Stepper(scenario.system, scenario.p, max_step=5e-3), 5e-3
    s = plant.begin(leaning(scenario, lean), np.zeros(3))
    for k in range(600):
        s = plant.step(s, hold.step(None, s.x, k * dt)[1], dt)
        assert s.ended is None
    at = scenario.system.state.unpack(s.x)
    assert np.abs(at['p_body'][:2]).max() < 0.02
    assert np.abs(at['q_body'][1:]).max() < 0.01


@pytest.mark.parametrize(
    ('lean', 'duration'), [(0.05, 0.3), pytest.param(-0.1, 5.0, marks=pytest.mark.slow)]
)
def test_it_stands_on_its_imu_and_encoders_behind_dead_time(scenario, hold, lean, duration):
    """A filter that let the wheels leave the ball made commands at which one did, at 8 ms."""
    system, sensors = scenario.system, scenario.sensors
    plant = Emulation(system, scenario.p, sensors, scenario.actuators, seed=1)
    plant.restart(leaning(scenario, lean), np.zeros(3))
    state = SensorFilter(system, scenario.p, sensors, scenario.x0)
    late = sensors[0].delay + scenario.actuators[0].dead_time
    law = MeasuredLaw(state, hold, latency=late)
    run = run_emulated(plant, law, state.given, duration, lambda u: u)
    assert run.ended is None
    if duration > 1:
        at = system.state.unpack(run.states[-1])
        assert np.abs(at['q_body'][1:3]).max() < 5e-3
        assert np.abs(at['v_body']).max() < 0.05


def test_what_is_known_keeps_the_wheels_on_the_ball(scenario):
    """The covariance has nothing across the contacts, at the start and after a prediction."""
    system, p = scenario.system, scenario.p
    state = SensorFilter(system, p, scenario.sensors, scenario.x0)
    belief = state.start()
    for t in (0.0, 0.002, 0.02):
        belief, _ = state.step(belief, np.full(state.inputs.size, np.nan), t)
        G, P = np.array(system.closing_rows(belief.x, p)), belief.P
        size = np.sqrt(np.diag(np.abs(G) @ np.diag(np.diag(P)) @ np.abs(G).T))
        # 60 nm, by rounding, of a gap whose ball is known to 1 mm
        assert np.abs(np.sqrt(np.abs(np.diag(G @ P @ G.T))) / size).max() < 1e-4

"""Driving a robot that falls: its hold about a reference that moves, in the frame of that."""

from pathlib import Path
import sys

import casadi as ca
import numpy as np
import pytest
from rolling_controller.balance.hold import Hold
from rolling_controller.export.compiled_law import CompiledLaw
from rolling_controller.export.machine_laws import drive_law, machine_sources
from rolling_controller.lockstep import run_batch
from rolling_controller.robot_laws.steering import _drift, VelocityHold
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import register_plugin
from rolling_dynamics.scenario import load_scenario

PERIOD = 2e-3  # s


@pytest.fixture(scope='module')
def scenario():
    sys.path.insert(0, str(Path(__file__).parents[2] / 'examples' / 'ballbot'))
    from ballbot.plugin import PLUGIN

    register_plugin(PLUGIN)
    return load_scenario(PLUGIN.example)


def driven(scenario, yaw, commands, exported=None):
    """Return states and headings of the reference, from upright along a yaw."""
    system, x = scenario.system, scenario.x0.copy()
    x[system.state.slice('q_WB')] = [np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)]
    law = exported or VelocityHold(scenario, x, yaw)
    ends = np.cumsum([duration for _, duration in commands])

    def signals(t):
        which = min(np.searchsorted(ends, t + 1e-9, side='right'), len(commands) - 1)
        return {law.inputs.entries[-1].name: np.array(commands[which][0])}

    rate = 1 / (law.period or PERIOD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROLLING_COMPILE', 'now')  # a second in place of half a minute
        run = run_batch(system, scenario.p, [x], law, ends[-1], rate=rate, signals=signals)
    assert not run.stopped.any()
    assert np.abs(run.controls).max() <= scenario.control_limits[0]
    return run.states[:, 0], run.memory[:, 0]


def velocities(scenario, states):
    """Return the velocities of the rolling ball's middle over the floor."""
    system = scenario.system
    w = states[:, system.state.slice('w_WS_W')]
    radius = scenario.p[system.parameters.slice('radius')]
    return radius * np.column_stack([w[:, 1], -w[:, 0]])


@pytest.mark.parametrize('yaw', [0.0, 2.0])
def test_it_goes_where_it_heads_and_to_its_left_and_stops(scenario, yaw):
    commands = [([0.3, 0.1, 0.0], 8.0), ([0.0, 0.0, 0.0], 10.0)]
    states, memory = driven(scenario, yaw, commands)
    c, s = np.cos(yaw), np.sin(yaw)
    assert memory[1:3] == pytest.approx([c * 2.4 - s * 0.8, s * 2.4 + c * 0.8], abs=1e-2)
    assert states[-1][:2] == pytest.approx(memory[1:3], abs=2e-3)
    v = velocities(scenario, states)
    assert np.abs(v[-1]).max() < 2e-3
    turned = v[round(8.0 / PERIOD)]
    assert turned == pytest.approx([c * 0.3 - s * 0.1, s * 0.3 + c * 0.1], abs=0.03)


@pytest.mark.parametrize('is_exported', [False, True])
def test_it_goes_round_a_circle_and_leans_as_its_equations_say(scenario, is_exported):
    """Of a steady circle the lean follows from speed and radius; both are its own."""
    exported = drive_law(scenario) if is_exported else None
    period = exported.period if exported else PERIOD
    states, _ = driven(scenario, 0.0, [([0.4, 0.0, 0.4], 24.0)], exported)
    last = states[-round(2 * np.pi / 0.4 / period) :]  # the last turn
    layout = scenario.system.state
    centre = (last[:, :2].max(axis=0) + last[:, :2].min(axis=0)) / 2
    radii = np.linalg.norm(last[:, :2] - centre, axis=1)
    assert radii.mean() == pytest.approx(1.0, abs=1e-3)
    assert np.ptp(radii) < 1e-3
    w, x, y, z = last[:, layout.slice('q_WB')].T
    up = np.array([2 * (x * z + w * y), 2 * (y * z - w * x)]).T
    inward = (centre - last[:, :2]) / radii[:, None]
    lean = float(np.mean((up * inward).sum(axis=1)))
    expected = steady_lean(
        scenario, radii.mean(), np.linalg.norm(velocities(scenario, last), axis=1).mean()
    )
    assert lean == pytest.approx(expected, rel=0.01)


def test_its_drive_in_c_is_that_law(scenario):
    """Square roots by Newton's method may differ in the last bit, nothing else does."""
    law, rng = drive_law(scenario), np.random.default_rng(4)
    compiled = CompiledLaw(source=machine_sources(scenario)['drive']())
    memory, m, width = law.start(), compiled.start(), scenario.system.tangent.size
    for k in range(40):
        x = scenario.system.retract(scenario.x0, 0.01 * rng.normal(size=width))
        given = np.array([*np.array(x).ravel(), 0.3, -0.1, 0.2])
        given *= 1.0 if k != 20 else np.nan
        (memory, u), (m, c) = law.step(memory, given, 0.0), compiled.step(m, given, 0.0)
        assert np.abs(u - c).max() < 1e-12
    # 39 steps towards what is commanded, and one to rest where nothing is
    assert memory[3:6] == pytest.approx(38e-3 * np.array([0.4, -0.4, 0.8]))


def steady_lean(scenario, radius, speed):
    """
    Return the lean inward of a body carried round a circle, as d'Alembert has it, for small ones.

    About the middle of the ball: m h (g lean - v^2/r) is the torque of the drive, which turns the
    rolling ball's momentum on the circle: (M r_b + J/r_b) v^2/r, M with the body's mass.
    """
    v = {n: float(a[0]) for n, a in scenario.system.parameters.unpack(scenario.p).items()}
    a = speed**2 / radius
    push = (v['ball_mass'] + v['mass']) * v['radius'] + v['ball_inertia'] / v['radius']
    return a * (v['mass'] * v['height'] + push) / (v['mass'] * v['height'] * v['gravity'])


def test_what_the_reference_is_given_is_the_steady_motion_of_the_equations(scenario):
    """Put on the reference's own state, the robot stays there without an error to correct."""
    _, memory = driven(scenario, 0.0, [([0.6, 0.2, 0.5], 10.0)])
    system, x = scenario.system, scenario.x0.copy()
    x[system.state.slice('q_WB')] = [1, 0, 0, 0]
    law = VelocityHold(scenario, x, 0.0)
    p, x_e, u_e = scenario.p, law.hold.x, law.hold.u
    m, n = law.hold.gain.shape
    given = law.as_function().given(0.0)  # the fourth to sixth are tables, column by column
    table = np.split(given, np.cumsum([p.size, x_e.size, m, m * n, (n + m) * n, 3 * (n + m)]))[5]
    linear = table.reshape((-1, 3), order='F') @ memory[4:7]
    steady = linear + memory[7:]
    d, v = ca.SX.sym('d', steady.size), ca.SX.sym('v', 3)
    rate = ca.Function('rate', [d, v], [_drift(system, d, v, [p, x_e, u_e])])

    rates = [np.array(rate(z, memory[4:7])).ravel() for z in (linear, steady)]
    rolls_on = np.arange(n)[system.tangent.slice('d_WS')]  # the ball, which looks alike all around
    size = [np.abs(np.delete(rate, rolls_on)).max() for rate in rates]
    assert size[0] > 1e-3
    assert size[1] < 1e-6 * size[0]


@pytest.mark.parametrize(
    ('name', 'command', 'body'),
    [
        ('omni_cart', [0.1, 0.1, 0.3], 'cart'),
        pytest.param('hamster_ball', [0.05, 0.0, 0.2], 'chassis', marks=pytest.mark.slow),
    ],
)
def test_machines_with_wheels_are_driven_beyond_a_turn_of_these(name, command, body):
    """Their bodies keep their places to each other; angles of wheels are not held."""
    scenario, duration = load_scenario(name), 12.0
    system, x = scenario.system, scenario.x0
    law = VelocityHold(scenario, x, 0.0)
    assert law.possible.tolist() == [1.0, float(name == 'omni_cart'), 1.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROLLING_COMPILE', 'now')
        run = run_batch(
            system,
            scenario.p,
            [x],
            law,
            duration,
            rate=500.0,
            signals=lambda _: {law.inputs.entries[-1].name: np.array(command)},
        )
    assert not run.stopped.any()
    last = system.state.unpack(run.states[-1, 0])
    place = last[system.state.position.name][:2]
    assert np.linalg.norm(place - run.memory[1:3, 0]) < 5e-3
    yaw, speed, rate = 2 * np.arctan2(last[f'q_{body}'][3], last[f'q_{body}'][0]), *command[::2]
    assert yaw == pytest.approx(run.memory[3, 0], abs=0.02)
    assert last[f'w_{body}'][2] == pytest.approx(rate, abs=1e-3)
    assert np.hypot(*last[f'v_{body}'][:2]) == pytest.approx(np.hypot(*command[:2]), rel=0.03)
    assert np.linalg.norm(last[f'p_{body}'][:2] - place) < 0.01
    assert speed * duration / 0.05 > np.pi


def test_a_state_without_a_place_on_the_floor_is_refused():
    trough = load_scenario('ball_balancer')
    with pytest.raises(ParameterError, match='is a position on the floor'):
        VelocityHold(trough, trough.x0, 0.0)


def test_a_wheel_that_has_turned_half_round_is_not_held_back():
    """The first wheel, of 50 mm, turns by -y / 50 mm on the way along y, the others by half."""
    scenario = load_scenario('omni_cart')
    law = Hold(scenario.system, scenario.p, scenario.x0)
    controls = []
    for y in (-0.155, -0.159):  # half a turn is at 157 mm
        x = scenario.x0.copy()
        state = scenario.system.state
        x[state.slice('p_cart')][1] = y
        for name, turn in (('wheel_1', -20.0), ('wheel_2', 10.0), ('wheel_3', 10.0)):
            x[state.slice(name)] = turn * y
        controls.append(law.step(law.start(), x, 0.0)[1])
    assert np.abs(controls[0]).max() > 0.01
    np.testing.assert_allclose(controls[1], controls[0] * 159 / 155, rtol=1e-6, atol=1e-9)

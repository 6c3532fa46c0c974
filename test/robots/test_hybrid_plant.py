"""Robots that go on where rolling ends: fixed steps against closed forms and adaptive ones."""

from mass_driven_examples import hop, mirror_masses
import numpy as np
import pytest
from robot_plants import DT, make_plant
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.robots.emulated_robot import EmulatedRobot
from rolling_dynamics.robots.view import Block, robot_view
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate, Stepper
from rolling_dynamics.simulation.emulation import Emulation
from rolling_dynamics.simulation.guards import in_mode

G = 9.81


def hybrid_plant(scenario_file):
    return make_plant(scenario_file, motion='all_modes', control_limits=None)


def example_plant(ex, start, motion='all_modes'):
    """Return the robot of an example at a start."""
    view = robot_view(ex.system, ex.p)
    modes = view.all_modes(True) if motion == 'all_modes' else None
    system = modes.system if modes else in_mode(ex.system, 'rolling')
    plant = EmulatedRobot(view, start, Emulation(system, ex.p), modes=modes)
    plant.reset()
    return plant


@pytest.fixture(scope='module')
def ball():
    return hybrid_plant('point_mass_straight.yaml')


@pytest.mark.parametrize('dt', [2e-3, 7e-3])
def test_bowling_ball(dt):
    """Slides with mu g, sticks at t = 2 v / (7 mu g) with 5/7 of its speed; rotation follows."""
    body = PointMassBall(unilateral=True)
    p = body.pack_parameters(
        mass=2.0, inertia=2.0 * 0.4 * 0.09, radius=0.3, mu=0.5, mu_kinetic=0.2
    )
    x = body.state.pack(q_WB=[1, 0, 0, 0], w_WB_B=[0, 0, 0], p_WB=[0, 0, 0.3], v_WB_W=[3, 0, 0])
    stepper, events = Stepper(body, p, max_step=dt), []
    s = stepper.begin(x)
    assert s.mode == 'slipping'
    while s.t < 0.6:
        s = stepper.step(s, [], dt)
        events += s.events
    assert [e.name for e in events] == ['stick']
    assert events[0].time == pytest.approx(2 * 3.0 / (7 * 0.2 * G), abs=3e-8)
    v = s.x[body.state.slice('v_WB_W')]
    assert v == pytest.approx([15 / 7, 0, 0], abs=3e-8)
    assert s.mode == 'rolling'


@pytest.mark.parametrize('example', [mirror_masses, hop])
def test_fixed_steps_agree_with_the_adaptive_motion(example):
    """Lift-off and landing of masses that are driven by steps of acceleration on the grid."""
    ex, dt = example(), DT
    times, values = ex.control
    times, count = np.round(times / dt) * dt, round(ex.duration / dt)
    run = simulate(ex.system, ex.p, ex.x0, (times, values), count * dt, rtol=1e-10, atol=1e-12)
    stepper, events = Stepper(ex.system, ex.p, max_step=dt), []
    s = stepper.begin(ex.x0)
    for k in range(count):
        piece = min(np.searchsorted(times, (k + 0.5) * dt) - 1, len(values) - 1)
        s = stepper.step(s, values[piece], dt)
        events += s.events
    assert [e.name for e in events] == [e.name for e in run.events] == ['lift_off', 'landing']
    assert [e.time for e in events] == pytest.approx([e.time for e in run.events], abs=1e-7)
    assert s.x == pytest.approx(run.states[-1], abs=1e-7)


def test_while_it_rolls_it_is_the_rolling_robot(ball):
    """The same state, odometry and margins, step by step."""
    rolling = make_plant('point_mass_straight.yaml')
    ball.reset()
    for k in range(300):
        for plant in (rolling, ball):
            plant.step(np.array([3.0 * np.sin(0.02 * k)]), DT)
    one, other = rolling.observe(), ball.observe()
    assert other.x == pytest.approx(one.x, abs=1e-9)
    assert other.centre == pytest.approx(one.centre, abs=1e-9)
    assert other.wrench == pytest.approx(one.wrench, abs=1e-6)
    assert other.margins.keys() == one.margins.keys()
    assert not ball.read_news()
    machine = ball.emulation  # its velocity does not drift from that of rolling
    slip, _ = machine.system.pace(machine.state.x, machine.p)
    assert float(slip) < 1e-14


def test_it_slips_flies_and_lands_where_the_rolling_robot_stops(ball):
    ball.reset()
    modes, highest, news = [], 0.0, []
    for _ in range(700):
        ball.step(np.array([100.0 if ball.time < 0.25 else 0.0]), DT)
        if not modes or modes[-1] != ball.contact_mode:
            modes.append(ball.contact_mode)
        highest = max(highest, ball.observe().centre[2] - ball.view.radius)
        if ball.contact_mode == 'separated':
            assert not ball.observe().wrench.any()
        news += ball.read_news()
    assert not ball.fault
    assert modes[:4] == ['slipping', 'rolling', 'slipping', 'separated']
    assert highest > 0.05
    assert [line.split()[0] for line in news[:4]] == ['slip', 'stick', 'slip', 'lift_off']


def test_its_state_is_that_of_the_rolling_robot(ball):
    ball.reset(position=(0.3, -0.2), rotation=(0.0, 0.1, 0.0))
    layout = ball.view.system.state
    assert ball.observe().x.size == layout.size < ball.emulation.system.state.size
    ball.step(np.zeros(1), DT)
    assert ball.observe().x[layout.slice('p')] == pytest.approx([0.3, -0.2], abs=1e-4)


def test_a_mass_at_its_stop_ends_it():
    """Also of a robot whose own state is that of all modes."""
    ex = mirror_masses()
    plant = example_plant(ex, ex.x0)
    news = []
    for _ in range(500):
        plant.step(np.zeros(2), DT)
        news += plant.read_news()
    assert plant.contact_mode == 'stopped'
    assert plant.fault.startswith('stop_1: ')
    assert 'stop of its rail' in plant.fault
    assert news[0].startswith('lift_off at 0.0783 s')


def test_a_scenario_of_a_hop_is_flown():
    """Driven as the scenario says, the ball clears its box, lands and rolls on."""
    scenario = load_scenario('point_mass_hop.yaml')
    plant = hybrid_plant('point_mass_hop.yaml')
    modes, gaps = [], []
    for k in range(950):
        plant.step(scenario.control((k + 0.5) * DT, plant.observe().x), DT)
        modes.append(plant.contact_mode)
        gaps.append(plant.observe().margins['obstacle_1'])
    assert not plant.fault
    assert [m for m, before in zip(modes[1:], modes, strict=False) if m != before] == [
        'separated',
        'rolling',
    ]
    assert 0.0 < min(gaps) < 0.02
    assert plant.observe().centre[0] > 0.39
    (box,) = (s for s in plant.view.shapes if isinstance(s, Block))
    assert (box.centre[0], box.centre[2]) == pytest.approx((0.365, 0.025))
    assert (box.sides[0], box.sides[2]) == pytest.approx((0.05, 0.05))


@pytest.mark.parametrize(
    ('entry', 'value', 'mode'),
    [
        ('p_WB', [0.0, 0.0, 0.4], 'separated'),
        ('v_WB_W', [0.0, 0.0, 0.1], 'separated'),
        ('v_WB_W', [0.5, 0.0, 0.0], 'slipping'),
        ('v_WB_W', [0.0, 0.0, 0.0], 'rolling'),
    ],
)
def test_a_start_is_in_the_mode_that_it_is_in(entry, value, mode):
    ex = mirror_masses()
    start = ex.x0.copy()
    start[ex.system.state.slice('theta_rate')] = 0.0
    start[ex.system.state.slice(entry)] = value
    assert example_plant(ex, start).contact_mode == mode
    if mode != 'rolling':
        with pytest.raises(SimulationError, match=f"in the mode '{mode}', which it leaves out"):
            example_plant(ex, start, 'rolling')


@pytest.mark.parametrize(
    ('scenario', 'text'),
    [
        ('pendulum_torque.yaml', "has the mode 'rolling' alone"),
        ('point_mass_s_path.yaml', "leave out the entry 'path'"),
    ],
)
def test_a_robot_that_can_only_roll_says_so(scenario, text):
    with pytest.raises(ParameterError, match=text):
        hybrid_plant(scenario)

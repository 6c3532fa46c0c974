"""Plans: a straight run from rest to rest, an S-shaped path; judged by another integrator."""

from pathlib import Path

from evidence.benchmarks.internal_masses import plan_along
import numpy as np
import pytest
from rolling_controller.time_varying_lqr import LqrWeights, TimeVaryingLqr
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.internal_masses.rails import Circle
from rolling_dynamics.mechanism.rolling import PlanePath
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_planner import plan_rolling
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.scenario import read_problem
from rolling_planner.seeds.mass_driven_seed import rolling_seed, straight_path

SCENARIOS = Path(__file__).resolve().parents[2] / 'config' / 'scenarios'
RADIUS = 0.3
AXES = (
    np.eye(3),
    np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
    np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
)


def replay(system, p, plan, x0, extra=0.0):
    """Simulate the plan's controls with Radau, and hold zero after it."""
    times = np.concatenate([plan.times, [plan.times[-1], plan.times[-1] + max(extra, 1e-6)]])
    controls = np.vstack([plan.controls, np.zeros((2, plan.controls.shape[1]))])
    return simulate(
        system,
        p,
        x0,
        (times, controls),
        plan.times[-1] + extra,
        method='Radau',
        rtol=1e-9,
        atol=1e-10,
    )


@pytest.fixture(scope='module')
def straight():
    scenario = load_scenario(SCENARIOS / 'point_mass_straight.yaml')
    problem = read_problem(scenario)
    return problem, plan_rolling(problem)


def test_straight_run(straight):
    """5 m, stops and stays: no event, masses below the centre, rates within their limit."""
    problem, plan = straight
    system = problem.system
    run = replay(system, problem.p, plan, problem.x_start, extra=3.0)
    assert run.terminal_event is None  # N > 0, inside the cone
    for t in (plan.times[-1], plan.times[-1] + 3.0):
        state = system.state.unpack(run.state_at(t))
        assert state['p'] == pytest.approx([5.0, 0.0], abs=3e-3)
        assert np.abs(state['w_WB_B']).max() < 1e-2
    rates = np.abs(plan.states[:, system.state.slice('theta_rate')])
    assert rates.max() < 12 * (1 + 1e-3)
    assert np.abs(plan.controls).max() <= 100 * (1 + 1e-6)


@pytest.mark.slow
def test_plan_keeps_the_cone(straight):
    """Little friction: the same run takes a plan that stays inside; too little is refused."""
    problem, plan = straight
    system, p = problem.system, problem.p.copy()
    p[system.parameters.slice('mu')] = 0.1
    base = {
        'system': system,
        'p': p.copy(),
        'x_start': problem.x_start,
        'goal': problem.goal,
        'horizon': 6.0,
        'active_controls': system.control.names,
        'control_limits': 100.0,
    }
    needed = np.hypot(plan.contact_wrenches[:, 3], plan.contact_wrenches[:, 4])
    assert (needed / plan.contact_wrenches[:, 5]).max() > 0.1
    careful = plan_rolling(PlanProblem(**base))
    p[system.parameters.slice('mu')] = 0.1 * 1.005  # the planner allows itself 1e-4 of the weight
    assert replay(system, p, careful, problem.x_start).terminal_event is None


def test_lqr_along_the_plan(straight):
    """Started beside the plan, feedback brings the ball to the goal; without it, it misses."""
    problem, plan = straight
    system, p = problem.system, problem.p
    tracking = {'theta': 1.0, 'theta_rate': 0.1, 'd_WB': 1.0, 'w_WB_B': 0.1, 'p': 10.0}
    weights = LqrWeights(
        tracking=tracking, terminal={k: 1e3 * v for k, v in tracking.items()}, control=1e-3
    )
    lqr = TimeVaryingLqr(system, p, plan, weights, knot=0.02)
    d = np.zeros(system.tangent.size)
    d[system.tangent.slice('theta')] = 0.1
    x0 = np.array(system.retract(problem.x_start, d)).ravel()
    where, ends = system.state.slice('p'), []
    for control in (lambda t, x: lqr.step(None, x, t)[1], plan.control_at):
        run = simulate(system, p, x0, control, plan.times[-1], rtol=1e-7, atol=1e-8)
        ends.append(np.linalg.norm(run.states[-1][where] - [5.0, 0.0]))
    assert ends[0] < 0.02
    assert ends[1] > 5 * ends[0]


def s_ball():
    path = PlanePath(['s', '0.5*(1-cos(pi*s/3))'])
    ball = PointMassBall([RailMass(1.0, Circle(0.22, frame=F)) for F in AXES], path=path)
    p = ball.pack_parameters(mass=1.0, inertia=0.04, radius=RADIUS, mu=0.5)
    # in balance: the sum of the masses' places lies straight below the centre
    x0 = ball.state.pack(
        theta=[-2.51052635, 0.63106631, -0.93973002],
        theta_rate=np.zeros(3),
        q_WB=[1, 0, 0, 0],
        w_WB_B=np.zeros(3),
        path=[0, 0],
    )
    return ball, p, x0, path


def test_seed_rolls_and_balances():
    """The first guess keeps the rolling constraint and ends at rest on its path."""
    ball, p, x0, path = s_ball()
    seed = rolling_seed(ball, p, x0, path, (0.0, 3.0), 12.0)
    rates = np.array(
        [
            np.array(ball.mode.dynamics(x, u, 0, p)).ravel()
            for x, u in zip(seed.states, seed.controls, strict=True)
        ]
    )
    for entry in ('path', 'q_WB'):
        where = ball.state.slice(entry)
        by_differences = np.gradient(seed.states[:, where], seed.times, axis=0)
        assert np.abs(by_differences - rates[:, where])[2:-2].max() < 5e-3
    # at rest and in balance: nothing begins to move
    rest = np.array(ball.mode.dynamics(seed.states[-1], [0, 0, 0], 0, p)).ravel()
    assert np.abs(rest).max() < 1e-6


@pytest.mark.slow
def test_s_shaped_path():
    """Within 2 cm of an S of 3.2 m, from rest to rest, balanced at its end."""
    ball, p, x0, path = s_ball()
    options = {
        'segments': 140,
        'control_limits': 200.0,
        'state_limits': {'path_aside': (-0.02, 0.02)},
    }
    plan = plan_along(ball, p, x0, path, (0.0, 3.0), 10.0, **options)
    run = replay(ball, p, plan, x0, extra=1.0)
    assert run.terminal_event is None
    inside = run.states[:, ball.state.slice('path')][:, 1]
    assert np.abs(inside).max() < 0.02 * 1.05
    end = ball.state.unpack(run.states[-1])
    assert end['path'] == pytest.approx([3.0, 0.0], abs=5e-3)
    assert np.abs(end['w_WB_B']).max() < 2e-2


def test_path_coordinates():
    """A ball on path coordinates moves as the same ball on x and y."""
    ball, p, x0, path = s_ball()
    flat = PointMassBall(ball.masses)
    values = ball.state.unpack(x0) | {'w_WB_B': np.array([0.3, 1.5, 0.2])}
    place = path.samples(0.0)[0][0]
    on_path = ball.state.pack(**values)
    values.pop('path')
    control = (np.array([0.0, 1.0]), np.array([[0.5, -0.3, 0.2], [-0.5, 0.1, 0.4]]))
    a = simulate(ball, p, on_path, control, 1.0)
    b = simulate(flat, p, flat.state.pack(**values, p=place), control, 1.0)
    along, aside = a.states[-1][ball.state.slice('path')]
    at = np.array(path.samples(along)[0][0])
    tangent = path.samples(along)[1][0]
    normal = np.array([-tangent[1], tangent[0]]) / np.linalg.norm(tangent)
    assert at + aside * normal == pytest.approx(b.states[-1][flat.state.slice('p')], abs=1e-10)


def test_no_seed_where_the_masses_cannot_balance():
    """One mass on a circle across the path cannot get below the centre while the ball turns."""
    ball = PointMassBall([RailMass(1.0, Circle(0.2, frame=AXES[2]))])
    p = ball.pack_parameters(mass=1.0, inertia=0.04, radius=RADIUS)
    x0 = ball.state.pack(
        theta=[-np.pi / 2], theta_rate=[0], q_WB=[1, 0, 0, 0], w_WB_B=np.zeros(3), p=[0, 0]
    )
    with pytest.raises(ParameterError, match='cannot move the centre of mass'):
        rolling_seed(ball, p, x0, straight_path(np.zeros(2), np.array([2.0, 0.0])), (0, 1), 4.0)

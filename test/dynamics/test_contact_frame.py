"""Ch is the frame of the hand's first chart, whatever charts the simulator goes over to."""

import copy

import casadi as ca
from contact_samples import ball_state
import numpy as np
import pytest
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.contact_view import ContactView
from rolling_dynamics.contact.conversions import to_coordinates
from rolling_dynamics.contact.followed_coordinates import charted
from rolling_dynamics.errors import ScenarioError, SurfaceError
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Ellipsoid, ExpressionSurface, Sphere
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.figures.paths import phase_figure
from rolling_robotics.files import Arrays
from rolling_robotics.plugins.contact.arrays import contact_arrays
from rolling_robotics.result import simulate_scenario, simulation_result
from transforms3d.euler import euler2mat
from transforms3d.quaternions import quat2mat

MASS, GRAVITY = 0.4, np.array([0.0, 0.0, -9.81])
SEMI = np.array([0.8, 1.1, 0.9])
STEP = 4e-4  # s, of the differences
DISH = [f'{SEMI[0]}*sin(u)*cos(v)', f'{SEMI[1]}*sin(u)*sin(v)', f'{SEMI[2]}*cos(u)']
HANDS = {
    'sphere dish': (Sphere(0.9, side='inside'), np.full(3, 0.9)),
    'ellipsoid dish': (Ellipsoid(*SEMI, side='inside'), SEMI),
    'expression': (
        ExpressionSurface(DISH, u_bounds=(0, np.pi), periods=(None, 2 * np.pi), side='inside'),
        SEMI,
    ),
}
SWITCHES = ('sphere dish', 'ellipsoid dish')
SHAKE = (np.linspace(0, 2, 5), np.random.default_rng(3).normal(size=(5, 6)))


def rolled(name, representation='attitude', t_eval=None):
    """Return a motion of an ellipsoid in a dish that moves, and the dish's semi-axes."""
    hand, semi = HANDS[name]
    system = ContactSystem(Ellipsoid(0.1, 0.12, 0.09), hand)
    p = system.pack_parameters(mass=MASS, inertia=[1e-3, 1.2e-3, 0.9e-3], mu=5.0)
    x = ball_state(system, contact_h=[2.6, 0.3], w_HO_H=[2.0, 1.0, 0.5], w_WH_H=[0.3, -0.2, 0.4])
    if representation == 'coordinates':
        x = to_coordinates(system, p, x, object_chart=1)
        system = system.with_representation('coordinates', object_chart=1)
    events = ('relative_curvature',)
    return simulate(system, p, x, SHAKE, 2.0, t_eval=t_eval, events=events), semi


def poses(trajectory, t):
    """Return attitude and origin in W of hand and object."""
    matrices = trajectory.system_at(t).pose(trajectory.state_in_use(t), trajectory.parameters)[:2]
    return [part for X in matrices for part in (np.array(X)[:3, :3], np.array(X)[:3, 3])]


def gauss_frame(uv, semi):
    """Return the frame of the chart (a sin u cos v, b sin u sin v, c cos u), from inside."""
    (u, v), (a, b, c) = uv, semi
    x = np.array([a * np.cos(u) * np.cos(v), b * np.cos(u) * np.sin(v), -c * np.sin(u)])
    n = -np.array([np.sin(u) * np.cos(v) / a, np.sin(u) * np.sin(v) / b, np.cos(u) / c])
    x, n = x / np.linalg.norm(x), n / np.linalg.norm(n)
    return np.column_stack([x, np.cross(n, x), n])


def acceleration(trajectory, t):
    """Return the acceleration of the object's centre in W, by differences of its position."""
    weights = np.array([-1, 16, -30, 16, -1]) / (12 * STEP**2)
    return sum(
        w * poses(trajectory, t + k * STEP)[3] for w, k in zip(weights, range(-2, 3), strict=True)
    )


def relative_rate(trajectory, t):
    """Return the angular velocity of the object in the hand, in H, by differences."""
    weights = np.array([1, -8, 0, 8, -1]) / (12 * STEP)

    def R_HO(time):
        R_WH, _, R_WO, _ = poses(trajectory, time)
        return R_WH.T @ R_WO

    rate = sum(w * R_HO(t + k * STEP) for w, k in zip(weights, range(-2, 3), strict=True))
    W = rate @ R_HO(t).T
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def instants(trajectory):
    """Return times away from the kinks of the control, close to each change of chart too."""
    end = trajectory.segments[-1].end
    switches = [e.time for e in trajectory.events if e.name == 'hand_chart' and not e.terminal]
    near = [t + d for t in switches for d in (-1e-5, 1e-5)]
    spread = np.arange(0.05, end - 0.01, 0.0473)
    times = np.sort([*near, *spread])
    apart = np.abs(times[:, None] - SHAKE[0]).min(axis=1)
    return times[(times > 3 * STEP) & (times < end - 3 * STEP) & (apart > 3 * STEP)], switches


@pytest.mark.parametrize(
    'representation', ['attitude', pytest.param('coordinates', marks=pytest.mark.slow)]
)
@pytest.mark.parametrize('name', HANDS)
def test_force_and_rate_in_Ch_are_those_of_the_poses(name, representation):
    """Newton: R_WH R_HCh f_contact = m (a_O - g), across the changes of chart."""
    trajectory, _ = rolled(name, representation)
    times, switches = instants(trajectory)
    again, semi = rolled(name, representation, times)
    assert bool(switches) == (name in SWITCHES)
    found = {k: s.values for k, s in contact_arrays(again.system, again).items()}
    force = again.evaluate(lambda s: s.mode.wrench)[:, 3:]
    angle = []
    for k, t in enumerate(again.times):
        R_HCh = gauss_frame(found['contact_h'][k], semi)
        R_WCh = poses(trajectory, t)[0] @ R_HCh
        newton = MASS * (acceleration(trajectory, t) - GRAVITY)
        assert np.abs(R_WCh @ force[k] - newton).max() < 1e-6 * MASS * 9.81
        assert np.abs(R_HCh @ found['w_HO_Ch'][k] - relative_rate(trajectory, t)).max() < 1e-6
        pose = trajectory.system_at(t).pose(trajectory.state_in_use(t), trajectory.parameters)[2]
        assert np.abs(np.array(pose)[:3, :3] - R_WCh).max() < 1e-9
        system = trajectory.system_at(t)
        if system.hand_chart:  # that the frame of the chart in use is another one
            e = system.expressions
            in_use = ca.Function('f', [e.x, e.p], [e.state.geometry.frame[:, 0]])
            x = np.array(in_use(trajectory.state_in_use(t), trajectory.parameters)).ravel()
            angle.append(np.arccos(np.clip(x @ R_HCh[:, 0], -1, 1)))
    assert name not in SWITCHES or max(angle) > 0.5


def test_a_contact_point_without_an_inverse_is_searched_for_once(monkeypatch):
    hand = HANDS['expression'][0]
    view, searches, search = ContactView(Sphere(0.1), hand), [], type(hand).locate

    def counted(surface, point, *others):
        searches.append(surface is hand)
        return search(surface, point, *others)

    monkeypatch.setattr(type(hand), 'locate', counted)
    way = np.column_stack([2.5 - 0.8 * np.linspace(0, 1, 60), np.linspace(0.2, 3.0, 60)])
    for uv in way:
        point = hand.point(uv)
        X_WO = np.eye(4)
        X_WO[:3, 3] = point / np.linalg.norm(point) * (np.linalg.norm(point) - 0.1)
        q, _ = view.coordinates(X_WO, np.eye(4), point)
        assert np.abs(q[2:4] - uv).max() < 1e-12
    assert sum(searches) == 1
    far = hand.point([0.6, 6.0])  # Gauss-Newton steps from the last place leave the chart
    q, _ = view.coordinates(np.eye(4), np.eye(4), far)
    assert np.abs(hand.point(q[2:4]) - far).max() < 1e-9


def at_pole(hand, friction='rolling', **changes):
    """Return an ellipsoid at the lowest point of a dish, the pole of its first chart."""
    system = ContactSystem(Ellipsoid(0.1, 0.12, 0.09), hand, friction=friction)
    p = system.pack_parameters(mass=MASS, inertia=[1e-3, 1.2e-3, 0.9e-3], mu=5.0, mu_spin=1.0)
    given = {'contact_h': [np.pi, 0.7], 'w_HO_H': [2.0, 1.0, 0.0]} | changes
    return system, p, ball_state(system, **given)


@pytest.mark.parametrize('friction', ['rolling', 'pure_rolling'])
def test_a_start_at_the_pole_of_the_hand_is_taken_on_another_chart(friction):
    system, p, x = at_pole(HANDS['ellipsoid dish'][0], friction)
    trajectory = simulate(system, p, x, None, 0.3, t_eval=[0.0, 0.1, 0.3])
    assert [(e.name, e.time) for e in trajectory.events] == [('hand_chart', 0.0)]
    near = at_pole(HANDS['ellipsoid dish'][0], friction, contact_h=[np.pi - 1e-7, 0.7])[2]
    beside = simulate(system, p, near, None, 0.3)
    for a, b in zip(poses(trajectory, 0.3), poses(beside, 0.3), strict=True):
        assert np.abs(a - b).max() < 2e-6
    found = {k: s.values for k, s in contact_arrays(system, trajectory).items()}
    assert np.isnan(found['contact_h'][0]).all()
    assert np.isfinite(found['w_HO_Ch']).all()
    force = trajectory.evaluate(lambda s: s.mode.wrench)[0, 3:]
    pose = trajectory.system_at(0.0).pose(trajectory.recorded[0], p)[2]
    R_WCh = np.array(pose)[:3, :3]
    a_O = sum(  # one-sided differences of the position
        w * poses(trajectory, k * STEP)[3]
        for k, w in enumerate(np.array([45, -154, 214, -156, 61, -10]) / (12 * STEP**2))
    )
    assert np.abs(R_WCh @ force - MASS * (a_O - GRAVITY)).max() < 1e-4 * MASS * 9.81
    with pytest.raises(SurfaceError, match="ellipsoid: the chart 'z' is degenerate"):
        simulate(system, p, x, None, 0.3, switch_charts=False)


DISH_SCENARIO = {
    'system': 'contact',
    'object': {
        'surface': {'kind': 'ellipsoid', 'a': 0.1, 'b': 0.12, 'c': 0.09, 'pole': 'y'},
        'mass': MASS,
        'inertia': 'solid',
    },
    'hand': {'surface': {'kind': 'sphere', 'radius': 0.9, 'side': 'inside'}},
    'friction': {'model': 'rolling', 'mu': 5.0},
    'duration': 0.5,
    'output': {'rate': 100},
}
POSITIONS = {  # of the object, where it touches the dish next to the pole, and turned at the pole
    'aside': [0.012179311204555166, 0.009897615950873755, -0.8098430794158693],
    'turned': [-0.009247163891363696, 0.021871599357629706, -0.8048402718291165],
}


@pytest.mark.parametrize('representation', ['attitude', 'coordinates'])
def test_every_way_to_write_a_start_at_the_pole_is_the_same_motion(representation):
    """By contact coordinates, and by poses; w_HO_Ch on the meridian v_h."""
    start = {'w_WO_W': [1.0, 2.0, 0.5]}
    R_HCh = gauss_frame([np.pi, 0.7], np.full(3, 0.9))
    in_Ch = {'w_HO_Ch': (R_HCh.T @ start['w_WO_W']).tolist()}
    R_OCo = np.array([[0.0, -1, 0], [-1, 0, 0], [0, 0, -1]])  # at -z of the object, pole y
    R = R_HCh.T @ euler2mat(0, 0, 0.4) @ R_OCo
    psi = float(np.arctan2(-R[0, 1], R[0, 0]))
    ways = [
        {'contact': {'u_h': 'pi', 'v_h': 0.7, 'u_o': 'pi/2', 'v_o': 'pi', 'psi': psi}},
        {'object': {'position': [0, 0, -0.81], 'attitude': {'rpy': [0, 0, 0.4]}}},
    ]
    ends = []
    for initial in ways:
        for velocity in (start, in_Ch) if 'contact' in initial else (start,):
            given = {'initial': initial | {'relative_velocity': velocity}}
            document = DISH_SCENARIO | given | {'representation': representation}
            scenario = load_scenario(document)
            result = simulation_result(scenario, simulate_scenario(scenario))
            ends.append(result['arrays']['object_position']['values'][-1])
            contact_h = np.array(result['arrays']['contact_h']['values'])
            assert np.isnan(contact_h[0]).all()
            assert np.isfinite(contact_h[1:]).all()
    assert np.abs(np.array(ends) - ends[0]).max() < 1e-9
    assert np.linalg.norm(ends[0] - np.array([0, 0, -0.81])) > 0.01


def test_the_edges_of_a_hand_are_those_of_its_first_chart():
    """Over a change of chart the contact still ends at the edge that was given."""
    document = copy.deepcopy(DISH_SCENARIO)
    document['hand']['edges'] = {'u': [2.75, 4.0], 'v': [-4.0, 4.0]}
    pose = {'position': POSITIONS['aside'], 'attitude': {'rpy': [0, 0, 0.4]}}
    document |= {'initial': {'object': pose, 'relative_velocity': {'w_WO_W': [9, 9, 0]}}}
    document |= {'duration': 3}
    scenario = load_scenario(document)
    trajectory = simulate_scenario(scenario)
    assert 'hand_chart' in {e.name for e in trajectory.events}
    assert trajectory.terminal_event.name == 'edge'
    direction = np.array(trajectory.system.pose(trajectory.terminal_event.state, scenario.p)[2])[
        :3, 3
    ]
    assert np.arccos(direction[2] / 0.9) == pytest.approx(2.75, abs=1e-9)


def test_what_the_node_publishes_is_in_the_same_frame():
    """Force of the plant that the simulator node steps, from a pole on, and its coordinates."""
    initial = {
        'object': {'position': POSITIONS['turned'], 'attitude': {'rpy': [0.4, 0, 0.4]}},
        'relative_velocity': {'w_WO_W': [1.0, 2.0, 0.5]},
    }
    scenario = load_scenario(DISH_SCENARIO | {'initial': initial})
    system = scenario.system
    plant = EmulatedObject(system, scenario.p, scenario.x0)
    view = ContactView(system.object_surface, system.hand_surface)
    u, seen, states = np.array([0.3, -0.4, 0.5, 0.6, -0.3, 0.2]), [], []
    for _ in range(300):
        plant.step(u, 1e-3)
        assert not plant.fault
        seen.append(plant.observe())
        states.append(plant.emulation.state.x)
    place = np.array([s.object_[4:7] for s in seen])
    five = np.array([-1, 16, -30, 16, -1]) / 12e-6
    a_O = np.stack([np.convolve(c, five, 'valid') for c in place.T], axis=1)
    force = np.array([s.X_WCh[:3, :3] @ s.wrench[3:] for s in seen])[2:-2]
    assert np.abs(force - MASS * (a_O - GRAVITY)).max() < 1e-5 * MASS * 9.81
    assert view.charts[1] == 'z'
    told = charted(system, scenario.p, np.array(states))
    for k in range(0, 300, 7):
        X_WH, X_WO = body_matrix(seen[k].hand), body_matrix(seen[k].object_)
        q, X_OCo = view.coordinates(X_WO, X_WH, seen[k].X_WCh[:3, 3])
        R_HCh = gauss_frame(q[2:4], np.full(3, 0.9))
        assert np.abs(X_WH[:3, :3] @ R_HCh - seen[k].X_WCh[:3, :3]).max() < 1e-7
        assert told.q[k, 2:4] == pytest.approx(q[2:4], abs=1e-7)
        c, s = np.cos(q[4]), np.sin(q[4])
        R_ChCo = np.array([[c, -s, 0], [-s, -c, 0], [0, 0, -1]])
        R = X_WH[:3, :3] @ R_HCh @ R_ChCo @ X_OCo[:3, :3].T
        assert np.abs(R - X_WO[:3, :3]).max() < 1e-7
        assert abs(q[4]) <= np.pi


def body_matrix(body):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = quat2mat(body[:4]), body[4:7]
    return X


def test_a_plan_from_a_pole_is_refused():
    pose = {'position': POSITIONS['turned'], 'attitude': {'rpy': [0.4, 0, 0.4]}}
    plan = {'plan': {'goal': {'u_h': 3.0}}}
    scenario = load_scenario(DISH_SCENARIO | {'initial': {'object': pose}} | plan)
    with pytest.raises(ScenarioError, match='initial: a plan cannot start at a pole'):
        read_problem(scenario)


@pytest.mark.filterwarnings('error')
def test_coordinates_that_begin_at_a_pole_are_drawn():
    pose = {'position': [0, 0, -0.81], 'attitude': {'rpy': [0, 0, 0.4]}}
    initial = {'object': pose, 'relative_velocity': {'w_WO_W': [1.0, 2.0, 0.5]}}
    scenario = load_scenario(DISH_SCENARIO | {'initial': initial})
    arrays = Arrays(simulation_result(scenario, simulate_scenario(scenario)))
    drawn = [axes for axes in phase_figure(arrays).axes if axes.get_visible()]
    moving = [sum(len(line.get_xdata()) > 1 for line in axes.lines) for axes in drawn]
    assert moving == [2]  # u_h, v_h

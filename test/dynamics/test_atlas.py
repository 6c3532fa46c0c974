"""Charts that change by themselves: the motion does not notice."""

import casadi as ca
from contact_samples import (
    ball_state,
    level_ball,
    PAIRS,
    parameters_of,
    poses_and_twists,
    random_state,
    system_of,
)
import numpy as np
import pytest
from rolling_dynamics.contact.charts import ContactAtlas
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.conversions import convert_state, to_coordinates
from rolling_dynamics.errors import ParameterError, SurfaceError
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Cylinder, Ellipsoid, ExpressionSurface, Plane, Sphere
from rolling_dynamics.surfaces.surface import best_chart, locate_on_chart, regularities

BALL = ['0.2*sin(u)*cos(v)', '0.2*sin(u)*sin(v)', '0.2*cos(u)']
SQRT2 = np.sqrt(2)
FULL = {'u_bounds': (0.0, np.pi), 'periods': (None, 2 * np.pi)}


def states_on(trajectory, system):
    """Return the states of a trajectory on the charts, or in the representation, of a system."""
    pairs = zip(trajectory.times, trajectory.recorded, strict=True)
    p = trajectory.parameters
    return np.array([convert_state(trajectory.system_at(t), system, p, x) for t, x in pairs])


def apart(a, b):
    """Return the greatest difference between poses and twists of two (system, p, x)."""
    flat = [
        np.concatenate([X_WH.ravel(), *tw_H, X_WO.ravel(), *tw_O])
        for X_WH, tw_H, X_WO, tw_O in (poses_and_twists(*a), poses_and_twists(*b))
    ]
    return np.abs(flat[0] - flat[1]).max()


def test_every_point_of_an_ellipsoid_has_a_good_chart():
    surface = Ellipsoid(0.2, 0.3, 0.15)
    rng = np.random.default_rng(0)
    for n in [*np.eye(3), *-np.eye(3), *rng.normal(size=(100, 3))]:
        d = n / np.linalg.norm(n)
        point = d * [0.2, 0.3, 0.15]
        assert regularities(surface, point).max() > 0.5
        k = best_chart(surface, point)
        assert np.abs(surface.point(locate_on_chart(surface, point, k), k) - point).max() < 1e-16


def test_locating_without_a_known_inverse():
    ball = ExpressionSurface(BALL, **FULL)
    for uv in ([0.7, 1.1], [2.0, -2.0]):
        point = ball.point(uv)
        near = locate_on_chart(ball, point, 0, near=np.add(uv, 0.1))
        assert np.abs(near - uv).max() < 1e-14
        assert np.abs(ball.point(locate_on_chart(ball, point, 0)) - point).max() < 1e-15
    with pytest.raises(SurfaceError, match=r'no \(u, v\) gives the point'):
        locate_on_chart(ball, [0.0, 0.0, 0.5], 0)
    with pytest.raises(SurfaceError, match='off the chart'):
        locate_on_chart(Sphere(0.2), [0.0, 0.0, 0.5], 0)


@pytest.mark.parametrize('name', PAIRS)
def test_recharting_is_exact(name):
    system, rng = system_of(name), np.random.default_rng(1)
    p = parameters_of(system)
    charts = [
        (o, h)
        for o in range(len(system.object_surface.charts))
        for h in range(len(system.hand_surface.charts))
    ]
    on = [
        system.with_representation('coordinates', object_chart=o, hand_chart=h) for o, h in charts
    ]
    for _ in range(3):
        x = random_state(system, p, rng)
        for (o, h), there in zip(charts, on, strict=True):
            y = to_coordinates(system, p, x, object_chart=o, hand_chart=h)
            assert apart((system, p, x), (there, p, y)) < 1e-13
            for other in on:
                z = convert_state(there, other, p, y)
                assert apart((system, p, x), (other, p, z)) < 1e-13


@pytest.mark.parametrize('start', ['before the pole', 'on the pole'])
def test_a_ball_rolls_through_the_exact_pole(start):
    """Straight over a pole of its own first chart, where the chart is not regular."""
    ball, p = level_ball()
    coordinates = ball.with_representation('coordinates')
    speed = 0.5  # rad/s about y, to +x: after a quarter turn the contact is on the pole
    x = ball_state(ball, w_HO_H=[0, speed, 0], q_HO=[np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0])
    if start == 'on the pole':
        x = ball_state(ball, w_HO_H=[0, speed, 0], q_HO=[0, 1, 0, 0])
        y = to_coordinates(ball, p, x, object_chart=1)
        coordinates = ball.with_representation('coordinates', object_chart=1)
    else:
        y = to_coordinates(ball, p, x)
    duration = 6 * np.pi / speed  # three whole turns
    trajectory = simulate(coordinates, p, y, None, duration, t_eval=np.linspace(0, duration, 301))
    switches = [e for e in trajectory.events if e.name == 'object_chart']
    assert switches
    assert not any(e.terminal for e in trajectory.events)
    for t, state in zip(trajectory.times, trajectory.recorded, strict=True):
        pose = np.array(trajectory.system_at(t).pose(state, p)[1])
        assert np.abs(pose[:3, 3] - [0.2 * speed * t, 0, 0.2]).max() < 1e-10
        assert np.abs(trajectory.pose(t)['object'][:3, 3] - pose[:3, 3]).max() < 1e-10
    # on the charts that were given, too: none where they have a pole
    known = np.isfinite(trajectory.states).all(axis=1)
    assert len(trajectory.times) - 6 <= known.sum() < len(trajectory.times)
    for t, state in zip(trajectory.times[known], trajectory.states[known], strict=True):
        place = np.array(coordinates.pose(state, p)[1])[:3, 3]
        assert np.abs(place - [0.2 * speed * t, 0, 0.2]).max() < 1e-9
        assert np.abs(trajectory.state_at(t) - state).max() < 1e-9
    for event in switches:
        place = np.array(coordinates.pose(event.state, p)[1])[:3, 3]
        assert np.abs(place - [0.2 * speed * event.time, 0, 0.2]).max() < 1e-9
    exact = simulate(ball, p, x, None, duration).states[-1]
    ours = states_on(trajectory, ball)[-1]
    assert apart((ball, p, ours), (ball, p, exact)) < 1e-10


@pytest.mark.slow
def test_the_state_is_continuous_over_a_change_of_chart():
    system = system_of('ellipsoid in dish').with_representation('coordinates')
    attitude = system.with_representation('attitude')
    p = parameters_of(system)
    x = random_state(attitude, p, np.random.default_rng(2))
    x[attitude.state.slice('w_HO_H')] *= 3
    trajectory = simulate(
        system, p, to_coordinates(attitude, p, x), None, 6.0, events=('relative_curvature',)
    )
    switches = [e for e in trajectory.events if e.name.endswith('_chart')]
    assert switches
    names = set()
    for before, after in zip(trajectory.segments[:-1], trajectory.segments[1:], strict=True):
        t = after.start
        states = [s.interpolate(np.array([t]))[0] for s in (before, after)]
        assert apart((before.system, p, states[0]), (after.system, p, states[1])) < 1e-11
        names |= {(after.system.object_chart, after.system.hand_chart)}
    assert len(names) > 1
    reference = simulate(attitude, p, x, None, 2.0, events=('relative_curvature',))
    ends = [(t.system, p, t.state_at(2.0)) for t in (trajectory, reference)]
    assert apart(*ends) < 1e-9


def test_a_ball_rolls_through_the_pole_of_the_hand():
    """In the attitude representation, too, the hand has charts: round a ball, over its poles."""
    hand = Ellipsoid(1.0, 1.2, 0.9, side='inside')
    system = ContactSystem(Sphere(0.1), hand)
    p = system.pack_parameters(mass=0.1, inertia=0.4 * 0.1 * 0.01, mu=10.0)
    x = ball_state(system, contact_h=[2.6, 0.0], w_HO_H=[0, 0, 0])
    trajectory = simulate(system, p, x, None, 10.0, t_eval=np.linspace(0, 10, 101))
    assert any(e.name == 'hand_chart' for e in trajectory.events)
    energy = trajectory.evaluate(lambda s: s.invariants['energy'])
    assert np.abs(energy - energy[0]).max() < 1e-10
    # by symmetry the motion stays in the plane y = 0, through the lowest point, a pole
    points = [
        np.array(trajectory.system_at(t).pose(s, p)[2])[:3, 3]
        for t, s in zip(trajectory.times, trajectory.recorded, strict=True)
    ]
    assert np.abs(np.array(points)[:, 1]).max() < 1e-9
    assert np.array(points)[:, 0].min() < -0.4
    stay = simulate(system, p, x, None, 10.0, switch_charts=False)
    assert stay.terminal_event.name == 'hand_chart'
    assert states_on(trajectory, system.with_representation('coordinates', hand_chart=1)).size


def test_a_state_at_a_pole_of_the_hand_is_taken_on_another_chart():
    """Where its attitude is known. The same bodies on the same charts are one system."""
    system = ContactSystem(Sphere(0.1), Ellipsoid(1.0, 1.2, 0.9, side='inside'))
    p = system.pack_parameters(mass=0.1, inertia=0.4 * 0.1 * 0.01, mu=10.0)
    assert ContactAtlas(system).off_pole(p, ball_state(system, contact_h=[1.5, 0.3])) is None
    x = ball_state(system, contact_h=[1e-9, 0.3])
    there = ContactAtlas(system).off_pole(p, x)
    assert there.text.startswith('hand: from chart')
    assert there.system.hand_chart != system.hand_chart
    assert apart((system, p, x), (there.system, p, there.state)) < 1e-6
    again = ContactAtlas(there.system)
    back = again.off_pole(p, ball_state(there.system, contact_h=[1e-9, 0.3]))
    assert ContactAtlas(back.system).off_pole(p, x).system in (system, there.system)
    assert ContactAtlas(system).off_pole(p, x).system is there.system
    coordinates = system.with_representation('coordinates')
    assert ContactAtlas(coordinates).off_pole(p, np.zeros(coordinates.state.size)) is None


def test_another_chart_of_the_hand_leaves_that_of_the_object():
    system = ContactSystem(Sphere(0.1), Ellipsoid(1.0, 1.2, 0.9, side='inside'))
    p = system.pack_parameters(mass=0.1, inertia=0.4 * 0.1 * 0.01, mu=10.0)
    x = ball_state(system, contact_h=[0.05, 0.3], q_HO=np.array([5, 1, 7, 5]) / 10)
    for chart in (0, 1):
        here = system.with_representation('coordinates', object_chart=chart)
        found = ContactAtlas(here).rechart('hand_chart', p, convert_state(system, here, p, x))
        assert (found.system.object_chart, found.system.hand_chart) == (chart, 1)
        back = ContactAtlas(found.system).rechart('object_chart', p, found.state, worth=0.0)
        assert back is None or back.system.hand_chart == 1


def test_only_a_surface_of_several_charts_has_alternatives():
    atlas = ContactAtlas(ContactSystem(Sphere(0.1), Plane(), representation='coordinates'))
    assert atlas.has_alternatives('object_chart')
    assert not atlas.has_alternatives('hand_chart')


@pytest.mark.parametrize('kind', ['python', 'casadi'])
def test_feedback_ends_where_the_charts_of_its_states_end(kind):
    ball, p = level_ball()
    coordinates = ball.with_representation('coordinates')
    y = to_coordinates(ball, p, ball_state(ball, w_HO_H=[0, 1.0, 0], q_HO=[1, 0, 1, 0] / SQRT2))
    x, t = ca.SX.sym('x', coordinates.state.size), ca.SX.sym('t')
    laws = {
        'python': lambda t, x: 0 * x[:6],  # noqa: ARG005
        'casadi': ca.Function('law', [x, t], [ca.vertcat(1e-9 * x[0], ca.SX.zeros(5))]),
    }
    run = simulate(coordinates, p, y, laws[kind], 3.0)
    assert run.terminal_event.name == 'object_chart'
    assert run.terminal_event.text.endswith('the control is a function of the state on it')
    assert not simulate(coordinates, p, y, lambda t: np.zeros(6), 3.0).terminal_event  # noqa: ARG005


def test_a_start_near_a_pole_goes_over_to_a_better_chart_at_once():
    ball, p = level_ball()
    x = ball_state(ball, w_HO_H=[1, 2, 0], q_HO=[1e-4, 1, 0, 0] / np.hypot(1, 1e-4))
    y = to_coordinates(ball, p, x)
    trajectory = simulate(ball.with_representation('coordinates'), p, y, None, 0.1)
    assert trajectory.events[0].time == 0
    assert trajectory.events[0].text == "object: from chart 'z' to 'x'"
    assert trajectory.segments[0].system.object_chart == 1


def test_the_only_chart_of_a_surface_ends_the_simulation_by_name():
    ball = ExpressionSurface(BALL, **FULL)
    system = ContactSystem(ball, Plane(), representation='coordinates')
    p = system.pack_parameters(mass=0.1, inertia=1.6e-3)
    attitude, _ = level_ball()
    x = ball_state(attitude, w_HO_H=[0, 1, 0], q_HO=[np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0])
    other = attitude.with_representation('coordinates')
    y = convert_state(attitude, other, attitude.pack_parameters(mass=0.1, inertia=1.6e-3), x)
    event = simulate(system, p, y, None, 10.0).terminal_event
    assert event.name in ('object_chart', 'object_edge')
    assert event.time == pytest.approx(np.pi / 2, abs=2e-3)
    assert 'no other' in event.text or event.name == 'object_edge'


def test_the_end_of_a_cylinder_is_an_edge():
    log = Cylinder(0.1, v_bounds=(-0.3, 0.3))
    hand = Ellipsoid(2.0, 2.0, 2.0)
    system = ContactSystem(log, hand, representation='coordinates')
    p = system.pack_parameters(mass=0.1, inertia=1e-3, mu=10)
    x = system.state.pack(
        q_WH=[1, 0, 0, 0],
        p_WH=[0] * 3,
        contact_o=[0, 0.2],
        contact_h=[1.5, 0],
        psi=0.3,
        w_WH_H=[0] * 3,
        v_WH_H=[0] * 3,
        w_HO_Ch=[1.0, 0, 0],
    )
    event = simulate(system, p, x, None, 10.0, events=('object_edge',)).terminal_event
    assert event.name == 'object_edge'
    assert abs(abs(event.state[system.state.slice('contact_o')][1]) - 0.3) < 1e-12


def test_converting_between_other_bodies_is_refused():
    a, p = level_ball()
    b, _ = level_ball()
    with pytest.raises(ParameterError, match='same bodies'):
        convert_state(a, b, p, ball_state(a))
    assert np.all(convert_state(a, a, p, ball_state(a)) == ball_state(a))


@pytest.mark.slow
def test_a_ball_rolls_for_an_hour():
    """The ball on a spinning plate in contact coordinates: thousands of changes of chart."""
    ball, p = level_ball()
    x = ball_state(ball, w_WH_H=[0, 0, 7.0], w_HO_H=[1, 0, -7.0])
    x = np.array(simulate(ball, p, x, None, 0.2).states[-1])
    hour = 3600.0
    times = np.linspace(0, hour, 3601)
    trajectory = simulate(
        ball.with_representation('coordinates'),
        p,
        to_coordinates(ball, p, x),
        None,
        hour,
        t_eval=times,
        dense=False,
    )
    assert len(trajectory.events) > 300
    assert trajectory.times[-1] == hour
    states = states_on(trajectory, ball)
    place = states[:, ball.state.slice('contact_h')]
    angle = 2 * np.arctan2(states[:, 3], states[:, 0])
    c, s = np.cos(angle), np.sin(angle)
    plane = np.stack([c * place[:, 0] - s * place[:, 1], s * place[:, 0] + c * place[:, 1]], 1)
    radius = np.linalg.norm(plane - [0.1, 0], axis=1)
    assert np.abs(radius / 0.1 - 1).max() < 1e-8
    energy = trajectory.evaluate(lambda s: s.invariants['energy'])
    assert np.abs(energy).max() < 1e3
    assert all(abs(np.linalg.norm(q) - 1) < 1e-14 for q in states[::100, :4])

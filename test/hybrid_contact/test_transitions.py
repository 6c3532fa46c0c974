"""Lift-off, landing, slip, spin, edge and Painleve by fixed steps, against closed forms."""

from hybrid_samples import state, system, turn
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from stepped_motion import SteppedMotion

G, R, M = 9.81, 0.05, 0.2
J = 0.4 * M * R * R


def ball(**options):
    s = system(R)
    return s, s.pack_parameters(mass=M, inertia=J, **options)


def run(s, p, x, control, duration, dt=1e-3):
    """Return the last state and all events of a run by fixed steps."""
    plant = SteppedMotion(s, p, x, control(0.0))
    events = list(plant.state.events)
    for k in range(round(duration / dt)):
        out = plant.step(control(k * dt), dt)
        events += out.events
    return plant.state, events


def at_rest(_):
    return np.zeros(6)


@pytest.mark.parametrize('dt', [1e-3, 0.037])
def test_a_sliding_ball_sticks_at_the_known_time(dt):
    s, p = ball(mu=0.5, mu_kinetic=0.2)
    v, w = np.array([2.0, 1.0, 0]), np.array([3.0, -4.0, 7.0])
    x = state(s, p_HO_H=[0, 0, R], v_HO_H=v, w_HO_H=w)
    out, events = run(s, p, x, at_rest, 27 * 0.037, dt)
    slip = v - np.cross(w, [0, 0, R])
    t = 2 * np.linalg.norm(slip) / (7 * 0.2 * G)
    assert [e.name for e in events] == ['stick']
    assert_allclose(events[0].time, t, atol=1e-8)
    end = v - 0.2 * G * t * slip / np.linalg.norm(slip)
    assert_allclose(s.state.unpack(out.x)['v_HO_H'], end, atol=1e-8)
    assert out.published_mode == 'rolling'


def test_hand_that_drops_away_is_left_and_caught_up_with():
    """Down with 2 g for 0.1 s, then held: the ball falls freely and lands when it gets there."""
    s, p = ball(mu=0.5)
    x = state(s, p_HO_H=[0, 0, R])

    def control(t):
        if t < 0.1 - 1e-9:
            return np.array([0, 0, 0, 0, 0, -2 * G])
        return np.array([0, 0, 0, 0, 0, 2 * G if t < 0.2 - 1e-9 else 0.0])

    _, events = run(s, p, x, control, 0.5)
    assert [e.name for e in events] == ['lift_off', 'landing']
    assert_allclose(events[0].time, 0.0, atol=1e-15)
    # the hand comes to rest 2 * G * 0.1^2 = 0.02 G lower at 0.2 s, the ball 0.02 G at 0.2 s too
    assert_allclose(events[1].time, 0.2, atol=1e-7)


def test_parabola_of_flight():
    s, p = ball(mu=0.5)
    x = state(s, p_HO_H=[0, 0, R], v_HO_H=[0.3, -0.1, 1.0], w_HO_H=[1, 2, 3])
    out, events = run(s, p, x, at_rest, 0.15)
    assert out.published_mode == 'separated'
    assert events == []
    assert_allclose(s.state.unpack(out.x)['p_HO_H'], [0.045, -0.015, R + 0.15 - G * 0.15**2 / 2])
    assert_allclose(s.state.unpack(out.x)['w_HO_H'], [1, 2, 3], rtol=1e-12)
    out, events = run(s, p, x, at_rest, 0.3)
    assert_allclose(events[0].time, 2 / G, rtol=1e-9)
    assert events[0].name == 'landing'


def test_slip_begins_at_the_friction_cone_and_not_before():
    """A ball on a plate that accelerates sideways rolls while 2/7 a <= mu g."""
    s, p = ball(mu=0.2, mu_kinetic=0.15)
    x = state(s, p_HO_H=[0, 0, R])
    limit = 0.2 * G * 7 / 2
    for share, expected in ((0.999, []), (1.001, ['slip'])):

        def control(t, share=share):
            return np.array([0, 0, 0, share * limit, 0, 0])

        out, events = run(s, p, x, control, 0.1)
        assert [e.name for e in events] == expected
    # sliding: the ball accelerates with mu_kinetic g, backwards in the hand
    assert_allclose(
        s.state.unpack(out.x)['v_HO_H'][0], (0.15 * G - 1.001 * limit) * 0.1, rtol=1e-6
    )


@pytest.mark.parametrize('direction', [1, -1])
def test_spin_friction_stops_the_spin_and_then_holds_it(direction):
    s, p = ball(mu=0.5, mu_spin=2e-3)
    x = state(s, p_HO_H=[0, 0, R], w_HO_H=[0, 0, 5.0 * direction])
    stop = J * 5.0 / (2e-3 * M * G)
    out, events = run(s, p, x, at_rest, 1.2 * stop)
    assert [e.name for e in events] == ['stick']
    assert_allclose(events[0].time, stop, rtol=1e-6)
    assert out.mode == out.published_mode == 'pure_rolling'
    wrench = np.array(s.modes['pure_rolling'].wrench(out.x, np.zeros(6), 0, p)).ravel()
    assert_allclose(wrench[2], 0, atol=1e-12)


def test_a_hand_that_turns_too_fast_lets_the_ball_spin():
    s, p = ball(mu=0.5, mu_spin=2e-3)
    x = state(s, p_HO_H=[0, 0, R])
    hold = 2e-3 * M * G / J  # the fastest angular acceleration that friction hands on
    for share, mode, names in ((0.99, 'pure_rolling', []), (1.01, 'slipping', ['slip'])):

        def control(t, share=share):
            return np.array([0, 0, share * hold, 0, 0, 0])

        out, events = run(s, p, x, control, 0.05)
        assert out.mode == mode
        assert [e.name for e in events] == names
    assert_allclose(s.state.unpack(out.x)['w_HO_H'][2], -0.01 * hold * 0.05, rtol=1e-3)


def test_sliding_without_spin_is_that_without_a_patch():
    s, p = ball(mu=0.5, mu_kinetic=0.2, mu_spin=2e-3)
    x = state(s, p_HO_H=[0, 0, R], v_HO_H=[1.0, 0, 0])
    out, events = run(s, p, x, at_rest, 0.1)
    assert out.mode == out.published_mode == 'slipping'
    out, events = run(s, p, x, at_rest, 0.2)
    assert [e.name for e in events] == ['stick']
    assert_allclose(events[0].time, 2 / (7 * 0.2 * G), atol=1e-7)
    assert out.mode == 'pure_rolling'


@pytest.mark.parametrize('way', [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_over_the_edge(way):
    """The nearest of four edges, 0.1 m ahead, is reached after 0.2 s, the others never."""
    (a, b), edges = way, np.array([-0.7, 0.8, -0.9, 0.6])
    edges[(1 + a + b) // 2 + 2 * abs(b)] = 0.1 * (a + b)
    s, p = ball(mu=0.5, edges=edges)
    x = state(s, p_HO_H=[0, 0, R], v_HO_H=[0.5 * a, 0.5 * b, 0], w_HO_H=[-10.0 * b, 10.0 * a, 0])
    out, events = run(s, p, x, at_rest, 0.5)
    assert [e.name for e in events] == ['edge']
    assert_allclose(events[0].time, 0.2, rtol=1e-9)
    assert out.mode == 'off_hand'
    assert out.published_mode == 'separated'
    assert_allclose(s.state.unpack(out.x)['p_HO_H'][2], R - G * 0.3**2 / 2, rtol=1e-6)
    for far, name in ((0.11, 'missed'), (0.09, 'landing')):
        above = state(s, p_HO_H=[far * a, far * b, 2 * R])
        _, events = run(s, p, above, at_rest, 0.3)
        assert events[0].name == name


def rod(mu):
    """Return a slender ellipse in the plane, and p."""
    s = system(0.002, 0.06, 0.1)
    # all mass in the middle: a small inertia makes the paradox appear at moderate friction
    return s, s.pack_parameters(mass=1.0, inertia=[4e-4, 4e-4, 4e-4], mu=mu)


def sliding_rod(s, p, tilt, speed):
    x = state(s, q_HO=turn(tilt), p_HO_H=[0, 0, 0.3], v_HO_H=[speed, 0, 0])
    x[s.state.names.index('p_HO_H_z')] -= float(s.touch(x, p)[0])
    return x


def test_painleve_is_a_named_event_that_stops_the_run():
    s, p = rod(1.2)
    found = 0
    for tilt in np.linspace(-1.2, 1.2, 25):
        x = sliding_rod(s, p, tilt, 1.0)
        value = float(s.modes['slipping'].guards['painleve'](x, np.zeros(6), 0, p))
        plant = SteppedMotion(s, p, x)
        assert (plant.state.stopped == 'painleve') == (value <= 0)
        if value <= 0:
            found += 1
            before = plant.state
            after = plant.step(np.zeros(6), 0.01)
            assert after.t == before.t
            assert before.events[-1].terminal
    assert 0 < found < 25
    # independent: n . W (n - mu d) <= 0 with W of a rod, r = contact - centre
    margin_at, mass = s.modes['slipping'].guards['painleve'], s.parameters.unpack(p)['mass'][0]
    x = sliding_rod(s, p, 0.5, 1.0)
    d = s.state.unpack(x)
    r = (np.array(s.touch(x, p)[2]).ravel() - d['p_HO_H'])[[0, 2]]
    by_hand = 1 + 1.0 / 4e-4 * r[0] * (r[0] + 1.2 * r[1])
    assert_allclose(mass * float(margin_at(x, np.zeros(6), 0, p)), by_hand, rtol=1e-9)


def test_the_state_that_is_stepped_stays_as_it_was():
    s, p = ball(mu=0.5)
    plant = SteppedMotion(s, p, state(s, p_HO_H=[0, 0, R], v_HO_H=[1.0, 0, 0]))
    start, copy = plant.state, plant.state.x.copy()
    a = plant.stepper.step(start, np.zeros(6), 0.02)
    b = plant.stepper.step(start, np.zeros(6), 0.02)
    assert_allclose(start.x, copy, atol=0)
    assert_allclose(a.x, b.x, atol=0)


def test_what_cannot_start_is_refused():
    s, p = ball()
    with pytest.raises(ParameterError, match='overlaps'):
        SteppedMotion(s, p, state(s, p_HO_H=[0, 0, 0.9 * R]))
    with pytest.raises(ParameterError, match='finite numbers'):
        SteppedMotion(s, p, np.full(s.state.size, np.nan))
    plant = SteppedMotion(s, p, state(s, p_HO_H=[0, 0, R]))
    with pytest.raises(ParameterError, match='dt must be'):
        plant.step(np.zeros(6), -1.0)
    with pytest.raises(ParameterError, match='u takes 6'):
        plant.step(np.zeros(3), 1e-3)
    assert isinstance(s, HybridContactSystem)

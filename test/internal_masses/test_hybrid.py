"""Lift-off, flight, landing, slip, stick, Painleve."""

from itertools import pairwise

from evidence.papers import disk_and_ball
from mass_driven_examples import hop, mirror_masses
import numpy as np
import pytest
from rolling_dynamics.contract import MotionState
from rolling_dynamics.errors import JammingError, ParameterError
from rolling_dynamics.internal_masses.ball import PointMassBall, PointMassDisk
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.internal_masses.rails import Circle, Straight
from rolling_dynamics.mechanism.rebound import rebound_impulse
from rolling_dynamics.simulation import simulate

G = 9.81


def sphere(**friction):
    ball = PointMassBall(unilateral=True)
    p = ball.pack_parameters(mass=2.0, inertia=2.0 * 0.4 * 0.09, radius=0.3, **friction)
    return ball, p


def state(ball, v=(0, 0, 0), w=(0, 0, 0), z=0.3):
    return ball.state.pack(q_WB=[1, 0, 0, 0], w_WB_B=w, p_WB=[0, 0, z], v_WB_W=v)


def run_of(*given, **options):
    return simulate(*given, rtol=1e-10, atol=1e-12, **options)


def at_time(segment, t):
    return segment.interpolate(np.array([t]))[0]


def test_bowling_ball():
    """Slides with mu g, sticks at t = 2 v / (7 mu g) with 5/7 of its speed."""
    ball, p = sphere(mu=0.5, mu_kinetic=0.2)
    run = run_of(ball, p, state(ball, v=(3.0, 0, 0)), None, 2.0, mode='slipping')
    assert [e.name for e in run.events] == ['stick']
    assert run.events[0].time == pytest.approx(2 * 3.0 / (7 * 0.2 * G), abs=2e-8)
    assert run.states[-1][ball.state.slice('v_WB_W')] == pytest.approx([15 / 7, 0, 0], abs=2e-8)


def test_bowling_ball_with_side_spin():
    """Slip of a homogeneous ball keeps its direction: closed form in two dimensions."""
    ball, p = sphere(mu=0.5, mu_kinetic=0.2)
    v, w = np.array([2.0, 1.0, 0]), np.array([3.0, -4.0, 7.0])
    run = run_of(ball, p, state(ball, v, w), None, 3.0, mode='slipping')
    slip = v - np.cross(w, [0, 0, 0.3])
    t = 2 * np.linalg.norm(slip) / (7 * 0.2 * G)
    assert run.events[0].time == pytest.approx(t, abs=2e-8)
    end = v - 0.2 * G * t * slip / np.linalg.norm(slip)
    assert run.states[-1][ball.state.slice('v_WB_W')] == pytest.approx(end, abs=3e-8)


def landed(ball, x, p):
    """Return mode and state after a landing, its impulse, and the velocity of the contact."""
    u, places = np.zeros(ball.control.size), ball.speed_places
    before = MotionState(t=0.0, x=x, mode='separated', p=p)
    after = ball.follows(0)['gap'](before, u)
    M, J, _ = (np.array(a) for a in ball.impact_terms(x, u, 0, p))
    P = np.linalg.lstsq(J.T, M @ (after.x - x)[places])[0]
    return after.mode, after.x, P, np.array(ball.contact_motion(after.x, p)[1]).ravel()


@pytest.mark.parametrize(('mu', 'sticks'), [(0.5, True), (0.05, False)])
def test_landing_of_a_sphere(mu, sticks):
    """Sticking takes 2/7 of the slip's momentum; slipping gives mu times the normal impulse."""
    ball, p = sphere(mu=mu, mu_kinetic=mu)
    x = state(ball, v=(1.0, 0.0, -2.0))
    mode, _, P, v = landed(ball, x, p)
    assert mode == ('rolling' if sticks else 'slipping')
    assert P[2] == pytest.approx(2.0 * 2.0, rel=1e-10)
    friction = -2.0 * 2 / 7 if sticks else -mu * 4.0
    assert P[:2] == pytest.approx([friction, 0], abs=1e-8)
    assert v[2] == pytest.approx(0, abs=1e-9)


def test_landing_never_gains_energy():
    """Any ball, any attitude, masses on the way: the impact takes energy, contact stays."""
    rng = np.random.default_rng(5)
    ball = PointMassBall(
        [RailMass(0.8, Circle(0.25)), RailMass(1.5, Straight((1, 1, 0), (-0.2, 0.2)))],
        unilateral=True,
    )
    for mu in (0.0, 0.1, 0.4, 1.5):
        p = ball.pack_parameters(
            mass=1.0,
            inertia=[0.03, 0.04, 0.05],
            radius=0.3,
            centre_of_mass=[0.1, 0, -0.1],
            mu=mu,
            mu_kinetic=0.8 * mu,
        )
        for _ in range(10):
            q = rng.normal(size=4)
            x = ball.state.pack(
                theta=rng.uniform(-0.1, 0.1, 2),
                theta_rate=[0, 0],
                q_WB=q / np.linalg.norm(q),
                w_WB_B=rng.normal(size=3),
                p_WB=[0, 0, 0.3],
                v_WB_W=[*rng.normal(size=2), -rng.uniform(0.5, 2)],
            )
            _, after, P, v = landed(ball, x, p)
            energy = [float(ball.invariants['energy'](y, [0, 0], 0, p)) for y in (x, after)]
            assert energy[1] <= energy[0] + 1e-12
            assert np.linalg.norm(P[:2]) <= mu * P[2] * (1 + 1e-9) + 1e-14
            assert v[2] == pytest.approx(0, abs=1e-8)


def test_mirror_masses_lift_off_without_friction():
    """Two mirror masses on vertical half-ellipses: friction stays zero, N falls to zero."""
    ex = mirror_masses(mu=0.0)
    run = run_of(ex.system, ex.p, ex.x0, ex.control, ex.duration)
    names = [e.name for e in run.events]
    assert names[:2] == ['lift_off', 'landing']
    assert run.events[0].time == pytest.approx(ex.lift_off, abs=1e-9)
    for t in np.linspace(0, run.events[0].time, 50):
        x = run.segments[0].interpolate(np.array([t]))[0]
        F = np.array(ex.system.modes['rolling'].wrench(x, run.control(t, x), t, ex.p)).ravel()
        assert np.abs(F[3:5]).max() < 1e-12
    top = max(
        run.state_at(t)[ex.system.state.slice('p_WB')][2]
        for t in np.linspace(run.events[0].time, run.events[1].time, 100)
    )
    assert top > 0.3 + 0.005
    for t in np.linspace(run.events[0].time, run.events[1].time, 20):  # parabola
        x = run.state_at(t)
        assert np.abs(x[ex.system.state.slice('w_WB_B')]).max() < 1e-9


def test_hop_over_an_obstacle():
    """The ball clears a box of 0.05 m on its way, lands and rolls on; without the push it hits."""
    ex = hop()
    front, back, height = ex.obstacle

    def clearance(control):
        run = run_of(ex.system, ex.p, ex.x0, control, ex.duration)
        where, gaps = ex.system.state.slice('p_WB'), []
        for t in np.linspace(0, run.end, 2001):
            x, _, z = run.state_at(t)[where]
            near = np.array([np.clip(x, front, back), min(z, height)])
            gaps.append(np.hypot(*(near - [x, z])) - 0.3)
        return run, min(gaps)

    run, gap = clearance(ex.control)
    assert [e.name for e in run.events] == ['lift_off', 'landing']
    assert list(run.segments[-1].system.modes) == ['rolling']
    assert run.states[-1][ex.system.state.slice('p_WB')][0] > back + 0.3
    assert gap > 0.0
    assert clearance(None)[1] < 0


def test_detachment_of_the_paper_cannot_be_continued():
    """At N = 0 of the modified ball friction is not zero: the centre would fall into the plane."""
    rough = disk_and_ball.ball((0.1, 0.1, 0.1, 60.0), unilateral=True, mu=1e9)
    control = rough.control.simplest
    run = run_of(rough.system, rough.p, rough.x0, control, 20.0)
    hit = run.terminal_event
    assert hit.time < 3.7358 - 0.1
    assert hit.name in ('detached', 'friction')
    slipping = disk_and_ball.ball((0.1, 0.1, 0.1, 60.0), unilateral=True, mu=1.0)
    given = slipping.system.ending_at_slip, slipping.p, slipping.x0, control
    first = run_of(*given, 20.0).terminal_event
    assert first.name == 'friction'
    assert first.time < hit.time


def driven_disk(mu=0.3, mu_kinetic=0.2):
    disk = PointMassDisk([RailMass(1.0, Circle(0.25))], unilateral=True)
    p = disk.pack_parameters(
        mass=1.0, polar_inertia=0.04, radius=0.3, mu=mu, mu_kinetic=mu_kinetic
    )
    x0 = disk.state.pack(
        theta=[-np.pi / 2], theta_rate=[0], phi=0, phi_rate=0, p_WB=[0, 0.3], v_WB_W=[0, 0]
    )
    return (
        disk,
        p,
        x0,
        (np.array([0, 0.3, 0.3, 0.6, 0.6]), np.array([[30.0], [30.0], [-30.0], [-30.0], [0.0]])),
    )


def test_energy_less_work_never_rises_in_sliding():
    """Slip, slide, stick with two coefficients; the contact only takes energy."""
    disk, p, x0, u = driven_disk()
    run = run_of(disk, p, x0, u, 1.5)
    names = [e.name for e in run.events]
    assert 'slip' in names
    assert 'stick' in names
    nodes, weights = np.polynomial.legendre.leggauss(12)
    balance = []
    for phase in run.segments:
        (mode,) = phase.system.modes
        power = disk.actuator_power(mode)
        cuts = np.unique(
            [
                *np.linspace(phase.start, phase.end, 40),
                *(t for t in (0.3, 0.6) if phase.start < t < phase.end),
            ]
        )
        for a, b in pairwise(cuts):
            if b - a < 1e-12:
                continue
            at = (a + b) / 2 + nodes * (b - a) / 2
            work = (
                (b - a)
                / 2
                * sum(
                    w * float(power(at_time(phase, t), run.control(t, at_time(phase, t)), t, p))
                    for t, w in zip(at, weights, strict=True)
                )
            )
            ends = [float(disk.invariants['energy'](at_time(phase, t), [0], t, p)) for t in (a, b)]
            balance.append((mode, ends[1] - ends[0] - work))
    assert max(d for _, d in balance) < 1e-7
    assert sum(d for mode, d in balance if mode == 'slipping') < -1e-3
    assert abs(sum(d for mode, d in balance if mode == 'rolling')) < 1e-6


def test_slip_is_the_end_unless_asked_for():
    disk, p, x0, u = driven_disk()
    hit = run_of(disk.ending_at_slip, p, x0, u, 1.5).terminal_event
    assert hit.name == 'friction'


def test_painleve_stops_the_run():
    """A light shell with a heavy mass off centre and much friction: named, not passed over."""
    disk = PointMassDisk([RailMass(10.0, Circle(0.29))], unilateral=True)
    p = disk.pack_parameters(mass=0.1, polar_inertia=1e-4, radius=0.3, mu=3.0, mu_kinetic=3.0)
    x0 = disk.state.pack(
        theta=[0.3], theta_rate=[0], phi=0, phi_rate=0, p_WB=[0, 0.3], v_WB_W=[-1.0, 0]
    )
    found = set()
    for angle in np.linspace(-np.pi, np.pi, 13):
        for speed in (-1.0, 1.0):
            x = x0.copy()
            x[disk.state.slice('theta')] = angle
            x[disk.state.slice('v_WB_W')] = [speed, 0]
            run = run_of(disk, p, x, None, 0.3, mode='slipping')
            if run.terminal_event:
                found.add(run.terminal_event.name)
    assert 'painleve' in found


def test_slip_begins_where_coulomb_friction_determines_it():
    """At the cone's border with equal coefficients, against a direction with a paradox in it."""
    disk = PointMassDisk([RailMass(10.0, Circle(0.29))], unilateral=True)
    p = disk.pack_parameters(mass=0.1, polar_inertia=1e-4, radius=0.3, mu=3.0, mu_kinetic=3.0)
    x0 = disk.state.pack(
        theta=[0], theta_rate=[0], phi=0, phi_rate=0, p_WB=[0, 0.3], v_WB_W=[1.065, 0]
    )
    run = run_of(disk, p, x0, None, 0.2, mode='slipping')
    # whether a first slip grazes the border or lifts off there depends on the last bit
    assert [e.name for e in run.events][-2:] == ['stick', 'slip']
    v = np.array(disk.contact_motion(run.states[-1], p)[1]).ravel()
    assert v[0] > 0  # against friction, which held it to the left


def test_impact_that_does_not_end_is_told():
    """A response that no passive body has: slip grows, and with it the speed downwards."""
    W = np.array([[1.0, 5.0], [5.0, 1.0]])
    with pytest.raises(JammingError, match='the landing jams'):
        rebound_impulse(W, np.array([0.5, -1.0]), 2.0, 2.0, 0.0)


def test_landing_that_jams_stops_the_run_with_its_name(monkeypatch):
    def jam(*_):
        raise JammingError('the landing jams')

    monkeypatch.setattr('rolling_dynamics.mechanism.transitions.impact', jam)
    ball, p = sphere()
    x0 = state(ball, v=(0.5, 0, 0), z=0.3 + 9.81 * 0.2**2 / 2)
    run = run_of(ball, p, x0, None, 1.0, mode='separated')
    assert run.terminal_event.name == 'jammed'
    assert run.end == pytest.approx(0.2, abs=1e-9)
    assert run.states[-1][ball.state.slice('v_WB_W')][2] == pytest.approx(-9.81 * 0.2)


def test_a_body_that_only_rolls_has_no_flight():
    ball = PointMassBall()
    p = ball.pack_parameters(mass=1, inertia=0.1, radius=0.3)
    with pytest.raises(ParameterError, match='mode must be one of'):
        simulate(ball, p, np.zeros(9), None, 1.0, mode='separated')

"""Contact coordinates count their turns along the integration, whenever they are looked at."""

from contact_samples import ball_state, level_ball
import numpy as np
import pytest
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.conversions import to_coordinates
from rolling_dynamics.contact.followed_coordinates import ContactCoordinates
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Ellipsoid, ExpressionSurface, Sphere
from transforms3d.quaternions import axangle2quat, qmult

SEMI = (0.1, 0.12, 0.09)
SHAKE = (np.linspace(0, 2, 5), np.random.default_rng(3).normal(size=(5, 6)))
BODY = ExpressionSurface(
    ['a*sin(u)*cos(v)', 'b*sin(u)*sin(v)', 'c*cos(u)'],
    parameters=dict(zip('abc', SEMI, strict=True)),
    support='sqrt((a*nx)^2 + (b*ny)^2 + (c*nz)^2)',
    u_bounds=(0, np.pi),
    periods=(None, 2 * np.pi),
)


def dish(obj):
    """Return an object in a shaken dish, near the pole of the dish's first chart."""
    system = ContactSystem(obj, Ellipsoid(0.8, 1.1, 0.9, side='inside'))
    p = system.pack_parameters(mass=0.4, inertia=[1e-3, 1.2e-3, 0.9e-3], mu=5.0)
    w = {'w_HO_H': [2.0, 1.0, 0.5], 'w_WH_H': [0.3, -0.2, 0.4]}
    return system, p, ball_state(system, contact_h=[2.6, 0.3], **w)


def followed(system, p, x, times, control=SHAKE, **settings):
    return simulate(
        system,
        p,
        x,
        control,
        times[-1],
        t_eval=times,
        events=('relative_curvature',),
        dense=False,
        follower=ContactCoordinates(system, p),
        **settings,
    )


@pytest.mark.parametrize(
    'kind', ['attitude', 'coordinates', pytest.param('searched', marks=pytest.mark.slow)]
)
def test_turns_are_those_of_the_integrated_coordinates(kind):
    """The oracle integrates psi and v_o as states on the first charts, which it never leaves."""
    system, p, x = dish(BODY if kind == 'searched' else Ellipsoid(*SEMI))
    oracle = system.with_representation('coordinates')
    y = to_coordinates(system, p, x)
    exact = simulate(oracle, p, y, SHAKE, 2.0, events=('relative_curvature',), switch_charts=False)
    assert exact.segments[-1].end == 2.0
    if kind == 'coordinates':
        system, x = (
            system.with_representation(kind, object_chart=1),
            to_coordinates(system, p, x, object_chart=1),
        )
    whole = oracle.state.slice('contact_o').start
    for count in (7,) if kind == 'searched' else (2, 7, 300):
        times = np.linspace(0, 2, count)
        found = followed(system, p, x, times)
        assert {e.name for e in found.events} & {'hand_chart'}
        wanted = exact.state_at(times)[:, whole : whole + 5]
        assert np.abs(found.followed - wanted).max() < 1e-8
    assert np.ptp(wanted[:, 4]) > 2 * np.pi
    assert np.ptp(wanted[:, 1]) > 6 * np.pi


@pytest.mark.parametrize('representation', ['attitude', 'coordinates'])
def test_whole_turns_within_one_step_are_counted(representation):
    """A ball that spins in place: psi grows by its rate, in steps of many turns."""
    ball, p = level_ball()
    x = ball_state(ball, w_HO_H=[0, 0, 50.0], q_HO=[np.cos(0.7), np.sin(0.7), 0, 0])
    system = ball.with_representation(representation, object_chart=1)
    if representation == 'coordinates':
        x = to_coordinates(ball, p, x, object_chart=1)
    trajectory = followed(system, p, x, np.array([0.0, 10.0]), None, rtol=1e-6)
    turned = np.diff(trajectory.followed, axis=0)[0]
    assert np.abs(turned[:4]).max() < 1e-6
    assert abs(turned[4]) == pytest.approx(500.0, abs=1e-3)
    if representation == 'coordinates':
        assert 500.0 / trajectory.steps > 2 * np.pi


def test_the_way_through_a_pole_itself_does_not_depend_on_the_output_times():
    ball, p = level_ball()
    x = ball_state(ball, w_HO_H=[0, 2.0, 0], q_HO=[np.cos(0.4), 0, np.sin(0.4), 0])
    ends = []
    for count in (2, 10, 1001):
        trajectory = followed(ball, p, x, np.linspace(0, 20.0, count), None)
        ends.append(trajectory.followed[-1])
        seen = trajectory.followed[~np.isnan(trajectory.followed).any(axis=1)]
        assert len(seen) > 0.9 * count
    assert np.abs(np.array(ends) - ends[0]).max() < 1e-9
    poles = np.floor((0.8 + 20.0 * 2.0) / np.pi)  # half a turn forward at each
    turned = (ends[0] - trajectory.followed[0]) / np.pi
    assert turned[[1, 4]] == pytest.approx(poles, abs=1e-6)


@pytest.mark.parametrize('side', [-1e-4, 1e-4])
@pytest.mark.parametrize('spin', [-0.8, 0.8])
def test_a_pole_that_is_passed_closely_within_one_step(side, spin):
    """Long steps and short ones count the same: half a turn by the pole and the spin besides."""
    ball, p = level_ball()
    q_HO = qmult(axangle2quat([1, 0, 0], side), axangle2quat([0, 1, 0], -0.3))
    x = ball_state(ball, w_HO_H=[0, 2.0, 0], q_HO=q_HO)
    x = np.array(simulate(ball, p, x, None, 0.14).states[-1])  # 0.02 rad before it
    x[ball.state.slice('w_HO_H')] = [0, 2.0, spin]
    ends = [
        followed(ball, p, x, np.array([0.0, 0.3]), None, **settings).followed
        for settings in ({'rtol': 1e-2, 'atol': 1e-2}, {'max_step': 1e-4})
    ]
    assert np.abs(np.diff(ends, axis=0)).max() < 1e-2
    assert abs(np.diff(ends[0][:, 1])[0]) > 2.8


def test_coordinates_at_a_pole_do_not_exist():
    ball, p = level_ball()
    trajectory = followed(
        ball, p, ball_state(ball, w_HO_H=[0, 1.0, 0]), np.linspace(0, 1, 3), None
    )
    gone = np.isnan(trajectory.followed)
    assert gone[0].tolist() == [True, True, False, False, True]
    assert not gone[1:].any()


def test_a_run_that_stops_at_its_start_has_coordinates():
    system = ContactSystem(Sphere(0.1), Ellipsoid(0.8, 1.1, 0.9))
    p = system.pack_parameters(mass=0.4, inertia=1e-3, mu=0.0)
    x = ball_state(system, contact_h=[1.2, 0.3], q_HO=[np.cos(0.4), 0, np.sin(0.4), 0])
    times = np.linspace(0, 1, 5)
    follower = ContactCoordinates(system, p)
    trajectory = simulate(system, p, x, None, 1.0, t_eval=times, follower=follower)
    assert trajectory.times.tolist() == [0.0]
    assert trajectory.followed.shape == (1, 5)
    assert np.all(np.isfinite(trajectory.followed))

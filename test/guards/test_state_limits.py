"""Limits of a planned motion: those asked for and those of the system narrow each other."""

import math

from cart import Cart, P
import numpy as np
import pytest
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.errors import ParameterError, SurfaceError
from rolling_dynamics.surfaces import Plane, Sphere
from rolling_planner.problem.constraints import check_within, state_limits


class Bounded(Cart):
    """A cart whose line has ends."""

    def state_bounds(self, p):
        return {'s': (-p[0], p[0]), 'v': (-3.0, 3.0)}


@pytest.mark.parametrize(
    ('given', 'wanted'),
    [
        ({}, (-1.0, 1.0)),
        ({'s': (-0.5, 0.25)}, (-0.5, 0.25)),
        ({'s': (-2.0, 0.25)}, (-1.0, 0.25)),
        ({'s': (-0.5, 2.0)}, (-0.5, 1.0)),
        ({'s': (-math.inf, math.inf)}, (-1.0, 1.0)),
    ],
)
def test_limits_narrow_and_never_widen(given, wanted):
    limits = state_limits(Bounded(), P, given)
    assert limits == {'s': wanted, 'v': (-3.0, 3.0)}


def test_a_system_without_bounds_has_those_asked_for():
    assert state_limits(Cart(), P, {'v': (-1, 2)}) == {'v': (-1.0, 2.0)}
    assert state_limits(Cart(), P, {}) == {}


@pytest.mark.parametrize('value', [-1.0, 0.3, 1.0])
def test_a_state_within_its_limits_is_taken(value):
    check_within(Cart(), 'goal', np.array([value, 7.0]), {'s': (-1.0, 1.0)})


@pytest.mark.parametrize('value', [-1.001, 1.001, math.nan])
def test_a_state_beyond_its_limits_is_refused(value):
    with pytest.raises(ParameterError) as refused:
        check_within(Cart(), 'goal', np.array([7.0, value]), {'s': (0, 9), 'v': (-1.0, 1.0)})
    assert str(refused.value) == f'goal.v must lie between -1 and 1; got {value:.6g}'


@pytest.fixture(scope='module')
def on_a_ball():
    """Return a ball on the outside of another, whose chart has poles."""
    return ContactSystem(Sphere(0.1), Sphere(0.5))


def test_a_plan_keeps_away_from_the_poles(on_a_ball):
    p = on_a_ball.pack_parameters(mass=1.0, inertia=1e-3)
    limits = state_limits(on_a_ball, p, {'u_h': (-9.0, 2.0), 'v_h': (-7.0, 7.0)})
    assert limits == {'u_h': (0.02, 2.0), 'v_h': (-7.0, 7.0)}
    assert state_limits(on_a_ball, p, {}) == {'u_h': (0.02, pytest.approx(math.pi - 0.02))}


@pytest.mark.parametrize(('u', 'v'), [(0.11, 0.0), (0.0, -0.21)])
def test_the_edge_of_the_hand_is_named(u, v):
    hand = Plane(u_bounds=(-0.1, 0.1), v_bounds=(-0.2, 0.2))
    system = ContactSystem(Sphere(0.1), hand)
    p = system.pack_parameters(mass=1.0, inertia=1e-3)
    x = np.zeros(system.state.size)
    x[system.state.slice('contact_h')] = u, v
    with pytest.raises(ParameterError, match='the edge of the hand or of its chart; got'):
        check_within(system, 'x_start', x, state_limits(system, p, {}))


@pytest.mark.parametrize('u', [0.0, math.pi])
def test_a_state_on_a_pole_of_the_hand_is_refused(on_a_ball, u):
    x = np.zeros(on_a_ball.state.size)
    x[on_a_ball.state.slice('contact_h')] = u, 0.0
    with pytest.raises(SurfaceError, match='is degenerate'):
        check_within(on_a_ball, 'goal', x, {})


# -- what misses a goal, on charts ---------------------------------------------------------------

R, HAND = 0.1, 0.5


@pytest.fixture(scope='module')
def charted():
    """Return a ball on another, both by coordinates on their charts."""
    return ContactSystem(Sphere(R), Sphere(HAND), representation='coordinates')


def contact_at(system, **given):
    x = np.zeros(system.state.size)
    for name, value in ({'contact_o': (1.0, 0.0), 'contact_h': (1.2, 0.0)} | given).items():
        x[system.state.slice(name)] = value
    return x


@pytest.mark.parametrize('entry', ['contact_o', 'contact_h'])
def test_steps_on_a_chart_become_lengths_along_its_surface(charted, entry):
    """The metric is that of the goal: a meridian is R du long, a parallel R sin(u) dv."""
    p = charted.pack_parameters(mass=1.0, inertia=1e-3)
    radius = {'contact_o': R, 'contact_h': HAND}[entry]
    u = 0.7
    x, goal = contact_at(charted), contact_at(charted, **{entry: (u, 0.3)})
    misses = {entry: np.array([0.01, 0.02]), 'psi': np.array([0.5])}
    found = charted.in_lengths(p, x, goal, misses, {'contact_o', 'contact_h'})
    assert found[entry] == pytest.approx(radius * np.array([0.01, 0.02 * math.sin(u)]))
    assert found['psi'].tolist() == [0.5]
    assert misses[entry].tolist() == [0.01, 0.02]
    assert set(found) == {entry, 'psi'}


def test_a_whole_pose_misses_by_one_rotation_of_the_object(charted):
    p = charted.pack_parameters(mass=1.0, inertia=1e-3)
    x, goal = contact_at(charted, psi=0.4), contact_at(charted, psi=0.1)
    misses = {
        'contact_o': np.zeros(2),
        'psi': np.array([0.3]),
        'contact_h': np.array([0.01, 0.02]),
    }
    found = charted.in_lengths(p, x, goal, misses, set(misses))
    assert set(found) == {'contact_o', 'contact_h'}
    assert np.linalg.norm(found['contact_o']) == pytest.approx(0.3)  # about the normal
    normal_O = [math.sin(1.0), 0.0, math.cos(1.0)]
    assert np.abs(found['contact_o'] @ normal_O) == pytest.approx(0.3)
    assert found['contact_h'] == pytest.approx(HAND * np.array([0.01, 0.02 * math.sin(1.2)]))


def test_edges_of_a_hand_are_no_borders_of_its_chart(charted):
    """A plan may go up to an edge, and keeps away from the poles of either chart."""
    flat = ContactSystem(Sphere(R), Plane(u_bounds=(-0.1, 0.1)), representation='coordinates')
    p = flat.pack_parameters(mass=1.0, inertia=1e-3)
    pole = (0.02, pytest.approx(math.pi - 0.02))
    assert state_limits(flat, p, {}) == {'u_h': (-0.1, 0.1), 'u_o': pole}
    p = charted.pack_parameters(mass=1.0, inertia=1e-3)
    assert state_limits(charted, p, {}) == {'u_h': pole, 'u_o': pole}

"""An inelastic impact by hand: which friction a slip has, where it stops, and where it jams."""

import numpy as np
import pytest
from rolling_dynamics.errors import JammingError
from rolling_dynamics.mechanism import rebound
from rolling_dynamics.mechanism.rebound import (
    get_ready,
    rebound_impulse,
    slip_onset,
    STUCK,
)

FREE = np.eye(2)  # tangential and normal impulses move the contact each by itself
COUPLED = np.array([[1.0, 0.8], [0.8, 1.0]])


def test_a_slip_that_goes_on_has_kinetic_friction():
    """Over a normal impulse of 1 it loses mu_kinetic of its speed."""
    impulse, v = rebound_impulse(FREE, np.array([1.0, -1.0]), 0.9, 0.1, 0.0)
    assert impulse == pytest.approx([-0.1, 1.0], abs=1e-9)
    assert v == pytest.approx([0.9, 0.0], abs=1e-9)


def test_a_slip_turns_to_friction_in_space():
    impulse, _ = rebound_impulse(np.eye(3), np.array([3.0, 4.0, -1.0]), 0.9, 0.5, 0.0)
    assert impulse == pytest.approx([-0.3, -0.4, 1.0], abs=1e-9)


def test_a_slip_that_stops_sticks_for_the_rest():
    """At half of the normal impulse it has stopped; static friction holds it from there on."""
    start = np.array([0.1, -1.0])
    impulse, v = rebound_impulse(COUPLED, start, 1.0, 1.0, 0.0)
    # slip: d(v_t) / dP = 0.8 - 1, so that it stops at P = 0.5, where v_n = -1 + 0.2 * 0.5
    slipped = np.array([-0.5, 0.5])
    held = -np.linalg.solve(COUPLED, [0.0, -0.9])
    assert impulse == pytest.approx(slipped + held, abs=1e-8)
    assert v == pytest.approx([0.0, 0.0], abs=1e-8)


def test_a_contact_at_rest_slips_with_kinetic_friction_where_static_friction_does_not_reach():
    """Sticking takes 0.8 of the normal impulse."""
    start = np.array([0.0, -1.0])
    impulse, v = rebound_impulse(COUPLED, start, 0.81, 0.2, 0.0)
    assert impulse == pytest.approx(-np.linalg.solve(COUPLED, start), abs=1e-9)
    assert v == pytest.approx([0.0, 0.0], abs=1e-9)
    normal = 1 / (1 - 0.2 * 0.8)
    impulse, v = rebound_impulse(COUPLED, start, 0.79, 0.2, 0.0)
    assert impulse == pytest.approx([-0.2 * normal, normal], abs=1e-7)
    assert v == pytest.approx([(0.8 - 0.2) * normal, 0.0], abs=1e-7)


def test_the_direction_in_which_a_contact_at_rest_slips_has_kinetic_friction(monkeypatch):
    asked = []

    def onset(W, v, mu, scale):
        asked.append(mu)
        return slip_onset(W, v, mu, scale)

    monkeypatch.setattr(rebound, 'slip_onset', onset)
    rebound_impulse(COUPLED, np.array([0.0, -1.0]), 0.79, 0.2, 0.0)
    assert asked == [0.2]


def test_a_slip_without_end_jams():
    """Friction lets the normal velocity fall on, faster than slip can stop."""
    W = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(JammingError, match='the normal velocity does not come to zero'):
        rebound_impulse(W, np.array([1.0, -1.0]), 0.7, 0.7, 0.0)


def test_a_slip_that_stops_again_and_again_jams():
    """What does not stick cannot slip either where kinetic friction is above static friction."""
    with pytest.raises(JammingError, match='the normal velocity does not come to zero'):
        rebound_impulse(COUPLED, np.array([0.0, -1.0]), 0.1, 2.0, 0.0)


@pytest.mark.parametrize('seed', range(4))
def test_a_stuck_contact_begins_to_slip_where_its_friction_points_back(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 3))
    W, v, mu, scale = A @ A.T + 0.3 * np.eye(3), np.array([0.0, 0.0, -2.0]), 0.05, 3.0
    slip = slip_onset(W, v, mu, scale)
    assert slip[2] == -2.0
    assert np.linalg.norm(slip[:2]) == pytest.approx(2 * STUCK * scale, rel=1e-12)
    d = slip[:2] / np.linalg.norm(slip[:2])
    change = W[:2] @ np.append(-mu * d, 1.0)
    assert change / np.linalg.norm(change) == pytest.approx(d, abs=1e-9)


def test_what_an_impact_needs_is_loaded_before_there_is_one(monkeypatch):
    loaded = []
    monkeypatch.setattr(rebound.importlib, 'import_module', loaded.append)
    get_ready()
    assert loaded == ['scipy.integrate']


def test_a_contact_that_sticks_gives_back_the_fraction_of_its_work():
    """Its normal speed after is that before times the root of the fraction."""
    impulse, v = rebound_impulse(COUPLED, np.array([0.0, -1.0]), 1.0, 1.0, 0.25)
    assert v == pytest.approx([0.0, 0.5], abs=1e-9)
    assert impulse == pytest.approx(np.linalg.solve(COUPLED, [0.0, 1.5]), abs=1e-9)


def test_a_contact_that_nothing_moves_along_its_normal_alone_slips():
    """Its two velocities are one; that a stuck contact would give back only one of them."""
    impulse, v = rebound_impulse(np.ones((2, 2)), np.array([0.0, -1.0]), 1.5, 0.5, 0.0)
    assert impulse == pytest.approx([-1.0, 2.0], abs=1e-6)
    assert v == pytest.approx([1.0, 0.0], abs=1e-6)


SPATIAL = np.array([[2.0, 0.4, 0.3], [0.4, 1.5, 0.2], [0.3, 0.2, 1.0]])


@pytest.mark.parametrize('scale', [1e-7, 1e-3, 1e3])
@pytest.mark.parametrize(
    ('W', 'v', 'mu', 'mu_kinetic'),
    [(SPATIAL, [0.5, -0.7, -1.0], 0.3, 0.2), (COUPLED, [0.1, -1.0], 1.0, 1.0)],
    ids=['it slips', 'slip stops'],
)
def test_an_impact_scales_with_the_speed(W, v, mu, mu_kinetic, scale):
    v = np.array(v)
    for share in (0.0, 0.6):
        P, after = rebound_impulse(W, v, mu, mu_kinetic, share)
        more, later = rebound_impulse(W, scale * v, mu, mu_kinetic, share)
        assert more == pytest.approx(scale * P, rel=1e-9, abs=0.0)
        assert later == pytest.approx(scale * after, rel=1e-8, abs=1e-10 * scale)
        assert P[-1] > 0
        assert np.linalg.norm(P[:-1]) <= mu * P[-1] * (1 + 1e-9)

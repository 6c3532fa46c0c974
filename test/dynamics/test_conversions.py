"""Representations and poses turn into each other without loss."""

from dataclasses import replace

from contact_samples import (
    ball_state,
    GRAVITY,
    level_ball,
    MASS,
    PAIRS,
    parameters_of,
    poses_and_twists,
    random_state,
    system_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from rolling_dynamics.contact.closest_points import closest_points
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.conversions import convert_state, to_coordinates
from rolling_dynamics.contact.representation import second_order_kinematics
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere, Torus
from transforms3d.euler import euler2mat

NAMES = sorted(PAIRS)
seeds = st.integers(0, 2**32 - 1)
steady = settings(max_examples=15, deadline=None, derandomize=True)


def difference(system, x, y):
    """Return the greatest difference of two states; chart periods and quaternion signs are one."""
    d = np.array(system.difference(x, y)).ravel()
    entries = {'contact_h': (system.hand_surface, system.hand_chart)}
    if 'contact_o' in system.state:
        entries['contact_o'] = (system.object_surface, system.object_chart)
    for name, (surface, chart) in entries.items():
        part = d[system.tangent.slice(name)]
        for k, period in enumerate(surface.charts[chart].periods):
            if period:
                part[k] -= period * round(part[k] / period)
    return np.abs(d).max()


@steady
@given(
    name=st.sampled_from(NAMES),
    seed=seeds,
    hand_chart=st.integers(0, 2),
    object_chart=st.integers(0, 2),
)
def test_round_trip_between_representations(name, seed, object_chart, hand_chart):
    system = system_of(name)
    p = parameters_of(system)
    hand_chart %= len(system.hand_surface.charts)
    x = random_state(system, p, np.random.default_rng(seed))
    y = to_coordinates(system, p, x, object_chart=object_chart, hand_chart=hand_chart)
    there = system.with_representation(
        'coordinates', object_chart=object_chart, hand_chart=hand_chart
    )
    back = convert_state(there, there.with_representation('attitude', hand_chart=0), p, y)
    assert difference(system, back, x) < 1e-12
    again = to_coordinates(system, p, back, object_chart=object_chart, hand_chart=hand_chart)
    assert difference(there, again, y) < 1e-12


@steady
@given(
    name=st.sampled_from(NAMES),
    seed=seeds,
    representation=st.sampled_from(['attitude', 'coordinates']),
)
def test_round_trip_through_poses(name, seed, representation):
    attitude = system_of(name)
    p = parameters_of(attitude)
    x = random_state(attitude, p, np.random.default_rng(seed))
    system = attitude.with_representation(representation)
    if representation == 'coordinates':
        x = to_coordinates(attitude, p, x)
    X_WH, twist_WH, X_WO, (w_O, v_O) = poses_and_twists(system, p, x)
    values = system.state.unpack(x)
    for near in (None, values['contact_h'] + 0.05):
        touch = touch_of(system, p, X_WH, X_WO, near)
        assert abs(touch.gap) < 1e-13
        assert touch.curvature_margin > 0
        apart = np.mod(touch.contact_h - values['contact_h'] + np.pi, 2 * np.pi) - np.pi
        periods = system.hand_surface.charts[system.hand_chart].periods
        off = [
            a if period else d
            for a, d, period in zip(
                apart, touch.contact_h - values['contact_h'], periods, strict=True
            )
        ]
        assert np.abs(off).max() < 1e-11
    R_HO, w_H = X_WH[:3, :3].T @ X_WO[:3, :3], twist_WH[0]
    p_HO = X_WH[:3, :3].T @ (X_WO[:3, 3] - X_WH[:3, 3])
    w_rel = R_HO @ w_O - w_H
    frame = touch.frame_H if representation == 'coordinates' else np.eye(3)
    name = 'w_HO_Ch' if representation == 'coordinates' else 'w_HO_H'
    assert np.abs(frame.T @ w_rel - values[name]).max() < 1e-11
    of_object = R_HO @ v_O + np.cross(R_HO @ w_O, touch.p_HC_o - p_HO)
    slip = of_object - twist_WH[1] - np.cross(w_H, touch.p_HC_h)
    assert np.abs(slip).max() < 1e-11


def touch_of(system, p, X_WH, X_WO, near=None):
    """Return where two bodies placed by their poses come closest."""
    params, R_WH = system.parameters.unpack(p), X_WH[:3, :3]
    return closest_points(
        system.object_surface,
        system.hand_surface,
        R_WH.T @ X_WO[:3, :3],
        R_WH.T @ (X_WO[:3, 3] - X_WH[:3, 3]),
        object_parameters=params['object_surface'],
        hand_parameters=params['hand_surface'],
        object_chart=system.object_chart,
        hand_chart=system.hand_chart,
        near=near,
    )


@pytest.mark.parametrize('name', NAMES)
def test_gap_of_a_body_that_does_not_touch(name):
    system, rng = system_of(name), np.random.default_rng(11)
    p = parameters_of(system)
    x = random_state(system, p, rng)
    X_WH, _, X_WO, _ = poses_and_twists(system, p, x)
    normal = np.array(system.pose(x, p)[2])[:3, 2]
    for gap in (0.01, -0.005):
        X = X_WO.copy()
        X[:3, 3] += gap * normal
        assert touch_of(system, p, X_WH, X).gap == pytest.approx(gap, abs=1e-12)


def test_the_search_without_a_support_function():
    bare = replace(Ellipsoid(0.2, 0.3, 0.15), support=None, _cache={})
    hand = Ellipsoid(1.0, 1.3, 0.9, side='inside')
    system = ContactSystem(bare, hand, representation='coordinates')
    known = ContactSystem(Ellipsoid(0.2, 0.3, 0.15), hand)
    p = known.pack_parameters(mass=MASS, inertia=1e-3, gravity_W=GRAVITY)
    x = random_state(known, p, np.random.default_rng(12))
    X_WH, _, X_WO, _ = poses_and_twists(known, p, x)
    wanted = known.state.unpack(x)['contact_h']
    assert np.abs(touch_of(system, p, X_WH, X_WO).contact_h - wanted).max() < 1e-10


def test_a_torus_as_object():
    """It stands on its rim; no support function, and the inner side is not in question."""
    wheel, plate = Torus(0.3, 0.1), Plane()
    touch = closest_points(wheel, plate, euler2mat(np.pi / 2, 0.3, 0.2), [0.5, -0.2, 0.45])
    assert touch.gap == pytest.approx(0.05, abs=1e-2)
    assert touch.curvature_margin > 0


def test_a_ball_over_a_plate_is_found_exactly():
    touch = closest_points(Sphere(0.2), Plane(), np.eye(3), [0.3, -0.7, 0.25])
    assert touch.gap == pytest.approx(0.05, abs=1e-15)
    assert touch.contact_h.tolist() == pytest.approx([0.3, -0.7])
    assert touch.curvature_margin == pytest.approx(5.0)


def test_dimensions_come_from_the_parameters():
    """p may hold other dimensions than the surfaces were made with."""
    system, p = level_ball()
    p[system.parameters.slice('object_surface')] = 0.3
    X = np.eye(4)
    X[2, 3] = 0.35
    assert touch_of(system, p, np.eye(4), X).gap == pytest.approx(0.05)


def test_a_place_that_is_no_number_has_no_closest_points():
    one, other = Ellipsoid(0.2, 0.3, 0.15), Sphere(0.2)
    with pytest.raises(SurfaceError, match='no closest points of the object'):
        closest_points(one, other, np.eye(3), [np.nan] * 3)


def test_the_chart_view_by_hand():
    system, p = level_ball()
    x = ball_state(
        system,
        w_WH_H=[0, 0, 7],
        w_HO_H=[1, 0, -7],
        q_HO=[np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0],
    )
    layout, view = system.with_representation('coordinates').chart_view
    values = layout.unpack(np.array(view(to_coordinates(system, p, x), p)).ravel())
    assert layout.size == 22
    assert values['contact_o'][0] == pytest.approx(np.pi / 2)
    assert [*values['w_WH_H'], *values['v_WH_H']] == [0, 0, 7, 0, 0, 0]
    assert values['contact_h_dot'] == pytest.approx([0, -0.2])
    assert values['psi_dot'] == pytest.approx(7.0)  # +7, not the printed -7


@pytest.mark.parametrize('friction', ['rolling', 'pure_rolling'])
@pytest.mark.parametrize('name', NAMES)
def test_the_rate_of_q_dot_is_that_of_the_second_order_kinematics(name, friction):
    """q_ddot from Eq. (3) with the accelerations of the dynamics is the rate of K1 w_rel."""
    attitude = system_of(name, friction)
    p, rng = parameters_of(attitude), np.random.default_rng(13)
    x = to_coordinates(attitude, p, random_state(attitude, p, rng))
    system = attitude.with_representation('coordinates')
    u = rng.normal(size=6)
    kinematics = second_order_kinematics(system.object_surface, system.hand_surface)
    values = system.state.unpack(x)
    rates = system.state.unpack(np.array(system.mode.dynamics(x, u, 0, p)).ravel())
    q = np.concatenate([values['contact_o'], values['contact_h'], values['psi']])
    q_dot = np.concatenate([rates['contact_o'], rates['contact_h'], rates['psi']])
    dimensions = [s.parameter_values for s in (system.object_surface, system.hand_surface)]

    def first(q, w):
        return np.array(kinematics(q, w, [0, 0], *dimensions)[0]) @ w

    w, h = values['w_HO_Ch'], 1e-5
    slope = (
        first(q + h * q_dot, w + h * rates['w_HO_Ch'])
        - first(q - h * q_dot, w - h * rates['w_HO_Ch'])
    ) / (2 * h)
    _, _, K2, K3, a_roll, alpha_z = (np.array(a) for a in kinematics(q, w, [0, 0], *dimensions))
    # alpha_rel: what K1 needs beside K2 to give that rate
    alpha, *_ = np.linalg.lstsq(
        K3[:, :3], slope - K2.ravel() - K3[:, 3:] @ a_roll.ravel(), rcond=None
    )
    q_ddot = K2.ravel() + K3 @ np.concatenate([alpha, a_roll.ravel()])
    assert np.abs(q_ddot - slope).max() < 1e-6 * max(1, np.abs(slope).max())
    if friction == 'pure_rolling':
        assert alpha[2] == pytest.approx(alpha_z.item(), abs=1e-6 * max(1, np.abs(slope).max()))

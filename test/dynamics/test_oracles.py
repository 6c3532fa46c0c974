"""The independent derivations, proved against closed solutions and against each other."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
from oracles.implicit_surfaces import (
    ImplicitCylinder,
    ImplicitEllipsoid,
    ImplicitPlane,
    ImplicitSphere,
    ImplicitTorus,
)
from oracles.maximal_coordinates import (
    accelerations,
    ChartFreeState,
    constraint_residual,
    cross,
    energy,
    hat,
    integrate,
    MaximalModel,
    quaternion_from_rotation,
    state_from_chart_free,
    to_chart_free,
)
from oracles.spinning_plate import SpinningPlate
import pytest
from scipy.spatial.transform import Rotation

GRAVITY = np.array([0.3, -0.4, -9.7])
INERTIA = np.array([[3.1, 0.2, -0.1], [0.2, 2.4, 0.3], [-0.1, 0.3, 1.9]]) * 1e-3

# object, hand, two corners of a box from which a direction from the hand's origin is drawn; the
# contact of the hand is where the surface lies in that direction
PAIRS = {
    'sphere on plane': (ImplicitSphere(0.2), ImplicitPlane()),
    'ellipsoid on plane': (ImplicitEllipsoid((0.2, 0.3, 0.15)), ImplicitPlane()),
    'ellipsoid in dish': (
        ImplicitEllipsoid((0.2, 0.3, 0.15)),
        ImplicitEllipsoid((1.0, 1.3, 0.9), cavity=True),
    ),
    'sphere on ellipsoid': (ImplicitSphere(0.2), ImplicitEllipsoid((0.7, 0.5, 0.4))),
    'ellipsoid on torus': (ImplicitEllipsoid((0.1, 0.15, 0.08)), ImplicitTorus(0.8, 0.3)),
    'ellipsoid on cylinder': (ImplicitEllipsoid((0.1, 0.15, 0.08)), ImplicitCylinder(0.6)),
}
SURFACES = [
    ImplicitPlane(),
    ImplicitPlane((0.6, 0.0, 0.8), 0.3),
    ImplicitSphere(0.4),
    ImplicitSphere(0.4, cavity=True),
    ImplicitEllipsoid((0.7, 0.5, 0.4)),
    ImplicitEllipsoid((0.7, 0.5, 0.4), cavity=True),
    ImplicitCylinder(0.6),
    ImplicitCylinder(0.6, cavity=True),
    ImplicitTorus(0.8, 0.3),
]


def point_on(surface, rng):
    """Return a random point of a surface, by Newton's method along the gradient."""
    p = rng.normal(size=3)
    for _ in range(60):
        gradient = surface.gradient(p)
        p = p - surface.phi(p) * gradient / (gradient @ gradient)
    assert abs(surface.phi(p)) < 1e-14
    return p


def unit(rng):
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def random_model(pair, friction):
    body, hand = PAIRS[pair]
    return MaximalModel(
        object_surface=body, hand_surface=hand, mass=0.4, inertia=INERTIA,
        gravity_W=GRAVITY, friction=friction,
    )  # fmt: skip


def random_state(model, rng):
    """Return bodies in contact, rolling; without relative spin if the model forbids it."""
    p_HC_H = point_on(model.hand_surface, rng)
    w_HO_H = rng.normal(size=3)
    if model.friction == 'pure_rolling':
        n = model.hand_surface.normal(p_HC_H)
        w_HO_H -= w_HO_H @ n * n
    return state_from_chart_free(
        model,
        ChartFreeState(
            q_WH=quaternion_from_rotation(Rotation.from_rotvec(2.0 * unit(rng)).as_matrix()),
            p_WH=rng.normal(size=3),
            q_HO=quaternion_from_rotation(Rotation.from_rotvec(2.0 * unit(rng)).as_matrix()),
            p_HC_H=p_HC_H,
            w_WH_H=rng.normal(size=3),
            v_WH_H=rng.normal(size=3),
            w_HO_H=w_HO_H,
        ),
    )


def plate_case(rng, *, tilted, inertia_ratio=0.4, rate=7.0):
    """Return the closed solution of a random start and the same bodies in maximal coordinates."""
    R_WH = Rotation.from_rotvec(2.0 * unit(rng) if tilted else [0.0, 0.0, 0.3]).as_matrix()
    plate = SpinningPlate(
        rate=rate,
        radius=0.2,
        mass=0.1,
        gravity_W=np.array([0.0, 0.0, -9.81]),
        n_W=R_WH[:, 2],
        p_WC_start=R_WH[:, :2] @ rng.normal(size=2),
        v_WC_start=R_WH[:, :2] @ rng.normal(size=2),
        spin=rng.normal(),
        inertia_ratio=inertia_ratio,
    )
    model = MaximalModel(
        object_surface=ImplicitSphere(plate.radius),
        hand_surface=ImplicitPlane(),
        mass=plate.mass,
        inertia=inertia_ratio * plate.mass * plate.radius**2 * np.eye(3),
        gravity_W=plate.gravity_W,
    )
    w_WH_H = np.array([0.0, 0.0, rate])
    state = state_from_chart_free(
        model,
        ChartFreeState(
            q_WH=quaternion_from_rotation(R_WH),
            p_WH=np.zeros(3),
            q_HO=quaternion_from_rotation(Rotation.from_rotvec(unit(rng)).as_matrix()),
            p_HC_H=R_WH.T @ plate.p_WC_start,
            w_WH_H=w_WH_H,
            v_WH_H=np.zeros(3),
            w_HO_H=R_WH.T @ plate.angular_velocity(0.0) - w_WH_H,
        ),
    )
    return plate, model, state


def shaken_hand(t):
    """Return an acceleration in all six degrees of freedom."""
    return (
        np.array([np.sin(3 * t), -0.7 * np.cos(2 * t), 0.5 + 0.2 * np.sin(5 * t)]),
        np.array([1.0 - t, 0.8 * np.cos(4 * t), 2.0 * np.sin(t)]),
    )


def test_oracles_share_no_code_with_the_project():
    sources = sorted((Path(__file__).parent / 'oracles').glob('*.py'))
    assert len(sources) >= 5
    for source in sources:
        nodes = list(ast.walk(ast.parse(source.read_text())))
        imported = [n.module for n in nodes if isinstance(n, ast.ImportFrom)]
        imported += [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
        assert not [name for name in imported if name.startswith('rolling_')], source.name


# implicit surfaces ------------------------------------------------------------------------------


@pytest.mark.parametrize('surface', SURFACES, ids=repr)
def test_gradient_and_hessian_match_finite_differences(surface):
    p, h = point_on(surface, np.random.default_rng(1)), 1e-5
    steps = h * np.eye(3)
    gradient = [(surface.phi(p + d) - surface.phi(p - d)) / (2 * h) for d in steps]
    hessian = [(surface.gradient(p + d) - surface.gradient(p - d)) / (2 * h) for d in steps]
    np.testing.assert_allclose(surface.gradient(p), gradient, atol=1e-9)
    np.testing.assert_allclose(surface.hessian(p), hessian, atol=1e-9)


@pytest.mark.parametrize('surface', SURFACES[2:6], ids=repr)
def test_point_with_normal_lies_on_the_surface_and_has_that_normal(surface):
    normal = unit(np.random.default_rng(2))
    p = surface.point_with_normal(normal)
    assert abs(surface.phi(p)) < 1e-14
    np.testing.assert_allclose(surface.normal(p), normal, atol=1e-14)


def test_normal_points_out_of_the_material():
    for surface in SURFACES:
        p = point_on(surface, np.random.default_rng(3))
        assert (
            surface.phi(p + 1e-3 * surface.normal(p))
            > 0.0
            > surface.phi(p - 1e-3 * surface.normal(p))
        )


def test_a_plane_has_no_point_with_a_given_normal():
    with pytest.raises(NotImplementedError, match='ImplicitPlane'):
        ImplicitPlane().point_with_normal([0.0, 0.0, 1.0])


# closed solution of the spinning plate ----------------------------------------------------------


@pytest.mark.parametrize('rate', [7.0, -3.0, 0.0])
def test_spinning_plate_solves_its_own_differential_equation(rate):
    plate, _, _ = plate_case(np.random.default_rng(4), tilted=True, rate=rate)
    t, h = 0.7, 1e-4
    velocity = (plate.contact_point(t + h) - plate.contact_point(t - h)) / (2 * h)
    acceleration = (plate.contact_velocity(t + h) - plate.contact_velocity(t - h)) / (2 * h)
    w_rate = (plate.angular_velocity(t + h) - plate.angular_velocity(t - h)) / (2 * h)
    np.testing.assert_allclose(plate.contact_velocity(t), velocity, atol=1e-6)
    np.testing.assert_allclose(plate.centre_acceleration(t), acceleration, atol=1e-6)
    # Euler, and rolling
    inertia = plate.inertia_ratio * plate.mass * plate.radius**2
    torque = np.cross(-plate.radius * plate.n_W, plate.contact_force(t))
    np.testing.assert_allclose(inertia * w_rate, torque, atol=1e-7)
    slip = (
        plate.contact_velocity(t)
        - plate.radius * np.cross(plate.angular_velocity(t), plate.n_W)
        - rate * np.cross(plate.n_W, plate.contact_point(t))
    )
    np.testing.assert_allclose(slip, 0.0, atol=1e-12)
    assert plate.angular_velocity(t) @ plate.n_W == pytest.approx(plate.spin, rel=1e-12)
    assert plate.contact_force(t) @ plate.n_W == pytest.approx(plate.normal_force, rel=1e-12)


def test_spinning_plate_reproduces_the_printed_numbers_of_002():
    horizontal = SpinningPlate(
        rate=7.0, radius=0.2, mass=0.1, gravity_W=np.array([0.0, 0.0, -9.81]),
        n_W=np.array([0.0, 0.0, 1.0]), p_WC_start=np.zeros(3),
        v_WC_start=np.array([0.0, -0.2, 0.0]),
    )  # fmt: skip
    assert horizontal.orbit_rate == pytest.approx(2.0, rel=1e-15)  # (14)
    np.testing.assert_allclose(horizontal.orbit_centre_W, [0.1, 0.0, 0.0], atol=1e-16)  # (15)
    distance = np.linalg.norm(horizontal.contact_point(np.linspace(0, 4, 9)) - [0.1, 0, 0], axis=1)
    np.testing.assert_allclose(distance, 0.1, rtol=1e-14)  # (16)
    np.testing.assert_allclose(horizontal.contact_point(np.pi), 0.0, atol=1e-15)
    # Tilted about x by 0.01 rad: gravity along -y of the plate, drift along +x, (17).
    n_W = np.array([0.0, -np.sin(0.01), np.cos(0.01)])
    tilted = replace(horizontal, n_W=n_W)
    drift = 2.5 * 9.81 / 7.0 * np.sin(0.01)
    np.testing.assert_allclose(tilted.drift_W, [drift, 0.0, 0.0], atol=1e-15)
    assert drift == pytest.approx(0.035, abs=1e-4)


# maximal coordinates ----------------------------------------------------------------------------


@pytest.mark.parametrize('tilted', [False, True])
@pytest.mark.parametrize('seed', range(5))
def test_maximal_accelerations_match_the_spinning_plate(tilted, seed):
    plate, model, state = plate_case(
        np.random.default_rng(seed), tilted=tilted, inertia_ratio=0.4 + 0.1 * seed
    )
    solution = accelerations(model, state, np.zeros(3), np.zeros(3))
    close = {'rtol': 1e-12, 'atol': 1e-12}
    np.testing.assert_allclose(state.p_WO, plate.centre(0.0), **close)
    np.testing.assert_allclose(state.v_WO_W, plate.contact_velocity(0.0), **close)
    np.testing.assert_allclose(solution.v_WC_W, plate.contact_velocity(0.0), **close)
    np.testing.assert_allclose(solution.a_WO_W, plate.centre_acceleration(0.0), **close)
    np.testing.assert_allclose(solution.force_W, plate.contact_force(0.0), **close)
    np.testing.assert_allclose(solution.normal_force, plate.normal_force, **close)
    assert solution.tau_normal == 0.0
    if not tilted:
        assert solution.normal_force == pytest.approx(plate.mass * 9.81, rel=1e-12)


@pytest.mark.parametrize('tilted', [pytest.param(False, marks=pytest.mark.slow), True])
def test_maximal_trajectory_matches_the_spinning_plate(tilted):
    plate, model, state = plate_case(np.random.default_rng(11), tilted=tilted)
    times = np.linspace(0.0, 1.0, 5)
    states = integrate(model, state, times)
    for t, s in zip(times, states, strict=True):
        np.testing.assert_allclose(s.p_WC, plate.contact_point(t), atol=1e-9)
        np.testing.assert_allclose(s.p_WO, plate.centre(t), atol=1e-9)
        np.testing.assert_allclose(s.w_WO_W, plate.angular_velocity(t), atol=1e-8)
    np.testing.assert_allclose(constraint_residual(model, states[-1]), 0.0, atol=1e-9)


@pytest.mark.parametrize('friction', ['rolling', 'pure_rolling'])
@pytest.mark.parametrize('pair', PAIRS)
def test_motion_under_a_shaken_hand_keeps_contact_and_rolling(pair, friction):
    # Every equation of the constraints enters only through its derivative, so that a wrong term
    # lets the bodies come apart, slip or spin.
    model = random_model(pair, friction)
    start = random_state(model, np.random.default_rng(5))
    np.testing.assert_allclose(constraint_residual(model, start), 0.0, atol=1e-14)
    states = integrate(model, start, [0.0, 0.05, 0.1], shaken_hand)
    for state in states[1:]:
        assert np.linalg.norm(state.p_WO - start.p_WO) > 1e-3
        np.testing.assert_allclose(constraint_residual(model, state), 0.0, atol=2e-10)
    for R in (states[-1].R_WH, states[-1].R_WO):
        np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-10)


@pytest.mark.parametrize('friction', ['rolling', 'pure_rolling'])
@pytest.mark.parametrize('pair', PAIRS)
def test_energy_is_conserved_on_a_fixed_hand(pair, friction):
    model = random_model(pair, friction)
    state = random_state(model, np.random.default_rng(6))
    seen = replace(to_chart_free(state), w_WH_H=np.zeros(3), v_WH_H=np.zeros(3))
    start = state_from_chart_free(model, seen)
    end = integrate(model, start, [0.0, 0.1])[-1]
    exchanged = abs(model.mass * model.gravity_W @ (end.p_WO - start.p_WO))
    assert exchanged > 1e-3
    assert energy(model, end) == pytest.approx(energy(model, start), abs=1e-10)


@pytest.mark.parametrize('friction', ['rolling', 'pure_rolling'])
def test_momenta_change_by_the_wrench_that_is_reported(friction):
    # About the origin of W, from states of the motion and not from accelerations: a workless term
    # that is missing, such as the gyroscopic torque, escapes the balance of energy.
    model = random_model('ellipsoid in dish', friction)
    h, start = 1e-3, random_state(model, np.random.default_rng(12))
    states = integrate(model, start, [0.0, h, 2 * h, 3 * h, 4 * h], shaken_hand)
    middle = states[2]
    solution = accelerations(model, middle, *shaken_hand(2 * h))
    weight = model.mass * model.gravity_W

    def momenta(s):
        angular = s.R_WO @ model.inertia @ s.R_WO.T @ s.w_WO_W
        linear = model.mass * s.v_WO_W
        contact = np.concatenate([s.p_HC_H, s.p_OC_O])
        return np.concatenate([linear, angular + np.cross(s.p_WO, linear), contact])

    a, b, _, c, d = (momenta(s) for s in states)
    rate = (a - 8 * b + 8 * c - d) / (12 * h)
    torque = np.cross(middle.p_WC, solution.force_W) + solution.tau_normal * solution.n_W
    np.testing.assert_allclose(rate[:3], solution.force_W + weight, atol=1e-8)
    np.testing.assert_allclose(rate[3:6], torque + np.cross(middle.p_WO, weight), atol=1e-8)
    np.testing.assert_allclose(rate[6:9], solution.v_HC_H, atol=1e-8)
    np.testing.assert_allclose(rate[9:12], solution.v_OC_O, atol=1e-8)


@pytest.mark.parametrize('pair', PAIRS)
def test_contact_moves_alike_over_both_bodies(pair):
    model = random_model(pair, 'rolling')
    s = random_state(model, np.random.default_rng(13))
    solution = accelerations(model, s, np.zeros(3), np.zeros(3))
    over_hand, over_object = s.R_WH @ solution.v_HC_H, s.R_WO @ solution.v_OC_O
    np.testing.assert_allclose(over_hand, over_object, rtol=1e-11, atol=1e-13)
    assert abs(over_hand @ solution.n_W) < 1e-13


@pytest.mark.parametrize('pair', PAIRS)
def test_power_of_the_contact_is_that_of_the_hand(pair):
    # d(energy)/dt = f . (velocity of the hand's material point) + tau n . w_WH
    model = random_model(pair, 'pure_rolling')
    s = random_state(model, np.random.default_rng(7))
    solution = accelerations(model, s, *shaken_hand(0.0))
    w_WH = s.R_WH @ s.w_WH_H
    velocity = s.R_WH @ s.v_WH_H + np.cross(w_WH, s.p_WC - s.p_WH)
    expected = solution.force_W @ velocity + solution.tau_normal * solution.n_W @ w_WH
    w_O, R = s.R_WO.T @ s.w_WO_W, s.R_WO
    power = model.mass * s.v_WO_W @ (solution.a_WO_W - model.gravity_W)
    power += w_O @ model.inertia @ (R.T @ solution.alpha_WO_W)
    assert power == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize('friction', ['rolling', 'pure_rolling'])
def test_solution_does_not_depend_on_the_inertial_frame(friction):
    # Seen from a frame that moves uniformly and is turned, everything but the velocities is the
    # same vector.
    model = random_model('ellipsoid in dish', friction)
    rng = np.random.default_rng(8)
    s, control = random_state(model, rng), shaken_hand(0.3)
    Q, boost, shift = Rotation.from_rotvec(unit(rng)).as_matrix(), *rng.normal(size=(2, 3))
    moved = replace(
        s, R_WH=Q @ s.R_WH, R_WO=Q @ s.R_WO, p_WH=Q @ s.p_WH + shift, p_WO=Q @ s.p_WO + shift,
        p_WC=Q @ s.p_WC + shift, w_WO_W=Q @ s.w_WO_W, v_WO_W=Q @ s.v_WO_W + boost,
        v_WH_H=s.v_WH_H + s.R_WH.T @ Q.T @ boost,
    )  # fmt: skip
    one = accelerations(model, s, *control)
    two = accelerations(replace(model, gravity_W=Q @ model.gravity_W), moved, *control)
    for name in ('a_WO_W', 'alpha_WO_W', 'force_W', 'n_W'):
        np.testing.assert_allclose(getattr(two, name), Q @ getattr(one, name), rtol=1e-10)
    for name in ('v_HC_H', 'v_OC_O', 'tau_normal'):
        np.testing.assert_allclose(getattr(two, name), getattr(one, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(two.v_WC_W, Q @ one.v_WC_W + boost, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize('pair', PAIRS)
def test_chart_free_state_survives_the_round_trip(pair):
    model = random_model(pair, 'rolling')
    state = random_state(model, np.random.default_rng(9))
    again = state_from_chart_free(model, to_chart_free(state))
    for name, value in vars(state).items():
        np.testing.assert_allclose(getattr(again, name), value, atol=1e-13, err_msg=name)


def test_unknown_friction_is_rejected():
    with pytest.raises(ValueError, match='friction'):
        random_model('sphere on plane', 'sticky')


def test_cross_and_hat_agree_with_numpy():
    a, b = np.random.default_rng(10).normal(size=(2, 3))
    np.testing.assert_allclose(cross(a, b), np.cross(a, b), rtol=1e-15)
    np.testing.assert_allclose(hat(a) @ b, np.cross(a, b), rtol=1e-14)

"""Lie brackets, rank of the whole algebra, singular sets: computed and compared with the paper."""

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.controllability import (
    affine_fields,
    divergence,
    lie_algebra,
    lie_bracket,
    rank,
    singular_sets,
)
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.spin_rolling_sphere.system import SpinRollingSphere
from rolling_dynamics.surfaces import Plane, Sphere

R = 0.7
VARIANTS = ['corrected', 'as_published']
ANGLES = ['v_o', 'psi', 'theta', 'phi']


def fields_of(variant, **options):
    return affine_fields(
        SpinRollingSphere(
            variant=variant, inputs='virtual_surface', representation='coordinates', **options
        )
    )


def paper_brackets(fields):
    """Return g1, g2, g3, [f, g3], [f, [f, g3]] of Eq. (32); the paper's bracket is [g, f]."""
    g1, g2, g3 = (fields.fields[n] for n in ('gamma_s', 'beta_s', 'alpha_s'))
    first = lie_bracket(g3, fields.drift, fields.x)
    return g1, g2, g3, first, lie_bracket(first, fields.drift, fields.x)


def determinant(variant):
    fields = fields_of(variant)
    function = FastFunction(fields.function(ca.det(ca.horzcat(*paper_brackets(fields)))))
    return lambda v, psi, theta, phi, radius=R: float(
        function([0.3, -0.2, 0.5, v, psi], [radius, theta, phi])[0]
    )


def test_angles_are_held_and_the_virtual_surface_enters_linearly():
    fields = fields_of('corrected')
    assert list(fields.fields) == ['alpha_s', 'beta_s', 'gamma_s']
    assert fields.held_names == ('radius', 'theta', 'phi')
    timed = fields_of('corrected', independent_variable='time')
    assert timed.held_names == ('radius', 'theta', 'phi', 'delta')
    assert affine_fields(SpinRollingSphere()).drift is None


@pytest.mark.parametrize('variant', VARIANTS)
def test_every_bracket_agrees_with_finite_differences(variant):
    fields = fields_of(variant)
    algebra = lie_algebra(fields, depth=3)
    known = {'f': fields.drift, **fields.fields}
    known |= dict(zip(algebra.names, algebra.brackets, strict=True))
    value = {n: fields.function(g) for n, g in known.items()}
    held, rng, h, checked = [R, 0.4, 0.3], np.random.default_rng(0), 1e-5, 0
    for name in algebra.names:
        if not name.startswith('['):
            continue
        left, right = name[1:-1].split(', ', 1)
        for _ in range(3):
            x = fields.random_state(rng)

            def derivative(of, along, x=x):
                d = np.array(value[along](x, held)).ravel()
                ahead, behind = (np.array(value[of](x + s * h * d, held)) for s in (1, -1))
                return (ahead - behind).ravel() / (2 * h)

            expected = derivative(right, left) - derivative(left, right)
            scale = 1 + np.abs(expected).max()
            assert np.array(value[name](x, held)).ravel() == pytest.approx(
                expected, abs=2e-6 * scale
            )
            checked += 1
    assert checked > 10


def test_printed_brackets_32_are_reproduced():
    fields = fields_of('as_published')
    first = fields.function(paper_brackets(fields)[3])
    rng = np.random.default_rng(1)
    for _ in range(20):
        v, psi, theta, phi = rng.uniform(-1.2, 1.2, 4)
        x, held = [0, 0, 0.3, v, psi], [R, theta, phi]
        s, sp, cp, t = np.sin(theta + phi), np.sin(psi), np.cos(psi), np.tan(v)
        printed = np.array(
            [0, 0, -s * (cp + sp) / (R * np.cos(v)), -s * (cp - sp) / R, -t * s * (cp + sp) / R]
        )
        assert np.array(first(x, held)).ravel() == pytest.approx(printed, abs=1e-12)


def test_printed_double_bracket_of_32_is_that_with_g3_not_with_f():
    """The last vector of (32) is [[f, g3], g3]; (33) belongs to [f, [f, g3]] all the same."""
    fields = fields_of('as_published')
    g3, first, second = paper_brackets(fields)[2:]
    with_f = fields.function(second)
    with_g3 = fields.function(lie_bracket(g3, first, fields.x))
    v, psi, theta, phi = 0.4, 0.3, 0.5, 0.2
    s, sp, cp, t = np.sin(theta + phi), np.sin(psi), np.cos(psi), np.tan(v)
    printed = np.array(
        [0, 0, s * (cp - sp) / (R * np.cos(v)), -s * (cp + sp) / R, t * s * (cp - sp) / R]
    )
    at = [0, 0, 0.3, v, psi], [R, theta, phi]
    assert np.array(with_g3(*at)).ravel() == pytest.approx(printed, abs=1e-12)
    assert not np.allclose(np.array(with_f(*at)).ravel(), printed, rtol=1e-3)


def test_determinant_33_holds_for_the_published_model_up_to_its_radius():
    det, rng = determinant('as_published'), np.random.default_rng(2)
    ratios = []
    for _ in range(30):
        v, psi, theta, phi = rng.uniform(-1.2, 1.2, 4)
        a = theta + phi
        printed = (
            -2
            * np.sin(v)
            / np.cos(v) ** 2
            * np.cos(phi)
            * np.sin(a) ** 3
            * (np.sin(a) + np.cos(a))
        )
        ratios.append(det(v, psi, theta, phi) / printed)
    assert np.abs(ratios) == pytest.approx(1 / R, rel=1e-9)
    assert np.ptp(ratios) < 1e-8


def test_corrected_determinant_has_no_singularity_in_theta_plus_phi():
    det, rng = determinant('corrected'), np.random.default_rng(3)
    ratios = []
    for _ in range(30):
        v, psi, theta, phi = rng.uniform(-1.2, 1.2, 4)
        ratios.append(det(v, psi, theta, phi) / (np.sin(v) * np.cos(phi) / (R * np.cos(v) ** 2)))
    assert np.abs(ratios) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize('variant', VARIANTS)
def test_singular_sets_of_the_determinant_are_found(variant):
    det = determinant(variant)
    found = {
        (s.form, round(s.value / np.pi, 3), s.kind)
        for s in singular_sets(lambda a: det(*a), ANGLES)
    }
    expected = {
        ('v_o', 0.0, 'zero'),
        ('v_o', 1.0, 'zero'),
        ('v_o', 0.5, 'infinite'),
        ('v_o', -0.5, 'infinite'),
        ('phi', 0.5, 'zero'),
        ('phi', -0.5, 'zero'),
    }
    if variant == 'as_published':
        expected |= {('theta + phi', c, 'zero') for c in (0.0, 1.0, -0.25, 0.75)}
    assert found == expected


@pytest.mark.parametrize(('v', 'phi'), [(0.0, 0.3), (0.4, np.pi / 2), (0.0, np.pi / 2)])
def test_where_the_determinant_vanishes_the_whole_algebra_still_has_rank_five(v, phi):
    assert determinant('corrected')(v, 0.3, 0.5, phi) == pytest.approx(0, abs=1e-12)
    algebra = lie_algebra(fields_of('corrected'), depth=4)
    assert algebra.rank([0, 0, 0.2, v, 0.3], [R, 0.5, phi]) == 5


def test_rank_of_the_published_model_is_lost_where_theta_plus_phi_is_a_multiple_of_pi():
    algebra = lie_algebra(fields_of('as_published'), depth=4)
    assert algebra.rank([0, 0, 0.2, 0.4, 0.3], [R, 0.5, 0.3]) == 5
    assert algebra.rank([0, 0, 0.2, 0.4, 0.3], [R, -0.3, 0.3]) < 5
    corrected = lie_algebra(fields_of('corrected'), depth=4)
    assert corrected.rank([0, 0, 0.2, 0.4, 0.3], [R, -0.3, 0.3]) == 5


@pytest.mark.parametrize('variant', VARIANTS)
def test_without_beta_the_rank_stops_below_five_for_fixed_angles(variant):
    fields = fields_of(variant).without('beta_s')
    algebra = lie_algebra(fields, depth=6)
    assert max(algebra.generic_growth) == 4
    assert algebra.generic_growth[-1] == algebra.generic_growth[-2]  # grows no more


def test_without_beta_two_directions_of_the_path_give_rank_five():
    """Loss of rank without beta_s holds for fixed theta and phi only: steering restores it."""
    fields, x = fields_of('corrected').without('beta_s'), [0, 0, 0.2, 0.4, 0.3]
    algebra = lie_algebra(fields, depth=4)
    values = [algebra.values(x, [R, theta, 0.3]) for theta in (0.2, 0.9)]
    assert [rank(v) for v in values] == [4, 4]
    assert rank(np.hstack(values)) == 5


def test_montana_equations_close_after_five_brackets_without_drift():
    """Left invariant on the plane times the rotations: a five-dimensional Lie algebra."""
    algebra = lie_algebra(affine_fields(SpinRollingSphere(representation='coordinates')))
    assert algebra.closed
    assert len(algebra.names) == 5
    assert algebra.generic_growth == (3, 5)
    on_quaternions = lie_algebra(affine_fields(SpinRollingSphere()))
    assert on_quaternions.closed
    assert on_quaternions.generic_growth == (3, 5)


def test_pure_rolling_grows_two_three_five():
    fields = affine_fields(SpinRollingSphere()).without('w_SO_S_z')
    assert lie_algebra(fields).generic_growth == (2, 3, 5)


def test_drift_is_a_combination_of_the_inputs_so_that_feedback_removes_it():
    fields = fields_of('corrected')
    rest = (
        fields.drift
        + fields.fields['gamma_s'] / fields.held[0]
        + (
            ca.tan(fields.x[3])
            * ca.cos(fields.held[2])
            / fields.held[0]
            * fields.fields['alpha_s']
        )
    )
    function, rng = fields.function(rest), np.random.default_rng(4)
    for _ in range(10):
        assert np.array(function(fields.random_state(rng), [R, *rng.normal(size=2)])) == (
            pytest.approx(0, abs=1e-12)
        )


def test_divergence_of_the_drift_19_vanishes_in_the_volume_of_the_sphere():
    rng = np.random.default_rng(5)
    for variant in VARIANTS:
        fields = fields_of(variant)
        plain = fields.function(divergence(fields.drift, fields.x))
        natural = fields.function(divergence(fields.drift, fields.x, ca.cos(fields.x[3])))
        for _ in range(10):
            x, (theta, phi) = fields.random_state(rng), rng.normal(size=2)
            held, a = [R, theta, phi], theta + phi
            first, second = (
                (np.sin(a), np.sin(a)) if variant == 'as_published' else (np.sin(a), np.cos(a))
            )
            expected = np.tan(x[3]) / R * (first * np.cos(x[4]) + second * np.sin(x[4]))
            assert float(plain(x, held)) == pytest.approx(expected, abs=1e-12)
            assert float(natural(x, held)) == pytest.approx(0, abs=1e-12)


def test_dynamic_system_is_refused_by_name():
    with pytest.raises(ParameterError, match='contact: is a dynamic system'):
        affine_fields(ContactSystem(Sphere(0.1), Plane()))


def test_unknown_input_is_refused():
    with pytest.raises(ParameterError, match='beta_s'):
        fields_of('corrected').without('beta')


@pytest.mark.parametrize('variant', VARIANTS)
def test_proposition_2_asks_for_more_inputs_than_the_rank_needs(variant):
    """The paper needs gamma_s and beta_s in particular; without gamma_s the rank is five."""
    fields = fields_of(variant)
    ranks = {
        name: max(lie_algebra(fields.without(name), depth=5).generic_growth)
        for name in fields.fields
    }
    assert ranks == {'alpha_s': 5, 'beta_s': 4, 'gamma_s': 5}

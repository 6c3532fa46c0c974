"""Rails: derivatives, closure, stops, and a spline against the formula it was laid through."""

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.errors import ExpressionError, ParameterError
from rolling_dynamics.internal_masses.rails import (
    Circle,
    Ellipse,
    ExpressionRail,
    FigureEight,
    published_frame,
    Spline,
    Straight,
)

RAILS = [
    Circle(0.8),
    Circle(0.4, (0.1, 0, 0.2), published_frame([0.6, 0, 0.8])),
    Ellipse((0.3, 0.7), (0.1, 0, 0), stops=(-1.5, 1.5)),
    Straight((1, 2, 2), (-0.5, 0.5)),
    FigureEight(0.6, 0.2),
    ExpressionRail(['a*cos(theta)', '0', 'a*sin(theta)^3'], {'a': 0.5}, period=2 * np.pi),
    Spline(np.random.default_rng(1).normal(size=(9, 3)) * 0.3),
    Spline(np.random.default_rng(2).normal(size=(9, 3)) * 0.3, closed=True),
]


@pytest.mark.parametrize('rail', RAILS, ids=lambda r: r.kind)
def test_derivatives(rail):
    """First and second derivative against central differences."""
    low, high = rail.span()
    for theta in np.linspace(low, high, 7)[1:-1] + 0.013:
        z, d1, d2 = rail.derivatives(theta)
        h = 1e-4
        minus, plus = rail.points([theta - h, theta + h])
        assert z == pytest.approx(rail.points(theta)[0], abs=1e-14)
        assert d1 == pytest.approx((plus - minus) / (2 * h), abs=1e-6)
        assert d2 == pytest.approx((plus - 2 * z + minus) / h**2, abs=1e-5)


def circle_spline(n):
    theta = np.linspace(0, 2 * np.pi, n + 1)
    circle = Circle(0.8, (0.05, 0.02, 0.0), published_frame([0.6, 0, 0.8]))
    return circle, Spline(circle.points(theta[:-1]), closed=True, theta=theta)


def test_spline_is_the_circle():
    """Zeta and two derivatives of a spline through a circle; order 6, 5 and 4 in the spacing."""
    errors = []
    for n in (32, 64):
        circle, spline = circle_spline(n)
        places = np.linspace(-3, 9, 50)
        errors.append(
            [
                max(
                    np.abs(circle.derivatives(t)[k] - spline.derivatives(t)[k]).max()
                    for t in places
                )
                for k in range(3)
            ]
        )
    assert errors[1][0] < 1e-8
    assert errors[1][2] < 1e-5
    orders = np.log2(np.array(errors[0]) / np.array(errors[1]))
    assert np.all(orders > [5.5, 4.5, 3.5])


def test_closed_spline_is_smooth_where_it_closes():
    _, spline = circle_spline(16)
    before, after = (spline.derivatives(2 * np.pi + e) for e in (-1e-9, 1e-9))
    assert before == pytest.approx(after, abs=1e-7)


def test_published_frame():
    """Section 6: zeta = r (n cos theta - b1 sin theta), a rotation, for any n."""
    rng = np.random.default_rng(3)
    for n in [*rng.normal(size=(20, 3)), [0, 0, 1.0], [0, 0, -1.0]]:
        R = published_frame(n)
        assert np.abs(R.T @ R - np.eye(3)).max() < 1e-12
        assert np.linalg.det(R) == pytest.approx(1)
        assert R[:, 0] == pytest.approx(np.asarray(n) / np.linalg.norm(n))


@pytest.mark.parametrize(
    ('make', 'text'),
    [
        (lambda: Circle(-1), 'radius must be positive'),
        (lambda: Circle(1, stops=(1, 0)), 'stops must increase'),
        (lambda: Circle(1, frame=np.ones((3, 3))), 'orthonormal'),
        (lambda: Ellipse((1, 0)), 'semi-axes'),
        (lambda: Straight((0, 0, 0), (0, 1)), 'direction must not vanish'),
        (lambda: Straight((1, 0, 0), (0, np.inf)), 'needs stops at both ends'),
        (lambda: FigureEight(0, 1), 'must be positive'),
        (lambda: Spline(np.zeros((3, 3))), 'at least 6 points'),
        (lambda: Spline(np.zeros((8, 3)), theta=np.zeros(8)), 'increasing'),
        (lambda: ExpressionRail(['theta', '0'], stops=(0, 1)), 'three formulas'),
        (lambda: ExpressionRail(['theta', '0', '0']), 'needs stops'),
    ],
)
def test_refused(make, text):
    with pytest.raises(ParameterError, match=text):
        make()


def test_expression_with_an_unknown_name():
    with pytest.raises(ExpressionError, match='phase'):
        ExpressionRail(['phase', '0', '0'], stops=(0, 1))


def test_lengths_are_parameters():
    """The radius is an argument: a sweep over it compiles nothing again."""
    rail, theta, r = Circle(0.5), ca.SX.sym('theta'), ca.SX.sym('r')
    f = ca.Function('f', [theta, r], [rail.position(theta, {'radius': r})])
    expected = [0.9 * np.cos(0.3), 0, 0.9 * np.sin(0.3)]
    assert np.array(f(0.3, 0.9)).ravel() == pytest.approx(expected)

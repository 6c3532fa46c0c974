"""Ellipses of contact: closed form, elliptic integrals, and how far their pressure presses."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.friction import Elastic, ellipse
from scipy.special import ellipe, ellipk

STEEL = Elastic(young=210e9, poisson=0.3, other_young=70e9, other_poisson=0.33)


def test_spheres_have_the_closed_form():
    """Johnson (1985), Eqs. 4.22 to 4.24."""
    r, R, P = 0.02, 0.05, 13.0
    found = ellipse(np.diag([1 / r + 1 / R] * 2), P, STEEL)
    radius = 1 / (1 / r + 1 / R)
    a = (3 * P * radius / (4 * STEEL.modulus)) ** (1 / 3)
    expected = [a, a, a**2 / radius, 1.5 * P / (math.pi * a**2), a]
    values = [*found.semi_axes, found.approach, found.pressure, found.friction_radius]
    assert values == pytest.approx(expected, rel=1e-12)
    assert STEEL.modulus == pytest.approx(1 / (0.91 / 210e9 + (1 - 0.33**2) / 70e9), rel=1e-15)


@pytest.mark.parametrize('theta', [80, 70, 60, 50, 40, 30, 20, 10])
def test_ellipses_solve_the_equations_in_complete_elliptic_integrals(theta):
    """Semi-axes over (3 P / (4 E* (A + B)))^(1/3) for (B - A)/(A + B) = cos(theta), in K and E."""
    cosine, unit = math.cos(math.radians(theta)), Elastic(young=1.0, poisson=0.0)
    a, b = ellipse([1 - cosine, 1 + cosine], 4 / 3, unit).semi_axes  # A + B = 1
    square = 1 - (b / a) ** 2
    K, E = ellipk(square), ellipe(square)
    flat, steep = K - E, E / (1 - square) - K  # in proportion to A and B
    assert (steep - flat) / (steep + flat) == pytest.approx(cosine, rel=1e-12)
    assert a == pytest.approx((2 * E / (math.pi * (1 - square))) ** (1 / 3), rel=1e-12)


@pytest.mark.parametrize('ratio', [1 + 1e-9, 1.7, 40.0, 1e4])
def test_its_pressure_displaces_the_surface_by_the_gap(ratio):
    """Along each ray through a point the pressure has the integral of half an ellipse."""
    curvature, P = np.array([30.0, 30.0 * ratio]), 7.0
    found = ellipse(curvature, P, STEEL)
    a, b = found.semi_axes
    theta = (np.arange(40_000) + 0.5) * math.pi / 40_000
    cosine, sine = np.cos(theta), np.sin(theta)
    E = cosine**2 / a**2 + sine**2 / b**2
    for x, y in ((0.0, 0.0), (0.6 * a, 0.0), (0.1 * a, 0.7 * b)):
        C, D = 1 - (x / a) ** 2 - (y / b) ** 2, x * cosine / a**2 + y * sine / b**2
        integral = np.mean((C + D**2 / E) / np.sqrt(E)) * math.pi**2 / 2
        sinks = found.pressure * integral / (math.pi * STEEL.modulus)
        gap = found.approach - curvature @ [x**2 / 2, y**2 / 2]
        assert sinks == pytest.approx(gap, rel=1e-9)
    assert 2 / 3 * math.pi * a * b * found.pressure == pytest.approx(P, rel=1e-12)


def test_its_radius_of_friction_is_that_of_its_torque():
    a, b = (found := ellipse([50.0, 400.0], 10.0, STEEL)).semi_axes
    angle = (np.arange(4000) + 0.5) * math.pi / 2000
    # the pressure over radii of the unit disk, r^2 sqrt(1 - r^2), has pi/16
    reach = np.mean(np.hypot(a * np.cos(angle), b * np.sin(angle))) * 2 * math.pi
    torque = found.pressure * a * b * math.pi / 16 * reach
    assert torque == pytest.approx(3 * math.pi / 16 * 10.0 * found.friction_radius, rel=1e-9)


@pytest.mark.parametrize(
    ('curvature', 'load', 'text'),
    [
        ([0.0, 5.0], 1.0, r'must be positive, got 0 and 5 1/m: only bodies that touch in one'),
        ([1.0, math.inf], 1.0, r'got 1 and inf 1/m'),
        ([1.0, 5.0], 0.0, r'normal force on a contact must be positive and finite \[N\], got 0.0'),
    ],
)
def test_what_has_no_ellipse_is_refused(curvature, load, text):
    with pytest.raises(ParameterError, match=text):
        ellipse(curvature, load, STEEL)

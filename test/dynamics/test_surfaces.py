"""Geometry from differentiation against closed forms and the theorems of Gauss and Codazzi."""

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.errors import ExpressionError, ParameterError, SurfaceError
from rolling_dynamics.surfaces import (
    Cylinder,
    Ellipsoid,
    ExpressionSurface,
    Plane,
    Sphere,
    Surface,
    Torus,
)

SKEWED = ['u + 0.3*v', 'v + 0.2*u', '0.2*u^2 - 0.1*u*v + 0.3*v^2 + 0.1*u^3']
SURFACES = {
    'plane': Plane(),
    'sphere': Sphere(0.3),
    'bowl': Sphere(0.3, side='inside'),
    'ellipsoid': Ellipsoid(0.2, 0.3, 0.15),
    'ellipsoid about x': Ellipsoid(0.2, 0.3, 0.15, pole='x'),
    'dish': Ellipsoid(1.0, 1.3, 0.9, side='inside'),
    'cylinder': Cylinder(0.6),
    'gutter': Cylinder(0.6, side='inside'),
    'torus': Torus(0.8, 0.3),
    'skewed': ExpressionSurface(SKEWED),
    'saddle': ExpressionSurface(['u', 'v', 'k*(u^2 - v^2)'], parameters={'k': 0.7}),
}
UV = [(0.4, 0.9), (1.1, -0.6), (1.4, 2.0)]


def geometry(surface, uv, chart=0):
    names = ('position', 'frame', 'metric', 'scale', 'second', 'curvature', 'connection')
    values = surface.numeric(chart)(uv, surface.parameter_values)
    return dict(zip(names, (np.array(v) for v in values), strict=True))


def differentiate(f, uv, k, h=1e-5):
    d = np.zeros(2)
    d[k] = h
    return (f(uv + d) - f(uv - d)) / (2 * h)


@pytest.mark.parametrize('uv', UV)
@pytest.mark.parametrize('name', SURFACES)
def test_definitions_against_finite_differences(name, uv):
    """Frame, scale, second form, curvature and connection are what their names say."""
    surface, uv = SURFACES[name], np.array(uv)
    sign = -1 if surface.side == 'inside' else 1
    g = geometry(surface, uv)
    F = np.column_stack([differentiate(surface.point, uv, k) for k in range(2)])
    R, x, y, n = g['frame'], *g['frame'].T
    assert np.abs(R.T @ R - np.eye(3)).max() < 1e-14
    assert np.linalg.det(R) == pytest.approx(1)
    assert np.abs(R[:, :2] @ g['scale'] - F).max() < 1e-9
    assert g['scale'][1, 0] == 0
    assert g['scale'][0, 0] > 0
    assert np.sign(g['scale'][1, 1]) == sign
    assert np.abs(g['scale'].T @ g['scale'] - g['metric']).max() < 1e-14
    assert sign * (np.cross(F[:, 0], F[:, 1]) @ n) > 0

    def normal(at):
        return geometry(surface, at)['frame'][:, 2]

    second = -np.array(
        [[F[:, j] @ differentiate(normal, uv, k) for k in range(2)] for j in range(2)]
    )
    assert np.abs(second - g['second']).max() < 1e-8
    T = np.linalg.inv(g['scale'])
    assert np.abs(T.T @ g['second'] @ T - g['curvature']).max() < 1e-10
    turning = [
        y @ differentiate(lambda at: geometry(surface, at)['frame'][:, 0], uv, k) for k in range(2)
    ]
    assert np.abs(np.array(turning) - g['connection'].ravel()).max() < 1e-8
    assert np.abs(x - F[:, 0] / np.linalg.norm(F[:, 0])).max() < 1e-9


@pytest.mark.parametrize('uv', UV)
@pytest.mark.parametrize('name', SURFACES)
def test_theorema_egregium(name, uv):
    """Curvature of the surface in space is that of its metric: d(connection) = -K dA."""
    surface, uv = SURFACES[name], np.array(uv)
    g = geometry(surface, uv)

    def connection(at):
        return geometry(surface, at)['connection'].ravel()

    curl = differentiate(connection, uv, 0)[1] - differentiate(connection, uv, 1)[0]
    gauss = np.linalg.det(g['curvature'])
    assert curl == pytest.approx(-gauss * np.linalg.det(g['scale']), abs=1e-7)


@pytest.mark.parametrize('uv', UV)
@pytest.mark.parametrize('name', SURFACES)
def test_codazzi(name, uv):
    """The covariant derivative of the second form is symmetric."""
    surface, uv = SURFACES[name], np.array(uv)

    def metric(at):
        return geometry(surface, at)['metric']

    def second(at):
        return geometry(surface, at)['second']

    inverse = np.linalg.inv(metric(uv))
    dG = np.array([differentiate(metric, uv, k) for k in range(2)])  # [k, i, j]
    first_kind = np.array(
        [
            [[(dG[j][m, i] + dG[i][m, j] - dG[m][i, j]) / 2 for j in range(2)] for i in range(2)]
            for m in range(2)
        ]
    )
    Gamma = np.einsum('ml,lij->mij', inverse, first_kind)
    L, dL = second(uv), np.array([differentiate(second, uv, k) for k in range(2)])

    def covariant(k, i, j):
        return dL[k][i, j] - Gamma[:, k, i] @ L[:, j] - Gamma[:, k, j] @ L[i, :]

    scale = max(1.0, np.abs(dL).max())
    for i in range(2):
        assert covariant(0, 1, i) == pytest.approx(covariant(1, 0, i), abs=1e-7 * scale)


@pytest.mark.slow
def test_gauss_bonnet():
    """The curvature of a body without holes adds up to 4 pi, that of a torus to nothing."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    u, wu = (nodes + 1) * np.pi / 2, weights * np.pi / 2
    v = np.arange(120) * 2 * np.pi / 120

    def total(surface, us, weights):
        out = 0.0
        for a, w in zip(us, weights, strict=True):
            for b in v:
                g = geometry(surface, (a, b))
                out += w * np.linalg.det(g['curvature']) * abs(np.linalg.det(g['scale']))
        return out * 2 * np.pi / 120

    assert total(Ellipsoid(0.2, 0.3, 0.15), u, wu) == pytest.approx(4 * np.pi, rel=1e-9)
    around = np.arange(60) * 2 * np.pi / 60
    assert total(Torus(0.8, 0.3), around, np.full(60, 2 * np.pi / 60)) == pytest.approx(
        0, abs=1e-9
    )


def test_closed_forms():
    R, uv = 0.3, (0.7, 0.4)
    sphere = geometry(Sphere(R), uv)
    assert np.abs(sphere['curvature'] + np.eye(2) / R).max() < 1e-14
    assert np.abs(sphere['scale'] - np.diag([R, R * np.sin(uv[0])])).max() < 1e-15
    assert np.abs(sphere['connection'] - [0, np.cos(uv[0])]).max() < 1e-15
    assert (
        np.abs(geometry(Sphere(R, side='inside'), uv)['curvature'] - np.eye(2) / R).max() < 1e-14
    )
    plane = geometry(Plane(), uv)
    assert np.all(plane['curvature'] == 0)
    assert np.all(plane['frame'] == np.eye(3))
    cylinder = geometry(Cylinder(0.6), uv)
    assert np.abs(cylinder['curvature'] - np.diag([-1 / 0.6, 0])).max() < 1e-15
    torus = geometry(Torus(0.8, 0.3), uv)
    principal = [-1 / 0.3, -np.cos(uv[0]) / (0.8 + 0.3 * np.cos(uv[0]))]
    assert np.abs(torus['curvature'] - np.diag(principal)).max() < 1e-14
    a, b, c = 0.2, 0.3, 0.15
    x, y, z = Ellipsoid(a, b, c).point(uv)
    gauss = 1 / (a * b * c * (x**2 / a**4 + y**2 / b**4 + z**2 / c**4)) ** 2
    found = np.linalg.det(geometry(Ellipsoid(a, b, c), uv)['curvature'])
    assert found == pytest.approx(gauss, rel=1e-12)


@pytest.mark.parametrize('chart', [0, 1, 2])
def test_charts_of_an_ellipsoid_are_the_same_surface(chart):
    surface = Ellipsoid(0.2, 0.3, 0.15)
    here = geometry(surface, (0.7, 0.4))
    point = here['position'].ravel()
    uv = surface.locate(point, chart)
    there = geometry(surface, uv, chart)
    assert np.abs(there['position'].ravel() - point).max() < 1e-16
    assert np.abs(there['frame'][:, 2] - here['frame'][:, 2]).max() < 1e-14
    assert np.linalg.eigvalsh(there['curvature']) == pytest.approx(
        np.linalg.eigvalsh(here['curvature']), rel=1e-12
    )


@pytest.mark.parametrize('name', ['sphere', 'ellipsoid'])
def test_support_function(name):
    """Its gradient is the point with that normal; its Hessian the inverse of the curvature."""
    surface = SURFACES[name]
    n, values = ca.SX.sym('n', 3), surface.parameter_values
    h = ca.substitute(surface.support(n), surface.parameters, ca.DM(values))
    f = ca.Function('f', [n], [ca.gradient(h, n), ca.hessian(h, n)[0]])
    g = geometry(surface, (0.7, 0.4))
    point, hessian = (np.array(a) for a in f(g['frame'][:, 2]))
    assert np.abs(point - g['position']).max() < 1e-15
    tangent = g['frame'][:, :2]
    assert np.abs(tangent.T @ hessian @ tangent + np.linalg.inv(g['curvature'])).max() < 1e-13


def test_regularity_and_its_refusal():
    ball = Sphere(0.2)
    assert ball.regularity([np.pi / 2, 0]) == pytest.approx(1)
    assert ball.regularity([0.0, 0]) == 0
    ball.check_regular([0.1, 0])
    with pytest.raises(SurfaceError, match="chart 'z' is degenerate"):
        ball.check_regular([0.0, 0.3])


def test_locating_a_point():
    for name in ('sphere', 'ellipsoid', 'cylinder', 'torus', 'plane', 'skewed'):
        surface = SURFACES[name]
        for uv in UV:
            found = surface.locate(surface.point(uv), near=np.add(uv, 0.05))
            assert np.abs(found - uv).max() < 1e-9, name
    turned = Sphere(0.2).locate(Sphere(0.2).point([1.0, 0.5]), near=[1.0, 0.5 + 6 * np.pi])
    assert turned[1] == pytest.approx(0.5 + 6 * np.pi)


def test_parameters_are_arguments():
    uv = (0.4, 0.9)
    f = Sphere(0.3).numeric()
    assert np.array(f(uv, [0.6])[0]) == pytest.approx(2 * np.array(f(uv, [0.3])[0]))
    saddle = SURFACES['saddle']
    assert np.array(saddle.numeric()(uv, [0.0])[5]) == pytest.approx(np.zeros((2, 2)))


@pytest.mark.parametrize(
    ('make', 'error', 'text'),
    [
        (lambda: Sphere(-1), ParameterError, 'radius must be positive'),
        (lambda: Sphere(float('nan')), ParameterError, 'radius must be positive'),
        (lambda: Sphere(1, pole='w'), ParameterError, 'pole must be'),
        (lambda: Sphere(1, side='under'), SurfaceError, "side must be 'outside' or 'inside'"),
        (lambda: Ellipsoid(1, 0, 1), ParameterError, 'b must be positive'),
        (lambda: Cylinder(0), ParameterError, 'radius must be positive'),
        (lambda: Torus(1, 2), ParameterError, 'minor < major'),
        (lambda: Plane(u_bounds=(1, 0)), ParameterError, 'u_bounds must be increasing'),
        (lambda: ExpressionSurface(['u', 'v']), SurfaceError, 'three formulas'),
        (lambda: ExpressionSurface('uv0'), SurfaceError, 'three formulas'),
        (lambda: ExpressionSurface(['u', 'u', '0']), SurfaceError, 'do not depend on v'),
        (lambda: ExpressionSurface(['u', 'v', 'w']), ExpressionError, "uses 'w'"),
        (lambda: ExpressionSurface(['u', 'v', '0'], parameters={'u': 1}), SurfaceError, 'called'),
        (
            lambda: Surface(name='s', parameters=ca.SX(0, 1), values={'a': 1}, charts=()),
            SurfaceError,
            'as many values',
        ),
    ],
)
def test_what_is_no_surface(make, error, text):
    with pytest.raises(error, match=text):
        make()

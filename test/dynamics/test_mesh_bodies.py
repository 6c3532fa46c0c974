"""Bodies from meshes: spherical harmonics, the fit of a support function, files and motion."""

import re

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics import ContactSystem, Plane, simulate
from rolling_dynamics.errors import ScenarioError, SurfaceError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.surfaces import Ellipsoid, HarmonicBody
from rolling_dynamics.surfaces.support import fit_support, harmonics
from rolling_dynamics.surfaces.surface import drawn_cells
from scipy.spatial import cKDTree
import yaml

trimesh = pytest.importorskip('trimesh')
SEMI = np.array([0.03, 0.02, 0.025])
PAGE = {
    'system': 'contact',
    'object': {'surface': {'kind': 'mesh', 'file': 'body.stl'}, 'mass': 0.2, 'inertia': 'solid'},
    'hand': {'surface': {'kind': 'plane'}},
    'initial': {'object': {'position': [0, 0, 2], 'attitude': {'rpy': [1.3, 0, 0]}}},
    'duration': 0.1,
}


def ball(subdivisions):
    return trimesh.creation.icosphere(subdivisions=subdivisions)


def egg():
    x, y, z = ball(3).vertices.T
    return np.column_stack([0.022 * x * (1 - 0.18 * z), 0.022 * y * (1 - 0.18 * z), 0.03 * z])


def rounded_box():
    corners = ball(3).vertices
    return np.sign(corners) * [0.024, 0.014, 0.009] + 0.006 * corners


def bottle():
    profile = [[0, -0.1], [0.034, -0.1], [0.034, 0.03], [0.015, 0.06], [0.012, 0.09], [0, 0.09]]
    return trimesh.creation.revolve(np.array(profile), sections=32).vertices


def written(folder, mesh, **surface):
    """Write a mesh in millimetres and a scenario beside it; return the scenario's path."""
    mesh = mesh.copy()
    mesh.apply_scale(1000)
    mesh.export(folder / 'body.stl')
    body = {**PAGE['object'], 'surface': {**PAGE['object']['surface'], **surface}}
    path = folder / 'page.yaml'
    path.write_text(yaml.safe_dump({**PAGE, 'object': body}))
    return path


def touching(path):
    """Return the scenario after its object was put where the error says that it touches."""
    with pytest.raises(ScenarioError, match='does not touch the hand') as e:
        load_scenario(path)
    place = re.search(r'it touches at \[(.*)\]', str(e.value))[1]
    document = yaml.safe_load(path.read_text())
    document['initial']['object']['position'] = [float(value) for value in place.split(', ')]
    path.write_text(yaml.safe_dump(document))
    return load_scenario(path)


def test_harmonics_are_orthonormal_and_homogeneous():
    """On a product grid that integrates polynomials up to degree 12 exactly."""
    n = ca.SX.sym('n', 3)
    f = ca.Function('f', [n], [harmonics(n, 6)])
    z, weight = np.polynomial.legendre.leggauss(8)
    angle = 2 * np.pi * np.arange(14) / 14
    s = np.sqrt(1 - z**2)
    grid = np.array([[a * np.cos(v), a * np.sin(v), c] for a, c in np.c_[s, z] for v in angle])
    Y = np.array(f.map(len(grid))(grid.T))
    w = np.repeat(weight, 14) / 28
    assert (Y * w) @ Y.T == pytest.approx(np.eye(49), abs=1e-13)
    assert np.array(f(3 * grid[5])) == pytest.approx(3 * np.array(f(grid[5])), rel=1e-13)


def test_point_of_the_body_is_the_gradient_of_its_support_function():
    """And the normal of its chart is where the gradient was taken, whatever the pole."""
    fit = fit_support(egg())
    for pole in 'xyz':
        body = HarmonicBody(fit.coefficients, pole=pole)
        position, frame = (np.array(v) for v in body.numeric()([0.8, 0.4], [])[:2])
        local = [np.sin(0.8) * np.cos(0.4), np.sin(0.8) * np.sin(0.4), np.cos(0.8)]
        normal = np.roll(local, {'z': 0, 'x': 1, 'y': 2}[pole])
        assert frame[:, 2] == pytest.approx(normal, abs=1e-12)
        h = ca.Function('h', [n := ca.SX.sym('n', 3)], [body.support(n)])
        assert float(h(normal)) == pytest.approx(float(position.ravel() @ normal), rel=1e-12)


@pytest.mark.slow
def test_error_falls_with_refinement():
    """That of the hull of a mesh falls with the square of the edges' length."""
    n = np.random.default_rng(1).normal(size=(500, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    exact = np.linalg.norm(n * SEMI, axis=1)
    off = []
    for subdivisions in (2, 3, 4):
        fit = fit_support(ball(subdivisions).vertices * SEMI, 8)
        h = ca.Function('h', [s := ca.SX.sym('s', 3)], [HarmonicBody(fit.coefficients).support(s)])
        off.append(float(np.abs(np.array(h.map(500)(n.T)).ravel() - exact).max()))
        assert off[-1] < 3 * fit.error
    assert off[1] < off[0] / 3
    assert off[2] < off[1] / 3


@pytest.mark.parametrize(
    ('points', 'error'),
    [
        pytest.param(egg, 2e-4, id='egg'),
        pytest.param(rounded_box, 4e-3, id='rounded_box', marks=pytest.mark.slow),
        pytest.param(bottle, 8e-3, id='bottle', marks=pytest.mark.slow),
    ],
)
def test_household_objects_are_smooth_and_close(points, error):
    points = points()
    size = np.ptp(points, axis=0).max()
    fit = fit_support(points)
    assert fit.error < error
    assert fit.least_radius > 2e-3 * size
    moved = fit_support(points + np.array([0.5, -0.2, 0.1]))
    shift = np.array([-0.2, 0.1, 0.5]) / np.sqrt(3)
    assert moved.coefficients[1:4] - fit.coefficients[1:4] == pytest.approx(shift, abs=1e-9)


@pytest.mark.parametrize(
    ('points', 'degree', 'text'),
    [
        (np.zeros((3, 3)), 8, 'at least 4 points'),
        (np.eye(4, 3) * [1, 1, 0], 8, 'lie in a plane'),
        (egg() * np.nan, 8, 'must be finite'),
        (egg(), 30, 'degree must be from 2 to 12, got 30'),
    ],
)
def test_what_is_no_body_is_refused(points, degree, text):
    with pytest.raises(SurfaceError, match=text):
        fit_support(points, degree)
    with pytest.raises(SurfaceError, match='coefficients are needed'):
        HarmonicBody(np.ones(7))


@pytest.mark.slow
def test_mesh_of_an_ellipsoid_moves_as_the_ellipsoid():
    """Within 10 times the error of the fit, 2 s after a start on its side; closer if finer."""
    fits = [fit_support(ball(subdivisions).vertices * SEMI, 8) for subdivisions in (2, 4)]
    inertia = 0.2 / 5 * np.diag([np.sum(SEMI**2) - a**2 for a in SEMI])
    ends = []
    for body in (Ellipsoid(*SEMI), *(HarmonicBody(fit.coefficients) for fit in fits)):
        system = ContactSystem(body, Plane())
        p = system.pack_parameters(mass=0.2, inertia=inertia, mu=1.0)
        x = system.state.pack(
            q_WH=[1, 0, 0, 0],
            p_WH=[0, 0, 0],
            q_HO=[np.cos(0.2), np.sin(0.2), 0, 0],
            contact_h=[0, 0],
            w_WH_H=[0, 0, 0],
            v_WH_H=[0, 0, 0],
            w_HO_H=[1.0, 0.5, 0],
        )
        motion = simulate(system, p, x, np.zeros(6), 2.0)
        ends.append(motion.states[-1][system.state.slice('contact_h')])
    assert np.linalg.norm(ends[0]) > 0.01
    off = [float(np.abs(end - ends[0]).max()) for end in ends[1:]]
    assert all(o < 10 * fit.error for o, fit in zip(off, fits, strict=True))
    assert off[1] < off[0] / 3


def test_scenario_holds_what_was_made_of_its_mesh(tmp_path):
    """So a result opens no file; mass properties are those of the solid."""
    mesh = ball(4)
    mesh.apply_scale(SEMI)
    mesh.apply_translation([0.1, 0, 0])
    scenario = touching(written(tmp_path, mesh, degree=4))
    fit = scenario.raw['object']['surface']['fit']
    assert len(fit['coefficients']) == 25
    assert fit['centre'] == pytest.approx([0.1, 0, 0], abs=1e-6)
    assert fit['volume'] == pytest.approx(4 / 3 * np.pi * SEMI.prod(), rel=0.01)
    solid = np.diag([np.sum(SEMI**2) - a**2 for a in SEMI]) / 5
    assert np.array(fit['inertia']) == pytest.approx(solid, rel=0.01, abs=1e-8)
    (tmp_path / 'body.stl').unlink()
    again = load_scenario(scenario.raw)
    assert again.system.model_hash == scenario.system.model_hash
    assert again.p == pytest.approx(scenario.p)


def cup(sections):
    """Return a hollow body, 0.2 m high, of four triangles a section."""
    profile = [[0, -0.1], [0.06, -0.1], [0.06, 0.1], [0.05, 0.1], [0.05, -0.09], [0, -0.09]]
    return trimesh.creation.revolve(np.array(profile), sections=sections)


@pytest.mark.parametrize(
    'sections', [6, *(pytest.param(n, marks=pytest.mark.slow) for n in (40, 600))]
)
def test_what_is_drawn_is_the_mesh(tmp_path, sections):
    """A hollow one too; in triangles fine enough for a chequer, few enough for a page."""
    mesh = cup(sections)
    surface = touching(written(tmp_path, mesh)).system.object_surface
    drawn = trimesh.Trimesh(surface.picture.vertices, surface.picture.triangles, process=False)
    assert 300 < len(drawn.faces) <= 3000
    assert drawn.is_winding_consistent
    assert drawn.volume == pytest.approx(mesh.volume, rel=0.04)
    given = mesh.sample(400_000, seed=0) - mesh.center_mass
    assert cKDTree(given).query(drawn.vertices)[0].max() < 0.01 * 0.2
    points, cells, colour = drawn_cells(surface, None)
    assert points is surface.picture.vertices
    assert cells.shape == (len(drawn.faces), 4)
    assert 0.3 < colour.mean() < 0.7


def test_mesh_that_cannot_be_taken_is_one_line(tmp_path):
    path = written(tmp_path, ball(2))
    with pytest.raises(ScenarioError, match=r"object\.surface: file: 'body.stl' is read where"):
        load_scenario(PAGE)
    fit = touching(path).raw['object']['surface']['fit']
    fit['triangles'][0][0] = len(fit['vertices'])
    other = {**PAGE['object'], 'surface': {**PAGE['object']['surface'], 'fit': fit}}
    with pytest.raises(ScenarioError, match=r'fit\.triangles: must be numbers of vertices, 0 to'):
        load_scenario({**PAGE, 'object': other})
    (tmp_path / 'body.stl').write_text('solid nothing')
    with pytest.raises(ScenarioError, match=r'object\.surface\.file: .*body\.stl'):
        load_scenario(path)
    open_mesh = trimesh.Trimesh(ball(1).vertices, ball(1).faces[:-1])
    open_mesh.export(tmp_path / 'body.stl')
    with pytest.raises(ScenarioError, match='the mesh is not closed'):
        load_scenario(path)
    (tmp_path / 'body.stl').unlink()
    with pytest.raises(ScenarioError, match='cannot be read: No such file'):
        load_scenario(path)

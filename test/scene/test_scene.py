"""A scene shows what was simulated: the contact is one point of both bodies, wherever it is."""

from dataclasses import replace
import pkgutil

import numpy as np
import pytest
from rolling_dynamics import load_scenario
from rolling_dynamics.errors import ParameterError
from rolling_robotics import plugins as shipped_plugins
from rolling_robotics import simulate_scenario, simulation_result
from rolling_robotics.files import Arrays, read_result
from rolling_robotics.scene.general import scene_of
from rolling_robotics.scene.parts import cylinder_mesh, error_strips, pillar, sphere_mesh
from rolling_robotics.scene.scene import (
    ABOVE,
    Body,
    GROUND,
    resample,
    resample_attitude,
    rotation_matrices,
)


def in_world(scene, trace):
    """Return the points of a trace in the world at the time at which each was passed."""
    if not trace.body:
        return trace.points
    body = scene.body(trace.body)
    turned = np.einsum('tij,tj->ti', rotation_matrices(body.attitude), trace.points)
    return turned + body.position


def test_every_system_is_shown(results):
    shown = {read_result(path)['system'] for path in results.values()}
    shipped = {found.name for found in pkgutil.iter_modules(shipped_plugins.__path__)}
    assert shown == shipped  # other tests may have registered more


def test_board_lies_under_its_walls_and_holes(results):
    scene = scene_of(read_result(results['labyrinth']))
    board, *others = next(b for b in scene.bodies if b.name == 'plate').meshes
    assert board.layer == GROUND
    assert len(others) == 90
    assert {m.layer for m in others} == {ABOVE}
    assert np.ptp(board.vertices, axis=0)[:2] == pytest.approx([0.276, 0.231])


def test_plate_of_the_ball_balancer_is_a_square(results):
    scene = scene_of(read_result(results['ball_balancer']))  # by its poses
    box = next(b for b in scene.bodies if 'plate' in b.name).meshes[0]
    x, y, z = np.ptp(box.vertices, axis=0)
    assert x == pytest.approx(y)
    assert z < 0.1 * x
    corners = np.abs(box.vertices[:, :2]).min(axis=1)
    assert corners == pytest.approx(x / 2)  # a vertex in each corner, none on a rim
    outward = box.vertices[box.faces]
    normals = np.cross(outward[:, 2] - outward[:, 0], outward[:, 3] - outward[:, 1])
    centres = outward.mean(axis=1) - box.vertices.mean(axis=0)
    assert (np.sum(normals * centres, axis=1) > 0).all()


@pytest.mark.parametrize('name', ['ball_balancer', 'labyrinth'])
def test_path_on_a_tilting_plate_is_where_the_ball_touched_it(results, name):
    result = read_result(results[name])
    scene = scene_of(result)
    (trace,) = scene.traces
    radius = Arrays(result).parameter('radius')
    assert trace.body == 'plate'
    assert trace.points[:, :2] == pytest.approx(Arrays(result)['ball'], abs=1e-9 * radius)
    height = trace.points[:, 2]
    assert ((height > 0) & (height < 0.05 * radius)).all()
    tilt = rotation_matrices(scene.body('plate').attitude)[:, :2, 2]
    assert np.abs(tilt).max() > 0.02  # or the world would do as well


def test_obstacle_ends_with_the_floor_that_is_drawn(results):
    scene = scene_of(read_result(results['point_mass_hop']))
    floor, box = (scene.body(name).meshes[0].vertices for name in ('floor', 'fixed'))
    assert np.ptp(box, axis=0) == pytest.approx([0.05, np.ptp(floor[:, 1]), 0.05])


def test_ghost_is_an_outline_on_the_body(results):
    result = read_result(results['spin_rolling_ball'])
    scene = scene_of(result, plan=result)
    (ghost,) = scene.ghosts
    assert ghost.meshes == ()
    points = ghost.lines[0].points
    points = points[np.isfinite(points[:, 0])]
    radius = np.linalg.norm(scene.body(ghost.name).meshes[0].vertices, axis=1).max()
    assert np.linalg.norm(points, axis=1) == pytest.approx(radius, rel=0.03)
    for axis in range(3):  # three great circles, which say its attitude
        near = np.abs(points[:, axis]) < 1e-3 * radius
        assert np.ptp(points[near], axis=0).max() == pytest.approx(2 * radius, rel=0.03)


def test_goal_fades_as_it_is_reached(results):
    scene = scene_of(read_result(results['pendulum_torque']) | {'plan': {}})
    for ghost in scene.ghosts:
        left = scene.remaining(ghost)
        assert left[-1] == pytest.approx(0.0, abs=1e-6)
        assert left.max() <= 1.0
    moved = replace(ghost, position=ghost.position + np.arange(len(ghost.position))[:, None])
    assert (scene.remaining(moved) == 1.0).all()


def test_what_must_not_be_touched_stands_on_the_floor():
    mesh = pillar((1.0, 2.0), 0.3, 0.5)
    assert np.hypot(*(mesh.vertices[:, :2] - [1.0, 2.0]).T).max() == pytest.approx(0.3)
    assert (mesh.vertices[:, 2].min(), mesh.vertices[:, 2].max()) == pytest.approx((0.0, 0.5))


def test_contact_lies_on_both_bodies_and_at_the_contact_frame(scene):
    size = np.ptp(scene.bodies[1].meshes[0].vertices)
    assert len(scene.traces) == 2
    for trace in scene.traces:
        error = in_world(scene, trace) - scene.frames[0].position
        assert np.abs(error).max() < 1e-9 * size


def test_contact_runs_over_the_drawn_surface(scene):
    """No vertex of the object is below the contact along its normal, one is near it."""
    if scene.system != 'contact':
        pytest.skip('the others have a sphere or a disk, tested by its radius')
    body, normal = scene.body('object'), rotation_matrices(scene.frames[0].attitude)[:, :, 2]
    vertices = np.einsum('tij,nj->tni', rotation_matrices(body.attitude), body.meshes[0].vertices)
    height = np.einsum(
        'tni,ti->tn', vertices + (body.position - scene.frames[0].position)[:, None], normal
    )
    size = np.ptp(body.meshes[0].vertices)
    assert height.min() > -1e-9 * size
    assert height.min(axis=1).max() < 0.02 * size


def test_both_contact_frames_share_origin_and_are_turned_about_the_normal(scene):
    if scene.system != 'contact':
        pytest.skip('one contact frame')
    hand, obj = (rotation_matrices(f.attitude) for f in scene.frames)
    assert np.nanmax(np.abs(hand[:, :, 2] + obj[:, :, 2])) < 1e-9  # normals are opposite
    assert np.isfinite(obj).all(axis=(1, 2)).any()


def test_bodies_move_as_in_the_result(scene, result):
    arrays = Arrays(result)
    for body in scene.bodies:
        if body.name != 'floor':
            assert np.array_equal(body.position, arrays[f'{body.name}_position'])
    acting = [frame.wrench for frame in scene.frames if frame.wrench is not None]
    if len(acting) == 1:
        assert np.array_equal(acting[0].force, arrays['f_contact'])


def test_the_force_of_each_of_several_contacts_is_drawn_where_it_acts():
    scenario = load_scenario('bicycle')
    result = simulation_result(scenario, simulate_scenario(scenario))
    scene, arrays = scene_of(result), Arrays(result)
    assert [frame.name for frame in scene.frames] == ['contact_rear', 'contact_front']
    rear, front = scene.frames
    total = np.zeros((len(scene.times), 3))
    for frame in scene.frames:
        R = rotation_matrices(frame.attitude)
        total += np.einsum('tij,tj->ti', R, frame.wrench.force)
        assert np.abs(frame.position[:, 2]).max() < 1e-9  # on the floor
        assert frame.wrench.scale == rear.wrench.scale
    contact = rotation_matrices(arrays['contact_attitude'])
    summed = np.einsum('tij,tj->ti', contact, arrays['f_contact'])
    assert np.abs(total - summed).max() < 1e-9
    base = np.linalg.norm(front.position - rear.position, axis=1)
    assert base == pytest.approx(base[0], rel=0.05)
    used, normal = scene.strips
    assert list(used.curves) == list(normal.curves) == ['rear', 'front']
    later = scene.resampled(scene.times[[0, -1]])
    assert np.array_equal(later.frames[1].wrench.force[-1], front.wrench.force[-1])


def test_mass_on_a_trajectory_of_its_own_is_where_its_formula_says(results):
    scene = scene_of(read_result(results['point_mass_wind']))
    shell, mass, t = scene.body('shell'), scene.body('mass_3'), scene.times
    chi = np.column_stack([0.05 * np.sin(2 * t), 0.05 * np.cos(2 * t), np.full_like(t, -0.2)])
    turned = np.einsum('tij,tj->ti', rotation_matrices(shell.attitude), chi)
    assert np.abs(mass.position - shell.position - turned).max() < 1e-9


@pytest.mark.parametrize('mesh', [sphere_mesh(2.0, [(0, 0, 0), (1, 1, 1)])], ids=['sphere'])
def test_faces_look_outward(mesh):
    corners = mesh.vertices[mesh.faces]
    normals = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    assert (np.einsum('ij,ij->i', normals, corners.mean(axis=1)) > 0).all()
    assert np.allclose(np.linalg.norm(mesh.vertices, axis=1), 2)
    assert mesh.triangles.shape == (2 * len(mesh.faces), 3)


def test_cylinder_is_closed_and_looks_outward():
    mesh = cylinder_mesh(2.0, 0.5, [(0, 0, 0), (1, 1, 1)])
    triangles = mesh.vertices[mesh.triangles]
    volume = np.einsum(
        'ij,ij->i', triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2])
    ).sum()
    assert volume / 6 == pytest.approx(np.pi * 4 * 1.0, rel=0.02)


def test_every_solid_mesh_has_a_positive_volume(scene):
    for body in scene.bodies:
        for mesh in body.meshes:
            if body.layer == GROUND:
                continue
            a, b, c = np.moveaxis(mesh.vertices[mesh.triangles], 1, 0)
            assert np.einsum('ij,ij->i', a, np.cross(b, c)).sum() > 0, body.name


def test_resampling_keeps_the_samples_and_the_attitudes_unit(scene):
    shown = scene.resampled(scene.times)
    for before, after in zip(scene.bodies, shown.bodies, strict=True):
        assert np.abs(before.position - after.position).max() < 1e-12
        same = np.abs(np.sum(before.attitude * after.attitude, axis=1))
        assert same == pytest.approx(np.ones_like(same))
    between = scene.resampled(scene.times[:-1] + 0.3 * np.diff(scene.times))
    norm = np.linalg.norm(between.bodies[-1].attitude, axis=1)
    assert norm == pytest.approx(np.ones_like(norm))


def test_resample_between_and_beyond():
    times, values = np.array([0.0, 1.0, 3.0]), np.array([[0.0], [2.0], [4.0]])
    new = np.array([-1.0, 0.5, 1.0, 2.0, 9.0])
    assert resample(times, values, new).ravel().tolist() == [0, 1, 2, 3, 4]
    q = np.array([[1.0, 0, 0, 0], [-np.sqrt(0.5), -np.sqrt(0.5), 0, 0], [0, 1.0, 0, 0]])
    half = resample_attitude(times, q, np.array([0.5]))[0]
    assert half == pytest.approx([np.cos(np.pi / 8), np.sin(np.pi / 8), 0, 0])


@pytest.mark.parametrize(
    ('name', 'rolls'), [('point_mass_disk', 'shell'), ('ball_balancer', 'ball')]
)
def test_plan_of_another_run_is_the_ghost(results, name, rolls):
    result, other = read_result(results[name]), read_result(results[name])
    places = np.array(other['arrays'][f'{rolls}_position']['values'])
    other['arrays'][f'{rolls}_position']['values'] = (places + np.array([0, 1, 0])).tolist()
    scene = scene_of(result, other)
    ghost = next(g for g in scene.ghosts if g.name == rolls)
    assert np.allclose(ghost.position - scene.body(rolls).position, [0, 1, 0])
    assert all(scene.body(g.name).is_above for g in scene.ghosts)  # servos, arms, plate have none
    assert 'plan' in scene.legend


def test_a_plan_has_its_end_as_ghost(results):
    result = read_result(results['pendulum_torque']) | {'plan': {}}
    scene = scene_of(result)
    for ghost in scene.ghosts:
        assert (ghost.position == scene.body(ghost.name).position[-1]).all()


def test_what_cannot_be_shown_is_refused(results):
    result = read_result(results['pendulum_torque'])
    with pytest.raises(ParameterError, match="system 'toy' is not installed"):
        scene_of(result | {'system': 'toy'})
    with pytest.raises(ParameterError, match='give a plan of the same system'):
        scene_of(result, result | {'system': 'contact'})
    with pytest.raises(ParameterError, match='damaged'):
        scene_of({**result, 'arrays': {}})
    with pytest.raises(ParameterError, match='no body'):
        scene_of(result).body('wheel')


def test_errors_tell_how_far_a_body_is_from_its_plan():
    times = 5
    still, turned = np.tile([1.0, 0, 0, 0], (times, 1)), np.tile([-0.6, 0, 0.8, 0], (times, 1))
    away = np.zeros((times, 3))
    away[:, 0], away[:, 1] = 3.0, np.linspace(0, 4, times)
    body = Body(name='ball', position=away, attitude=still, meshes=())
    ghost = Body(name='ball', position=np.zeros((times, 3)), attitude=turned, meshes=())
    way, angle = error_strips([body], [ghost])
    assert way.curves['ball'][[0, -1]] == pytest.approx([3.0, 5.0])
    assert angle.curves['ball'] == pytest.approx(2 * np.arccos(0.6))  # the nearer way round
    assert error_strips([body], []) == ()

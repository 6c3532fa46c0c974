"""What robots show: motion against its derivatives, joints, perturbations, who is a robot."""

import math
import sys
import types

import numpy as np
import pytest
from robot_plants import DT, make_plant
from rolling_dynamics import plugin
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.robots.emulated_robot import emulated_robot
from rolling_dynamics.robots.view import Curve, robot_view
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario_model import load_robot
from transforms3d.axangles import axangle2mat


def derivative(values, k):
    """Return the central difference of order 4 at sample k."""
    v = values
    return (8 * (v[k + 1] - v[k - 1]) - (v[k + 2] - v[k - 2])) / (12 * DT)


def test_velocity_acceleration_and_rates_are_derivatives(robot):
    """Odometry and joint states are consistent in time, whatever the robot does."""
    plant, controls = robot
    seen, joints = [], []
    for u in controls:
        plant.step(u, DT)
        seen.append(plant.observe())
        joints.append(plant.shown.joints(seen[-1]))
    assert not plant.fault
    centres = np.array([s.centre for s in seen])
    velocities = np.array([s.velocity for s in seen])
    positions = np.array([j[0] for j in joints]).reshape(len(seen), -1)
    yaw = np.array([s.yaw for s in seen])
    kinematic = not plant.shown.has_wrench
    for k in range(25, len(seen) - 5, 20):  # in the midst of a held control
        assert derivative(centres, k) == pytest.approx(velocities[k], abs=2e-7)
        if not kinematic:
            assert derivative(velocities, k) == pytest.approx(seen[k].acceleration, abs=2e-6)
        assert derivative(positions, k) == pytest.approx(joints[k][1], abs=2e-6)
        assert derivative(yaw, k) == pytest.approx(seen[k].yaw_rate, abs=1e-4)


def test_links_are_the_bodies_of_the_system(robot):
    plant, controls = robot
    for u in controls[:50]:
        plant.step(u, DT)
    pose = plant.view.system.pose
    poses = pose(plant.observe().x, plant.emulation.p)
    bodies = {'shell': 'shell_link', 'object': 'shell_link', 'pendulum': 'pendulum_link'}
    names = [link.name for link in plant.view.links]
    for k in range(pose.n_out()):
        body = pose.name_out(k)
        name = bodies.get(body, f'{body}_link')
        if name in names:
            link = plant.observe().links[names.index(name)]
            assert link == pytest.approx(np.array(poses[k]), abs=1e-12)
    assert names[0] == 'shell_link'


def test_masses_run_on_the_rails_that_are_drawn():
    plant = make_plant('point_mass_wind.yaml')
    rails = [s for s in plant.view.shapes if isinstance(s, Curve)]
    masses = [k for k, s in enumerate(plant.view.links) if s.name.startswith('mass')]
    for _ in range(400):
        plant.step(np.array([0.5, -2.0]), DT)
    links = plant.observe().links
    for rail, k in zip(rails, masses[:2], strict=True):
        place = (np.linalg.inv(links[0]) @ links[k])[:3, 3]
        assert np.linalg.norm(rail.points - place, axis=1).min() < 0.01


def test_a_mass_on_a_trajectory_is_shown_where_it_is_now():
    plant = make_plant('point_mass_wind.yaml')
    for _ in range(300):
        plant.step(np.zeros(2), DT)
    links, t = plant.observe().links, 0.3
    place = (np.linalg.inv(links[0]) @ links[3])[:3, 3]
    assert place == pytest.approx([0.05 * math.sin(2 * t), 0.05 * math.cos(2 * t), -0.2])


def test_wind_moves_a_robot_that_nobody_drives():
    """The force of the scenario acts at the time of the plant: 1.2 sin t along x."""
    plant = make_plant('point_mass_wind.yaml')
    plant.start[plant.view.system.state.slice('w_WB_B')] = 0.0
    plant.reset()
    pushes = []
    for _ in range(1500):
        plant.step(np.zeros(2), DT)
        seen = plant.observe()
        pushes.append(seen.acceleration[0])
    assert not plant.fault
    assert np.mean(pushes) > 0.1


def test_pendulum_joints_turn_base_link_into_the_pendulum():
    plant = make_plant('pendulum_torque.yaml')
    for k in range(600):
        plant.step(np.array([0.1 * math.sin(3e-3 * k), 0.1, 0.0]), DT)
    seen = plant.observe()
    (pitch, roll), _ = plant.shown.joints(seen)
    R = axangle2mat([0, 0, 1], seen.yaw) @ axangle2mat([0, 1, 0], pitch)
    n = R @ axangle2mat([1, 0, 0], roll) @ [0, 0, -1]
    names = [link.name for link in plant.view.links]
    assert n == pytest.approx(-seen.links[names.index('pendulum_link')][:3, 2], abs=1e-12)
    assert abs(pitch) > 0.01
    assert abs(roll) > 0.01


@pytest.mark.parametrize('pole', [False, True])
def test_contact_frame_of_the_sphere_lies_below_it(pole):
    plant = make_plant('spin_rolling_ball.yaml')
    if pole:  # the contact at v_o = pi/2
        q = plant.view.system.state.slice('q_SO')
        plant.start[q] = [math.cos(math.pi / 4), -math.sin(math.pi / 4), 0, 0]
        plant.reset()
    seen = plant.observe()
    names = [link.name for link in plant.view.links]
    frame, plane = (seen.links[names.index(n)] for n in ('contact_shell', 'contact_plane'))
    assert frame[:3, :3].T @ frame[:3, :3] == pytest.approx(np.eye(3), abs=1e-9)
    assert frame[:3, 2] == pytest.approx([0, 0, -1], abs=1e-9)
    assert frame[:3, 3] == pytest.approx(plane[:3, 3], abs=1e-9)


class TestReset:
    def test_shift_moves_the_robot_on_the_floor(self, robot):
        plant, _ = robot
        flat = plant.view.system.name == 'point_mass_disk'
        before = plant.observe().centre
        plant.reset(position=(0.1, 0.0 if flat else -0.2))
        moved = plant.observe().centre - before
        assert moved == pytest.approx([0.1, 0.0 if flat else -0.2, 0.0], abs=1e-12)

    def test_rotation_turns_the_shell_about_its_own_axes(self, robot):
        plant, _ = robot
        before = plant.observe().links[0][:3, :3]
        plant.reset(rotation=(0.0, 0.2, 0.0))
        turned = before.T @ plant.observe().links[0][:3, :3]
        assert turned == pytest.approx(axangle2mat([0, 1, 0], 0.2), abs=1e-12)

    def test_it_begins_anew(self, robot):
        plant, controls = robot
        first, brake = plant.observe().x.copy(), plant.emulation.u.copy()
        for u in controls[:100]:
            plant.step(u, DT)
        plant.reset()
        assert (plant.observe().x == first).all()
        assert plant.time == 0.0
        assert (plant.emulation.u == brake).all()

    @pytest.mark.parametrize(
        ('given', 'text'),
        [
            ({'position': (0.0, 0.1)}, 'shifted along y'),
            ({'rotation': (0.0, 0.0, 0.1)}, 'turned about z'),
        ],
    )
    def test_a_disk_stays_in_its_plane(self, given, text):
        plant = make_plant('point_mass_disk.yaml')
        with pytest.raises(ParameterError, match=text):
            plant.reset(**given)


class TestRegistry:
    def test_an_object_on_a_hand_is_no_robot(self):
        scenario = load_scenario('spinning_plate.yaml')
        with pytest.raises(ParameterError, match='an object on a hand, not a rolling robot'):
            robot_view(scenario.system, scenario.p)

    def test_a_robot_needs_a_rate(self):
        scenario = load_scenario('spin_rolling_straight.yaml')
        with pytest.raises(ParameterError, match=r"arc length.*'delta'"):
            robot_view(scenario.system, scenario.p)

    def test_another_robot_is_found_in_its_module(self, monkeypatch):
        monkeypatch.setattr(plugin, '_KNOWN', {})
        module = types.ModuleType('of_a_test')
        module.view = lambda system, p: (system.name, p)
        monkeypatch.setitem(sys.modules, 'of_a_test', module)
        plugin.register_plugin(
            plugin.SystemPlugin(
                name='rolling_cube', protocol=plugin.PROTOCOL, robot_view='of_a_test:view'
            )
        )
        cube = types.SimpleNamespace(name='rolling_cube', independent_variable='time')
        assert robot_view(cube, [1.0]) == ('rolling_cube', [1.0])


@pytest.mark.parametrize('name', ['driven_shell', 'hamster_ball', 'bicycle', 'two_wheeler'])
def test_a_machine_is_shifted_as_a_whole(name):
    """All its bodies go along, and its contacts stay closed."""
    plant = emulated_robot(load_robot(name))
    system, p = plant.view.system, plant.emulation.state.p
    before = [np.array(X) for X in system.pose.call([plant.emulation.state.x, p])]
    plant.reset(position=[0.3, -0.2])
    x = plant.emulation.state.x
    for X, Y in zip(before, system.pose.call([x, p]), strict=True):
        X[:2, 3] += [0.3, -0.2]
        np.testing.assert_allclose(np.array(Y), X, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.array(system.projection(x, p)).ravel(), x, rtol=0, atol=1e-12)
    with pytest.raises(ParameterError, match='cannot be turned about x'):
        plant.reset(rotation=[0.1, 0.0, 0.0])


def test_a_body_whose_motion_is_prescribed_is_braked():
    """Its control is an acceleration: none would let it go on."""
    plant = emulated_robot(load_robot('ball_between_plates'))
    system = plant.view.system
    u = np.zeros(system.control.size)
    u[system.control.slice('upper_v')] = [0.2, 0.0, 0.0]
    for _ in range(100):
        plant.step(u, 0.005)
    where = system.state.slice('v_upper')
    assert plant.emulation.state.x[where] == pytest.approx([0.1, 0.0, 0.0])
    for _ in range(400):
        plant.step(plant.brake(), 0.005)
    assert not plant.fault
    assert np.abs(plant.emulation.state.x[where]).max() < 1e-6


def test_a_spring_of_a_contact_stays_where_its_machine_is_shifted():
    sprung = {
        'mu': 0.8,
        'stiffness': 5e3,
        'damping': 20,
        'side_stiffness': 5e3,
        'side_damping': 20,
    }
    machine = {
        'bodies': {'ball': {'kind': 'ball', 'radius': 0.05, 'mass': 1}},
        'joints': {'ball': {'kind': 'free'}},
        'contacts': {'floor': {'body': 'ball', **sprung}},
        'drives': {'push': {'kind': 'force', 'body': 'ball', 'limit': 2}},
    }
    start = {'p_ball': [0, 0, 0.05 - 9.81 / 5000]}
    given = {'system': 'machine', 'duration': 1, 'machine': machine, 'initial': start}
    scenario = load_scenario(given)
    state, view = scenario.system.state, robot_view(scenario.system, scenario.p)
    assert state.position.name == 'p_ball'
    assert np.flatnonzero(view.shift.any(axis=1)).tolist() == [0, 1]


def test_a_contact_that_begins_to_slip_has_the_mode_slipping():
    """Of several contacts the margin that ended the motion has a name of its own."""
    plant = emulated_robot(load_robot('hamster_ball'))
    for _ in range(400):
        plant.step(np.array([0.2, 0.2]), 0.01)
    assert plant.fault.startswith('friction_')
    assert plant.contact_mode == 'slipping'


@pytest.mark.parametrize(
    ('name', 'fixed'),
    [('two_fingertips', True), ('ball_between_plates', True), ('ball_and_wall', False)],
)
def test_what_touches_nothing_that_stands_in_the_world_has_no_odometry(name, fixed):
    scenario = load_scenario(name)
    assert robot_view(scenario.system, scenario.p).fixed == fixed

"""Machines from parts in scenario files: what they become, and what is refused."""

import numpy as np
import pytest
from rolling_dynamics.contract.rolling_system import Entry, quaternion_entry, vector_entry
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.mechanism import (
    Machine,
    MachineSystem,
    Prismatic,
    Revolute,
    Revolution,
    Rolling,
    Sphere,
)
from rolling_dynamics.robots.urdf import robot_urdf
from rolling_dynamics.robots.view import Disk, robot_view
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.faults import schema_of
from rolling_dynamics.scenario.machine import MachineFile
from rolling_dynamics.simulation import simulate
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.cli import main

TEXT = """\
system: machine
machine:
  bodies:
    shell: {kind: shell, radius: 0.15, mass: 0.6}
    slider: {kind: solid, mass: 0.2, inertia: [1e-3, 1e-3, 1e-3]}
    bob: {kind: pendulum, mass: 1.2, height: -0.08, across: 1e-3, inertia: 5e-4}
  joints:
    shell: {kind: rolling, mu: 0.8}
    slider: {kind: prismatic, parent: shell, axis: [1, 0, 0], place: [0, 0.02, 0.05]}
    bob: {kind: revolute, parent: slider, axis: [0, 0, 2], place: [0.1, 0, 0]}
  drives:
    push: {kind: motor, of: slider, limit: 3}
    turn: {kind: motor, of: bob}
initial: {bob: 0.2, q_shell: [0.1, 0.2, 0.3], w_shell: [1, 2, 3]}
duration: 1
"""


def changed(tmp_path, old, new):
    path = tmp_path / 'machine.yaml'
    assert old in TEXT
    path.write_text(TEXT.replace(old, new))
    return path


def by_hand():
    """Describe the same machine in Python."""
    machine = Machine('machine')
    units = {'shell_radius': 'm', 'shell_mass': 'kg', 'slider_mass': 'kg', 'bob_mass': 'kg'}
    radius, mass, slides, hangs = (machine.parameter(n, u) for n, u in units.items())
    shell = Rolling(
        shape=Sphere(radius),
        contact=vector_entry('c', 'm', 'W', '', 'xy'),
        attitude=quaternion_entry('q'),
        speed=vector_entry('w', 'rad/s', 'W'),
    )
    slide = Prismatic(
        travel=Entry('x', ('x',), 'm'),
        speed=Entry('v', ('v',), 'm/s'),
        axis=[1, 0, 0],
        place=[0, 0.02, 0.05],
    )
    machine.body('shell', shell, Revolution(mass, 2 / 3 * mass * radius**2))
    machine.body('slider', slide, Revolution(slides, 1e-3), on='shell')
    hinge = Revolute.named('bob', [0, 0, 1], [0.1, 0, 0])
    machine.body('bob', hinge, Revolution(hangs, 1e-3, -5e-4, -0.08), on='slider')
    return MachineSystem(machine)


def test_a_file_and_python_describe_the_same_machine(tmp_path):
    scenario, plain = load_scenario(changed(tmp_path, 'duration', 'duration')), by_hand()
    system, rng = scenario.system, np.random.default_rng(2)
    assert scenario.control_limits == pytest.approx([3.0, np.inf])
    p = plain.parameters.pack(shell_radius=0.15, shell_mass=0.6, slider_mass=0.2, bob_mass=1.2)
    for _ in range(5):
        x = rng.normal(size=system.state.size)
        x[system.state.slice('q_shell')] /= np.linalg.norm(x[system.state.slice('q_shell')])
        found = system.mode.dynamics(x, [0, 0], 0, scenario.p)
        expected = plain.mode.dynamics(x, [], 0, p)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_motors_act_by_their_power(tmp_path):
    """The rate of energy is the force times the rate of the joint, and the torque times its."""
    scenario = load_scenario(changed(tmp_path, 'duration', 'duration'))
    system, rng = scenario.system, np.random.default_rng(5)
    energy = system.invariants['energy']
    for _ in range(5):
        x, u = rng.normal(size=system.state.size), rng.normal(size=2)
        x[system.state.slice('q_shell')] /= np.linalg.norm(x[system.state.slice('q_shell')])
        v = system.state.unpack(x)
        xdot = np.array(system.mode.dynamics(x, u, 0, scenario.p)).ravel()
        h = 1e-6
        up, down = (float(energy(x + s * h * xdot, u, 0, scenario.p)) for s in (1, -1))
        power = u @ [v['slider_rate'][0], v['bob_rate'][0]]
        assert (up - down) / (2 * h) == pytest.approx(power, abs=1e-6 * max(1, abs(power)))


@pytest.mark.parametrize(
    ('old', 'new', 'text'),
    [
        (
            'parent: shell, axis',
            'parent: bob, axis',
            r'joints\.bob\.parent: the joints make a loop: slider on bob on slider;.*\(line 10\)',
        ),
        (
            'parent: shell, axis',
            'parent: shel, axis',
            r"joints\.slider\.parent: got 'shel'.*'shell'.*\(line 9\)",
        ),
        (
            '    bob: {kind: revolute',
            '    bot: {kind: revolute',
            r'bodies\.bob: has no joint.*\(line 6\)',
        ),
        ('bob: {kind: pendulum', 'hand: {kind: pendulum', r'hand: cannot be the name.*\(line 6\)'),
        (
            'bob: {kind: pendulum',
            "'b b': {kind: pendulum",
            r'b b: cannot be the name of a body: use letters',
        ),
        ('kind: shell', 'kind: shel', r"bodies\.shell\.kind: got 'shel'.*'shell'.*\(line 4\)"),
        ('of: slider', 'of: slide', r"drives\.push\.of: got 'slide'.*\(line 12\)"),
        (
            '{kind: shell, radius: 0.15, mass: 0.6}',
            '{kind: solid, mass: 1, inertia: [1, 1, 1]}',
            r"joints\.shell: 'shell' has no surface that could roll; make it a ball.*\(line 8\)",
        ),
        (
            '{kind: pendulum, mass: 1.2, height: -0.08, across: 1e-3, inertia: 5e-4}',
            '{kind: plate, side: 0.1}',
            r'^machine\.bodies\.bob: moves, and neither it nor what it carries has.*\(line 6\)',
        ),
        ('bob: 0.2', 'bib: 0.2', r"initial\.bib: no entry 'bib'.*'bob'.*\(line 14\)"),
        ('bob: 0.2', 'bob: [0, 1]', r'initial\.bob: takes 1 entries \[rad\], got 2 \(line 14\)'),
        (
            'axis: [0, 0, 2]',
            'axis: [0, 0, 0]',
            r'joints\.bob\.axis: must not be zero.*\(line 10\)',
        ),
        ('[1e-3, 1e-3, 1e-3]', '[1, 2]', r'bodies\.slider\.inertia: must be a symmetric'),
        (
            'limit: 3',
            'limit: 3, topic: motors',
            r"take all of \['push', 'turn'\] together.*got \['push'\] on.*\(line 11\)",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(tmp_path, old, new, text):
    with pytest.raises(ScenarioError, match=text):
        load_scenario(changed(tmp_path, old, new))


def plates(**top):
    given = load_scenario('ball_between_plates').raw
    contacts = {'top': {'body': 'ball', 'against': 'upper', **top}}
    return {**given, 'machine': {**given['machine'], 'contacts': contacts}}


def test_a_contact_that_prescribed_motions_may_contradict_is_refused():
    with pytest.raises(
        ScenarioError,
        match=r"initial: the contact of 'ball' on 'upper' \(top\) is redundant.* stiffness",
    ):
        load_scenario(plates())
    assert load_scenario(plates(stiffness=1e4)).system.state.size
    assert load_scenario(plates(normal_force=5)).system.state.size


def test_contacts_that_cannot_both_roll_at_the_start_are_refused():
    start = {'p_upper': [0, 0, 0.1], 'q_upper': [0, 1, 0, 0], 'v_upper': [0.3, 0, 0]}
    moving = {**plates(normal_force=5), 'initial': start | {'w_ball': [0, 0, 0]}}
    with pytest.raises(
        ScenarioError, match=r"contact of 'ball' on 'upper' \(top\) slips at 0\.3 m/s"
    ):
        load_scenario(moving)
    del moving['initial']['w_ball']
    scenario = load_scenario(moving)
    start = scenario.system.state.unpack(scenario.x0)
    np.testing.assert_allclose(start['w_ball'], [0, 3, 0], atol=1e-12)  # 0.3 m/s over 2 r


def test_what_is_not_given_follows_from_the_contacts():
    scenario = load_scenario('hamster_ball')
    start = scenario.system.state.unpack(scenario.x0)
    below = np.sqrt(0.2**2 - 0.06**2) - 0.04
    np.testing.assert_allclose(start['p_chassis'], [0, 0, 0.21 - below], atol=1e-12)


def test_a_goal_beyond_the_range_of_a_joint_is_refused():
    scenario = load_scenario('driven_shell')
    assert scenario.system.state_bounds(scenario.p) == {'pendulum': (-1.2, 1.2)}
    given = {**scenario.raw, 'plan': {'goal': {'pendulum': 1.6}}}
    with pytest.raises(ScenarioError, match=r'goal.pendulum: must lie between -1.2 and 1.2'):
        read_problem(load_scenario(given))


def test_an_editor_knows_the_parts():
    machine = schema_of(MachineFile)['properties']['machine']['properties']
    kinds = machine['bodies']['additionalProperties']['properties']['kind']['enum']
    assert {'ball', 'shell', 'wheel', 'pendulum', 'solid', 'plate'} <= set(kinds)
    kinds = machine['joints']['additionalProperties']['properties']['kind']['enum']
    assert 'rolling' in kinds


def test_it_is_drawn_and_has_joints_and_a_description(tmp_path, capsys):
    out = tmp_path / 'start.png'
    assert main(['check', 'driven_shell', '--picture', str(out)]) == 0
    assert out.read_bytes()[:4] == b'\x89PNG'
    assert 'good; machine' in capsys.readouterr().out
    scenario = load_scenario('driven_shell')
    view = robot_view(scenario.system, scenario.p)
    assert list(view.joints) == ['yoke', 'pendulum']
    urdf = robot_urdf(view, lambda name: name)
    assert 'shell_link' in urdf
    assert '<sphere radius="0.15"' in urdf


def test_planes_that_are_not_level_are_drawn_up_from_the_origin():
    scenario = load_scenario('ball_in_groove')
    planes = [s for s in scenario.system.outlines(scenario.p) if isinstance(s, Disk)]
    assert [plane.axis for plane in planes] == [
        pytest.approx((0, -np.sin(0.9), np.cos(0.9))),
        pytest.approx((0, np.sin(0.9), np.cos(0.9))),
    ]
    for plane in planes:
        top = np.array(plane.centre) + plane.thickness / 2 * np.array(plane.axis)
        assert np.linalg.norm(top) == pytest.approx(plane.radius)
        assert np.dot(top, plane.axis) == pytest.approx(0)
        assert top[2] > 0


BALL = {'kind': 'ball', 'mass': 1.0, 'radius': 0.1}
ARM = {'kind': 'pendulum', 'mass': 1.0, 'height': -0.1, 'across': 0.0}


@pytest.mark.parametrize(
    ('machine', 'text'),
    [
        (
            {
                'bodies': {'a': BALL, 'b': BALL},
                'joints': {
                    'a': {'kind': 'free', 'parent': 'b'},
                    'b': {'kind': 'free', 'parent': 'a'},
                },
            },
            r"joints\.a\.parent: got 'b', which cannot carry what is free",
        ),
        (
            {
                'bodies': {'a': BALL},
                'joints': {'a': {'kind': 'free'}},
                'contacts': {'left': {'body': 'a'}, 'right': {'body': 'a', 'normal': [0, 1, 1]}},
                'start': {'p_a': [0, 0, 0.3]},
            },
            r"the contact of 'a' on 'the ground' \(left\) has a gap of 0.2 m",
        ),
        (
            {
                'bodies': {'a': BALL, 'arm': ARM},
                'joints': {'a': {'kind': 'rolling'}, 'arm': {'kind': 'spherical', 'parent': 'a'}},
            },
            r'initial: nothing with mass or inertia moves with \+1 w_arm_z; give the body',
        ),
    ],
)
def test_what_cannot_move_so_is_refused_by_its_name(machine, text):
    start = machine.pop('start', {})
    given = {'name': 'wrong', 'system': 'machine', 'duration': 1.0, 'machine': machine}
    with pytest.raises(ScenarioError, match=text):
        load_scenario({**given, 'description': 'It is wrong.', 'initial': start})


def machine_of(machine, initial):
    given = {'name': 'made', 'system': 'machine', 'duration': 1.0, 'machine': machine}
    return load_scenario({**given, 'description': 'It is made here.', 'initial': initial})


SHELL = {'kind': 'shell', 'mass': 1.0, 'radius': 0.1}


def test_a_universal_joint_moves_as_two_hinges():
    solid = {'kind': 'solid', 'mass': 0.5, 'centre': [0, 0, -0.1], 'inertia': [1e-3, 2e-3, 1.5e-3]}
    hinge = {'kind': 'revolute', 'parent': 'shell', 'axis': [1, 0, 0], 'place': [0, 0, 0.02]}
    both = {**hinge, 'kind': 'universal', 'second': [0, 1, 0]}
    one = machine_of(
        {
            'bodies': {'shell': SHELL, 'arm': solid},
            'joints': {'shell': {'kind': 'rolling'}, 'arm': both},
        },
        {'arm': [0.4, -0.3], 'arm_rate': [1.0, 2.0]},
    )
    yoke, on_yoke = {'kind': 'plate', 'side': 0.1}, {'parent': 'yoke', 'axis': [0, 1, 0]}
    two = machine_of(
        {
            'bodies': {'shell': SHELL, 'yoke': yoke, 'arm': solid},
            'joints': {
                'shell': {'kind': 'rolling'},
                'yoke': hinge,
                'arm': {'kind': 'revolute', **on_yoke},
            },
        },
        {'yoke': 0.4, 'arm': -0.3, 'yoke_rate': 1.0, 'arm_rate': 2.0},
    )
    ends = []
    for scenario in (one, two):
        run = simulate(scenario.system, scenario.p, scenario.x0, [], 1.0)
        ends.append(scenario.system.state.unpack(run.states[-1]))
    np.testing.assert_allclose(ends[0]['arm'], [*ends[1]['yoke'], *ends[1]['arm']], atol=1e-8)
    np.testing.assert_allclose(ends[0]['c_shell'], ends[1]['c_shell'], atol=1e-8)


def test_a_bead_on_a_circle_swings_as_a_pendulum():
    bodies = {'shell': SHELL, 'bead': {**BALL, 'radius': 0.01}}
    curve = {'kind': 'curve', 'curve': ['0.6*sin(s/0.6)', 0, '-0.6*cos(s/0.6)']}
    joints = {'shell': {'kind': 'rolling'}, 'bead': curve}
    scenario = machine_of({'bodies': bodies, 'joints': joints}, {'bead': 0.5, 'bead_rate': 0.7})
    rate = scenario.system.modes['rolling'].dynamics(scenario.x0, [], 0, scenario.p)
    found = float(rate[scenario.system.state.slice('bead_rate')])
    assert found == pytest.approx(-9.81 * np.sin(0.5 / 0.6), rel=1e-12)
    curve['curve'][0] = '0.6*sin(t)'
    with pytest.raises(ScenarioError, match=r"joints\.bead: .* uses 't'; names .*: s, pi"):
        machine_of({'bodies': bodies, 'joints': joints}, {})


@pytest.mark.parametrize('way', ['joint', 'contact'])
def test_a_ball_ends_at_the_edge_of_its_plate(way):
    given = {'edges': [-0.2, 0.2, -0.3, 0.3]}
    joint, contacts = {'kind': 'rolling', **given}, {}
    start = {'c_a': [0, 0], 'w_a': [0, 5, 0]}
    if way == 'contact':
        joint, contacts = {'kind': 'free'}, {'a': {**given, 'mu_kinetic': 0.5}}
        start = {'p_a': [0, 0, 0.1], 'v_a': [0.5, 0, 0], 'w_a': [0, 5, 0]}
    machine = {'bodies': {'a': BALL}, 'joints': {'a': joint}}
    scenario = machine_of({**machine, 'contacts': contacts} if contacts else machine, start)
    run = simulate(scenario.system, scenario.p, scenario.x0, [], 1.0)
    (event,) = run.events
    assert (event.name, event.terminal) == ('edge_a', True)
    assert event.time == pytest.approx(0.4, abs=1e-9)  # 0.2 m at 0.5 m/s
    joint['edges'] = [0.2, -0.2, -0.3, 0.3]
    if way == 'joint':
        with pytest.raises(ScenarioError, match='edges: takes x_min < x_max, y_min < y_max'):
            machine_of(machine, start)

"""Contacts on curved surfaces and in grooves: beside hand derivations and published values."""

import math

import casadi as ca
from evidence.benchmarks.machines import PRESSED
from kane_oracle import rates_by_kane
import numpy as np
import pytest
from rolling_dynamics.contract.rolling_system import Entry, quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import (
    Contact,
    Driven,
    Ellipsoid,
    Free,
    Hollow,
    HybridMachine,
    Machine,
    MachineSystem,
    Plane,
    Revolute,
    Revolution,
    Rolling,
    Solid,
    Sphere,
    Wheel,
)
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_dynamics.testing import check_system
from rolling_dynamics.testing.check_system import CHECKS

G, R, MASS = 9.81, 0.05, 0.3
OUTSIDE, INSIDE, TRACK, WHEEL = 0.21, 0.20, 0.06, 0.04  # m, of the hamster ball
BELOW = math.sqrt(INSIDE**2 - TRACK**2) - WHEEL  # m, of the axle from the middle of the shell
SHELL, CHASSIS, ROLLER, LOW = 1.0, 0.8, 0.1, 0.02  # kg, and m of the chassis' centre of mass
SHELL_INERTIA, ROLLER_INERTIA, CHASSIS_INERTIA = 2 / 3 * 0.205**2, ROLLER * WHEEL**2 / 2, 0.002
ANGLES = [2 * math.pi * k / 3 for k in range(3)]  # of the axles of the cart
WATCHED = ('normal_force', 'friction')


def free(name):
    return Free(
        position=vector_entry(f'p_{name}', 'm', 'W'),
        attitude=quaternion_entry(f'q_{name}'),
        velocity=vector_entry(f'v_{name}', 'm/s', 'W'),
        speed=vector_entry(f'w_{name}', 'rad/s', name),
        axes='world',
    )


def with_ball(name, gravity=(0, 0, -G)):
    machine = Machine(name)
    machine.gravity_W = ca.SX(ca.DM(gravity))
    machine.body('ball', free('ball'), Revolution(ca.SX(MASS), ca.SX(0.4 * MASS * R**2)))
    return machine


def rates(system, x, u=()):
    return system.state.unpack(np.array(system.mode.dynamics(x, u, 0, [])).ravel())


def by_lagrange():
    """
    Return (q, dq/dt, torque) -> second derivatives of a hamster ball that moves in a plane.

    q has the angles about y of the shell, of the axle from its lowest place, and of the chassis.
    """
    d = BELOW
    q, v, torque = ca.SX.sym('q', 3), ca.SX.sym('v', 3), ca.SX.sym('torque')
    shell, axle, chassis = ca.vertsplit(q)
    wheel = ((d + WHEEL) * v[0] - d * v[1]) / WHEEL  # rolls inside at this distance
    centre = ca.vertcat(OUTSIDE * shell, 0)
    middle = centre - d * ca.vertcat(ca.sin(axle), ca.cos(axle))
    low = middle - LOW * ca.vertcat(ca.sin(chassis), ca.cos(chassis))
    T, V = ca.SX(0), ca.SX(0)
    for mass, place in ((SHELL, centre), (2 * ROLLER, middle), (CHASSIS, low)):
        T += mass / 2 * ca.sumsqr(ca.jtimes(place, q, v))
        V += mass * G * place[1]
    T += SHELL_INERTIA / 2 * v[0] ** 2 + ROLLER_INERTIA * wheel**2
    T += CHASSIS_INERTIA / 2 * v[2] ** 2
    p = ca.gradient(T, v)
    force = ca.gradient(T - V, q) - ca.jtimes(p, q, v) + torque * ca.gradient(wheel - v[2], v)
    acceleration = ca.solve(ca.jacobian(p, v), force)
    wheel_rate = ca.jtimes(wheel, v, acceleration)
    return ca.Function('plane', [q, v, torque], [acceleration, wheel, wheel_rate])


def hamster_ball():
    scenario = load_scenario('hamster_ball')
    return scenario.system, scenario.p


def axle_at(system, angle):
    """Return a state at rest, the axle turned by an angle [rad] about y from its lowest place."""
    way = [-BELOW * math.sin(angle), 0, OUTSIDE - BELOW * math.cos(angle)]
    return system.state.pack(p_chassis=way)


def test_a_hamster_ball_moves_in_a_plane_as_by_lagrange():
    system, p = hamster_ball()
    plane, rng = by_lagrange(), np.random.default_rng(4)
    for _ in range(10):
        q, v, torque = rng.uniform(-1, 1, 3), rng.uniform(-3, 3, 3), rng.uniform(-0.2, 0.2)
        expected, wheel, wheel_rate = (np.array(e).ravel() for e in plane(q, v, torque))
        d, along = BELOW, np.array([-math.cos(q[1]), 0, math.sin(q[1])])
        x = axle_at(system, q[1])
        turned = system.state.pack(
            p_chassis=x[system.state.slice('p_chassis')],
            q_chassis=[math.cos(q[2] / 2), 0, math.sin(q[2] / 2), 0],
            v_chassis=[OUTSIDE * v[0], 0, 0] + d * v[1] * along,
            w_shell=[0, v[0], 0],
            w_chassis=[0, v[2], 0],
            left_rate=wheel - v[2],
            right_rate=wheel - v[2],
        )
        system.check_state(p, turned)
        u = np.array([0.3, 0.7]) * torque
        found = system.state.unpack(np.array(system.mode.dynamics(turned, u, 0, p)).ravel())
        assert found['w_shell'][1] == pytest.approx(expected[0], abs=1e-10)
        assert found['w_chassis'][1] == pytest.approx(expected[2], abs=1e-10)
        mean = (found['left_rate'] + found['right_rate']) / 2
        assert mean == pytest.approx(wheel_rate - expected[2], abs=1e-9)


def edges_do_not_slip(poses, moving, turning):
    """Return velocities over the shell of the wheels' edges, but for one along the axle."""
    shell, rows = poses['shell'][:3, 3], []
    for name in ('left', 'right'):
        centre, axis = poses[name][:3, 3], poses[name][:3, 1]
        across = centre - shell - axis * ca.dot(axis, centre - shell)
        spoke = WHEEL * across / ca.norm_2(across)
        normal = (centre + spoke - shell) / ca.norm_2(centre + spoke - shell)
        of_wheel = moving[name] + ca.cross(turning[name], spoke)
        of_shell = moving['shell'] + ca.cross(turning['shell'], centre + spoke - shell)
        slip, along = of_wheel - of_shell, ca.cross(axis, normal)
        rows += [ca.dot(normal, slip), ca.dot(along / ca.norm_2(along), slip)]
        if name == 'left':  # the force on the right one is given there
            rows.append(ca.dot(ca.cross(normal, along / ca.norm_2(along)), slip))
    return ca.vertcat(*rows)


def test_a_hamster_ball_moves_in_space_as_by_kane():
    """With multipliers for the edges, at states of a motion in which the cart swings and turns."""
    system, p = hamster_ball()
    x = axle_at(system, 0.6)
    x[system.state.slice('w_chassis')] = [0.5, 1.0, 2.0]
    x = np.array(system.projection(x, p)).ravel()
    axle = system.machine.links['chassis'].R_WB[:, 1]

    def motors(turning, u, _moving):
        return sum(
            u[k] * ca.dot(axle, turning[name] - turning['chassis'])
            for k, name in enumerate(('left', 'right'))
        )

    kane = rates_by_kane(system, system.speed_names, motors, edges_do_not_slip)
    events, u = dict.fromkeys(system.mode.guards, 'record'), np.array([0.1, -0.07])
    run = simulate(system, p, x, u, 1.0, rtol=1e-11, atol=1e-12, events=events)
    own = [k for n in system.speed_names for k in range(system.state.size)[system.state.slice(n)]]
    for state in run.states[:: len(run.states) // 6]:
        y = np.array(system.projection(state, p)).ravel()
        expected = np.array(kane(y, u, 0, p)).ravel()
        found = np.array(system.mode.dynamics(y, u, 0, p)).ravel()[own]
        np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())
    assert np.abs(expected).min() > 1e-3  # every speed changes


def test_a_hamster_ball_keeps_its_energy_and_its_wheels_at_the_shell():
    system, p = hamster_ball()
    x = axle_at(system, 0.6)
    x[system.state.slice('w_chassis')] = [0.0, 1.0, 2.0]
    x = np.array(system.projection(x, p)).ravel()
    events = dict.fromkeys(system.mode.guards, 'record')
    run = simulate(system, p, x, np.zeros(2), 2.0, rtol=1e-11, atol=1e-12, events=events)
    energy = run.evaluate(lambda s: s.invariants['energy'])[:, 0]
    assert np.ptp(energy) < 1e-8 * np.abs(energy).max()
    assert np.ptp(run.states[:, system.state.slice('c_shell')], axis=0).min() > 0.01
    poses = system.pose(run.states[-1], p)
    shell, *wheels = (np.array(poses[k]) for k in (0, 2, 3))
    for X in wheels:
        away, axis = X[:3, 3] - shell[:3, 3], X[:3, 1]
        across = away - axis * (axis @ away)
        edge = np.hypot(np.linalg.norm(across) + WHEEL, axis @ away)
        assert edge == pytest.approx(INSIDE, abs=1e-10)


@pytest.mark.parametrize('half', [0.3, 0.9])
def test_a_ball_in_a_groove_rolls_slower_the_nearer_its_contacts_are_to_its_axis(half):
    slope = 0.2
    machine = with_ball('groove', [G * math.sin(slope), 0, -G * math.cos(slope)])
    for side, given in ((1, None), (-1, ca.SX(0))):
        normal = (0.0, -side * math.sin(half), math.cos(half))
        machine.contact(
            Contact(body='ball', shape=Sphere(ca.SX(R)), surface=Plane(normal), side_force=given)
        )
    system = MachineSystem(machine)
    x = system.state.pack(p_ball=[0, 0, R / math.cos(half)])
    system.check_state([], x)
    lever = R * math.cos(half)  # from the contacts to the axis of rolling
    expected = G * math.sin(slope) / (1 + 2 / 5 * (R / lever) ** 2)
    assert rates(system, x)['v_ball'] == pytest.approx([expected, 0, 0], abs=1e-12)


def test_without_a_side_force_a_groove_carries_the_ball_along_its_normals():
    """Six rows of rank 5: the motion is determined, and the sides share the weight evenly."""
    half, slope = 0.5, 0.2
    machine = with_ball('groove', [G * math.sin(slope), 0, -G * math.cos(slope)])
    for side in (1, -1):
        normal = (0.0, -side * math.sin(half), math.cos(half))
        machine.contact(Contact(body='ball', shape=Sphere(ca.SX(R)), surface=Plane(normal)))
    system = MachineSystem(machine)
    x = system.state.pack(p_ball=[0, 0, R / math.cos(half)])
    system.check_state([], x)
    expected = G * math.sin(slope) / (1 + 2 / 5 / math.cos(half) ** 2)
    assert rates(system, x)['v_ball'] == pytest.approx([expected, 0, 0], abs=1e-12)
    one, other = (k.R_WP @ k.wrench[3:] for k in system.contacts.values())
    forces = np.array(system.function('f', ca.horzcat(one, other))(x, [], 0, []))
    # by hand: the weight on both, and no friction across the groove, so that it may be smooth
    weight = MASS * G * math.cos(slope) / 2
    np.testing.assert_allclose(forces[2], weight, atol=1e-8)
    np.testing.assert_allclose(forces[1], np.array([-1, 1]) * weight * math.tan(half), rtol=2e-4)
    np.testing.assert_allclose(forces[0], forces[0].mean(), atol=1e-8)


def test_a_ball_in_an_upright_cylinder_rises_and_falls_at_sqrt_2_7_of_its_rate():
    """It does not fall out: Gualtieri, Tokieda et al. 2006, Golfer's dilemma."""
    machine, wide, turning = with_ball('cylinder'), 0.4, 9.0
    wall = Hollow(ca.SX(wide), axes=2)
    machine.contact(Contact(body='ball', shape=Sphere(ca.SX(R)), surface=wall, mu=10.0))
    system, way = MachineSystem(machine), wide - R
    x = system.state.pack(
        p_ball=[way, 0, 0], v_ball=[0, turning * way, 0], w_ball=[0, 0, -turning * way / R]
    )
    t = np.linspace(0, 2, 21)
    run = simulate(
        system,
        np.zeros(0),
        x,
        None,
        2.0,
        rtol=1e-11,
        atol=1e-12,
        t_eval=t,
        events=dict.fromkeys(WATCHED, 'record'),
    )
    depth = 5 * G / (2 * turning**2)
    expected = -depth * (1 - np.cos(math.sqrt(2 / 7) * turning * t))
    assert run.states[:, 2] == pytest.approx(expected, abs=1e-8)


def turntable(rate, **given):
    """Return a ball that rolls on a table that turns at a given rate, or moves freely."""
    machine = Machine('turntable')
    hinge = Revolute(
        angle=Entry('turn', ('turn',), 'rad', kind='angle'),
        speed=Entry('turn_rate', ('turn_rate',), 'rad/s'),
        axis=[0, 0, 1],
    )
    mass = None if rate else Revolution(ca.SX(1.0), ca.SX(1.0))
    machine.body('table', Driven(joint=hinge, rates=ca.SX(1, 1)) if rate else hinge, mass)
    ball = Rolling(
        shape=Sphere(ca.SX(R)),
        contact=vector_entry('contact', 'm', suffixes='xy'),
        attitude=quaternion_entry('q_WB'),
        speed=vector_entry('w_WB', 'rad/s'),
        **given,
    )
    machine.body('ball', ball, Revolution(ca.SX(MASS), ca.SX(0.4 * MASS * R**2)), on='table')
    return MachineSystem(machine)


def test_a_ball_on_a_turntable_circles_at_2_7_of_its_rate():
    rate = 3.0
    system = turntable(rate)
    x, xdot = system.symbols.x, system.mode.dynamics(*system.symbols)
    where = system.pose(x, [])[1][:3, 3]
    velocity = ca.jtimes(where, x, xdot)
    both = ca.Function('both', [x], [velocity, ca.jtimes(velocity, x, xdot)])
    rng = np.random.default_rng(6)
    for _ in range(5):
        state = system.state.pack(
            contact=rng.normal(size=2), turn=rng.normal(), turn_rate=rate, w_WB=rng.normal(size=3)
        )
        v, a = (np.array(e).ravel() for e in both(state))
        assert a == pytest.approx(2 / 7 * rate * np.cross([0, 0, 1], v), abs=1e-12)


def test_what_turns_with_its_table_is_not_damped():
    """A spin over the table is damped, by exp(-5 d t / (2 m R^2))."""
    rate, damping = 3.0, 1e-3
    system = turntable(rate, damping=damping, resistance=1e-3)
    for over in (0.0, 2.0):
        state = system.state.pack(turn_rate=rate, w_WB=[0, 0, rate + over])
        slows = np.array(system.mode.dynamics(state, [], 0, [])).ravel()[-3:]
        expected = [0, 0, -2.5 * damping * over / (MASS * R**2)]
        np.testing.assert_allclose(slows, expected, atol=1e-12)
    with pytest.raises(ParameterError, match="on 'table', which moves freely"):
        _ = turntable(0.0, damping=damping).mode


def test_a_ball_between_fingertips_turns_where_they_move_apart():
    machine, tip = with_ball('fingertips', (0, 0, 0)), 0.08
    pushes = [machine.control(vector_entry(f'a_{k}', 'm/s^2', 'W')) for k in (1, 2)]
    for k, push in enumerate(pushes, 1):
        machine.body(f'tip{k}', Driven(joint=free(f'tip{k}'), rates=ca.vertcat(push, ca.SX(3, 1))))
        given = None if k == 1 else ca.SX(2.0)
        machine.contact(
            Contact(
                body='ball',
                shape=Sphere(ca.SX(R)),
                on=f'tip{k}',
                surface=Sphere(ca.SX(tip)),
                normal_force=given,
            )
        )
    system = MachineSystem(machine)
    x = system.state.pack(p_tip1=[0, R + tip, 0], p_tip2=[0, -R - tip, 0])
    system.check_state([], x)
    found = rates(system, x, [0.7, 0, 0, -0.7, 0, 0])
    assert found['v_ball'] == pytest.approx([0, 0, 0], abs=1e-12)
    assert found['w_ball'] == pytest.approx([0, 0, -0.7 / R], abs=1e-10)
    margins = {n: float(f(x, np.zeros(6), 0, [])) for n, f in system.mode.guards.items()}
    assert margins['normal_force_ball'] == pytest.approx(2.0, abs=1e-12)


def by_newton(velocity, turning, torques, rollers):
    """Return wheel rates, and rates of velocity, turning and wheels of a cart along x at rest."""
    c, s, r, d, wheel = math.cos(rollers), math.sin(rollers), 0.05, 0.15, 0.2
    mass, about_axle = 4.0 + 3 * wheel, wheel * r**2 / 2
    inertia = 0.04 + 3 * (about_axle / 2 + wheel * d**2)
    # unknown: acceleration (2), turning acceleration, wheel accelerations (3), forces (3)
    A, b, wheels = np.zeros((9, 9)), np.zeros(9), np.zeros(3)
    A[[0, 1, 2], [0, 1, 2]] = mass, mass, inertia
    for k, angle in enumerate(ANGLES):
        axle, way = (np.array([math.cos(a), math.sin(a)]) for a in (angle, angle - math.pi / 2))
        wheels[k] = (velocity @ (way + s / c * axle) - d * turning) / r
        A[:2, 6 + k], A[2, 6 + k] = -(c * way + s * axle), d * c
        A[3 + k, 3 + k], A[3 + k, 6 + k], b[3 + k] = about_axle, r * c, torques[k]
        A[6 + k, :2], A[6 + k, 2], A[6 + k, 3 + k] = way + s / c * axle, -d, -r
        b[6 + k] = -turning * (velocity @ (axle - s / c * way))
    return wheels, np.linalg.solve(A, b)[:6]


@pytest.mark.parametrize('rollers', [0.0, math.pi / 4])
def test_a_cart_on_omni_and_on_mecanum_wheels_moves_as_by_newton(rollers):
    given = load_scenario('omni_cart').raw
    wheels = {f'wheel_{k}': {'mu': 0.8, 'rollers': rollers} for k in (1, 2, 3)}
    scenario = load_scenario({**given, 'machine': {**given['machine'], 'contacts': wheels}})
    system, p, rng = scenario.system, scenario.p, np.random.default_rng(8)
    for _ in range(5):
        velocity, turning, torques = rng.normal(size=2), rng.normal(), rng.normal(size=3)
        wheels, expected = by_newton(velocity, turning, torques, rollers)
        names = {f'wheel_{k + 1}_rate': wheels[k] for k in range(3)}
        x = system.state.pack(
            p_cart=[0, 0, 0.05], v_cart=[*velocity, 0], w_cart=[0, 0, turning], **names
        )
        system.check_state(p, x)
        found = system.state.unpack(np.array(system.mode.dynamics(x, torques, 0, p)).ravel())
        assert found['v_cart'] == pytest.approx([*expected[:2], 0], abs=1e-10)
        assert found['w_cart'] == pytest.approx([0, 0, expected[2]], abs=1e-10)
        turned = [found[name][0] for name in names]
        assert turned == pytest.approx(expected[3:], abs=1e-10)


def test_a_ball_on_a_soft_floor_bounces_at_the_root_of_stiffness_over_mass():
    stiff, machine = 400.0, with_ball('soft')
    machine.contact(Contact(body='ball', shape=Sphere(ca.SX(R)), stiffness=stiff))
    system = MachineSystem(machine)
    rest = R - MASS * G / stiff
    x = system.state.pack(p_ball=[0, 0, rest - 0.002], v_ball=[0.3, 0, 0], w_ball=[0, 0.3 / R, 0])
    t = np.linspace(0, 2, 41)
    run = simulate(system, np.zeros(0), x, None, 2.0, rtol=1e-11, atol=1e-13, t_eval=t)
    heights = run.states[:, system.state.slice('p_ball')][:, 2]
    expected = rest - 0.002 * np.cos(math.sqrt(stiff / MASS) * t)
    # the lever of the rolling ball breathes, which shortens its way but not its bounces
    assert heights == pytest.approx(expected, abs=1e-9)
    energy = run.evaluate(lambda s: s.invariants['energy'])[:, 0]
    assert np.ptp(energy) < 1e-9 * np.abs(energy).max()


def test_a_soft_contact_ends_at_the_depth_to_which_it_may_give_way():
    """From 2 mm over its rest the ball sinks as a cosine; at 1 mm below it, the motion ends."""
    stiff, machine = 400.0, with_ball('soft')
    sunk = MASS * G / stiff
    soft = {'stiffness': stiff, 'depth': sunk + 0.001}
    machine.contact(Contact(body='ball', shape=Sphere(ca.SX(R)), **soft))
    system = MachineSystem(machine)
    x = system.state.pack(p_ball=[0, 0, R - sunk + 0.002])
    run = simulate(system, np.zeros(0), x, None, 2.0, rtol=1e-11, atol=1e-13)
    assert [event.name for event in run.events] == ['depth']
    end = math.acos(-0.5) / math.sqrt(stiff / MASS)
    assert run.times[-1] == pytest.approx(end, abs=1e-8)
    left = {name: float(f(x, [], 0, [])) for name, f in system.envelope.items()}
    assert left['depth'] == pytest.approx(0.003 / (sunk + 0.001))
    with pytest.raises(ParameterError, match='only a contact with a stiffness has a depth'):
        Contact(body='ball', shape=Sphere(ca.SX(R)), depth=0.001)


def pads(stiff):
    machine = with_ball('pads', [-G, 0, 0])
    machine.bodies.clear()
    inertia = ca.diag(ca.DM([2e-5, 3e-5, 4e-5]))
    machine.body('ball', free('ball'), Solid(ca.SX(0.2), inertia))
    machine.body('pad', Driven(joint=free('pad'), rates=ca.SX(6, 1)))
    shape = Ellipsoid(ca.DM([0.03, 0.02, 0.015]))
    for on in ('', 'pad'):
        machine.contact(Contact(body='ball', shape=shape, on=on, stiffness=stiff))
    return MachineSystem(machine)


def test_a_squeezed_ellipsoid_that_hangs_between_pads_does_not_creep():
    """The case of MuJoCo's issue 3328, where a capsule creeps by 155 micrometres a second."""
    system, squeeze = pads(1e5), 1e-4
    x = system.state.pack(
        p_ball=[0, 0, 0.015 - squeeze], p_pad=[0, 0, 0.03 - 2 * squeeze], q_pad=[0, 1, 0, 0]
    )
    system.check_state([], x)
    run = simulate(system, np.zeros(0), x, None, 10.0)
    assert run.times[-1] == 10.0
    moved = run.states - x
    assert np.abs(moved).max() < 1e-10
    # half the weight is carried by each pad, and each presses with its stiffness
    wrench = np.array(system.mode.wrench(x, [], 0, [])).ravel()
    assert wrench[3:] == pytest.approx([0.2 * G, 0, 0], abs=1e-9)
    margin = float(system.mode.guards['friction_ball'](x, [], 0, []))
    assert margin == pytest.approx(1e5 * squeeze - 0.1 * G, abs=1e-9)


def test_an_ellipsoid_that_a_pad_presses_comes_to_rest_and_does_not_creep():
    """The pad is pushed by 10 N and starts 10 micrometres off; after a second nothing moves."""
    scenario, times = load_scenario(PRESSED), np.linspace(0, 3, 4)
    run = simulate(scenario.system, scenario.p, scenario.x0, scenario.control, 3.0, t_eval=times)
    assert np.abs(run.states[1] - run.states[0]).max() > 5e-6
    assert np.ptp(run.states[1:], axis=0).max() < 1e-11  # of 1e-10 m in 10 s


def test_an_ellipsoid_that_rolls_on_a_soft_floor_obeys_newton_and_euler():
    machine = with_ball('egg')
    machine.bodies.clear()
    machine.body('egg', free('egg'), Solid(ca.SX(0.2), ca.diag(ca.DM([2e-5, 3e-5, 4e-5]))))
    shape = Ellipsoid(ca.DM([0.03, 0.02, 0.015]))
    machine.contact(Contact(body='egg', shape=shape, stiffness=2e3, damping=0.0))
    system, q = MachineSystem(machine), np.array([0.8, 0.2, -0.5, 0.3])
    x = system.state.pack(p_egg=[0, 0, 0.018], q_egg=q / np.linalg.norm(q), w_egg=[3.0, -2, 1])
    x = np.array(system.projection(x, [])).ravel()
    checks = {name: CHECKS[name] for name in ('newton-euler', 'invariants')}
    outcomes = check_system(system, np.zeros(0), x, checks=checks)
    assert [o.verdict for o in outcomes] == ['passed', 'passed']


@pytest.mark.parametrize(
    ('shape', 'surface', 'text'),
    [
        (Wheel(ca.SX(R)), Hollow(ca.SX(1.0), axes=2), 'a Wheel does not roll on a Hollow'),
        (Wheel(ca.SX(R), 0.01), Hollow(ca.SX(1.0)), 'a Wheel does not roll on a Hollow'),
        (Wheel(ca.SX(R), 0.01), Sphere(ca.SX(1.0)), 'a Wheel does not roll on a Sphere'),
    ],
)
def test_what_does_not_touch_at_a_known_point_is_rejected(shape, surface, text):
    with pytest.raises(ParameterError, match=text):
        with_ball('wrong').contact(Contact(body='ball', shape=shape, surface=surface))


@pytest.mark.parametrize(
    ('given', 'text'),
    [
        ({'normal_force': 1.0, 'stiffness': 1e3}, 'either normal_force or stiffness'),
        ({'side_force': 0.0, 'rollers': 0.0}, 'has side_force and rollers: only one of'),
        (
            {'side_stiffness': 1.0, 'mu_kinetic': 0.1},
            'with side_stiffness and mu_kinetic give',
        ),
        ({'side_stiffness': 1.0}, 'side_stiffness and displacement.* come together'),
        ({'rollers': 0.0}, 'rollers are on the rim of a Wheel, not on a Sphere'),
    ],
)
def test_what_a_contact_may_not_say_is_rejected(given, text):
    with pytest.raises(ParameterError, match=text):
        with_ball('wrong').contact(Contact(body='ball', shape=Sphere(ca.SX(R)), **given))


def sliding_ball(stiffness=None):
    machine = Machine('sliding')
    joint = free('ball')
    machine.body('ball', joint, Revolution(ca.SX(MASS), ca.SX(0.4 * MASS * R**2)))
    shape = Sphere(ca.SX(R))
    machine.contact(Contact(body='ball', shape=shape, mu=0.3, mu_kinetic=0.2, stiffness=stiffness))
    torque = machine.control(Entry('torque', ('torque',), 'N m'))
    machine.torque(torque * ca.DM([0, 1, 0]), on='ball')
    return HybridMachine(machine)


@pytest.mark.parametrize('stiffness', [None, 1e6])
def test_a_bowling_ball_slides_and_then_rolls_at_five_sevenths_of_its_speed(stiffness):
    system, v = sliding_ball(stiffness), 3.0
    sunk = 0.0 if stiffness is None else MASS * G / stiffness
    x = system.state.pack(p_ball=[0, 0, R - sunk], v_ball=[v, 0, 0])
    end, rolls = 2 * v / (7 * 0.2 * G), 5 / 7 * v
    run = simulate(system, np.zeros(0), x, np.zeros(1), 1.0, rtol=1e-10, atol=1e-12)
    (event,) = run.events
    assert event.name == 'stick'
    near = 1e-6 + 2 * sunk / R
    assert event.time == pytest.approx(end, rel=near)
    last = system.state.unpack(run.states[-1])
    assert last['v_ball'] == pytest.approx([rolls, 0, 0], rel=near, abs=1e-9)
    assert last['w_ball'] == pytest.approx([0, rolls / R, 0], rel=near, abs=1e-9)
    way = v * end - 0.2 * G * end**2 / 2 + rolls * (1.0 - end)
    assert last['p_ball'] == pytest.approx([way, 0, R - sunk], rel=near)


@pytest.mark.parametrize('fraction', [0.99, 1.01])
def test_a_driven_ball_slips_beyond_the_limit_of_static_friction(fraction):
    """Rolling needs 5/7 of the torque over the radius as friction."""
    system = sliding_ball()
    torque = fraction * 0.3 * MASS * G * R * 7 / 5
    x = system.state.pack(p_ball=[0, 0, R])
    run = simulate(system, np.zeros(0), x, [torque], 0.5, rtol=1e-10, atol=1e-12)
    last = system.state.unpack(run.states[-1])
    if fraction < 1:
        speed = torque / (7 / 5 * MASS * R) * 0.5
        assert last['w_ball'][1] == pytest.approx(speed / R, rel=1e-9)
    else:
        speed = 0.2 * G * 0.5
        spin = (torque - 0.2 * MASS * G * R) / (0.4 * MASS * R**2) * 0.5
        assert last['w_ball'][1] == pytest.approx(spin, rel=1e-5)
    assert last['v_ball'] == pytest.approx([speed, 0, 0], rel=1e-5, abs=1e-9)


def test_of_two_contacts_the_one_with_little_friction_slips():
    """A ball that is squeezed by 4 N between the floor and a plate that moves off."""
    machine, squeeze, pull = with_ball('squeezed'), 4.0, 6.0
    push = machine.control(vector_entry('push', 'm/s^2', 'W'))
    machine.body('plate', Driven(joint=free('plate'), rates=ca.vertcat(push, ca.SX(3, 1))))
    ball = Sphere(ca.SX(R))
    machine.contact(Contact(body='ball', shape=ball, mu=0.5, mu_kinetic=0.5))
    machine.contact(
        Contact(body='ball', shape=ball, on='plate', mu=0.1, mu_kinetic=0.08, normal_force=squeeze)
    )
    system = HybridMachine(machine)
    assert list(system.modes) == [
        'rolling',
        'slipping_ball_plate',
        'slipping_ball',
        'slipping_ball_ball_plate',
        'separated_ball',
        'slipping_ball_plate_separated_ball',
    ]
    x = system.state.pack(p_ball=[0, 0, R], p_plate=[0, 0, 2 * R], q_plate=[0, 1, 0, 0])
    assert 0.35 * MASS * pull > 0.1 * squeeze  # what rolling needs above, and what there is
    s = system.begin([], x, [pull, 0, 0], 0.0)
    assert s.mode == 'slipping_ball_plate'
    found = system.state.unpack(
        np.array(system.modes[s.mode].dynamics(s.x, [pull, 0, 0], 0, [])).ravel()
    )
    # by the momentum about the contact with the floor
    expected = 2 * 0.08 * squeeze / (7 / 5 * MASS)
    assert found['v_ball'] == pytest.approx([expected, 0, 0], abs=1e-9)
    gently = system.begin([], x, [0.5, 0, 0], 0.0)
    assert gently.mode == 'rolling'
    rolls = system.modes['rolling'].dynamics(x, [0.5, 0, 0], 0, [])
    found = system.state.unpack(np.array(rolls).ravel())
    assert found['v_ball'] == pytest.approx([0.25, 0, 0], abs=1e-12)


def test_a_machine_without_kinetic_friction_does_not_slip():
    machine = with_ball('sticks')
    machine.contact(Contact(body='ball', shape=Sphere(ca.SX(R))))
    with pytest.raises(ParameterError, match='no contact has a mu_kinetic'):
        HybridMachine(machine)

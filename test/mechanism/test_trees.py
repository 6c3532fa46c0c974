"""Trees of bodies: a second derivation, energy, and what a description may not say."""

import casadi as ca
from kane_oracle import rates_by_kane
import numpy as np
import pytest
from rolling_dynamics.contract.rolling_system import Entry, quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import (
    Custom,
    Ellipsoid,
    Flying,
    Free,
    Guided,
    Machine,
    MachineSystem,
    Prismatic,
    PureRolling,
    Revolute,
    Revolution,
    Rolling,
    Solid,
    Sphere,
    Spherical,
    Wheel,
)
from rolling_dynamics.simulation import simulate
from rolling_dynamics.testing import check_system
from rolling_dynamics.testing.check_system import CHECKS as EVERY

CHECKS = {name: EVERY[name] for name in ('newton-euler', 'invariants')}
INERTIA = ca.DM([[0.02, 0.001, 0.002], [0.001, 0.03, -0.001], [0.002, -0.001, 0.025]])


def solid(mass, centre):
    return Solid(ca.SX(mass), INERTIA, ca.DM(centre))


def rolls(shape, axes):
    return Rolling(
        shape=shape,
        contact=vector_entry('contact', 'm', 'W', suffixes='xy'),
        attitude=quaternion_entry('q_WA'),
        speed=vector_entry('w_WA', 'rad/s'),
        axes=axes,
    )


def hangs(name, axes, place):
    return Spherical(
        attitude=quaternion_entry(f'q_W{name}'),
        speed=vector_entry(f'w_W{name}', 'rad/s'),
        axes=axes,
        place=place,
    )


def hinge(name, axis, place):
    return Revolute(
        angle=Entry(name, (name,), 'rad', kind='angle'),
        speed=Entry(f'{name}_rate', (f'{name}_rate',), 'rad/s'),
        axis=axis,
        place=place,
    )


def machine(shape, axes, mass):
    """Return a rolling body that carries a tree with every kind of joint."""
    out = Machine('tree')
    out.gravity_W = out.parameter(vector_entry('gravity_W', 'm/s^2'))
    out.body('A', rolls(shape, axes), mass)
    slide = Prismatic(
        travel=Entry('travel', ('travel',), 'm'),
        speed=Entry('travel_rate', ('travel_rate',), 'm/s'),
        axis=[0.6, 0.8, 0],
        place=[0.02, 0, 0.01],
    )
    out.body('B', hangs('B', 'body', [0.01, 0.02, 0.03]), solid(0.5, [0.1, 0, 0.02]), on='A')
    out.body('C', hinge('angle', [0, 0.6, 0.8], [0.1, 0, 0]), solid(0.3, [0, 0.1, 0]), on='B')
    out.body('D', slide, solid(0.2, [0.01, 0.02, 0.03]), on='C')
    down = Revolution(ca.SX(0.4), ca.SX(0.01), 0.004, 0.1)
    out.body('E', hangs('E', 'world', [0, 0.1, 0]), down, on='D')
    return out


TREES = {
    'ball, world axes': (Sphere(ca.SX(0.2)), 'world', Revolution(ca.SX(1.0), ca.SX(0.02))),
    'ball, body axes': (Sphere(ca.SX(0.2)), 'body', solid(1.0, [0.02, -0.01, 0.03])),
    'ellipsoid': (Ellipsoid(ca.DM([0.3, 0.2, 0.15])), 'body', solid(1.0, [0.02, -0.01, 0.03])),
    'edge': (Wheel(ca.SX(0.2)), 'body', solid(1.0, [0.02, -0.01, 0.03])),
    'torus': (Wheel(ca.SX(0.2), 0.05), 'world', Revolution(ca.SX(1.0), ca.SX(0.02))),
}


def seesaw():
    """Return a plate on a universal joint that climbs as it turns; a body rolls on it."""
    out = Machine('seesaw')
    out.gravity_W = out.parameter(vector_entry('gravity_W', 'm/s^2'))
    tilt = vector_entry('tilt', 'rad', suffixes='xy')
    a, b = ca.vertsplit(out.variable(tilt))
    turn_y = ca.vertcat(
        ca.horzcat(ca.cos(a), 0, ca.sin(a)),
        ca.DM([[0, 1, 0]]),
        ca.horzcat(-ca.sin(a), 0, ca.cos(a)),
    )
    turn_x = ca.vertcat(
        ca.DM([[1, 0, 0]]),
        ca.horzcat(0, ca.cos(b), -ca.sin(b)),
        ca.horzcat(0, ca.sin(b), ca.cos(b)),
    )
    plate = Custom(
        coordinates=tilt,
        speed=vector_entry('tilt_rate', 'rad/s', suffixes='xy'),
        R_PB=turn_y @ turn_x,
        p_PB=ca.vertcat(0.1 * a, 0.2 * b, 0.05 * a * b),
    )
    out.body('P', hinge('yaw', [0, 0, 1], [0.1, 0, 0]), solid(0.7, [0.01, 0, 0.1]))
    out.body('A', plate, solid(0.5, [0.1, 0, 0.02]), on='P')
    rolling = PureRolling(
        radius=ca.SX(0.1),
        contact=vector_entry('contact', 'm', 'A', suffixes='xy'),
        speed=vector_entry('contact_rate', 'm/s', 'A', suffixes='xy'),
        attitude=quaternion_entry('q_WB'),
    )
    out.body('B', rolling, solid(0.3, [0.01, 0.02, 0.03]), on='A')
    out.body('C', hinge('angle', [0, 0.6, 0.8], [0.1, 0, 0]), solid(0.2, [0, 0.1, 0]), on='B')
    return out


def speeds(system):
    return [e.name for b in system.machine.bodies.values() for e in b.joint.speeds]


def random_state(system, rng):
    x = rng.normal(size=system.state.size)
    for e in system.state.entries:
        if e.kind == 'quaternion':
            x[system.state.slice(e.name)] /= np.linalg.norm(x[system.state.slice(e.name)])
    return x


@pytest.fixture(params=TREES, scope='module')
def system(request):
    return MachineSystem(machine(*TREES[request.param]))


def test_custom_and_pure_rolling_joints_move_as_by_kane():
    system = MachineSystem(seesaw())
    test_kanes_equations_give_the_same_rates(system)
    x = random_state(system, np.random.default_rng(3))
    (outcome,) = check_system(
        system, np.array([0.0, 0.0, -9.81]), x, checks={'invariants': EVERY['invariants']}
    )
    assert outcome.verdict == 'passed'


def test_kanes_equations_give_the_same_rates(system):
    rng, names = np.random.default_rng(1), speeds(system)
    kane, p = rates_by_kane(system, names), np.array([1.0, 2.0, -9.81])
    for _ in range(5):
        x = random_state(system, rng)
        found = system.state.unpack(np.array(system.modes['rolling'].dynamics(x, [], 0, p)).T[0])
        expected = np.array(kane(x, [], 0, p)).ravel()
        error = np.abs(np.concatenate([found[n] for n in names]) - expected).max()
        assert error < 1e-10 * np.abs(expected).max()


def guided(place, theta, rate, acceleration):
    """Return a joint by which a body moves in its parent along a curve."""
    slope = ca.jacobian(place, theta)
    bent = ca.jacobian(slope, theta) * rate**2
    return Guided(place=place, rate=slope * rate, acceleration=bent + slope * acceleration)


def laden(*, planar, hinged):
    """Return a ball with bodies that move in it as given; in space or in a plane."""
    out = Machine('laden')
    out.gravity_W = out.parameter(vector_entry('gravity_W', 'm/s^2'))
    moving = Entry('theta', ('theta',), 'rad'), Entry('theta_rate', ('theta_rate',), 'rad/s')
    theta, rate = (out.variable(e) for e in moving)
    driven = ca.SX(0.7)
    out.rates |= {'theta': rate, 'theta_rate': driven}
    joint = rolls(Sphere(ca.SX(0.2)), 'body')
    if planar:
        joint = Rolling(
            shape=Sphere(ca.SX(0.2)),
            contact=Entry('contact', ('contact',), 'm'),
            attitude=Entry('phi', ('phi',), 'rad'),
            speed=Entry('phi_rate', ('phi_rate',), 'rad/s'),
            axes='body',
            axis=(0.0, -1.0, 0.0),
        )
    out.body('A', joint, solid(1.0, [0.02, -0.01, 0.03]))
    curve = 0.1 * ca.vertcat(ca.cos(theta), ca.sin(2 * theta), ca.sin(theta))
    out.body('M', guided(curve, theta, rate, driven), solid(0.5, [0.01, 0.02, 0.0]), on='A')
    line = ca.vertcat(0.05 * theta, 0.02, -0.1)
    out.body('N', guided(line, theta, rate, driven), solid(0.3, [0, 0.1, 0]), on='M')
    if hinged:
        out.body('H', hinge('angle', [0, 0.6, 0.8], [0.1, 0, 0]), solid(0.2, [0, 0.1, 0]), on='N')
    return MachineSystem(out)


@pytest.mark.parametrize('planar', [False, True])
@pytest.mark.parametrize('hinged', [False, True])
def test_bodies_that_move_as_given_act_as_by_kane(planar, hinged):
    system = laden(planar=planar, hinged=hinged)
    test_kanes_equations_give_the_same_rates(system)
    # what moves them is the rate of the energy
    s, power = system.symbols, system.guiding_power(system.machine.dynamics.rates)
    gain = ca.jtimes(system.energy, s.x, system.mode.dynamics(*s))
    both = s.function('both', ca.vertcat(power, gain))
    for seed in range(5):
        x = random_state(system, np.random.default_rng(seed))
        given, found = np.array(both(x, [], 0, [1.0, 2.0, -9.81])).ravel()
        assert given == pytest.approx(found, rel=1e-10)


def test_the_contract_is_kept(system):
    x = random_state(system, np.random.default_rng(2))
    p = np.array([0.0, 0.0, -9.81])
    outcomes = check_system(system, p, x, checks=CHECKS)
    assert [o.verdict for o in outcomes] == ['passed', 'passed']


def test_energy_of_a_free_tree_is_kept_for_two_minutes():
    """A ball that carries a chain of two: chaotic, so nothing but the energy is known."""
    out = Machine('chain')
    out.body('A', rolls(Sphere(ca.SX(0.3)), 'world'), Revolution(ca.SX(1.0), ca.SX(0.05)))
    out.body('B', hangs('B', 'body', [0, 0, 0]), solid(0.5, [0, 0, -0.1]), on='A')
    out.body('C', hinge('angle', [1, 0, 0], [0, 0, -0.2]), solid(0.3, [0, 0.05, -0.1]), on='B')
    system = MachineSystem(out)
    x0 = system.state.pack(w_WA=[0, 3.0, 0], w_WB=[1.0, 0.5, 0], angle=1.0)
    run = simulate(
        system,
        np.zeros(0),
        x0,
        None,
        120.0,
        rtol=1e-13,
        atol=1e-14,
        t_eval=np.linspace(0, 120, 61),
        events={'normal_force': 'record', 'friction': 'record'},
    )
    energy = run.evaluate(lambda s: s.invariants['energy'])[:, 0]
    assert np.ptp(run.states[:, system.state.slice('angle')]) > 1.0
    assert np.ptp(energy) < 1e-9 * np.abs(energy).max()


def test_a_free_body_falls_and_turns_as_euler_says():
    out = Machine('thrown')
    out.body('ball', rolls(Sphere(ca.SX(0.1)), 'world'), Revolution(ca.SX(1.0), ca.SX(0.01)))
    free = Free(
        position=vector_entry('p_WF', 'm', 'W'),
        attitude=quaternion_entry('q_WF'),
        velocity=vector_entry('v_WF_W', 'm/s', 'W'),
        speed=vector_entry('w_WF_F', 'rad/s', 'F'),
    )
    out.body('free', free, solid(2.0, [0, 0, 0]))
    system = MachineSystem(out)
    x = system.state.pack(v_WF_W=[1, 2, 3], w_WF_F=[1, -2, 3])
    found = system.state.unpack(np.array(system.modes['rolling'].dynamics(x, [], 0, [])).ravel())
    J, w = np.array(INERTIA), np.array([1.0, -2, 3])
    np.testing.assert_allclose(found['v_WF_W'], [0, 0, -9.81], atol=1e-12)
    np.testing.assert_allclose(
        found['w_WF_F'], np.linalg.solve(J, -np.cross(w, J @ w)), atol=1e-10
    )


def test_a_body_that_touches_nothing_flies():
    out = Machine('thrown')
    out.gravity_W = out.parameter(vector_entry('gravity_W', 'm/s^2', 'W'))
    mass, inertia = out.parameter('mass', 'kg'), out.parameter('inertia', 'kg m^2')
    flying = Flying(
        position=vector_entry('p_WF', 'm', 'W'),
        attitude=quaternion_entry('q_WF'),
        velocity=vector_entry('v_WF_W', 'm/s', 'W'),
        speed=vector_entry('w_WF_W', 'rad/s', 'W'),
    )
    out.body('body', flying, Revolution(mass, inertia, inertia / 2))
    system = MachineSystem(out)
    p = system.parameters.pack(gravity_W=[0, 0, -9.81], mass=2.0, inertia=0.03)
    x = system.state.pack(p_WF=[0, 0, 1], v_WF_W=[1, 2, 3], w_WF_W=[1, -2, 3])
    check_system(system, p, x)
    run = simulate(system, p, x, np.zeros(0), 0.5, t_eval=[0.5])
    place = run.states[-1][system.state.slice('p_WF')]
    np.testing.assert_allclose(place, [0.5, 1, 1 + 1.5 - 9.81 / 8], atol=1e-12)
    assert list(system.modes) == ['separated']


@pytest.mark.parametrize('precession', [4.0, -9.0])
def test_a_coin_circles_as_its_steady_motion_has_it(precession):
    """
    A thin disk leans by a and its centre circles.

    In axes that only precess (x along the way, y the axis of the disk) the momentum about the
    centre is (0, C s, A p cos a); its rate is the torque of the contact force m (a - g).
    """
    r, m, lean = 0.1, 0.5, 0.3
    A, C = m * r**2 / 4, m * r**2 / 2
    out = Machine('coin')
    disk = Revolution(ca.SX(m), ca.SX(A), C - A, axis=ca.DM([0, 1, 0]))
    out.body('A', rolls(Wheel(ca.SX(r)), 'body'), disk)
    system = MachineSystem(out)
    p, c, s = precession, np.cos(lean), np.sin(lean)
    spin = (A * p**2 * s * c - m * 9.81 * r * s) / ((C + m * r**2) * p * c)
    x = system.state.pack(q_WA=[np.cos(lean / 2), np.sin(lean / 2), 0, 0], w_WA=[0, spin, p * c])
    rates = np.array(system.modes['rolling'].dynamics(x, [], 0, [])).ravel()
    steady = [p * s * p * c - p * c * spin, 0, 0]
    np.testing.assert_allclose(system.state.unpack(rates)['w_WA'], steady, atol=1e-10)


def test_what_no_machine_is_is_rejected():
    out = Machine('wrong')
    joint = rolls(Sphere(ca.SX(0.1)), 'world')
    with pytest.raises(ParameterError, match="'B' is carried by 'A', which is not a body"):
        out.body('B', joint, on='A')
    out.body('A', joint, Revolution(ca.SX(1.0), ca.SX(0.01)))
    with pytest.raises(ParameterError, match="two bodies 'A'"):
        out.body('A', joint)
    out.parameter('size', 'm')
    with pytest.raises(ParameterError, match=r"wrong: 'size' is declared twice; give one of both"):
        out.parameter('size', 'm')
    assert out.links
    with pytest.raises(ParameterError, match='has no effect'):
        out.parameter('late', 'm')
    with pytest.raises(ParameterError, match='no body is on a Rolling joint'):
        MachineSystem(Machine('empty'))
    plain = PureRolling(
        radius=ca.SX(0.1),
        contact=vector_entry('place', 'm', suffixes='xy'),
        speed=vector_entry('place_rate', 'm/s', suffixes='xy'),
    )
    bare = Machine('bare')
    with pytest.raises(ParameterError, match="the mass of 'A' is not the same about every axis"):
        bare.body('A', plain, Revolution(ca.SX(1.0), ca.SX(0.01), 0.002))
    bare.body('A', plain, Revolution(ca.SX(1.0), ca.SX(0.01)))
    with pytest.raises(ParameterError, match="'A' carries 'B' and needs an attitude"):
        bare.body('B', hinge('angle', [1, 0, 0], [0, 0, 0]), on='A')
    bare.variable(Entry('lost', ('lost',), 'm'))
    with pytest.raises(ParameterError, match="'lost' is in no joint and has no rate"):
        MachineSystem(bare)
    light = Machine('light')
    light.body('A', joint, Revolution(ca.SX(1.0), ca.SX(0.01)))
    light.body('B', hinge('angle', [1, 0, 0], [0, 0, 0]), on='A')
    with pytest.raises(
        ParameterError, match=r'\.B: moves, and neither it nor what it carries has'
    ):
        MachineSystem(light)
    sideways = Machine('sideways')
    sideways.body('A', rolls(Sphere(ca.SX(0.1)), 'up'), Revolution(ca.SX(1.0), ca.SX(0.01)))
    with pytest.raises(ParameterError, match=r"axes must be one of .*'world'.* got 'up'"):
        sideways.links  # noqa: B018

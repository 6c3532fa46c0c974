"""Guards ask whether any forces that fit lie in all cones, against solutions by SciPy."""

import math

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.batch.kernels import compiled_kernel
from rolling_dynamics.batch.trajectories import equations
from rolling_dynamics.contract.rolling_system import quaternion_entry, vector_entry
from rolling_dynamics.mechanism import (
    Contact,
    Machine,
    MachineSystem,
    Revolution,
    Rolling,
    Sphere,
)
from rolling_dynamics.mechanism.elimination import Cone, REACH, widest
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from scipy.optimize import linprog

G = 9.81


def margins_at(base, by, mu, z):
    forces = (base + by @ z).reshape(-1, 3)
    return mu * forces[:, 2] - np.hypot(forces[:, 0], forces[:, 1])


def greatest(base, by, mu):
    """Return the greatest smallest margin over the internal forces, by cutting planes."""
    m, n, reach = by.shape[1], len(mu), REACH * np.linalg.norm(base)
    at, slope = base.reshape(n, 3), by.reshape(n, 3, m)
    rows, ends = [], []

    def cut(i, way):
        rows.append([*(way @ slope[i, :2] - mu[i] * slope[i, 2]), 1.0])
        ends.append(mu[i] * at[i, 2] - way @ at[i, :2])

    for i in range(n):
        for a in np.linspace(0, 2 * math.pi, 8, endpoint=False):
            cut(i, np.array([math.cos(a), math.sin(a)]))
    tight = {f'{kind}_feasibility_tolerance': 1e-10 for kind in ('primal', 'dual')}
    for _ in range(200):
        bounds = [(-reach, reach)] * m + [(None, None)]
        y = linprog(-np.eye(m + 1)[m], rows, ends, bounds=bounds, options=tight).x
        z, t = y[:m], y[m]
        beyond = np.linalg.norm(z) > reach * (1 + 1e-12)
        if not beyond and t - margins_at(base, by, mu, z).min() < 1e-8:
            return t
        if beyond:
            rows.append([*z / np.linalg.norm(z), 0.0])
            ends.append(reach)
        for i in range(n):
            across = at[i, :2] + slope[i, :2] @ z
            cut(i, across / (np.linalg.norm(across) + 1e-300))
    raise AssertionError('no end of the cuts')


@pytest.mark.parametrize(('m', 'n'), [(1, 2), (2, 3), (4, 6), (6, 4), (8, 8)])
def test_the_widest_margin_is_that_of_a_general_solver(m, n):
    z, mu = ca.SX.sym('z', m), ca.SX.sym('mu', n)
    base, by = ca.SX.sym('base', 3 * n), ca.SX.sym('by', 3 * n, m)
    forces = ca.vertsplit(base + by @ z, 3)
    cones = [Cone(mu[k] * f[2], f[:2]) for k, f in enumerate(forces)]
    best = ca.Function('best', [base, by, mu], [widest(cones, z)])
    rng = np.random.default_rng(3)
    judged = 0
    for _ in range(20):
        loads, friction = rng.normal(size=3 * n), rng.uniform(0.1, 1, n)
        loads[2::3] += 1.0
        internal = np.linalg.qr(rng.normal(size=(3 * n, m)))[0]
        expected = greatest(loads, internal, friction)
        chosen = np.array(best(loads, internal, friction)).ravel()
        reached = margins_at(loads, internal, friction, chosen).min()
        if expected < 100:
            assert reached == pytest.approx(expected, abs=1e-6)
            judged += expected > margins_at(loads, internal, friction, 0 * chosen).min() + 0.01
        else:  # as far as internal forces reach
            assert reached > 0
    assert judged > 5


def groove(mu, slope):
    given = load_scenario('ball_in_groove').raw
    contacts = {k: {**c, 'mu': mu} for k, c in given['machine']['contacts'].items()}
    gravity = [G * math.sin(slope), 0, -G * math.cos(slope)]
    machine = {**given['machine'], 'contacts': contacts, 'gravity': gravity}
    return load_scenario({**given, 'machine': machine})


def test_a_ball_that_wedges_in_a_groove_rolls_where_the_least_friction_would_slip():
    """
    Friction T along the groove and S across, where the groove opens by +-0.9 rad.

    mu N - |(S, T)| with N = (W / 2 - S sin) / cos is greatest at mu W / (2 cos) - T sqrt(1 - k^2),
    k = mu tan: the ball is pressed apart to get a larger normal force.
    """
    mu, radius, mass = 0.5, 0.05, 0.3
    ratio = 1 / math.cos(0.9)
    wedge = math.sqrt(1 - (mu * math.tan(0.9)) ** 2)

    def margin(slope, factor):
        along = mass * G * np.sin(slope)
        T = along * (2 / 5) * ratio**2 / (1 + 2 / 5 * ratio**2) / 2
        return mu * mass * G * np.cos(slope) * ratio / 2 - T * factor

    slopes = np.linspace(0.0, 1.5, 15001)
    first, last = (slopes[np.argmax(margin(slopes, f) < 0)] for f in (1.0, wedge))
    assert last - first > 0.08
    for slope in (0.2, (first + last) / 2, last - 0.01, last + 0.01):
        scenario = groove(mu, slope)
        guards = scenario.system.mode.guards
        for name in ('friction_ball', 'friction_ball_2'):
            value = float(guards[name](scenario.x0, [], 0, scenario.p))
            assert value == pytest.approx(margin(slope, wedge), abs=1e-7)
        run = simulate(scenario.system, scenario.p, scenario.x0, scenario.control, 0.1)
        assert (run.times[-1] == 0.1) == (slope < last)
    assert radius == scenario.raw['machine']['bodies']['ball']['radius']


class Ceiling:
    """A plane at a height, facing down."""

    side = ca.DM.zeros(3)

    def __init__(self, height):
        self.height = height

    def distance(self, place):
        return self.height - place[2]


def clamped():
    """Return a ball that a torque turns between the floor and a fixed plate."""
    machine = Machine('clamped')
    ball = Rolling(
        shape=Sphere(ca.SX(0.05)),
        contact=vector_entry('c', 'm', 'W', suffixes='xy'),
        attitude=quaternion_entry('q'),
        speed=vector_entry('w', 'rad/s', 'W'),
        mu=ca.SX(0.4),
    )
    machine.body('ball', ball, Revolution(ca.SX(0.5), ca.SX(5e-4)))
    machine.torque(machine.control(vector_entry('tau', 'N m', 'W')), on='ball')
    machine.contact(Contact(body='ball', shape=Sphere(ca.SX(0.05)), mu=0.3, surface=Ceiling(0.1)))
    return MachineSystem(machine)


def test_a_ball_between_two_plates_is_held_by_a_squeeze():
    """Without one, the upper plate has nothing that could hold the torque."""
    system = clamped()
    x, u = system.state.pack(), np.array([0.05, 0.0, 0.0])
    held = {n: float(g(x, u, 0, [])) for n, g in system.mode.guards.items()}
    assert min(held.values()) > 0
    friction = {
        n: float(system.function('f', c.cones[-1].margin)(x, u, 0, []))
        for n, c in system.contacts.items()
    }
    assert friction['ball_2'] == pytest.approx(-0.5, abs=1e-6)  # of 0.05 N m over 0.1 m
    pushed = (held['friction_ball_2'] + 0.5) / 0.3  # by hand: what the upper plate pushes down
    assert held['normal_force_ball_2'] == pytest.approx(pushed)
    assert held['friction_ball'] == pytest.approx(0.4 * (pushed + 0.5 * G) - 0.5)
    still = [float(g(x, 0 * u, 0, [])) for g in system.mode.guards.values()]
    assert min(still) > 0


def test_two_wheels_on_an_axle_choose_what_they_push_along_it():
    given = load_scenario('hamster_ball').raw
    contacts = {
        'left': given['machine']['contacts']['left'],
        'right': given['machine']['contacts']['left'],
    }
    machine = {**given['machine'], 'contacts': contacts}
    scenario = load_scenario({**given, 'machine': machine})
    system, p, rng = scenario.system, scenario.p, np.random.default_rng(5)
    assert system.dependent == 1
    improved = 0
    for _ in range(4):
        x = scenario.x0.copy()
        x[system.state.slice('w_shell')] = rng.normal(size=3)
        x = np.array(system.projection(x, p)).ravel()
        u = 0.05 * rng.normal(size=system.control.size)
        names = list(system.contacts)[1:]
        forces = [
            np.array(system.function('f', system.contacts[n].wrench[3:])(x, u, 0, p))
            for n in names
        ]
        base = np.concatenate(forces).ravel()
        internal = system.structure(p, x).internal
        assert internal.shape == (6, 1)
        expected = greatest(base, internal / np.linalg.norm(internal), np.full(2, 0.8))
        found = min(float(system.mode.guards[f'friction_{n}'](x, u, 0, p)) for n in names)
        assert found == pytest.approx(expected, abs=1e-6)
        improved += expected > margins_at(base, internal, 0.8, np.zeros(1)).min() + 1e-6
    assert improved


def test_beyond_the_wedge_both_contacts_slip():
    """It slides at g (sin - mu_kinetic cos / cos(0.9)): each side carries half of the weight."""
    given, slope, kinetic = load_scenario('ball_in_groove').raw, 1.4, 0.4
    friction = {'mu': 0.5, 'mu_kinetic': kinetic}
    contacts = {k: {**c, **friction} for k, c in given['machine']['contacts'].items()}
    gravity = [G * math.sin(slope), 0, -G * math.cos(slope)]
    machine = {**given['machine'], 'contacts': contacts, 'gravity': gravity}
    scenario = load_scenario({**given, 'machine': machine})
    run = simulate(scenario.system, scenario.p, scenario.x0, scenario.control, 0.3)
    assert [event.name for event in run.events] == ['slip', 'slip']
    pace = G * (math.sin(slope) - kinetic * math.cos(slope) / math.cos(0.9)) * 0.3
    velocity = scenario.system.state.unpack(run.states[-1])['v_ball']
    assert velocity == pytest.approx([pace, 0, 0], abs=1e-5)


def test_expressions_stay_short_with_many_internal_forces():
    """Written out, the steps of eight would be 400,000 instructions."""
    z, forces = ca.SX.sym('z', 8), ca.SX.sym('f', 24)
    pieces = ca.vertsplit(forces + ca.SX.sym('by', 24, 8) @ z, 3)
    best = widest([Cone(0.5 * f[2], f[:2]) for f in pieces], z)
    symbols = ca.symvar(best)
    assert ca.Function('best', symbols, [best]).n_instructions() < 1500


def funnel():
    normals = [(0.6 * math.cos(a), 0.6 * math.sin(a), 0.8) for a in (0, 1.5, 3, 4.5)]
    contacts = {
        f'side_{k}': {'body': 'ball', 'normal': n, 'mu': 0.5} for k, n in enumerate(normals)
    }
    given = load_scenario('ball_in_groove').raw
    machine = {**given['machine'], 'contacts': contacts, 'gravity': [0, 1.0, -G]}
    initial = {'p_ball': [0, 0, 0.05 / 0.8]}
    return load_scenario({**given, 'machine': machine, 'initial': initial, 'duration': 0.1})


def test_guards_choose_among_six_internal_forces():
    scenario = funnel()
    system, x, p = scenario.system, scenario.x0, scenario.p
    assert system.dependent == 6
    forces = [
        np.array(system.function('f', at.wrench[3:])(x, [], 0, p))
        for at in system.contacts.values()
    ]
    internal = np.linalg.qr(system.structure(p, x).internal)[0]
    names = [f'friction_{name}' for name in system.contacts]
    found = min(float(system.mode.guards[name](x, [], 0, p)) for name in names)
    base = np.concatenate(forces).ravel()
    expected = greatest(base, internal, np.full(4, 0.5))
    assert found == pytest.approx(expected, rel=1e-6)
    assert expected > margins_at(base, internal, 0.5, np.zeros(6)).min() + 0.01


@pytest.mark.slow  # steps by CasADi's virtual machine
def test_a_batch_with_many_internal_forces_goes_by_casadi(caplog):
    scenario = funnel()
    x = scenario.x0.copy()
    x[scenario.system.state.slice('w_ball')] = [0.3, -0.2, 1.0]
    x = np.array(scenario.system.projection(x, scenario.p)).ravel()
    batch = BatchSimulator(scenario.system, 2, 0.01)
    batch.reset(states=x, parameters=scenario.p)
    for _ in range(3):
        batch.step(np.zeros((2, 0)))
    alone = simulate(scenario.system, scenario.p, x, scenario.control, 0.03)
    assert alone.times[-1] == 0.03
    assert np.abs(batch.states - alone.states[-1]).max() < 1e-6
    assert compiled_kernel(equations(scenario.system, 'rolling'), 'double', 'RK4') is None
    assert 'evaluated by CasADi' in caplog.text

"""Contacts that give way along the surfaces: grasps that rigid rows would contradict."""

import math

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics import simulate
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.contract.rolling_system import quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.mechanism import (
    Contact,
    Free,
    HybridMachine,
    Machine,
    MachineSystem,
    Revolution,
    Sphere,
)
from rolling_dynamics.scenario.scenario import load_plain
from rolling_dynamics.simulation import Stepper
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from transforms3d.quaternions import axangle2quat, quat2mat

R, TIP, MASS, G = 0.04, 0.015, 0.3, 9.81
ALONG, NORMAL = 2e4, 5e4  # N/m
# where four fingertips touch a ball: no two of them opposite, not all in one plane
TOUCHES = np.array([[1, 0, 0.3], [-1, 0.2, 0.1], [0.1, 1, -0.2], [0, -1, 0.4]])
TOUCHES /= np.linalg.norm(TOUCHES, axis=1)[:, None]
TIPS = [f'tip_{k}' for k in range(len(TOUCHES))]


def grasp(depth=0.0, **compliance):
    """Return a ball between four driven fingertips that do not turn, sunk into it by a depth."""
    contact = {'against': 'ball', 'surface': 'outside', 'mu': 0.8, 'stiffness': NORMAL}
    tip = {'kind': 'ball', 'radius': TIP, 'mass': 0.01}
    machine = {
        'bodies': {'ball': {'kind': 'ball', 'radius': R, 'mass': MASS}} | dict.fromkeys(TIPS, tip),
        'joints': {name: {'kind': 'free'} for name in ('ball', *TIPS)},
        'contacts': dict.fromkeys(TIPS, contact | compliance),
        'drives': {f'finger_{k}': {'kind': 'motion', 'of': name} for k, name in enumerate(TIPS)},
    }
    places = (R + TIP - depth) * TOUCHES
    initial = {f'p_{name}': place.tolist() for name, place in zip(TIPS, places, strict=True)}
    document = {'system': 'machine', 'machine': machine, 'initial': initial, 'duration': 2.0}
    return load_plain(document)


def forces(scenario, x):
    """Return the forces of the fingertips on the ball, in W (4, 3) [N]."""
    system = scenario.system
    given = [-(at.R_WP @ at.wrench[3:]) for at in system.contacts.values()]
    f = system.function('f', ca.horzcat(*given))
    return np.array(f(x, np.zeros(system.control.size), 0, scenario.p)).T


def displaced(scenario, d):
    """Return the state after a small displacement and rotation (6) of the ball."""
    system, x = scenario.system, scenario.x0.copy()
    x[system.state.slice('p_ball')] += d[:3]
    angle = np.linalg.norm(d[3:])
    x[system.state.slice('q_ball')] = q = axangle2quat(d[3:] if angle else [0, 0, 1], angle)
    for name, touch in zip(TIPS, TOUCHES, strict=True):
        slip = -(d[:3] + np.cross(d[3:], R * touch))  # of the fingertip over the ball
        x[system.state.slice(f'displacement_{name}')] = quat2mat(q).T @ slip
    return x


def elastic(d):
    """Return the forces of linear springs (4, 3) [N] for a displacement and rotation (6)."""
    out = []
    for n in TOUCHES:
        moved = d[:3] + np.cross(d[3:], R * n)
        out.append(-(NORMAL * np.outer(n, n) + ALONG * (np.eye(3) - np.outer(n, n))) @ moved)
    return np.array(out)


def test_rigid_rows_of_four_fingertips_are_rejected_and_compliant_ones_are_not():
    with pytest.raises(ScenarioError, match='8 rows of rank 6; give it a stiffness or side_stiff'):
        grasp()
    scenario = grasp(side_stiffness=ALONG)
    report = scenario.system.contact_report(scenario.p, scenario.x0)
    assert not report or 'of rank 0' in report[0]


def test_forces_of_a_grasp_are_those_of_linear_springs():
    """What is even in the displacement cancels; what is left is of the third order in it."""
    scenario, rng = grasp(side_stiffness=ALONG), np.random.default_rng(1)
    K = np.column_stack(
        [
            np.concatenate([f.sum(axis=0), np.cross(R * TOUCHES, f).sum(axis=0)])
            for f in map(elastic, np.eye(6))
        ]
    )
    sag = -np.linalg.solve(K, [0, 0, -MASS * G, 0, 0, 0])
    for d in (sag / np.linalg.norm(sag), *rng.normal(size=(3, 6))):
        small = 1e-7 * d * [1, 1, 1, 10, 10, 10]
        odd = (
            forces(scenario, displaced(scenario, small))
            - forces(scenario, displaced(scenario, -small))
        ) / 2
        assert odd == pytest.approx(elastic(small), abs=1e-9 * np.abs(elastic(small)).max())


def test_a_grasp_comes_to_rest_under_its_weight():
    """It sags by less than its springs alone let it, since what presses it holds it too."""
    damped = {'damping': 20.0, 'side_stiffness': ALONG, 'side_damping': 20.0}
    scenario = grasp(1e-3, **damped)
    system = scenario.system
    run = simulate(system, scenario.p, scenario.x0, None, 2.0, rtol=1e-10, atol=1e-12)
    assert not run.events
    x = run.states[-1]
    at = system.state.unpack(x)
    f = forces(scenario, x)
    assert f.sum(axis=0) == pytest.approx([0, 0, MASS * G], abs=1e-8)
    touches = np.array([at[f'p_{name}'] for name in TIPS]) - at['p_ball']
    touches *= 1 - TIP / np.linalg.norm(touches, axis=1)[:, None]
    assert np.cross(touches, f).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-9)
    assert np.abs([*at['v_ball'], *at['w_ball']]).max() < 1e-8


def sliding(tilt=0.3, mu=9.0, **compliance):
    """Return a ball on a plane that tilts, whose contact gives way along it, and a start."""
    machine = Machine('ball')
    machine.gravity_W = G * ca.SX(ca.DM([math.sin(tilt), 0, -math.cos(tilt)]))
    joint = Free(
        position=vector_entry('p', 'm', 'W'),
        attitude=quaternion_entry('q'),
        velocity=vector_entry('v', 'm/s', 'W'),
        speed=vector_entry('w', 'rad/s'),
        axes='world',
    )
    machine.body('ball', joint, Revolution(ca.SX(MASS), ca.SX(0.4 * MASS * R**2)))
    shape, own = Sphere(ca.SX(R)), {'displacement': 's', **compliance}
    machine.contact(Contact(body='ball', shape=shape, mu=mu, **own))
    system = MachineSystem(machine) if own.get('mu_kinetic') is None else HybridMachine(machine)
    return system, system.state.pack(p=[0, 0, R])


def test_a_ball_rolls_down_a_slope_as_its_spring_says():
    """
    The slip u = v - w r has u' = g sin(a) - 7/2 (k s + c u)/m: s is an oscillator.

    The ball is 2/7 of s ahead of one that rolls: the difference falls with the stiffness.
    """
    tilt, t, ahead = 0.3, np.linspace(0.0, 0.5, 26), []
    for k in (30.0, 300.0, 3000.0):
        c = 0.1 * math.sqrt(k * MASS)
        system, x = sliding(tilt, side_stiffness=k, side_damping=c)
        run = simulate(system, [], x, None, t[-1], t_eval=t, rtol=1e-12, atol=1e-14)
        s, x = (run.states[:, system.state.slice(name)][:, 0] for name in ('s', 'p'))
        square, half = 3.5 * k / MASS, 1.75 * c / MASS
        rate, rest = math.sqrt(square - half**2), G * math.sin(tilt) / square
        swing = np.cos(rate * t) + half / rate * np.sin(rate * t)
        expected = rest * (1 - np.exp(-half * t) * swing)
        assert s == pytest.approx(expected, abs=1e-10)
        rolled = 5 / 14 * G * math.sin(tilt) * t**2
        assert x == pytest.approx(rolled + 2 / 7 * expected, abs=1e-10)
        ahead.append(np.abs(x - rolled).max())
    assert ahead[0] > 8 * ahead[1] > 64 * ahead[2]


def test_energy_of_its_spring_counts_and_is_kept():
    system, x = sliding(side_stiffness=300.0)
    assert system.conserved(np.zeros(0), x) == ['energy']
    run = simulate(system, [], x, None, 2.0, rtol=1e-12, atol=1e-14, t_eval=np.linspace(0, 2, 41))
    energy = system.invariants['energy']
    values = [float(energy(y, [], 0, [])) for y in run.states]
    stored = 150 * (run.states[:, system.state.slice('s')] ** 2).sum(axis=1)
    assert np.ptp(values) < 1e-9 * stored.max()
    assert system.conserved(np.zeros(0), x)
    assert not sliding(side_stiffness=300.0, side_damping=1.0)[0].conserved(np.zeros(0), x)


def test_it_holds_while_friction_carries_its_spring():
    """Without damping k s = 2/7 m g sin(a) (1 - cos(rate t)), up to mu m g cos(a)."""
    tilt, mu, k = 0.3, 0.1, 300.0
    system, x = sliding(tilt, mu, side_stiffness=k)
    run = simulate(system, [], x, None, 1.0, rtol=1e-11, atol=1e-13)
    assert [e.name for e in run.events] == ['friction']
    first = math.acos(1 - 3.5 * mu / math.tan(tilt)) / math.sqrt(3.5 * k / MASS)
    assert run.times[-1] == pytest.approx(first, abs=1e-9)


def test_forces_do_not_depend_on_where_the_axes_of_the_ball_lie():
    """The displacement turns with the ball, and nothing jumps on the way."""
    scenario = grasp(side_stiffness=ALONG)
    system, d = scenario.system, 1e-5 * np.array([1.0, -2.0, 0.5, 0, 0, 0])
    x = displaced(scenario, d)
    expected = forces(scenario, x)
    for axis in ([0, 0, 1], [1, 1, 0], [0.3, -1, 0.4]):
        for angle in np.linspace(0.1, 6.1, 25):
            turned, q = x.copy(), axangle2quat(axis, angle)
            turned[system.state.slice('q_ball')] = q
            for name in TIPS:
                at = system.state.slice(f'displacement_{name}')
                turned[at] = quat2mat(q).T @ x[at]
            assert forces(scenario, turned) == pytest.approx(expected, abs=1e-10)


def test_a_displacement_goes_with_the_contact_round_a_ball():
    """
    A fingertip that rolls round the ball by 2 rad carries it along, at its angle to the way.

    So it does past where the axes of the contact are chosen by another direction.
    """
    scenario = grasp(side_stiffness=ALONG)
    system, x = scenario.system, scenario.x0.copy()
    place, displacement = (system.state.slice(f'{n}_tip_0') for n in ('p', 'displacement'))

    def rate(t, s):
        n, way = (np.array([0.0, *pair]) for pair in circle(t))
        x[place], x[displacement] = (R + TIP) * n, s
        x[system.state.slice('v_tip_0')] = v = (R + TIP) * way
        x[system.state.slice('w_tip_0')] = np.cross(n, v) / TIP  # it does not slip
        return np.array(system.mode.dynamics(x, np.zeros(24), 0, scenario.p)).ravel()[displacement]

    def circle(t):
        return (math.sin(t), math.cos(t)), (math.cos(t), -math.sin(t))

    run = solve_ivp(rate, (0.0, 2.0), [6e-6, 8e-6, 0.0], rtol=1e-10, atol=1e-16)
    _, way = circle(2.0)
    assert run.y[:, -1] == pytest.approx([6e-6, 8e-6 * way[0], 8e-6 * way[1]], abs=1e-14)


K, C, SLIPPERY = 3e3, 6.0, 0.1  # N/m, N s/m, coefficient of friction


def slippery(tilt, mu=SLIPPERY, mu_kinetic=SLIPPERY):
    """Return a ball on a plane whose spring slides from where friction does not hold it."""
    given = {'side_stiffness': K, 'side_damping': C, 'mu_kinetic': mu_kinetic}
    pressed = {'stiffness': NORMAL, 'damping': 20.0}
    system, x = sliding(tilt, mu, **given, **pressed)
    x[system.state.slice('p')] = [0, 0, R - MASS * G * math.cos(tilt) / NORMAL]  # at rest
    return system, x


def at(system, x, name):
    return x[..., system.state.slice(name).start]


def test_a_spring_slides_on_and_sticks_where_its_damper_says():
    """
    A ball slides with v, spins not: its spring lengthens as s' = (mu N - k s)/c.

    Its end slides by v - s' = v0 - 7/2 mu g t - mu N/c exp(-k t/c), and sticks where that ends;
    from there the ball is a damped oscillator in s.
    """
    (system, x), v0 = slippery(0.0), 0.3
    x[system.state.slice('v').start] = v0
    end = 0.25
    run = simulate(system, [], x, None, end, rtol=1e-11, atol=1e-14)
    friction, creep = SLIPPERY * MASS * G, 1e-6

    def over(t):
        return v0 - 3.5 * SLIPPERY * G * t - friction / C * math.exp(-K * t / C) - creep

    stick = brentq(over, 0.02, 0.2)
    assert [e.name for e in run.events] == ['stick']
    assert run.events[0].time == pytest.approx(stick, abs=1e-8)
    k = int(np.searchsorted(run.times, stick, side='right')) - 1
    assert at(system, run.states[k], 'v') == pytest.approx(
        v0 - SLIPPERY * G * run.times[k], abs=1e-8
    )
    assert at(system, run.states[k], 's') == pytest.approx(
        friction / K * (1 - math.exp(-K * run.times[k] / C)), abs=1e-8
    )
    s0 = friction / K * (1 - math.exp(-K * stick / C))
    u0 = v0 - 3.5 * SLIPPERY * G * stick
    swing = solve_ivp(
        lambda _, y: [y[1], -3.5 * (K * y[0] + C * y[1]) / MASS],
        (stick, end),
        [s0, u0],
        rtol=1e-12,
        atol=1e-15,
    )
    assert at(system, run.states[-1], 's') == pytest.approx(swing.y[0, -1], abs=1e-7)


def test_sliding_of_a_spring_is_coulombs_law_in_the_plane():
    """
    Across a slope, against the law as one formula: F = -q min(1, mu N/|q|), q = k s + c v.

    The displacement s has s' = -(F + k s)/c: where the spring holds that is v.
    """
    tilt = 0.8
    system, x = slippery(tilt)
    x[system.state.slice('v')] = [0.0, 0.2, 0.0]
    N, t = MASS * G * math.cos(tilt), 0.3
    run = simulate(system, [], x, None, t, rtol=1e-11, atol=1e-14)

    def rate(_, y):
        v, w, s = y[:2], y[2:4], y[4:]  # w: of the lowest point by the spin
        q = K * s + C * (v + w)
        F = -q * min(1.0, SLIPPERY * N / math.hypot(*q))
        a = F / MASS + [G * math.sin(tilt), 0]
        return [*a, *(2.5 * F / MASS), *((-F - K * s) / C)]

    expected = solve_ivp(rate, (0, t), [0, 0.2, 0, 0, 0, 0], rtol=1e-11, atol=1e-14, max_step=1e-3)
    v, s = (run.states[-1][system.state.slice(n)][:2] for n in ('v', 's'))
    assert v == pytest.approx(expected.y[:2, -1], abs=1e-7)
    assert s == pytest.approx(expected.y[4:, -1], abs=1e-9)


@pytest.mark.slow
def test_batches_of_springs_that_slide_end_as_simulated():
    system, x = slippery(0.0)
    starts = np.array([x] * 3)
    starts[:, system.state.slice('v').start] = speeds = [0.02, 0.1, 0.3]  # the first holds at once
    batch = BatchSimulator(system, 3, 0.05, max_step=2e-5)
    batch.reset(states=starts, parameters=np.zeros((3, 0)))
    for _ in range(5):
        batch.step(np.zeros((3, 0)))
    for y, found, speed in zip(starts, batch.states, speeds, strict=True):
        run = simulate(system, [], y, None, 0.25, rtol=1e-11, atol=1e-14)
        assert found == pytest.approx(run.states[-1], abs=1e-6), speed


def test_kinetic_friction_lets_go_of_a_part_of_a_spring():
    """From where static friction ends the spring shortens to what kinetic friction holds."""
    tilt, mu = 0.8, 0.2
    system, x = slippery(tilt, mu)
    run = simulate(system, [], x, None, 0.2, rtol=1e-11, atol=1e-14)
    assert [e.name for e in run.events] == ['slip']
    N = MASS * G * math.cos(tilt)
    k = int(np.searchsorted(run.times, run.events[0].time))
    pull = K * at(system, run.states[k], 's') + C * at(system, run.states[k], 'v')
    pull -= C * R * run.states[k][system.state.slice('w')][1]
    assert pull == pytest.approx(mu * N, abs=1e-8)
    assert at(system, run.states[-1], 's') == pytest.approx(SLIPPERY * N / K, rel=1e-6)


def test_a_spring_that_slides_parts_and_meets_and_steps_as_it_is_simulated():
    """Dropped with a spin: it bounces on its compliance, and rolls in the end."""
    system, x = slippery(0.0)
    x[system.state.slice('p')] = [0, 0, R + 2e-3]
    x[system.state.slice('w')] = [0, 5.0, 0]
    run = simulate(system, [], x, None, 0.4, rtol=1e-10, atol=1e-13)
    names = [e.name for e in run.events]
    assert {'landing', 'lift_off', 'stick'} <= set(names)
    stepper = Stepper(system, [], max_step=2e-5)
    s = stepper.step(stepper.begin(x, np.zeros(0)), np.zeros(0), 0.4)
    assert [e.name for e in s.events] == names
    assert s.x == pytest.approx(run.states[-1], abs=1e-6)


@pytest.mark.parametrize(
    'given',
    [
        {'stiffness': NORMAL},
        {'side_damping': 1.0},
        {'stiffness': NORMAL, 'side_damping': 1.0, 'patch': 1e-3},
        {'stiffness': NORMAL, 'side_damping': 1.0, 'resistance': 1e-3},
    ],
)
def test_what_a_spring_that_slides_needs_is_said(given):
    with pytest.raises(
        ParameterError, match='with side_stiffness and mu_kinetic give a side_damp'
    ):
        sliding(side_stiffness=K, mu_kinetic=0.3, **given)


@pytest.mark.slow
def test_fingertips_of_a_scenario_slip_and_hold_on_with_kinetic_friction():
    """Pressed too little to hold the ball at first, they catch it while they close in."""
    given = {'side_stiffness': ALONG, 'side_damping': 40.0, 'damping': 40.0, 'mu_kinetic': 0.5}
    scenario = grasp(2e-5, **given)
    system, u = scenario.system, np.zeros(scenario.system.control.size)
    run = simulate(system, scenario.p, scenario.x0, None, 0.05, rtol=1e-9, atol=1e-12)
    assert any(e.name == 'slip' for e in run.events)
    x = run.states[-1]
    mode = system.begin(scenario.p, x, u).mode
    for name, at_contact in system.parts[mode].contacts.items():
        f = system.function('f', at_contact.wrench[3:])(x, u, 0, scenario.p)
        fx, fy, fz = np.array(f).ravel()
        assert math.hypot(fx, fy) <= 0.8 * fz + 1e-9, name

"""A mecanum wheel with nine barrel rollers: geometry, rolling and hand-overs by hand."""

from copy import copy
from dataclasses import replace
from functools import lru_cache
import math
import re

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.mechanism import HandOver, MachineSystem
from rolling_dynamics.mechanism.hand_over import Rings
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate

RIM, ROLLER, ANGLE, COUNT = 0.05, 0.008, math.pi / 4, 9
OFFSET, REACH, MASS, WHEEL = RIM - ROLLER, math.pi / COUNT, 0.02, 4e-4


@pytest.fixture(scope='module')
def wheel():
    return load_scenario('mecanum_wheel')


def turned(scenario, angle, **speeds):
    """Return a state that rolls, the wheel turned by an angle [rad]."""
    system = scenario.system
    x = system.state.pack(wheel=angle, **speeds)
    return system.placed(scenario.p, x, ['wheel', *speeds])


def test_the_rim_envelops_the_rollers(wheel):
    """The axle stays at the radius of the rim, and the contact moves sideways by d tan / tan."""
    system, p = wheel.system, wheel.p
    for angle in np.linspace(-math.pi, math.pi, 37):
        x = system.state.pack(wheel=angle)
        gap = system.parts[system.on_roller(p, x)].gap_function(x, p)
        assert abs(float(gap)) < 1e-15
        phi = (angle + REACH) % (2 * REACH) - REACH
        if abs(abs(phi) - REACH) > 1e-9:
            place = np.array(system.contact_frame(x, p))[:3, 3]
            aside = OFFSET * math.tan(phi) / math.tan(ANGLE)
            assert place == pytest.approx([0, aside, 0], abs=1e-15)


def test_the_roller_is_the_surface_that_the_rim_envelops(wheel):
    """Points of the barrel, turned about the axle, lie within the rim and reach it."""
    barrel = wheel.system.machine.contacts[0].shape
    profile = ca.Function('profile', [wheel.system.symbols.p], barrel.profile(0.2))
    at, radius = (float(v) for v in profile(wheel.p))
    axis = np.array([math.sin(ANGLE), math.cos(ANGLE), 0])
    across = np.linalg.svd(axis[None])[2][1:]
    around = np.linspace(0, 2 * math.pi, 20001)[:, None]
    circle = at * axis + radius * (np.cos(around) * across[0] + np.sin(around) * across[1])
    away = np.hypot(circle[:, 0], circle[:, 2] - OFFSET)
    assert away.max() == pytest.approx(RIM, abs=1e-9)


def by_hand(angle):
    """
    Return the mass matrix over v_x, v_y, the wheel's and nine rollers' rates, and the rows.

    Then the derivative of the rows by the angle, and the roller that is low.
    """
    along, length = MASS * ROLLER**2 / 2, 0.0
    inclined = math.sin(REACH) * math.sin(ANGLE)
    length = OFFSET * math.tan(REACH) / math.sin(ANGLE)
    length += (RIM - OFFSET / math.cos(REACH)) * inclined
    across = along / 2 + MASS * (2 * length) ** 2 / 12
    M = np.diag([5.5 + COUNT * MASS] * 2 + [0.0] + [along] * COUNT)
    c, s = math.cos(ANGLE), math.sin(ANGLE)
    M[2, 2] = WHEEL + COUNT * (MASS * OFFSET**2 + across * s**2 + along * c**2)
    M[2, 3:] = M[3:, 2] = along * c
    k = -round(angle / (2 * REACH)) % COUNT  # the roller that is low
    phi = angle + 2 * REACH * k
    phi = (phi + math.pi) % (2 * math.pi) - math.pi
    lever = RIM - OFFSET / math.cos(phi)
    J = np.zeros((2, 3 + COUNT))
    J[0, [0, 2, 3 + k]] = 1, -RIM, -c * lever
    J[1, [1, 3 + k]] = 1, s * math.cos(phi) * lever
    slope = -OFFSET * math.sin(phi) / math.cos(phi) ** 2
    dJ = np.zeros(J.shape)
    dJ[:, 3 + k] = -c * slope, s * (math.cos(phi) * slope - math.sin(phi) * lever)
    return M, J, dJ, k


def speeds_of(system, x):
    names = ['lengthwise_rate', 'sideways_rate', 'wheel_rate']
    names += [f'roller_{k}_rate' for k in range(COUNT)]
    return np.array([x[system.state.slice(n)][0] for n in names])


@pytest.mark.parametrize('angle', [-0.3, 0.1, 0.32, 2.0])
def test_the_wheel_rolls_as_by_gauss(wheel, angle):
    """The rates are those of least constraint: M a = tau + J^T f, J a = -dJ/dt v."""
    system, p, torque = wheel.system, wheel.p, 0.3
    x = turned(wheel, angle, wheel_rate=[6.0], sideways_rate=[-0.4])
    M, J, dJ, k = by_hand(angle)
    v = speeds_of(system, x)
    assert J @ v == pytest.approx([0, 0], abs=1e-12)
    mode = system.modes[f'rolling_roller_{k}']
    found = speeds_of(system, np.array(mode.dynamics(x, [torque], 0, p)).ravel())
    forces = np.zeros(len(v))
    forces[2] = torque
    K = np.block([[M, -J.T], [J, np.zeros((2, 2))]])
    expected = np.linalg.solve(K, np.concatenate([forces, -v[2] * dJ @ v]))[: len(v)]
    assert found == pytest.approx(expected, abs=1e-10 * np.abs(expected).max())


def test_rollers_hand_over_with_the_loss_of_a_plastic_impact(wheel):
    """In more than a turn the axle keeps its height; each event says what it cost."""
    system, p = wheel.system, wheel.p
    t = np.linspace(0, 1, 101)
    run = simulate(system, p, wheel.x0, np.zeros(1), 1.0, t_eval=t, rtol=1e-11, atol=1e-12)
    heights = run.states[:, system.state.slice('carriage')]
    assert np.abs(heights).max() < 1e-12
    assert run.states[-1][system.state.slice('wheel')] > 2 * math.pi
    events = [e for e in run.events if e.name == 'hand_over']
    assert len(events) == 14
    order = [int(re.match(r'roller_(\d)', e.text)[1]) for e in events]
    assert order == [(8 - k) % COUNT for k in range(14)]
    # by Gauss's principle from the speeds before: the nearest ones, by the mass, that roll
    before = events[0].time - 1e-9
    first = simulate(system, p, wheel.x0, np.zeros(1), before, rtol=1e-11, atol=1e-12)
    M, J, _, k = by_hand(REACH + 1e-7)
    assert k == 8
    slip = J @ speeds_of(system, first.states[-1])
    inverse = np.linalg.inv(M)
    lost = slip @ np.linalg.solve(J @ inverse @ J.T, slip) / 2
    said = float(re.search(r'loses (\S+) J', events[0].text)[1])
    assert said == pytest.approx(lost, rel=1e-5)
    energy = run.evaluate(lambda s: s.invariants['energy'])[:, 0]
    whole = sum(float(re.search(r'loses (\S+) J', e.text)[1]) for e in events)
    assert energy[0] - energy[-1] == pytest.approx(whole, rel=1e-5)


@pytest.mark.parametrize(
    ('given', 'text'),
    [
        ({'length': 0.03}, r'length: 0\.03 m leaves gaps between 9 rollers; 0\.04\d+ m covers'),
        ({'length': 0.05}, 'length: 0.05 m lets two touch, of 9 rollers'),
        ({'count': 4}, r'roller: must be more than 0\.01464 m, so that 4 rollers cover'),
        ({'roller': 0.06}, 'roller: must be less than the radius of the rim'),
        ({'angle': 2.0}, 'angle: must be less than pi/2, and not 0, got 2'),
        ({'wheel': 'whel'}, "wheel: got 'whel'; did you mean 'wheel'"),
    ],
)
def test_rings_that_do_not_roll_are_rejected(wheel, given, text):
    ring = {**wheel.raw['machine']['rings']['roller'], **given}
    machine = {**wheel.raw['machine'], 'rings': {'roller': ring}}
    with pytest.raises(ScenarioError, match=text):
        load_scenario({**wheel.raw, 'machine': machine})


def test_a_ring_with_a_roller_missing_is_rejected(wheel):
    machine = copy(wheel.system.machine)
    with pytest.raises(
        ParameterError, match=r"0\.698\d* rad of the rim of 'wheel', not 2 pi: gaps"
    ):
        HandOver(machine)


def slipping(wheel, **friction):
    """Return the wheel with rollers that may slip."""
    ring = {**wheel.raw['machine']['rings']['roller'], **friction}
    machine = {**wheel.raw['machine'], 'rings': {'roller': ring}}
    return load_scenario({**wheel.raw, 'machine': machine})


def test_a_roller_that_takes_over_slips_until_friction_turns_it(wheel):
    """No impulse: M a = J^T f, where f is mu times the weight against the slip; then it rolls."""
    s = slipping(wheel, mu=0.8, mu_kinetic=0.7)
    system, t = s.system, np.linspace(0, 0.2, 21)
    run = simulate(system, s.p, wheel.x0, np.zeros(1), 0.2, t_eval=t, rtol=1e-11, atol=1e-12)
    assert np.abs(run.states[:, system.state.slice('carriage')]).max() < 1e-12
    assert [e.name for e in run.events][:4] == ['hand_over', 'stick'] * 2
    over = run.events[0]
    M, J, _, k = by_hand(REACH + 1e-7)
    assert over.text == f'roller_{k} takes over'
    first = simulate(system, s.p, wheel.x0, np.zeros(1), over.time - 1e-9, rtol=1e-11, atol=1e-12)
    before = first.states[-1]
    np.testing.assert_allclose(over.state, before, atol=1e-6)  # nothing jumps
    slip = J @ speeds_of(system, over.state)
    weight = (5.5 + COUNT * MASS) * 9.81
    push = np.linalg.solve(M, J.T @ (-0.7 * weight * slip / np.linalg.norm(slip)))
    p = s.p.copy()
    p[system.parameters.slice('roller_wheel')] = k
    rate = np.array(system.modes['slipping'].dynamics(over.state, [0], 0, p)).ravel()
    np.testing.assert_allclose(speeds_of(system, rate), push, atol=1e-6 * np.abs(push).max())
    energy = run.evaluate(lambda s: s.invariants['energy'])[:, 0]
    assert np.all(np.diff(energy) < 1e-11)


def test_one_ring_that_does_not_slip_moves_alike_with_a_parameter(wheel):
    other = Rings(wheel.system.whole)
    p = other.parameters.pack(**wheel.system.parameters.unpack(wheel.p))
    one = simulate(wheel.system, wheel.p, wheel.x0, np.zeros(1), 0.3, rtol=1e-11, atol=1e-12)
    two = simulate(other, p, wheel.x0, np.zeros(1), 0.3, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(two.states[-1], one.states[-1], atol=1e-9)
    assert [e.text for e in one.events] == [e.text for e in two.events]


WHEELS = {'fl': (0.2, 0.15), 'fr': (0.2, -0.15), 'rl': (-0.2, 0.15), 'rr': (-0.2, -0.15)}


@lru_cache
def platform():
    """Return a frame on four mecanum wheels, which joints keep at its height."""
    bodies = {
        'lengthwise': {'kind': 'plate', 'side': 0.02},
        'sideways': {'kind': 'plate', 'side': 0.02},
        'frame': {'kind': 'block', 'mass': 5, 'sides': [0.4, 0.2, 0.05]},
    }
    joints = {
        'lengthwise': {'kind': 'prismatic', 'axis': [1, 0, 0]},
        'sideways': {'kind': 'prismatic', 'parent': 'lengthwise', 'axis': [0, 1, 0]},
        'frame': {
            'kind': 'revolute',
            'parent': 'sideways',
            'axis': [0, 0, 1],
            'place': [0, 0, RIM],
        },
    }
    rings, ring = {}, {'count': COUNT, 'radius': RIM, 'roller': ROLLER, 'mass': MASS}
    for name, (x, y) in WHEELS.items():
        bodies[name] = {'kind': 'solid', 'mass': 0.5, 'inertia': [2e-4, WHEEL, 2e-4]}
        place = {'axis': [0, 1, 0], 'place': [x, y, 0]}
        joints[name] = {'kind': 'revolute', 'parent': 'frame', **place}
        side = 1 if x * y > 0 else -1
        given = {'wheel': name, 'angle': side * ANGLE, 'normal_force': 18.0}
        rings[f'{name}_roller'] = {**ring, **given}
    return load_scenario(
        {
            'system': 'machine',
            'machine': {'bodies': bodies, 'joints': joints, 'rings': rings},
            'initial': {'lengthwise_rate': 0.3, 'sideways_rate': 0.1, 'frame_rate': 0.4},
            'duration': 0.3,
        }
    )


def test_wheels_of_a_platform_turn_as_its_motion_has_it():
    """Where a roller touches in its middle, only its axis is held: R w = v_x + v_y / tan."""
    s = platform()
    at = s.system.state.unpack(s.x0)
    for name, (x, y) in WHEELS.items():
        side = 1 if x * y > 0 else -1
        moves = 0.3 - 0.4 * y + side * (0.1 + 0.4 * x)
        assert at[f'{name}_rate'][0] == pytest.approx(moves / RIM, abs=1e-9)


def on_chosen_rollers(s, numbers):
    """Return the same machine with a plain contact on one roller of each wheel."""
    machine = copy(s.system.machine)
    machine.contacts = [
        replace(
            c,
            body=c.ring[k],
            shape=replace(c.shape, axis=axis_of(c.shape.angle, k)),
            touching=None,
            ring=(),
        )
        for c, k in zip(machine.contacts, numbers, strict=True)
    ]
    return MachineSystem(machine)


def axis_of(angle, k):
    turn = 2 * math.pi * k / COUNT
    across = math.sin(angle)
    return ca.DM([across * math.cos(turn), math.cos(angle), -across * math.sin(turn)])


@pytest.mark.parametrize('numbers', [(0, 0, 0, 0), (8, 3, 0, 5)])
def test_a_platform_moves_as_one_on_the_rollers_that_touch(numbers):
    s, rng = platform(), np.random.default_rng(3)
    plain = on_chosen_rollers(s, numbers)
    x = s.x0.copy()
    for name, k in zip(WHEELS, numbers, strict=True):
        x[s.system.state.slice(name)] = -2 * REACH * k + 0.3 * REACH
    x[s.system.state.slice('frame')] = 0.7
    kept = ['frame', 'lengthwise_rate', 'sideways_rate', 'frame_rate', *WHEELS]
    x = s.system.placed(s.p, x, kept)
    begun = s.system.begin(s.p, x, np.zeros(0))
    assert [begun.p[s.system.parameters.slice(f'roller_{n}')][0] for n in WHEELS] == list(numbers)
    x += 1e-3 * rng.normal(size=x.size)
    rates = [np.array(m.mode.dynamics(x, [], 0, begun.p)).ravel() for m in (s.system, plain)]
    np.testing.assert_allclose(rates[0], rates[1], atol=1e-11 * np.abs(rates[1]).max())
    assert np.abs(rates[0]).max() > 1


def test_rollers_of_a_platform_take_over_with_the_loss_of_an_impact():
    s = platform()
    run = simulate(s.system, s.p, s.x0, np.zeros(0), 0.3, rtol=1e-11, atol=1e-12)
    events = [e for e in run.events if e.name == 'hand_over']
    assert {e.text[:2] for e in events} == set(WHEELS)
    energy = run.evaluate(lambda s: s.invariants['energy'])[:, 0]
    said = [float(re.search(r'loses (\S+) J', e.text)[1]) for e in events]
    assert energy[0] - energy[-1] == pytest.approx(sum(said), rel=1e-5)
    # the first one by the plastic impact of a plain machine
    first = events[0]
    before = simulate(s.system, s.p, s.x0, np.zeros(0), first.time - 1e-9, rtol=1e-11, atol=1e-12)
    k = int(re.search(r'roller_(\d)', first.text)[1])
    numbers = [k if name == first.text[:2] else 0 for name in WHEELS]
    x, lost = on_chosen_rollers(s, numbers).held()
    plain = ca.Function('held', [*s.system.symbols], [x, lost])
    after, lost = plain(before.states[-1], [], first.time, s.p)
    assert said[0] == pytest.approx(float(lost), rel=1e-5)
    np.testing.assert_allclose(first.state, np.array(after).ravel(), atol=1e-6)


def test_rollers_that_differ_are_rejected(wheel):
    machine = copy(wheel.system.whole)
    one = machine.contacts[0]
    shape = replace(one.shape, angle=0.5)
    machine.contacts = [replace(one, shape=shape), *machine.contacts[1:]]
    with pytest.raises(ParameterError, match="the rollers of 'wheel' differ"):
        Rings(machine)

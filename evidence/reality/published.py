"""
Tests of engines and of the literature, beside closed forms and integrals of motion.

They need no logs: each row has the greatest error over the time that it names.
"""

from __future__ import annotations

from dataclasses import replace
import math

import casadi as ca
from evidence.reality.row import Row
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import (
    Entry,
    quaternion_entry,
    RollingSystem,
    vector_entry,
)
from rolling_dynamics.friction import Elastic, ellipse
from rolling_dynamics.mechanism import (
    Contact,
    Driven,
    Ellipsoid,
    Free,
    HybridMachine,
    Machine,
    MachineSystem,
    Revolute,
    Revolution,
    Rolling,
    Solid,
    Sphere,
)
from rolling_dynamics.mechanism.shapes import Shape, Wheel
from rolling_dynamics.simulation import simulate
from transforms3d.quaternions import axangle2quat, qmult

G = 9.81  # m/s^2
RADIUS, MASS, SPEED, KINETIC, DURATION = 0.108, 7.0, 8.0, 0.12, 4.0  # of a bowling ball
TABLE = 3.0  # rad/s, of the turntable
CLASSES = (0.7, 0.97, 1.25)  # of tippe tops: moments of inertia across over along
LEVER = 2e-3  # m, of the rolling resistance
BALL = Sphere(ca.SX(RADIUS))


def _states(system: RollingSystem, x: Array, times: Array, rtol: float = 1e-12) -> Array:
    none, end = np.zeros(0), times[-1]
    run = simulate(system, none, x, None, end, t_eval=times, rtol=rtol, atol=rtol / 100)
    return np.array(run.states)


def _free(axes: str = 'world') -> Free:
    return Free(
        position=vector_entry('p', 'm', 'W'),
        attitude=quaternion_entry('q'),
        velocity=vector_entry('v', 'm/s', 'W'),
        speed=vector_entry('w', 'rad/s'),
        axes=axes,
    )


def _rolling(shape: Shape = BALL, axes: str = 'world') -> Rolling:
    return Rolling(
        shape=shape,
        contact=vector_entry('contact', 'm', suffixes='xy'),
        attitude=quaternion_entry('q'),
        speed=vector_entry('w', 'rad/s'),
        axes=axes,
    )


def _ball() -> Revolution:
    return Revolution(ca.SX(MASS), ca.SX(0.4 * MASS * RADIUS**2))


def _touching(
    solid: Revolution | Solid,
    shape: Shape,
    mu: float,
    axes: str = 'world',
    resistance: float | None = None,
    patch: float | None = None,
    kinetic: float | None = None,
) -> HybridMachine:
    """Return a free body that touches the floor; kinetic friction is the static one by default."""
    machine = Machine('touching')
    machine.body('body', _free(axes), solid)
    contact = Contact(body='body', shape=shape, mu=mu, mu_kinetic=kinetic or mu)
    machine.contact(replace(contact, resistance=resistance, patch=patch))
    return HybridMachine(machine)


def bowling_ball() -> float:
    """Return the greatest error of the place [m] of a ball that slides and then rolls."""
    system, times = _touching(_ball(), BALL, KINETIC), np.linspace(0, DURATION, 401)
    x = system.state.pack(p=[0, 0, RADIUS], v=[SPEED, 0, 0])
    places = _states(system, x, times)[:, system.state.slice('p')]
    end = 2 * SPEED / (7 * KINETIC * G)
    slides = np.minimum(times, end)
    way = SPEED * slides - KINETIC * G * slides**2 / 2 + 5 / 7 * SPEED * (times - slides)
    expected = np.column_stack([way, 0 * way, RADIUS + 0 * way])
    return float(np.abs(places - expected).max())


def turntable() -> float:
    """Return the greatest error of the place [m] of a ball that rolls on a turntable."""
    machine = Machine('turntable')
    angle = Entry('turn', ('turn',), 'rad', kind='angle')
    hinge = Revolute(angle=angle, speed=Entry('rate', ('rate',), 'rad/s'), axis=[0, 0, 1])
    machine.body('table', Driven(joint=hinge, rates=ca.SX(1, 1)))
    machine.body('ball', _rolling(), _ball(), on='table')
    system = MachineSystem(machine)
    period = 2 * math.pi / (2 / 7 * TABLE)
    times = np.linspace(0, period, 201)
    x = system.state.pack(contact=[0.3, 0], rate=TABLE, w=[1.0, 2.0, 0.5])
    places = np.array([system.pose(y, [])[1][:2, 3] for y in _states(system, x, times)])[..., 0]
    where = system.pose(system.symbols.x, [])[1][:2, 3]
    rates = system.mode.dynamics(*system.symbols)
    speed = ca.Function('v', [system.symbols.x], [ca.jtimes(where, system.symbols.x, rates)])
    v = np.array(speed(x)).ravel()
    radius = np.hypot(*v) / (2 / 7 * TABLE)
    centre = places[0] + np.array([-v[1], v[0]]) / (2 / 7 * TABLE)
    turned = 2 / 7 * TABLE * times + np.arctan2(*(places[0] - centre)[::-1])
    circle = centre + radius * np.column_stack([np.cos(turned), np.sin(turned)])
    return float(np.abs(places - circle).max())


def chaplygin() -> float:
    """Return the greatest relative change of the angular momentum about the contact."""
    machine, inertia = Machine('chaplygin'), MASS * RADIUS**2 * np.array([0.3, 0.4, 0.55])
    solid = Solid(ca.SX(MASS), ca.SX(ca.diag(ca.DM(inertia))), ca.SX(3, 1))
    machine.body('ball', _rolling(axes='body'), solid)
    system, times = MachineSystem(machine), np.linspace(0, 30.0, 301)
    states = _states(system, system.state.pack(w=[3.0, 5.0, 2.0]), times)
    momenta = []
    for y in states:
        R = np.array(system.pose(y, [])[0])[:3, :3]
        w = y[system.state.slice('w')]
        up = np.array([0, 0, 1.0])
        slid = MASS * RADIUS**2 * np.cross(up, np.cross(R @ w, up))
        momenta.append(R @ (inertia * w) + slid)
    first = momenta[0]
    return float(np.abs(np.array(momenta) - first).max() / np.linalg.norm(first))


def _tilts(system: RollingSystem, states: Array) -> Array:
    """Return the angle [rad] between the z axis of the first body and the vertical."""
    return np.array([math.acos(np.array(system.pose(y, [])[0])[2, 2]) for y in states])


def hurricane_balls() -> float:
    """Return the greatest change of the tilt [rad] of two balls in one piece that whirl."""
    rate, r = 60.0, 0.02  # rad/s, m
    tilt = math.acos(0.4 - G / (r * rate**2))
    one = 0.4 * r**2  # inertia of a ball over its mass
    inertia = ca.SX(ca.diag(ca.DM([2 * one + 2 * r**2, 2 * one + 2 * r**2, 2 * one])))
    machine = Machine('hurricane_balls')
    machine.body(
        'lower', _rolling(Sphere(ca.SX(r))), Solid(ca.SX(2), inertia, ca.SX(ca.DM([0, 0, r])))
    )
    system = MachineSystem(machine)
    along = np.array([0, -math.sin(tilt), math.cos(tilt)])
    turned = [math.cos(tilt / 2), math.sin(tilt / 2), 0, 0]
    x = system.state.pack(q=turned, w=rate * (along + np.array([0, 0, 1])))
    tilts = _tilts(system, _states(system, x, np.linspace(0, 5, 101)))
    return float(np.abs(tilts - tilt).max())


def tippe_top(ratio: float, duration: float = 6.0, count: int = 2) -> Array:
    """Return tilts [rad] of a top until it ends, by its moments of inertia across over along."""
    mass, r, low, along = 6e-3, 0.015, 1.5e-3, 7.2e-7  # kg, m, m, kg m^2
    across, lean = ratio * along, 0.1
    inertia = ca.SX(ca.diag(ca.DM([across, across, along])))
    solid = Solid(ca.SX(mass), inertia, ca.SX(ca.DM([0, 0, -low])))
    system = _touching(solid, Sphere(ca.SX(r)), 0.3, 'body', patch=3e-4)
    q = axangle2quat([1, 0, 0], lean)
    x = system.state.pack(p=[0, 0, r], q=q, w=[0, 0, 155.0])
    times = np.linspace(0, duration, count)
    return _tilts(system, _states(system, x, times, 1e-7))


STONE = np.array([[2e-4, 2e-5, 0], [2e-5, 1.6e-3, 0], [0, 0, 1.7e-3]])  # kg m^2, of 1 kg
HALF_AXES, LOW = (0.2, 0.03, 0.02), 0.01  # m, of the stone; of its centre of mass below theirs
STONE_MASS = Solid(ca.SX(1), ca.SX(ca.DM(STONE)), ca.SX(ca.DM([0, 0, -LOW])))
STONE_SHAPE, TILT = Ellipsoid(ca.SX(ca.DM(HALF_AXES))), math.radians(0.5)


LEAN = qmult(axangle2quat([1, 0, 0], TILT), axangle2quat([0, 1, 0], -TILT))


def _stone() -> MachineSystem:
    """Return the rattleback of Kane & Levinson 1982, with their y and z reversed."""
    machine = Machine('rattleback')
    machine.body('stone', _rolling(STONE_SHAPE, axes='body'), STONE_MASS)
    return MachineSystem(machine)


def _spun(system: RollingSystem, x: Array, times: Array, rtol: float) -> tuple[Array, Array]:
    """Return energies over the energy of the spin at the start, and spin [rad/s], of the stone."""
    states, w = _states(system, x, times, rtol), system.state.slice('w')
    energies = [float(system.invariants['energy'](y, [], 0, [])) for y in states]
    return np.array(energies) / (STONE[2, 2] * x[w][2] ** 2 / 2), states[:, w][:, 2]


def rattleback() -> tuple[float, Array, Array]:
    """Return the relative change of the energy in 20 s, times [s] and spin over them [rad/s]."""
    system, times = _stone(), np.linspace(0, 20, 2001)
    energies, spin = _spun(system, system.state.pack(q=LEAN, w=[0, 0, 5.0]), times, 1e-12)
    return float(np.ptp(energies)), times, spin


def sliding_rattleback() -> tuple[float, float]:
    """Return the growth of energy, and when the stone turns round, as Simbody starts it."""
    rolling, w, times = _stone(), np.array([0, 0, 10.0]), np.linspace(0, 10, 1001)
    system = _touching(STONE_MASS, STONE_SHAPE, 0.6, 'body', kinetic=0.3)
    pose = np.array(rolling.pose(rolling.state.pack(q=LEAN), [])[0])
    R, p = pose[:3, :3], pose[:3, 3]
    x = system.state.pack(p=p, q=LEAN, v=np.cross(R @ w, p), w=w)
    energies, spin = _spun(system, x, times, 1e-9)
    return float(np.diff(energies).max()), float(times[np.argmax(spin < 0)])


def reversal(spin: float = 0.1, part: float = 0.9) -> tuple[float, float]:
    """
    Return when the stone turns round, and when the growth of its small oscillations says so [s].

    It pitches a little while it spins. With the mode v of pitching in H = centre of mass over the
    contact, Theta radii of curvature and J inertia about the contact, all along the tilt, the mean
    torque about the vertical is K = m H (v x Theta v) / (v J v) of the energy of pitching.
    """
    radii, height = np.square(HALF_AXES[:2]) / HALF_AXES[2], HALF_AXES[2] - LOW
    turned = np.array([[0, 1], [-1, 0]])
    J = turned @ (STONE[:2, :2] + height**2 * np.eye(2)) @ turned.T
    squares, modes = np.linalg.eig(np.linalg.solve(J, G * np.diag(radii - height)))
    v, square = modes[:, np.argmax(squares)], squares.max()
    K = height * v[0] * v[1] * (radii[1] - radii[0]) / (v @ J @ v)
    most = spin / part  # were the energy in the spin
    expected = math.log((1 + part) / (1 - part)) / (abs(K) * most)
    energy = (most**2 - spin**2) * STONE[2, 2] / 2
    tilt = v * math.sqrt(2 * energy / square / (v @ J @ v))
    q = axangle2quat([-tilt[1], tilt[0], 0], float(np.hypot(*tilt)))
    system, times = _stone(), np.arange(0, 1.2 * expected, math.pi / math.sqrt(square) / 8)
    x = system.state.pack(q=q, w=[0, 0, -math.copysign(spin, K)])
    w = _states(system, x, times)[:, system.state.slice('w')][:, 2]
    mean = np.convolve(w / w[0], np.full(16, 1 / 16), 'same')  # over a period
    return float(times[8:-8][np.argmax(mean[8:-8] < 0)]), expected


def eulers_disk(start: float = 0.12, end: float = 0.03) -> float:
    """Return the greatest error of the tilt [rad] of a disk that a lever arm lets fall."""
    mass, r, lever = 0.44, 0.038, 2e-5
    across = mass * r**2 / 4
    solid = Solid(ca.SX(mass), ca.SX(ca.diag(ca.DM([across, across, 2 * across]))), ca.SX(3, 1))
    rim = Wheel(ca.SX(r), side=ca.DM([0, 0, 1]))
    system = _touching(solid, rim, 1.0, 'body', resistance=lever)
    rate = 4 * lever / (3 * r) * math.sqrt(G / r)
    w = -2 * math.sqrt(G * math.sin(start) / r)  # about a diameter: Omega^2 sin(tilt) = 4 g / R
    q = axangle2quat([1, 0, 0], start)
    x = system.state.pack(p=[0, 0, r * math.sin(start)], q=q, w=[0, w, 0])
    times = np.linspace(0, 2 * (math.sqrt(start) - math.sqrt(end)) / rate, 201)
    falls = (math.sqrt(start) - rate / 2 * times) ** 2
    return float(np.abs(_tilts(system, _states(system, x, times, 1e-9)) - falls).max())


def chrono() -> tuple[float, float]:
    """Return rates [rad/s] after 1 s of rolling and 4 s of spinning, as Chrono's tests have it."""
    r, mass, soft = 0.5, 1.0, Elastic(young=2e5, poisson=0.3, other_young=2e5, other_poisson=0.3)
    patch = ellipse([1 / r, 1 / r], mass * G, soft).friction_radius
    left = []
    for lever, a, v, spin, time in ((0.2 * r, None, 1, 0, 1), (None, patch, 0, 1, 4)):
        solid = Revolution(ca.SX(mass), ca.SX(0.4 * mass * r**2))
        system = _touching(solid, Sphere(ca.SX(r)), 0.3, resistance=lever, patch=a)
        x = system.state.pack(p=[0, 0, r], v=[v, 0, 0], w=[0, 0, spin])
        end = _states(system, x, np.array([0.0, time]), 1e-9)[-1]
        left.append(float(np.linalg.norm(end[system.state.slice('w')])))
    return left[0], left[1]


def stops() -> tuple[float, float]:
    """Return the errors of way [m] and time [s] in which rolling resistance stops a ball."""
    system, speed = _touching(_ball(), BALL, 1.0, resistance=LEVER), 1.0
    slower = 5 / 7 * G * LEVER / RADIUS
    x = system.state.pack(p=[0, 0, RADIUS], v=[speed, 0, 0], w=[0, speed / RADIUS, 0])
    end = 1.2 * speed / slower
    run = simulate(system, np.zeros(0), x, None, end, rtol=1e-10, atol=1e-12)
    way = run.states[-1][system.state.slice('p')][0]
    return float(abs(way - speed**2 / (2 * slower))), abs(run.events[-1].time - speed / slower)


def rows() -> list[Row]:
    """Return a row for each test."""
    energy, times, spin = rattleback()
    back = times[np.argmax(spin < 0)]
    grown, turns = sliding_rattleback()
    way, late = stops()
    turned, expected = reversal()
    rolled, spun = chrono()
    upright, inverted, between = (float(tippe_top(ratio)[-1]) for ratio in CLASSES)
    apart = max(upright, math.pi - inverted)
    given = [
        ('Bowling ball, slide to roll', 'm', f'{DURATION:g} s', bowling_ball(), 1e-10,
         'closed form, a test of Drake'),
        ('Ball on a turntable', 'm', 'a circle at 2/7 of its rate', turntable(), 1e-10,
         'closed form'),
        ("Chaplygin's sphere", '1', '30 s, angular momentum about the contact', chaplygin(),
         1e-10, 'integral of motion'),
        ('Hurricane balls', 'rad', '5 s at 60 rad/s', hurricane_balls(), 1e-10,
         'closed form of steady whirling, 66.4 degrees at most (Jackson et al. 2015)'),
        ('Rattleback, energy', '1', f'20 s, turns round after {back:.2f} s', energy, 1e-9,
         'integral of motion; the stone of Kane & Levinson 1982'),
        ("Simbody's rattleback, energy", '1', f'10 s, turns round after {turns:.2f} s', grown,
         1e-8, 'friction (0.6, 0.3) cannot raise it; its example prints energies'),
        ('Rattleback, reversal', 's', f'after {turned:.2f} s at 0.1 rad/s', abs(turned - expected),
         0.3, f'{expected:.2f} s of small oscillations, derived here'),
        ("Euler's disk", 'rad', 'from 0.12 to 0.03 rad', eulers_disk(), 5e-4,
         'closed form of a dry lever arm, at Omega^2 sin(tilt) = 4 g/R (Moffatt 2000)'),
        ('Chrono, rolling', 'rad/s', '1 s, from sliding', rolled, 1e-3, 'what its test asserts'),
        ('Chrono, spinning', 'rad/s', '4 s, patch of its elasticity', spun, 1e-3,
         'what its test asserts'),
        ('Tippe top', 'rad', f'after 6 s, two ends; a third is at {between:.2f} rad', apart, 0.1,
         'where tops of the first and second class end (Ciocci et al. 2012)'),
        ('Ball with rolling resistance, way', 'm', 'until after it stops', way, 1e-6,
         'closed form, a test of Chrono: it slows by (5/7) g e/R'),
        ('Ball with rolling resistance, time', 's', 'until it stops', late, 1e-3,
         'closed form'),
    ]  # fmt: skip
    return [
        Row(name=n, unit=u, fitted='nothing', held_out=h, error=e, goal=g, published=by)
        for n, u, h, e, g, by in given
    ]

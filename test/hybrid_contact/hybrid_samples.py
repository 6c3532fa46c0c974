"""Bodies, states and hand motions of the hybrid plant."""

from functools import lru_cache
from itertools import pairwise

import numpy as np
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.surfaces import Ellipsoid, Sphere

INERTIA = (3e-4, 4e-4, 5e-4)
MASS = 0.3


@lru_cache(maxsize=8)
def system(*semi_axes):
    """Return an ellipsoid, or a ball of one radius; built once."""
    body = Sphere(*semi_axes) if len(semi_axes) == 1 else Ellipsoid(*semi_axes)
    return HybridContactSystem(body)


def turn(angle):
    """Return the quaternion of a turn about y."""
    return [np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0]


def state(s, **given):
    """Return a state; what is not given is zero, and attitudes are the identity."""
    values = {e.name: np.zeros(e.size) for e in s.state.entries}
    values['q_WH'][0] = values['q_HO'][0] = 1.0
    return s.state.pack(**(values | given))


def random_state(s, rng, mode, p, speed=1.0, *, plane=False):
    """Return a random state on the constraints of a mode, in the plane x-z if wanted."""
    given = {e.name: speed * rng.normal(size=e.size) for e in s.state.entries}
    for name, values in given.items():
        if plane:  # attitudes turn about y
            kept = {4: [0, 2], 3: [1] if name.startswith('w_') else [0, 2]}[values.size]
            values[np.delete(np.arange(values.size), kept)] = 0.0
    for name in ('q_WH', 'q_HO'):
        given[name] /= np.linalg.norm(given[name])
    x = s.state.pack(**given)
    return np.array(s.modes[mode].projection(x, p)).ravel()


def world_motion(s, x, p):
    """Return centre velocity and angular momentum about the centre in W, from the state alone."""
    import transforms3d

    d, q = s.state.unpack(x), s.parameters.unpack(p)
    R_WH = transforms3d.quaternions.quat2mat(d['q_WH'])
    R_WO = R_WH @ transforms3d.quaternions.quat2mat(d['q_HO'])
    v = R_WH @ (d['v_WH_H'] + np.cross(d['w_WH_H'], d['p_HO_H']) + d['v_HO_H'])
    xx, yy, zz, xy, xz, yz = q['inertia']
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    w = R_WH @ (d['w_WH_H'] + d['w_HO_H'])
    return v, R_WO @ J @ R_WO.T @ w, R_WH


def energy_balance(s, run, p, order=10):
    """Return energy less the work of the hand, over the phases of an adaptive run."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    energy, u0 = s.invariants['energy'], np.zeros(s.control.size)
    balance, before = [], None
    work = 0.0
    for phase in run.segments:
        q = phase.parameters
        power = s.hand_power(next(iter(phase.system.modes)))
        x = phase.interpolate(np.array([phase.start]))[0]
        if before is not None:
            work += jump_work(s, before, x, p)
        balance.append(float(energy(x, u0, 0, q)) - work)
        kinks = run.control.times
        kinks = kinks[(kinks > phase.start) & (kinks < phase.end)]
        cuts = np.unique(np.concatenate([np.linspace(phase.start, phase.end, 20), kinks]))
        for a, b in pairwise(cuts):
            times = (a + b) / 2 + (b - a) / 2 * nodes
            values = [float(power(run.state_at(t), run.control_at(t), t, q)) for t in times]
            work += (b - a) / 2 * float(weights @ values)
            before = phase.interpolate(np.array([b]))[0]
            balance.append(float(energy(before, u0, 0, q)) - work)
    return np.array(balance)


def jump_work(s, before, after, p):
    """Return the work of the hand in a jump: impulse and moment times the hand's velocities."""
    (v0, L0, R), (v1, L1, _) = (world_motion(s, x, p) for x in (before, after))
    d, m = s.state.unpack(before), s.parameters.unpack(p)['mass'][0]
    impulse, turn = R.T @ (m * (v1 - v0)), R.T @ (L1 - L0)
    moment = np.cross(d['p_HO_H'], impulse) + turn
    return float(impulse @ d['v_WH_H'] + moment @ d['w_WH_H'])


def step_work(plant, start, u, dt, instant=1e-9):
    """Return the work of the hand in a fixed step: Simpson between its events, and jumps."""
    stepper, s = plant.stepper, plant.stepper.system
    end = stepper.step(start, u, dt)
    marks = sorted({e.time for e in end.events if start.t + instant < e.time < end.t - instant})
    work, a = 0.0, start
    for mark in [*marks, None]:
        b = end if mark is None else stepper.step(start, u, mark - instant - start.t)
        middle = stepper.step(start, u, (a.t + b.t) / 2 - start.t)
        rates = [float(s.hand_power(z.mode)(z.x, u, 0, z.p)) for z in (a, middle, b)]
        work += (b.t - a.t) / 6 * (rates[0] + 4 * rates[1] + rates[2])
        if mark is not None:
            a = stepper.step(start, u, mark + instant - start.t)
            work += jump_work(s, b.x, a.x, b.p)
    return work

"""Equilibria: the one nearest to a state, and the linearisation about it in the tangent space."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import smooth_mode
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.rotations import product

STILL = 1e-8  # maximum rate of the state at an equilibrium, in SI units
UNSTABLE = 1e-3  # 1/s: smaller growth rates are rounding errors of zero eigenvalues
STEPS = 20  # of Newton's method
FAR = 0.2  # maximum distance of an equilibrium from the state, in tangent units
NEAR, NEARBY = 4, 0.1  # nearby states that are tested, and their distance in tangent units
ROUNDING = 1e-9  # maximum change of the rates over a steady motion, due to rounding
RANK = 1e-9  # fraction of the largest singular value below which a direction is ignored


class LinearModel(NamedTuple):
    """d' = A d + B e in the tangent space, d from the equilibrium, e from its control."""

    A: Array
    B: Array


def linear_model(
    system: RollingSystem,
    p: ArrayLike,
    x: ArrayLike,
    u: ArrayLike,
    ignorable: Collection[str] = (),
) -> LinearModel:
    """
    Return the linearisation of the first mode about an equilibrium, or a steady motion.

    In a steady motion everything moves over the floor as one body, straight or in a circle, while
    bodies may spin about their own axes. d is the difference of states in axes that move with
    them.

    Parameters
    ----------
    system, p
        The system and its parameters.
    x, u
        State and control of the equilibrium.
    ignorable
        Entries of the state that may move there, such as the angle of a wheel. The equations
        must not depend on them; they are left out.

    Returns
    -------
    LinearModel
        A of shape (n, n) and B of shape (n, m), where n is the size of the tangent space without
        the ignorable entries.

    Raises
    ------
    ParameterError
        The state is neither at rest nor in steady motion.

    """
    x, u, p = (np.asarray(v, dtype=float) for v in (x, u, p))
    left_out = [k for name in ignorable for k in _indices(system.state, name)]
    moved = [
        turn.name
        for entry, turn in zip(system.state.entries, system.tangent.entries, strict=True)
        if entry.name not in ignorable
    ]
    kept = [k for name in moved for k in _indices(system.tangent, name)]
    motion = steady_motion(system, p, x, u, left_out)
    J, n = np.array(tangent_rate(system)(x, u, p, motion)[1]), system.tangent.size
    return LinearModel(J[np.ix_(kept, kept)], J[kept, n:])


def _indices(layout: Layout, name: str) -> range:
    return range(*layout.slice(name).indices(layout.size))


def floor_motion(
    layout: Layout, values: ca.SX, velocity: ca.SX, spins: Mapping[str, ca.SX] | None = None
) -> ca.SX:
    """
    Return the rate of a state, or control, that moves over the floor as one body.

    Parameters
    ----------
    layout, values
        Layout and values of the state or control.
    velocity
        Velocity along x and y of W at its origin, and rate of rotation about z, shape (3,) [m/s,
        m/s, rad/s].
    spins
        Body name -> additional angular velocity (3) in the axes of the body [rad/s]; default 0.

    """
    spins, turn, rate = spins or {}, velocity[2], ca.SX(layout.size, 1)
    for entry in layout.entries:
        where = layout.slice(entry.name)
        value = values[where]
        if entry.turns_in_world:
            spin = ca.vertcat(0, spins.get(_body(entry), ca.SX(3, 1)))
            about_z = ca.vertcat(0, 0, 0, turn)
            rate[where] = (product(about_z, value) + product(value, spin)) / 2
        elif entry.is_in_world:
            first = slice(where.start, where.start + 2)
            rate[first] = turn * ca.vertcat(-value[1], value[0])
            if entry.is_position:
                rate[first] += velocity[:2]
        elif entry.frame in spins and entry.kind == 'vector' and entry.size == 3:
            rate[where] = ca.cross(value, spins[entry.frame])
    return rate


def _body(attitude: Entry) -> str:
    return attitude.name.removeprefix('q_').removeprefix('W')


def _spins(system: RollingSystem, motion: ca.SX) -> dict[str, ca.SX]:
    """Return the spins in a motion by body; see :func:`steady_motion`."""
    bodies = [_body(e) for e in system.state.entries if e.turns_in_world]
    return {name: motion[3 + 3 * k : 6 + 3 * k] for k, name in enumerate(bodies)}


def _motion(system: RollingSystem) -> ca.SX:
    """Return symbols of a motion over the floor: its velocity (3), and a spin (3) per body."""
    return ca.SX.sym('motion', 3 + 3 * sum(e.turns_in_world for e in system.state.entries))


def steady_motion(
    system: RollingSystem, p: Array, x: Array, u: Array, left_out: Sequence[int] = ()
) -> Array:
    """
    Return the common motion of a state: velocity over the floor (3), and a spin (3) per body.

    See :func:`floor_motion`; all values are zero at rest. The equations must be invariant under
    such a motion. This is tested at and near the state: the Lie bracket with the rates is zero.

    Parameters
    ----------
    system, p, x, u
        The system, its parameters, state and control.
    left_out
        Components of the state that may change differently.

    Raises
    ------
    ParameterError
        The state does not move like this.

    """
    rows = np.setdiff1d(np.arange(system.state.size), left_out)
    motion: Array = np.zeros(_motion(system).numel())
    rate = np.array(smooth_mode(system).dynamics(x, u, 0.0, p)).ravel()[rows]
    if np.all(np.abs(rate) < STILL):
        return motion
    moves = _moves(system)
    way, bracket = (np.array(out)[rows] for out in moves(x, u, p))
    rng, brackets = np.random.default_rng(0), [bracket]
    for _ in range(NEAR):
        near = system.retract(x, NEARBY * rng.normal(size=system.tangent.size))
        brackets.append(np.array(moves(near, u, p)[1])[rows])
    size = np.array([max(np.abs(b).max(), 1.0) for b in brackets]).repeat(len(rows))
    changed = np.vstack(brackets) / size[:, None]
    wanted = np.concatenate([rate, np.zeros(len(changed))])
    motion = np.linalg.lstsq(np.vstack([way, changed]), wanted, rcond=RANK)[0]
    left = rate - way @ motion
    if not (np.all(np.abs(left) < STILL) and np.all(np.abs(changed @ motion) < ROUNDING)):
        worst = int(np.argmax(np.abs(rate)))
        raise ParameterError(
            f'no equilibrium: the rate of {system.state.names[rows[worst]]} is {rate[worst]:.3g} '
            'there; give a state at rest and the control that keeps it, or one of a steady '
            'motion, in which everything moves as one over the floor'
        )
    return motion


@once_per_system
def _moves(system: RollingSystem) -> ca.Function:
    """Return ``(x, u, p) -> rates of unit motions, their Lie brackets with the dynamics``."""
    x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    p, motion = ca.SX.sym('p', system.parameters.size), _motion(system)
    spins, f = _spins(system, motion), smooth_mode(system).dynamics(x, u, 0, p)
    g, v = (floor_motion(*of, motion, spins) for of in ((system.state, x), (system.control, u)))
    bracket = ca.jtimes(f, ca.vertcat(x, u), ca.vertcat(g, v)) - ca.jtimes(g, x, f)
    out = [ca.densify(ca.jacobian(v, motion)) for v in (g, bracket)]
    return ca.Function('moves', [x, u, p], out)


def tangent_rate(system: RollingSystem) -> ca.Function:
    """
    Return ``(x, u, p, motion) -> rate of d at x, its Jacobian by (d, u)``, in tangent units.

    The rate is relative to a motion of everything over the floor; see :func:`steady_motion`.
    """
    f, motion = smooth_mode(system).dynamics, _motion(system)
    d, e = ca.SX.sym('d', system.tangent.size), ca.SX.sym('e', system.control.size)
    y, q = ca.SX.sym('y', system.state.size), ca.SX.sym('p', system.parameters.size)
    x0, u0 = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    rate = f(y, u0 + e, 0, q)
    rate -= floor_motion(system.state, y, motion, _spins(system, motion))
    turned = ca.jtimes(system.difference(y, x0), y, rate)
    turned = ca.substitute(turned, y, system.retract(x0, d))
    J = ca.jacobian(turned, ca.vertcat(d, e))
    here = ca.DM.zeros(d.numel() + e.numel())
    outputs = (ca.substitute(out, ca.vertcat(d, e), here) for out in (turned, J))
    return ca.Function('tangent_rate', [x0, u0, q, motion], [ca.densify(out) for out in outputs])


def nearest_equilibrium(
    system: RollingSystem,
    p: ArrayLike,
    x: ArrayLike,
    u: ArrayLike | None = None,
    within: float = FAR,
) -> tuple[Array, Array]:
    """
    Return the equilibrium (state and control) nearest to a state and control.

    Solves f(x, u) = 0 by Newton's method. Only the control changes if some control holds the
    state, like a torque on a slope. Otherwise both change as little as possible, in their scales.

    Parameters
    ----------
    system, p
        The system and its parameters.
    x
        State near the equilibrium, shape (state.size,).
    u
        Control near the equilibrium, shape (control.size,); zero if None.
    within
        Maximum distance of the equilibrium from the state, in tangent units.

    Returns
    -------
    tuple of Array
        State and control of the equilibrium.

    Raises
    ------
    ParameterError
        There is no equilibrium near the state: it moves, or no control holds it.

    """
    x0, rate, n = np.array(x, dtype=float), tangent_rate(system), system.tangent.size
    v0 = np.zeros(system.control.size) if u is None else np.array(u, dtype=float)
    entries = *system.tangent.entries, *system.control.entries
    scales = np.array([e.scale for e in entries for _ in e.components])
    for first in (n, 0):  # controls alone, then also the state
        y, v = x0, v0
        for _ in range(STEPS):
            residual, J = (np.array(out) for out in rate(y, v, p, 0))
            residual = residual.ravel()
            if not np.isfinite(residual).all() or np.abs(residual).max() < STILL / 10:
                break
            by = (J * scales)[:, first:]
            change = scales[first:] * np.linalg.lstsq(by, -residual, rcond=RANK)[0]
            if first == 0:
                y = np.array(system.retract(y, change[:n])).ravel()
            v = v + change[n - first :]
        if np.abs(residual).max() < STILL:
            break
    residual = np.array(rate(y, v, p, 0)[0]).ravel()
    away = float(np.linalg.norm(np.array(system.difference(y, x0))))
    if not (np.abs(residual).max() < STILL and away <= within):
        worst = system.tangent.names[int(np.argmax(np.abs(np.array(rate(x0, v, p, 0)[0]))))]
        raise ParameterError(
            f'there is no equilibrium near this state: {worst} changes fastest there; give a '
            'state at rest that the controls can hold'
        )
    return y, v


def is_unstable(system: RollingSystem, p: ArrayLike, x: ArrayLike) -> bool:
    """Return whether the equilibrium nearest to a state is unstable; False if there is none."""
    try:
        at, u = nearest_equilibrium(system, p, x)
        A = linear_model(system, p, at, u).A
    except ParameterError:
        return False
    return bool(np.isfinite(A).all() and np.linalg.eigvals(A).real.max(initial=0.0) > UNSTABLE)


def measures_unstable(
    system: RollingSystem, p: ArrayLike, x: ArrayLike, sensors: Sequence[Sensor]
) -> bool:
    """Return whether sensors observe all unstable motion about the nearest equilibrium."""
    if not sensors:
        return False
    at, u = nearest_equilibrium(system, p, x)
    A, d = linear_model(system, p, at, u).A, ca.SX.sym('d', system.tangent.size)
    functions = [s.function(system, next(iter(system.modes))) for s in sensors]
    y = ca.vertcat(*(f(system.retract(at, d), u, 0.0, p) for f in functions))
    H = np.array(ca.Function('H', [d], [ca.jacobian(y, d)])(0.0))
    return not hidden_modes(A, H, UNSTABLE, math.inf)


def hidden_modes(A: Array, H: Array, least: float, most: float) -> list[complex]:
    """
    Return the eigenvalues [1/s] of A with real parts between two bounds that H does not observe.

    By the Popov-Belevitch-Hautus test: H, shape (m, n), is zero on an eigenvector of A (n, n).
    """
    rates = [complex(value) for value in np.linalg.eigvals(A) if least < value.real < most]
    tests = [np.vstack([rate * np.eye(len(A)) - A, H]) for rate in rates]
    ranks = [np.linalg.matrix_rank(test, RANK**0.5) for test in tests]
    return [rate for rate, rank in zip(rates, ranks, strict=True) if rank < len(A)]

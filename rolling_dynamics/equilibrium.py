"""Equilibria: the one nearest a state, and the linearisation about it in the tangent space."""

from __future__ import annotations

from collections.abc import Collection, Sequence
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import smooth_mode
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError

STILL = 1e-8  # greatest rate of the state at what counts as an equilibrium, in SI units
UNSTABLE = 1e-3  # 1/s: growth rates below are rounding of eigenvalues that are zero
STEPS = 20  # of Newton's method
FAR = 0.2  # greatest distance of an equilibrium from the state, in tangent units
RANK = 1e-9  # fraction of the greatest singular value below which a direction does not count


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

    Parameters
    ----------
    system, p
        The system and its parameters.
    x, u
        State and control of the equilibrium.
    ignorable
        Entries of the state that may move there, such as the way along the floor and the angle
        of a wheel. The equations must not depend on them; they are left out.

    Returns
    -------
    LinearModel
        A of shape (n, n) and B of shape (n, m), n the size of the tangent space without what is
        left out.

    Raises
    ------
    ParameterError
        The state does not rest there.

    """
    f = smooth_mode(system).dynamics
    rate = np.array(f(x, u, 0.0, p)).ravel()
    kept: list[int] = []
    for entry, turn in zip(system.state.entries, system.tangent.entries, strict=True):
        if entry.name in ignorable:
            rate[system.state.slice(entry.name)] = 0.0
        else:
            where = system.tangent.slice(turn.name)
            kept += range(where.start, where.stop)
    if not np.all(np.abs(rate) < STILL):
        worst = int(np.argmax(np.abs(rate)))
        raise ParameterError(
            f'no equilibrium: the rate of {system.state.names[worst]} is {rate[worst]:.3g} there; '
            'give a state at rest and the control that keeps it'
        )
    J, n = np.array(tangent_rate(system)(x, u, p)[1]), system.tangent.size
    return LinearModel(J[np.ix_(kept, kept)], J[kept, n:])


def tangent_rate(system: RollingSystem) -> ca.Function:
    """Return ``(x, u, p) -> rate of d from x, and its Jacobian by (d, u)``, in tangent units."""
    f = smooth_mode(system).dynamics
    d, e = ca.SX.sym('d', system.tangent.size), ca.SX.sym('e', system.control.size)
    y, q = ca.SX.sym('y', system.state.size), ca.SX.sym('p', system.parameters.size)
    x0, u0 = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    turned = ca.jtimes(system.difference(y, x0), y, f(y, u0 + e, 0, q))
    turned = ca.substitute(turned, y, system.retract(x0, d))
    J = ca.jacobian(turned, ca.vertcat(d, e))
    here = ca.DM.zeros(d.numel() + e.numel())
    outputs = (ca.substitute(out, ca.vertcat(d, e), here) for out in (turned, J))
    return ca.Function('tangent_rate', [x0, u0, q], [ca.densify(out) for out in outputs])


def nearest_equilibrium(
    system: RollingSystem,
    p: ArrayLike,
    x: ArrayLike,
    u: ArrayLike | None = None,
    within: float = FAR,
) -> tuple[Array, Array]:
    """
    Return the state and control nearest to given ones at which the system stays at rest.

    Solves f(x, u) = 0 by Newton's method with the least change of state and control: on a slope it
    finds the torque that holds the robot there.

    Parameters
    ----------
    system, p
        The system and its parameters.
    x
        State near the equilibrium, shape (state.size,).
    u
        Control near the equilibrium's, shape (control.size,); zero if None.
    within
        Greatest distance of the equilibrium from the state, in tangent units.

    Returns
    -------
    tuple of Array
        State and control of the equilibrium.

    Raises
    ------
    ParameterError
        There is no equilibrium near the state: it moves, or no control holds it.

    """
    x0, v = np.array(x, dtype=float), np.zeros(system.control.size)
    if u is not None:
        v = np.array(u, dtype=float)
    y, rate = x0, tangent_rate(system)
    for _ in range(STEPS):
        residual, J = (np.array(out) for out in rate(y, v, p))
        residual = residual.ravel()
        if not np.isfinite(residual).all() or np.abs(residual).max() < STILL / 10:
            break
        change = np.linalg.lstsq(J, -residual, rcond=RANK)[0]
        y = np.array(system.retract(y, change[: system.tangent.size])).ravel()
        v = v + change[system.tangent.size :]
    residual = np.array(rate(y, v, p)[0]).ravel()
    away = float(np.linalg.norm(np.array(system.difference(y, x0))))
    if not (np.abs(residual).max() < STILL and away <= within):
        worst = system.tangent.names[int(np.argmax(np.abs(np.array(rate(x0, v, p)[0]))))]
        raise ParameterError(
            f'there is no equilibrium near this state: {worst} changes fastest there; give a '
            'state at rest that the controls can hold'
        )
    return y, v


def is_unstable(system: RollingSystem, p: ArrayLike, x: ArrayLike) -> bool:
    """Return whether a system leaves the equilibrium nearest a state; False without one."""
    try:
        at, u = nearest_equilibrium(system, p, x)
        A = linear_model(system, p, at, u).A
    except ParameterError:
        return False
    return bool(np.isfinite(A).all() and np.linalg.eigvals(A).real.max(initial=0.0) > UNSTABLE)


def measures_unstable(
    system: RollingSystem, p: ArrayLike, x: ArrayLike, sensors: Sequence[Sensor]
) -> bool:
    """Return whether sensors observe all unstable motion about the equilibrium nearest a state."""
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

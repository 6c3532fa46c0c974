"""Derivatives, tangent space and linearisation against differences."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.testing.checked_system import close, Failed, scales, SPREAD, Subject, values

# of differences, over the size of what is changed; the short one is for where a second derivative
# jumps, there differences come near as slowly as the step
STEPS = (1e-5, 1e-7)
DERIVATIVE = 1e-5  # relative error that central differences leave
EXACT = 1e-9


def derivatives(s: Subject) -> None:
    """Check exact derivatives of motion and contact force against differences."""
    functions = {'dynamics': s.mode.dynamics}
    if s.mode.wrench is not None:
        functions['wrench'] = s.mode.wrench
    n = s.x.size
    for name, f in functions.items():
        symbols = [ca.MX.sym(f'a{k}', f.numel_in(k)) for k in range(4)]
        wanted = ca.vertcat(symbols[0], symbols[1])
        J = ca.Function('J', symbols, [ca.densify(ca.jacobian(f(*symbols), wanted))])

        def at(z: Array, f: ca.Function = f) -> Array:
            return values(f, z[:n], z[n:], 0.0, s.p)

        for x, u in s.samples:
            exact = np.array(J(x, u, 0.0, s.p))
            z = np.concatenate([x, u])
            found = _differing(exact, at, z)
            if found is not None:
                row, column = np.unravel_index(np.nanargmax(_off(exact, found)), exact.shape)
                names = [*s.system.state.names, *s.system.control.names]
                raise Failed(
                    f'{name}[{row}] by {names[column]}: differences give '
                    f'{found[row, column]:.6g}, the derivative is {exact[row, column]:.6g}'
                )


def _off(exact: Array, found: Array) -> Array:
    return np.where(np.isfinite(exact), np.abs(exact - found), np.inf)


def _differing(exact: Array, f: Callable[[Array], Array], z: Array) -> Array | None:
    """Return differences that contradict exact derivatives with every step, or None."""
    found = None
    for step in STEPS:
        found = _central(f, z, step)
        if close(exact, found, DERIVATIVE):
            return None
    return found


def _central(f: Callable[[Array], Array], z: Array, step: float) -> Array:
    columns = []
    for k in range(z.size):
        h = step * max(1.0, abs(z[k]))
        up, down = z.copy(), z.copy()
        up[k] += h
        down[k] -= h
        columns.append((f(up) - f(down)) / (2 * h))
    return np.column_stack(columns) if columns else np.zeros((0, 0))


def tangent_space(s: Subject) -> None:
    """Check that ``retract`` and ``difference`` undo each other."""
    system, rng = s.system, np.random.default_rng(s.seed)
    nothing = np.zeros(system.tangent.size)
    for x, _ in s.samples:
        stayed = values(system.retract, x, nothing)
        if not close(stayed, x, EXACT):
            raise Failed(
                f'retract(x, 0) = x is expected, found {np.abs(stayed - x).max():.3g} off'
            )
        d = SPREAD * rng.normal(size=system.tangent.size) * scales(system.tangent)
        y = values(system.retract, x, d)
        back = values(system.difference, y, x)
        if not close(back, d, EXACT):
            k = int(np.argmax(_off(back, d)))
            raise Failed(
                f'difference(retract(x, d), x) = d is expected, found {back[k]:.6g} instead of '
                f'{d[k]:.6g} for {system.tangent.names[k]}'
            )


def unit_norms(s: Subject) -> None:
    """Check that the motion keeps the norm of each quaternion."""
    for x, u in s.samples:
        rate = values(s.mode.dynamics, x, u, 0.0, s.p)
        for entry in s.system.state.entries:
            where = s.system.state.slice(entry.name)
            if entry.has_unit_norm:
                grows = float(x[where] @ rate[where])
                if not abs(grows) <= EXACT * max(1.0, np.abs(rate[where]).max()):
                    raise Failed(
                        f'{entry.name}: a constant norm is expected, its rate is {grows:.3g}'
                    )


def linearisation(s: Subject) -> None:
    """Check the linearisation in the tangent space of a step against differences."""
    system, n = s.system, s.system.tangent.size
    f, p = s.mode.dynamics, s.p
    x, d, u = ca.MX.sym('x', s.x.size), ca.MX.sym('d', n), ca.MX.sym('u', s.u.size)
    h = 1e-2
    y = system.retract(x, d)
    for _ in range(2):  # Heun's steps, exact to the second order and the same on both sides
        k1 = f(y, u, 0, p)
        y = y + h / 4 * (k1 + f(y + h / 2 * k1, u, 0, p))
    reference = ca.MX.sym('reference', s.x.size)
    moved = system.difference(y, reference)
    J = ca.Function('A', [x, d, u, reference], [ca.densify(ca.jacobian(moved, ca.vertcat(d, u)))])
    flow = ca.Function('flow', [x, d, u, reference], [y, moved])
    for x_now, u_now in s.samples[:2]:
        nothing = np.zeros(n)
        end = values(flow, x_now, nothing, u_now, x_now)
        exact = np.array(J(x_now, nothing, u_now, end))
        z = np.concatenate([nothing, u_now])

        def miss(z: Array, x_now: Array = x_now, end: Array = end) -> Array:
            return np.array(flow(x_now, z[:n], z[n:], end)[1], dtype=float).ravel()

        found = _differing(exact, miss, z)
        if found is not None:
            row, column = np.unravel_index(np.nanargmax(_off(exact, found)), exact.shape)
            names = [*system.tangent.names, *system.control.names]
            raise Failed(
                f'{system.tangent.names[row]} by {names[column]}: differences give '
                f'{found[row, column]:.6g}, the linearisation is {exact[row, column]:.6g}'
            )

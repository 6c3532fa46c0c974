"""Linearisation about an equilibrium, in continuous time and in the tangent space."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError

STILL = 1e-8  # greatest rate of the state at what counts as an equilibrium, in SI units


class LinearModel(NamedTuple):
    """d' = A d + B e in the tangent space, d from the equilibrium, e from its control."""

    A: Array
    B: Array


def linear_model(system: RollingSystem, p: ArrayLike, x: ArrayLike, u: ArrayLike) -> LinearModel:
    """
    Return the linearisation of the first mode about an equilibrium.

    Parameters
    ----------
    system, p
        The system and its parameters.
    x, u
        State and control of the equilibrium.

    Returns
    -------
    LinearModel
        A of shape (n, n) and B of shape (n, m), n the size of the tangent space.

    Raises
    ------
    ParameterError
        The state does not rest there.

    """
    f = next(iter(system.modes.values())).dynamics
    rate = np.array(f(x, u, 0.0, p)).ravel()
    if not np.all(np.abs(rate) < STILL):
        worst = int(np.argmax(np.abs(rate)))
        raise ParameterError(
            f'no equilibrium: the rate of {system.state.names[worst]} is {rate[worst]:.3g} there; '
            'give a state at rest and the control that keeps it'
        )
    J, n = np.array(tangent_rate(system)(x, u, p)[1]), system.tangent.size
    return LinearModel(J[:, :n], J[:, n:])


def tangent_rate(system: RollingSystem) -> ca.Function:
    """Return ``(x, u, p) -> rate of d from x, and its Jacobian by (d, u)``, in tangent units."""
    f = next(iter(system.modes.values())).dynamics
    d, e = ca.SX.sym('d', system.tangent.size), ca.SX.sym('e', system.control.size)
    y, q = ca.SX.sym('y', system.state.size), ca.SX.sym('p', system.parameters.size)
    x0, u0 = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    turned = ca.jtimes(system.difference(y, x0), y, f(y, u0 + e, 0, q))
    turned = ca.substitute(turned, y, system.retract(x0, d))
    J = ca.jacobian(turned, ca.vertcat(d, e))
    here = ca.DM.zeros(d.numel() + e.numel())
    outputs = (ca.substitute(out, ca.vertcat(d, e), here) for out in (turned, J))
    return ca.Function('tangent_rate', [x0, u0, q], [ca.densify(out) for out in outputs])

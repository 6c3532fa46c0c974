"""
The impulse of an inelastic impact at a point, with Coulomb friction.

The normal velocity grows from its negative value to zero (no rebound); meanwhile the slip obeys
Coulomb's law at every instant, d(v_contact) / dP_n = W (e_n - mu d) with d the direction of slip
(Darboux and Keller), so that slip may turn, stop, and stick within the impact.
"""

from __future__ import annotations

import importlib

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import JammingError

STUCK = 1e-9  # of the speed at the start: slower slip has stopped
RESTS = 1e-6  # of the speed at the start: a slower normal velocity is none
JAMS = 'the landing jams: under Coulomb friction the normal velocity does not come to zero'


def inelastic_impulse(W: Array, v: Array, mu: float, mu_kinetic: float) -> tuple[Array, Array]:
    """
    Return the impulse of an inelastic impact, and the velocity of the contact after it.

    Parameters
    ----------
    W
        Change of the contact's velocity under a unit impulse [1/kg], shape (n, n), n = 2 in a
        plane and 3 in space; the last direction is the normal.
    v
        Velocity of the contact before [m/s], shape (n,).
    mu, mu_kinetic
        Coefficients of friction of a contact that sticks, and of one that slips.

    Raises
    ------
    JammingError
        The impact has no end under Coulomb friction.

    """
    size, scale = v.size, float(np.linalg.norm(v))
    impulse = np.zeros(size)
    for _ in range(4):
        if v[-1] >= -1e-15 * scale:
            break
        if np.linalg.norm(v[:-1]) > STUCK * scale:
            step = _slip(W, v, mu_kinetic, STUCK * scale)
        else:
            held = sticking_impulse(W, v, mu)
            if held is None:
                held = _slip(W, slip_onset(W, v, mu_kinetic, scale), mu_kinetic, STUCK * scale)
            step = held
        impulse += step
        v = v + W @ step
    if v[-1] < -RESTS * scale:
        raise JammingError(JAMS)
    return impulse, v


def slips(v_before: Array, v_after: Array) -> bool:
    """
    Tell whether a contact slips after an impact; both velocities [m/s] end with the normal one.

    They are vectors of 2 numbers in a plane, else of 3.
    """
    return bool(np.linalg.norm(v_after[:-1]) > 10 * STUCK * float(np.linalg.norm(v_before)))


def sticking_impulse(W: Array, v: Array, mu: float) -> Array | None:
    """
    Return the impulse [N s] that ends the impact without slip; None if friction does not reach.

    W is the inverse mass matrix of the contact [1/kg], v its velocity [m/s].
    """
    step = np.asarray(-np.linalg.solve(W, v), dtype=float)
    return step if np.linalg.norm(step[:-1]) <= mu * step[-1] else None


def slip_onset(W: Array, v: Array, mu: float, scale: float) -> Array:
    """
    Return v [m/s] with a first slip in the direction in which a stuck contact begins to slip.

    W is the inverse mass matrix of the contact [1/kg].
    """
    stick = -np.linalg.solve(W[:-1, :-1], W[:-1, -1])
    d = -stick / np.linalg.norm(stick)
    for _ in range(50):
        a = W[:-1] @ np.append(-mu * d, 1.0)
        d = a / np.linalg.norm(a)
    return np.append(2 * STUCK * scale * d, v[-1])


def get_ready() -> None:
    """Load what an impact needs, which takes a second, before there is one."""
    importlib.import_module('scipy.integrate')


def _slip(W: Array, v: Array, mu: float, stuck: float) -> Array:
    """Return the impulse while the contact slips: to the end of the impact, or of slip."""
    from scipy.integrate import solve_ivp  # noqa: PLC0415  large, and not needed by a node's start

    def rate(_: float, y: Array) -> Array:
        d = y[: v.size - 1] / np.linalg.norm(y[: v.size - 1])
        force = np.append(-mu * d, 1.0)
        return np.concatenate([W @ force, force])

    def ends(_: float, y: Array) -> float:
        return float(y[v.size - 1])

    def sticks(_: float, y: Array) -> float:
        return float(np.linalg.norm(y[: v.size - 1]) - stuck / 2)

    for event, way in ((ends, 1), (sticks, -1)):
        event.terminal, event.direction = True, way  # type: ignore[attr-defined]
    most = 100 * np.linalg.norm(v) / abs(np.linalg.eigvalsh((W + W.T) / 2)[0])
    run = solve_ivp(
        rate,
        (0.0, most),
        np.concatenate([v, np.zeros(v.size)]),
        events=(ends, sticks),
        rtol=1e-11,
        atol=1e-14 * float(np.linalg.norm(v)),
    )
    if run.status != 1:
        raise JammingError(JAMS)
    return np.asarray(run.y[v.size :, -1])

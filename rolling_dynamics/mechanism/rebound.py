"""Impacts at a point with friction: inelastic, and with rebound."""

from __future__ import annotations

import importlib
import math
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import JammingError

ROUNDING = 1e-16  # of the inverse mass, for directions that other contacts block
STUCK = 1e-9  # of the speed at the start: slower slip has stopped
RESTS = 1e-6  # of the speed at the start: a slower normal velocity counts as rest
JAMS = 'the landing jams: under Coulomb friction the normal velocity does not come to zero'


def slip_onset(W: Array, v: Array, mu: float, scale: float) -> Array:
    """
    Return v [m/s] with an initial slip in the direction in which a stuck contact starts to slip.

    W is the inverse mass matrix of the contact [1/kg].
    """
    stick = -np.linalg.solve(W[:-1, :-1], W[:-1, -1])
    d = -stick / np.linalg.norm(stick)
    for _ in range(50):
        a = W[:-1] @ np.append(-mu * d, 1.0)
        d = a / np.linalg.norm(a)
    return np.append(2 * STUCK * scale * d, v[-1])


def get_ready() -> None:
    """Load the libraries for impacts in advance, which takes a second."""
    importlib.import_module('scipy.integrate')


SLOWEST = 1e-3  # m/s: a slower impact is inelastic, otherwise bounces would never end
SINGULAR = 1e-6  # of a unit velocity: smaller changes by an impulse are ignored
STAGES = 8  # of sticking and slipping in an impact


class _Stage(NamedTuple):
    """Velocity of the contact, impulse so far, and the work of its normal part."""

    v: Array
    P: Array
    work: float

    @classmethod
    def of(cls, v: Array) -> _Stage:
        return cls(np.array(v, dtype=float), np.zeros(v.size), 0.0)


def rebound_impulse(
    W: Array, v: Array, mu: float, mu_kinetic: float, fraction: float
) -> tuple[Array, Array]:
    """
    Return the impulse of an impact, and the velocity of the contact after it.

    Parameters
    ----------
    W
        Change of the contact's velocity under a unit impulse [1/kg], shape (n, n), n = 2 in a
        plane and 3 in space; the last direction is the normal.
    v
        Velocity of the contact before [m/s], shape (n,).
    mu, mu_kinetic
        Coefficients of friction of a contact that sticks, and of one that slips.
    fraction
        Fraction of the work of the normal force in compression that is restored.

    Raises
    ------
    JammingError
        The impact has no end under Coulomb friction.

    """
    scale = float(np.linalg.norm(v))
    s = _until(W, _Stage.of(v), mu, mu_kinetic, scale, None)
    s = _until(W, s, mu, mu_kinetic, scale, (1 - fraction) * s.work)
    return s.P, s.v


def _until(
    W: Array, s: _Stage, mu: float, mu_kinetic: float, scale: float, work: float | None
) -> _Stage:
    """Return the end of compression, or of restitution if a work is given."""
    done = 1e-13 * scale
    for _ in range(STAGES):
        if (s.v[-1] >= -done) if work is None else (s.work >= work - done * scale / W[-1, -1]):
            return s
        if np.linalg.norm(s.v[:-1]) <= STUCK * scale:
            held = _held(W, s, mu, work)
            if held is not None:
                return held
            s = s._replace(v=slip_onset(W, s.v, mu_kinetic, scale))
        s = _slip_by(W, s, mu_kinetic, scale, work)
    if work is not None or s.v[-1] < -RESTS * scale:
        raise JammingError(JAMS)
    return s


def _held(W: Array, s: _Stage, mu: float, work: float | None) -> _Stage | None:
    """Return the end of a phase without slip; None if friction is not sufficient."""
    normal = np.eye(s.v.size)[-1]
    force = np.linalg.lstsq(W, normal)[0]  # W is singular if joints also hold the contact
    if np.linalg.norm(W @ force - normal) > SINGULAR or force[-1] <= 0:
        return None
    force /= force[-1]
    if np.linalg.norm(force[:-1]) > mu:
        return None
    grows, v = float((W @ force)[-1]), float(s.v[-1])
    if work is None:  # the remaining slip also ends
        step = np.linalg.lstsq(W, -s.v)[0]
    else:  # work = v P + grows P^2 / 2
        step = force * (-v + math.sqrt(v * v + 2 * grows * (work - s.work))) / grows
    P = float(step[-1])
    return _Stage(s.v + W @ step, s.P + step, s.work + v * P + grows * P * P / 2)


def _slip_by(W: Array, s: _Stage, mu: float, scale: float, work: float | None) -> _Stage:
    """Return the end of a phase, or of slip in it."""
    from scipy.integrate import solve_ivp  # noqa: PLC0415  large

    n = s.v.size

    def rate(_: float, y: Array) -> Array:
        force = np.append(-mu * y[: n - 1] / np.linalg.norm(y[: n - 1]), 1.0)
        return np.concatenate([W @ force, force, [y[n - 1]]])

    def ends(_: float, y: Array) -> float:
        return float(y[n - 1] if work is None else y[-1] - work)

    def sticks(_: float, y: Array) -> float:
        return float(np.linalg.norm(y[: n - 1]) - STUCK * scale / 2)

    for event, way in ((ends, 1), (sticks, -1)):
        event.terminal, event.direction = True, way  # type: ignore[attr-defined]
    start = np.concatenate([s.v, s.P, [s.work]])
    least = max(abs(np.linalg.eigvalsh((W + W.T) / 2)[0]), ROUNDING * np.trace(W))
    most = 100 * scale / least
    run = solve_ivp(
        rate, (0.0, most), start, events=(ends, sticks), rtol=1e-11, atol=1e-14 * scale
    )
    if run.status != 1:
        raise JammingError(JAMS)
    y = run.y[:, -1]
    return _Stage(y[:n], y[n:-1], float(y[-1]))

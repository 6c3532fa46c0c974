"""
The impulse of an impact that gives back a share of its energy, with Coulomb friction.

Energetic restitution (W. J. Stronge, Rigid body collisions with friction, 1990): the normal force
does the work W_c < 0 while the normal velocity comes to zero, and gives back -share W_c after it.
Unlike Newton's and Poisson's, this coefficient adds no energy where slip turns or stops within the
impact. Slip obeys Coulomb's law at every instant of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import JammingError
from rolling_dynamics.point_contact.inelastic_impact import JAMS, slip_onset, STUCK

SLOWEST = 1e-3  # m/s: a slower impact is inelastic, or bounces would never end
STAGES = 8  # of sticking and slipping in an impact


class _Stage(NamedTuple):
    """Velocity of the contact, impulse so far, and the work of its normal part."""

    v: Array
    P: Array
    work: float


def rebound_impulse(
    W: Array, v: Array, mu: float, mu_kinetic: float, share: float
) -> tuple[Array, Array]:
    """
    Return the impulse of an impact, and the velocity of the contact after it.

    Parameters
    ----------
    W, v, mu, mu_kinetic
        As of :func:`rolling_dynamics.point_contact.inelastic_impact.inelastic_impulse`.
    share
        Share of the work of the normal force in compression that restitution gives back.

    Raises
    ------
    JammingError
        The impact has no end under Coulomb friction.

    """
    s = _Stage(np.array(v, dtype=float), np.zeros(v.size), 0.0)
    scale = float(np.linalg.norm(v))
    s = _until(W, s, mu, mu_kinetic, scale, None)
    s = _until(W, s, mu, mu_kinetic, scale, (1 - share) * s.work)
    return s.P, s.v


def _until(
    W: Array, s: _Stage, mu: float, mu_kinetic: float, scale: float, work: float | None
) -> _Stage:
    """Return the end of compression, or, where a work is given, of restitution."""
    done = 1e-13 * scale
    for _ in range(STAGES):
        if (s.v[-1] >= -done) if work is None else (s.work >= work - done * scale / W[-1, -1]):
            return s
        if np.linalg.norm(s.v[:-1]) <= STUCK * scale:
            held = _held(W, s, mu, work)
            if held is not None:
                return held
            s = s._replace(v=slip_onset(W, s.v, mu_kinetic, scale))
        s = _slip(W, s, mu_kinetic, scale, work)
    raise JammingError(JAMS)


def _held(W: Array, s: _Stage, mu: float, work: float | None) -> _Stage | None:
    """Return the end of a phase without slip; None if friction does not reach."""
    force = np.linalg.solve(W, np.eye(s.v.size)[-1])
    force /= force[-1]
    if np.linalg.norm(force[:-1]) > mu:
        return None
    grows, v = float((W @ force)[-1]), float(s.v[-1])
    if work is None:
        P = -v / grows
    else:  # work = v P + grows P^2 / 2
        P = (-v + math.sqrt(v * v + 2 * grows * (work - s.work))) / grows
    return _Stage(s.v + W @ force * P, s.P + force * P, s.work + v * P + grows * P * P / 2)


def _slip(W: Array, s: _Stage, mu: float, scale: float, work: float | None) -> _Stage:
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
    most = 100 * scale / abs(np.linalg.eigvalsh((W + W.T) / 2)[0])
    run = solve_ivp(
        rate, (0.0, most), start, events=(ends, sticks), rtol=1e-11, atol=1e-14 * scale
    )
    if run.status != 1:
        raise JammingError(JAMS)
    y = run.y[:, -1]
    return _Stage(y[:n], y[n:-1], float(y[-1]))

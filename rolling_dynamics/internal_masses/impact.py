"""
Landing as an inelastic impact, with or without slip.

The impulse acts at the contact point; the masses follow their rails through it. The normal
velocity grows from its negative value to zero (no rebound); meanwhile the slip obeys Coulomb's law
at every instant, d(v_contact) / dP_n = W (e_n - mu d) with d the direction of slip (Darboux and
Keller), so that slip may turn, stop, and stick within the impact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.disk import PointMassDisk
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]
STUCK = 1e-9  # of the speed at the start: slower slip has stopped
Body = PointMassBall | PointMassDisk


@dataclass(frozen=True)
class Landing:
    """
    What an impact leaves.

    Attributes
    ----------
    state
        After it.
    impulse_W
        Of the ground [N s].
    slips
        Whether the contact slips when it ends.

    """

    state: Array
    impulse_W: Array
    slips: bool


def contact_velocity(system: Body, p: Array, x: Array) -> Array:
    """Return the velocity of the body's point at the contact, in W [m/s]."""
    return np.array(system.contact_velocity(x, p)).ravel()


def kicked(system: Body, p: Array, x: Array, t: float, impulse: ArrayLike) -> Array:
    """Return the state after an impulse at the contact point."""
    turn, centre = system.answer_to_impulse(x, t, p, np.asarray(impulse, dtype=float))
    out = np.array(x, dtype=float)
    spin = 'w_WB_B' if 'w_WB_B' in system.state else 'phi_rate'
    out[system.state.slice(spin)] += np.array(turn).ravel()
    out[system.state.slice('v_WB_W')] += np.array(centre).ravel()
    return out


def landing(system: Body, p: Array, x: Array, t: float) -> Landing:
    """
    Return what an inelastic landing leaves.

    Parameters
    ----------
    system, p
        A unilateral ball or disk, and its parameters; mu holds what sticks, mu_kinetic what slips.
    x, t
        State and time of the touch.

    Raises
    ------
    SimulationError
        The impact has no end under Coulomb friction (jamming).

    """
    layout = system.parameters
    mu, kinetic = (float(p[layout.slice(n)][0]) for n in ('mu', 'mu_kinetic'))
    v = contact_velocity(system, p, x)
    size = v.size
    W = np.column_stack(
        [contact_velocity(system, p, kicked(system, p, x, t, e)) - v for e in np.eye(size)]
    )
    scale, impulse = float(np.linalg.norm(v)), np.zeros(size)
    for _ in range(4):
        if v[-1] >= -1e-15 * scale:
            break
        tangential = v[:-1]
        if np.linalg.norm(tangential) > STUCK * scale:
            step = _slip(W, v, kinetic, STUCK * scale)
        else:
            held = _stick(W, v, mu)
            if held is None:
                held = _slip(W, _onset(W, v, kinetic, scale), kinetic, STUCK * scale)
            step = held
        impulse += step
        v = v + W @ step
    slips = bool(np.linalg.norm(v[:-1]) > 10 * STUCK * scale)
    return Landing(kicked(system, p, x, t, impulse), impulse, slips)


def _stick(W: Array, v: Array, mu: float) -> Array | None:
    """Return the impulse that ends the impact without slip; None if friction does not reach."""
    step = np.asarray(-np.linalg.solve(W, v), dtype=float)
    return step if np.linalg.norm(step[:-1]) <= mu * step[-1] else None


def _onset(W: Array, v: Array, mu: float, scale: float) -> Array:
    """Return v with a first slip in the direction in which a contact that stuck begins to slip."""
    stick = -np.linalg.solve(W[:-1, :-1], W[:-1, -1])
    d = -stick / np.linalg.norm(stick)
    for _ in range(50):
        a = W[:-1] @ np.append(-mu * d, 1.0)
        d = a / np.linalg.norm(a)
    return np.append(2 * STUCK * scale * d, v[-1])


def _slip(W: Array, v: Array, mu: float, stuck: float) -> Array:
    """Return the impulse while the contact slips: to the end of the impact, or of slip."""

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
    most = 100 * np.linalg.norm(v) / np.linalg.eigvalsh((W + W.T) / 2)[0]
    run = solve_ivp(
        rate,
        (0.0, most),
        np.concatenate([v, np.zeros(v.size)]),
        events=(ends, sticks),
        rtol=1e-11,
        atol=1e-14 * float(np.linalg.norm(v)),
    )
    if run.status != 1:
        raise SimulationError(
            'the landing jams: under Coulomb friction the normal velocity does not come to zero'
        )
    return np.asarray(run.y[v.size :, -1])

"""Impacts of several contacts with Coulomb friction, simultaneous or in sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
import math
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import JammingError
from rolling_dynamics.mechanism.rebound import JAMS, rebound_impulse, SLOWEST

STILL = 1e-9  # m/s: a contact that closes more slowly counts as not closing
EXACT = 1e-14  # of the velocities: change per iteration at convergence
ITERATIONS = 20_000
FEW = 3  # contacts for which subsets are tried if iterations do not converge
STAGES = 200  # number of single impacts in a sequence
ORDERS = 24  # number of sequences of single impacts that are tried
SAME = 1e-6  # of the velocities: smaller differences of outcomes are ignored


class Friction(NamedTuple):
    """Coefficients of static and kinetic friction, and the fraction of work restored."""

    mu: float
    mu_kinetic: float
    restitution: float


class Impact(NamedTuple):
    """
    Outcome of an impact.

    Attributes
    ----------
    impulse
        Impulse at each contact (n, 3) [N s], the normal component last.
    spread
        Largest difference of a contact's velocity [m/s] between this outcome and those of impulses
        in sequence, if it exceeds rounding; else 0.

    """

    impulse: Array
    spread: float = 0.0


def impact(W: Array, v: Array, contacts: Sequence[Friction]) -> Impact:
    """
    Return the impulses at closed contacts, of which some are closing at a speed.

    If one contact is approaching, and its impulse makes no other approach, the impact is that of a
    single contact, with its restitution. Otherwise all impulses act at once, without restitution:
    each contact prevents a negative normal velocity, with an impulse only if that velocity becomes
    zero, and kinetic friction opposes the remaining slip (Moreau, Unilateral contact and dry
    friction in finite freedom dynamics, 1988). If contacts approach by less than 1 mm/s, those
    that were closed stay closed; otherwise a body would rock from one to the other without end.

    Parameters
    ----------
    W
        Changes of the velocities under unit impulses [1/kg] (3 n, 3 n).
    v
        Velocities before (3 n) [m/s], the normal last of each contact.
    contacts
        Coefficients of each contact.

    Raises
    ------
    JammingError
        The impact has no end under Coulomb friction.

    """
    n, P = len(contacts), np.zeros(v.size)
    near = [k for k in range(n) if v[3 * k + 2] < -STILL]
    if not near:
        return Impact(P.reshape(n, 3))
    stays = [n > 1 and min(v[2::3]) > -SLOWEST and w <= STILL for w in v[2::3]]
    if len(near) == 1 and not stays[near[0]]:
        P = _single(W, v, near[0], contacts[near[0]])
        if np.all((v + W @ P)[2::3] >= -STILL):
            return Impact(P.reshape(n, 3))
    P = _at_once(W, v, [c.mu_kinetic for c in contacts], stays)
    if any(stays):
        return Impact(P.reshape(n, 3))
    inelastic = [c._replace(restitution=0.0) for c in contacts]
    ends = [_in_order(W, v, inelastic, order) for order in orders(n)]
    spread = max(float(np.abs(end - v - W @ P).max()) for end in ends)
    return Impact(P.reshape(n, 3), spread if spread > SAME * np.linalg.norm(v) else 0.0)


def orders(n: int) -> Iterator[Sequence[int]]:
    """Yield all orders of a few contacts, else as many random ones, each contact first once."""
    if math.factorial(n) <= ORDERS:
        yield from permutations(range(n))
        return
    rng = np.random.default_rng(0)
    for k in range(max(ORDERS, n)):
        order = rng.permutation(n).tolist()
        order.remove(k % n)
        yield [k % n, *order]


def _single(W: Array, v: Array, k: int, c: Friction) -> Array:
    """Return the impulses (3 n) of an impact of one contact alone."""
    at, P = slice(3 * k, 3 * k + 3), np.zeros(v.size)
    back = c.restitution if v[at][2] < -SLOWEST else 0.0
    P[at], _ = rebound_impulse(W[at, at], v[at], c.mu, c.mu_kinetic, back)
    return P


def _in_order(W: Array, v: Array, contacts: Sequence[Friction], order: Sequence[int]) -> Array:
    """Return the velocities after single impacts, in the given order of contacts."""
    slow = SAME / 10 * float(np.linalg.norm(v))
    for _ in range(STAGES):
        near = [k for k in order if v[3 * k + 2] < -slow]
        if not near:
            break
        v = v + W @ _single(W, v, near[0], contacts[near[0]])
    return v


def _at_once(W: Array, v: Array, mu: Sequence[float], stays: Sequence[bool]) -> Array:
    """Return simultaneous impulses (3 n), by projections on the cones in turn."""
    P, scale = np.zeros(v.size), float(np.linalg.norm(v))
    blocks = [slice(3 * k, 3 * k + 3) for k in range(len(mu))]
    step = [1 / np.linalg.norm(W[at, at], 2) for at in blocks]
    for _ in range(ITERATIONS):
        before = P.copy()
        for at, r, m, stay in zip(blocks, step, mu, stays, strict=True):
            x, y, z = P[at] - r * (v + W @ P)[at]
            most = m * max(z, 0.0)
            z = z if stay else max(z, 0.0)
            P[at] = (*np.array([x, y]) * min(1.0, most / max(np.hypot(x, y), 1e-300)), z)
        if np.abs(W @ (P - before)).max() <= EXACT * scale:
            return P
    for sticks in subsets(len(mu)):  # nearly parallel normals: some stick?
        of = np.flatnonzero(np.repeat(sticks, 3))
        P = np.zeros(v.size)
        P[of] = np.linalg.lstsq(W[np.ix_(of, of)], -v[of])[0]
        w, forces = v + W @ P, zip(P.reshape(-1, 3), mu, stays, strict=True)
        cones = all(stay or np.hypot(x, y) <= m * z for (x, y, z), m, stay in forces)
        still = np.abs(w[of]).max() <= SAME * scale and w[2::3].min() >= -SAME * scale
        if cones and still and all(s or not stay for s, stay in zip(sticks, stays, strict=True)):
            return P
    raise JammingError(JAMS)


def subsets(n: int) -> list[tuple[bool, ...]]:
    """Return all contacts, and if they are few, all nonempty subsets, the largest first."""
    few = product((True, False), repeat=n) if n <= FEW else [(True,) * n]
    return sorted((s for s in few if any(s)), key=sum, reverse=True)

"""Initial states with closed, rolling contacts, and the motions that contacts leave free."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple, TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism.shapes import Charted

if TYPE_CHECKING:
    from rolling_dynamics.mechanism.loops import Contact
    from rolling_dynamics.mechanism.system import MachineSystem

WORTH_NAMING = 1e-6  # of the largest component of a free twist or an internal force
RANK = 1e-10  # fraction of the largest singular value below which a row depends on others


class Structure(NamedTuple):
    """
    Motions that contacts leave free at a state.

    Attributes
    ----------
    rows, speeds
        Names of the velocities that vanish at contacts, and of the speeds of the tree.
    rank
        Number of rows that are independent.
    free
        Free twists, as speeds (speeds, k).
    internal
        Contact forces that cause no motion (rows, m): the equations leave them undetermined.

    """

    rows: tuple[str, ...]
    speeds: tuple[str, ...]
    rank: int
    free: Array
    internal: Array

    @classmethod
    def of(cls, J: Array, rows: Sequence[str], speeds: Sequence[str]) -> Structure:
        """Return it for rows with derivatives by speeds, (rows, speeds), in units of both."""
        rank, (left, _, right) = independent(J), np.linalg.svd(J)
        free, internal = _simple(right[rank:].T), _simple(left[:, rank:])
        return cls(tuple(rows), tuple(speeds), rank, free, internal)

    @property
    def lines(self) -> list[str]:
        """Readable description."""
        if not self.rows:
            return []
        count, whole = len(self.rows), len(self.speeds)
        head = f'contacts in addition to joints: {count} rows of rank {self.rank}; of {whole} '
        out = [f'{head}speeds {whole - self.rank} are free']
        for kind, table, names in (
            ('free twist', self.free, self.speeds),
            ('internal force', self.internal, self.rows),
        ):
            out += [f'{kind}: {_named(column, names)}' for column in table.T]
        return out


def independent(J: Array) -> int:
    """Return the number of independent rows of a matrix (rows, n), in any unit."""
    sizes = np.linalg.svd(J, compute_uv=False)
    return int(np.sum(sizes > RANK * max(sizes, default=0.0)))


def _named(column: Array, names: Sequence[str]) -> str:
    """Return the components of a vector that are not small."""
    parts = zip(column, names, strict=True)
    return ', '.join(f'{v:+.3g} {n}' for v, n in parts if abs(v) > WORTH_NAMING)


def _simple(basis: Array) -> Array:
    """Return a basis of the same space with many zeros, the largest component of each 1."""
    rows = basis.T.copy()
    used: list[int] = []
    for k in range(len(rows)):
        size = np.abs(rows[k])
        size[used] = 0.0
        used.append(int(np.argmax(size)))
        rows[k] /= rows[k, used[-1]]
        for i in range(len(rows)):
            if i != k:
                rows[i] -= rows[i, used[-1]] * rows[k]
    return np.array([row / row[np.argmax(np.abs(row))] for row in rows]).reshape(rows.shape).T


STEPS = 12  # of Newton's method at most
GRID, SEARCH = 8, 40  # starts along a chart for a closest point, and steps from each
CONVERGED = 1e-9  # last step of coordinates at a closest point
CLOSED = 1e-14  # m
OPEN = 1e-6  # m or m/s beyond which a closing contact counts as open, or as slipping
IDLE = 1e-12  # smallest valid eigenvalue of a mass matrix with a diagonal of 1
DEPENDS = 1e-9  # smallest significant derivative by a prescribed speed


def placed(system: MachineSystem, p: ArrayLike, x: ArrayLike, kept: Iterable[str]) -> Array:
    """
    Return the state near another one in which contacts are closed and roll.

    Positions are moved first, then speeds, both by the smallest change. Contacts that may separate
    or slip, and elastic ones, are left as they are. Those that replace a Rolling joint are left
    only if the kept entries make them open or slip.

    Parameters
    ----------
    system
        The machine.
    p, x
        Parameters and state.
    kept
        Names of entries of the state that are kept.

    Raises
    ------
    ParameterError
        A contact is open or slips unless kept entries change; the text names the first one.

    """
    x = on_closest_points(system, p, np.array(x, dtype=float), kept)
    pairs = list(enumerate(zip(system.machine.contacts, system.closures, strict=True)))
    held = [(c, r) for i, (c, r) in pairs if i not in system.able]
    speeds = set(system.speed_names)
    places = {e.name for e in system.state.entries} - speeds
    joints = [(i, c, r, system.machine.bodies[c.body].joint) for i, (c, r) in pairs if c.closed]
    for _, c, r, joint in joints:
        if (name := joint.configuration[0].name) not in kept:
            x = _moved(system, p, x, [(c, r.gap)], {name})
            x = on_closest_points(system, p, x)
    x = _moved(system, p, x, [(c, r.gap) for c, r in held if c.rigid], places.difference(kept))
    x = on_closest_points(system, p, x)
    for i, c, r, joint in joints:
        free = [e.name for e in joint.speeds if e.name not in kept]
        if free and float(np.array(system.gap_function(x, p))[i, 0]) <= OPEN:
            rows = [(c, r.velocity[k]) for k in c.holds(r, 'rolling')]
            x = _moved(system, p, x, rows, set(free[:1]), 1)
    rows = [(c, r.velocity[k]) for c, r in held for k in c.holds(r, 'rolling')]
    x = _moved(system, p, x, rows, speeds.difference(kept), 1)
    system.check_state(p, x)
    return x


def on_closest_points(
    system: MachineSystem, p: ArrayLike, x: Array, near: Iterable[str] = ()
) -> Array:
    """
    Return a state with the closest points of Charted surfaces.

    Newton's method starts at points of a grid of the chart; for names in ``near``, at the values
    in the state. Of the minima it takes the one with the smallest gap.
    """
    s, x = system.symbols, x.copy()
    for contact, rows in zip(system.machine.contacts, system.closures, strict=True):
        if (foot := rows.foot) is None or not isinstance(contact.surface, Charted):
            continue
        at, low_high = system.state.slice(contact.foot), contact.surface.surface.box()
        found = ca.vertcat(foot.step, rows.gap, foot.margin)
        f = ca.Function('foot', [s.x, s.p], [ca.densify(found)])
        grid = (np.indices((GRID, GRID)).reshape(2, -1).T + 0.5) / GRID
        starts = low_high[0] + grid * (low_high[1] - low_high[0])
        most, best = (low_high[1] - low_high[0]) / GRID, np.inf
        for start in [x[at]] if contact.foot in near else starts:
            y = x.copy()
            y[at] = start
            for _ in range(SEARCH):
                *step, gap, margin = np.array(f(y, p)).ravel()
                if not np.isfinite(step).all() or np.abs(step).max() < CLOSED:
                    break
                y[at] += np.clip(step, -most, most)
            inside = contact.surface.surface.is_inside(y[at])
            if inside and np.abs(step).max() < CONVERGED and margin > 0 and gap < best:
                x[at], best = y[at], gap
        if not np.isfinite(best):
            raise ParameterError(
                f'{_name(contact)}: no point of its surface is closest to the body; place it over '
                'the surface, away from poles of the chart'
            )
    return x


def _moved(
    system: MachineSystem,
    p: ArrayLike,
    x: Array,
    rows: Sequence[tuple[Contact, ca.SX]],
    names: Container[str],
    steps: int = STEPS,
) -> Array:
    """Return a state after Newton steps of some entries towards zero rows of contacts."""
    if not rows:
        return x
    of, values = zip(*rows, strict=True)
    value = ca.vertcat(*values)
    both = system.of_state('rows', value, system.by_tangent(value))
    entries = zip(system.state.entries, system.tangent.entries, strict=True)
    which = np.flatnonzero([e.name in names for e, t in entries for _ in range(t.size)])
    for _ in range(steps):
        at, by = (np.array(a) for a in both(x, p))
        if not (np.isfinite(at).all() and np.isfinite(by).all()):
            wrong = ~(np.isfinite(at[:, 0]) & np.isfinite(by).all(axis=1))
            raise _not_finite(of[int(wrong.argmax())])
        if np.abs(at).max() < CLOSED:
            break
        step = np.zeros(system.tangent.size)
        step[which] = -np.linalg.lstsq(by[:, which], at[:, 0], rcond=1e-12)[0]
        x = np.array(system.retract(x, step)).ravel()
    return x


def _name(contact: Contact) -> str:
    called = f' ({contact.name})' if contact.name else ''
    return f'the contact of {contact.body!r} on {contact.on or "the ground"!r}{called}'


def _not_finite(contact: Contact) -> ParameterError:
    return ParameterError(
        f'{_name(contact)} has no finite gap or slip at this start: its bodies lie in one point, '
        'or are too far away; give other positions'
    )


def _check_inertia(system: MachineSystem, p: ArrayLike, x: ArrayLike) -> None:
    """Raise ParameterError for speeds that move neither mass nor inertia."""
    M = np.array(system.mass_matrix(x, p))
    size = np.sqrt(np.abs(np.diag(M)))
    scaled = M / np.outer(size, size) if size.all() else np.diag(size)
    values, ways = np.linalg.eigh((scaled + scaled.T) / 2)
    if np.isfinite(values).all() and values[0] < IDLE:
        names = [c for name in system.speed_names for c in system.state.entry(name).components]
        raise ParameterError(
            f'nothing with mass or inertia moves with {_named(ways[:, 0], names)}; give the body '
            'a moment of inertia about each axis about which it may turn'
        )


def check_start(system: MachineSystem, p: ArrayLike, x: ArrayLike) -> None:
    """
    Reject a state in which contacts that close loops are open, slip or contradict each other.

    Motions that move no mass are rejected as well.

    Rows that depend on others in every state, such as for two wheels on one axle, are accepted:
    the admissible forces with the least friction are used. They are rejected if prescribed motions
    could contradict them.

    Raises
    ------
    ParameterError
        The text gives the contact and its gap or slip, or the rank of the rows.

    """
    _check_inertia(system, p, x)
    gaps = np.array(system.gap_function(x, p)).ravel()
    slips, J, D = (np.array(a) for a in system.row_function(x, p))
    sizes = [row.numel() for row in system.rows]
    ends = np.cumsum([0, *sizes])
    contacts = system.machine.contacts
    names = [_name(c) for c in contacts]
    for i, contact in enumerate(contacts):
        rows = slice(ends[i], ends[i + 1])
        if not (
            np.isfinite(gaps[i]) and np.isfinite(slips[rows]).all() and np.isfinite(J[rows]).all()
        ):
            raise _not_finite(contact)
        speed = float(np.linalg.norm(slips[rows]))
        opens = gaps[i] > OPEN and i not in system.phases.separated
        if opens or (gaps[i] < -OPEN and contact.stiffness is None):
            raise ParameterError(
                f'{names[i]} has a gap of {gaps[i]:.6g} m; leave out a position of the start, '
                'which is then chosen so that it closes (`placed`)'
            )
        if speed > OPEN:
            raise ParameterError(
                f'{names[i]} slips at {speed:.6g} m/s; leave out a speed of the start, which is '
                'then chosen so that it rolls (`placed`)'
            )
    rank = independent(J)
    if rank == len(J):
        return
    idle = np.linalg.svd(J)[0][:, rank:] if J.size else np.eye(len(J))
    if np.abs(idle.T @ D).max(initial=0.0) > DEPENDS:
        sure = np.argmax(np.abs(idle) @ np.abs(idle.T @ D).max(axis=1))
        which = names[int(np.searchsorted(ends, sure, side='right')) - 1]
        raise ParameterError(
            f'{which} is redundant, and prescribed motions may contradict it: '
            f'{len(J)} rows of rank {rank}; give it a stiffness or side_stiffness, or a '
            'normal_force or side_force'
        )
    if not system.dependent:
        raise ParameterError(
            f'{system.name}: {len(J)} rows of contacts that close loops have rank {rank}; give a '
            'contact whose force is undetermined a normal_force or a stiffness'
        )

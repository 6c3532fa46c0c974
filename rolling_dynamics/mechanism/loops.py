"""
Contacts that close loops: constraints on the speeds of a tree, with multipliers.

A contact in addition to the joints has rows J s + c = 0, the relative velocity of both bodies at
the contact. Their derivative J ds/dt + b = 0 is added to the equations of the tree, and the
contact force is the multiplier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import casadi as ca
import numpy as np
from rolling_dynamics.contract.rolling_system import Entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.friction import against, against_patch, held, SLOW, STILL
from rolling_dynamics.mechanism.elimination import eliminate, null_space, reduced
from rolling_dynamics.mechanism.link import Motion
from rolling_dynamics.mechanism.shapes import Charted, Plane, Shape, Surface

RETURN = 10.0  # 1/s: rate at which numerical slip or gaps decay
ALONG, ACROSS = 0.1, 1e3  # weights of undetermined forces along and across a normal


class Along(NamedTuple):
    """
    Motion at a contact in axes in which it is simpler than in the frame of the plane.

    Attributes
    ----------
    axes
        Frame of the plane in these axes.
    velocity, bias
        Velocity of the body over the plane (3) [m/s], and its rate at constant speeds.
    reach
        Vector from the origin of the body to its closest point (3) [m].

    """

    axes: ca.SX
    velocity: ca.SX
    bias: ca.SX
    reach: ca.SX


class Foot(NamedTuple):
    """
    Equations of the closest point of a Charted surface.

    Attributes
    ----------
    off
        Components (2) [m] in its plane of the vector to the closest point of the body.
    step
        Change of the coordinates that makes it vanish, to first order.
    margin
        Positive where the point is isolated and the chart regular.
    rate
        Rate of the coordinates (2) [1/s].

    """

    off: ca.SX
    step: ca.SX
    margin: ca.SX
    rate: ca.SX


class ContactRows(NamedTuple):
    """
    Kinematics of a contact.

    Attributes
    ----------
    velocity
        Velocity of the body over the plane at the contact, in the frame of the plane (3) [m/s];
        with a patch also the rate of spin, and with a resistance the rates of rolling about x and
        y [rad/s]. The force has one component for each: force [N] and torques [N m].
    bias
        Rate of ``velocity`` at constant speeds [m/s^2].
    along
        The motion in other axes.
    gap
        Height of the body's lowest point over the plane [m].
    place_W
        Position of the contact in W (3) [m].
    R_WP
        Frame of the plane.
    foot
        Equations of the closest point of a Charted surface, else None.
    displacement
        Elastic displacement (2) [m] along the surfaces, in their frame; empty if there is none.
    slip
        Velocity that kinetic friction opposes, like ``velocity``; None for ``velocity`` itself.

    """

    velocity: ca.SX
    bias: ca.SX
    along: Along
    gap: ca.SX
    place_W: ca.SX
    R_WP: ca.SX
    foot: Foot | None = None
    displacement: ca.SX = ca.SX(0, 1)
    slip: ca.SX | None = None


def chosen(number: ca.SX, each: Sequence[ca.SX]) -> ca.SX:
    """Return one of several expressions, chosen by an index."""
    out = ca.SX(each[0])
    for k, other in enumerate(each[1:], 1):
        out = ca.if_else(number > k - 0.5, other, out)
    return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Contact:
    """
    A body that rolls on another one, in addition to the joints.

    In the frame of the contact z is the normal of the surface, and y is along the axis of a wheel.
    For a sphere y is along the axis of the cylinder under it; otherwise it is y of the body under
    it, or x where y is close to the normal.

    Attributes
    ----------
    body, shape
        Name and surface of the body that rolls.
    on
        Name of the body with the plane; the empty string for the ground.
    mu, mu_kinetic
        Coefficients of static and of kinetic friction; without the latter a motion ends where the
        contact would slip or separate.
    restitution
        Fraction of the work of compression that an impact at this contact alone restores.
    surface
        Surface under it; the plane z = 0 by default. A sphere rolls on every surface, a wheel
        without a tyre also on a sphere and in a hollow one, and all shapes on a Charted surface.
    normal_force, side_force
        Preload: force along z and y [N] if joints and other contacts already keep the body there,
        so that the equations leave the force undetermined. None if they determine it.
    stiffness, damping
        Stiffness and damping of a contact that is elastic along its normal [N/m], [N s/m]. The gap
        may be negative, and rolling applies where the undeformed surfaces are closest. None if it
        is rigid.
    side_stiffness, side_damping
        Stiffness and damping of a contact that is elastic along the surfaces [N/m], [N s/m]. Its
        force along x and y is that of a spring and a damper whose displacement has the rate of the
        slip (Cundall & Strack 1979). The contact holds while friction can carry the force. With a
        ``mu_kinetic`` the end of the spring then slides against friction. None if it is rigid
        along them.
    displacement
        Name of the entry of the state with that displacement (3) [m], in axes of the body under
        the contact. The part along the normal is constant and causes no force.
    depth
        Maximum depth [m] to which an elastic contact may sink in: a guard, and a limit for plans.
        None for no limit.
    patch
        Radius a [m] of the contact patch, which couples sliding and spinning friction by
        Contensou's law, in a Pade form for Hertz's pressure. While the body spins the contact
        slips; in rolling it does not spin. At least 1e-5 m; None if spin is free.
    resistance
        Lever arm [m] of dry rolling resistance: its torque is at most this times the normal force,
        and slow rolling comes to rest. At least 1e-5 m, with a mu_kinetic.
    rolling_resistance
        Torque against rolling over the normal force and the rate of rolling [m s/rad], or None.
    rollers
        Angle [rad] from the axis of a wheel, about the normal, of the direction that ideal rollers
        on its rim leave free: 0 for an omni wheel, pi/4 for a mecanum wheel, None for a plain one.
    slow
        Rate of rolling [rad/s] below which the resistance is proportional to it.
    rows
        Given kinematics in the symbols of the state; by default from shape and surface.
    name
        Name in reports and errors, in addition to its bodies.
    spins
        1 if a patch holds the spin in rolling, for these parameters; 0 if spin is free.
    foot
        Name of the entry of the state with coordinates (u, v) of the point of a Charted surface
        that is closest to the body.
    ring, touching
        Names of bodies of which one touches, and the index of that one, a parameter. ``body`` then
        carries them. Empty if ``body`` itself touches.
    closed
        Whether the contact is closed and rolls at a start by default, as on a Rolling joint.

    """

    body: str
    shape: Shape
    on: str = ''
    mu: ca.SX | float = 1.0
    mu_kinetic: ca.SX | float | None = None
    restitution: ca.SX | float = 0.0
    surface: Surface = field(default_factory=Plane)
    normal_force: ca.SX | float | None = None
    side_force: ca.SX | float | None = None
    stiffness: ca.SX | float | None = None
    damping: ca.SX | float = 0.0
    side_stiffness: ca.SX | float | None = None
    side_damping: ca.SX | float = 0.0
    displacement: str = ''
    depth: ca.SX | float | None = None
    patch: ca.SX | float | None = None
    resistance: ca.SX | float | None = None
    rolling_resistance: ca.SX | float | None = None
    rollers: float | None = None
    slow: float = 0.0
    rows: ContactRows | None = None
    spins: ca.SX | float = 1.0
    name: str = ''
    foot: str = ''
    ring: Sequence[str] = ()
    touching: ca.SX | None = None
    closed: bool = False

    def __post_init__(self) -> None:
        """Raise ParameterError for parameters that need others which are missing."""
        if self.depth is not None and self.stiffness is None:
            raise ParameterError(
                f'the contact of {self.body!r}: only a contact with a stiffness has a depth'
            )
        if self.resistance is not None and self.mu_kinetic is None:
            raise ParameterError(
                f'the contact of {self.body!r}: resistance needs a mu_kinetic, since only a '
                'contact with modes comes to rest'
            )
        if isinstance(self.surface, Charted) != bool(self.foot):
            raise ParameterError(
                f'the contact of {self.body!r}: a Charted surface and foot, the name of the entry '
                'of the state for its closest point, come together'
            )
        slides = self.side_stiffness is not None and self.mu_kinetic is not None
        over = self.patch is not None or self.resists
        if slides and (self.rigid or ca.SX(self.side_damping).is_zero() or over):
            raise ParameterError(
                f'the contact of {self.body!r}: with side_stiffness and mu_kinetic give a '
                'side_damping, and a stiffness or normal_force; leave out patch and resistances'
            )

    def moves_as(self, bodies: Mapping[str, Motion]) -> Motion:
        """Return the motion of the body that touches."""
        if self.touching is None:
            return bodies[self.body]
        each = zip(*(bodies[name] for name in self.ring), strict=True)
        return Motion(*(chosen(self.touching, of) for of in each))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Entries of the state that belong to the contact."""
        name = self.displacement
        entry = vector_entry(name or '', 'm', self.on or 'W')
        moved = (replace(entry, relative=True),) if name else ()
        text = f'closest point of {self.on or "the ground"}'
        at = Entry(self.foot, (f'{self.foot}_u', f'{self.foot}_v'), 'chart', self.on, text=text)
        return (*moved, at) if self.foot else moved

    @property
    def turning(self) -> int:
        """The index of the first component of motion and force for rolling resistance."""
        return 3 if self.patch is None else 4

    @property
    def resists(self) -> bool:
        """True if it resists rolling."""
        return self.resistance is not None or self.rolling_resistance is not None

    @property
    def rigid(self) -> bool:
        """True if the contact keeps the gap closed."""
        return self.normal_force is None and self.stiffness is None

    def given(self, rows: ContactRows) -> dict[int, ca.SX]:
        """Return the components of the force that are given, by index."""
        side = self.side_force if self.rollers is None else 0.0
        normal, along = self.normal_force, None
        if self.stiffness is not None:
            normal = -self.stiffness * rows.gap - self.damping * rows.velocity[2]
        if self.side_stiffness is not None:
            along, side = ca.vertsplit(-self.pull(rows))
        return {k: ca.SX(f) for k, f in enumerate((along, side, normal)) if f is not None}

    def pull(self, rows: ContactRows) -> ca.SX:
        """Return the force (2) [N] of spring and damper along the surfaces, without sliding."""
        spring = ca.SX(self.side_stiffness) * rows.displacement
        return spring + self.side_damping * rows.velocity[:2]

    def slip_speed(self, rows: ContactRows, mu: ca.SX | float) -> ca.SX:
        """
        Return the speed of slip and spin [m/s], or of the end of a spring along the surfaces.

        The latter is negative while friction with a coefficient holds it.
        """
        if self.side_stiffness is None:
            return ca.norm_2(self.sliding(rows))
        return (ca.norm_2(self.pull(rows)) - mu * self.given(rows)[2]) / self.side_damping

    def sliding(self, rows: ContactRows) -> ca.SX:
        """Return the velocity (2) [m/s] along the surfaces, and of the rim of a patch."""
        rim = ca.SX(0, 1) if self.patch is None else self.patch * rows.velocity[3]
        return ca.vertcat(rows.velocity[:2], rim)

    def turning_by(self, rows: ContactRows) -> ca.SX:
        """Return the rates of rolling (2) times the lever arm of a dry resistance [m/s]."""
        none, rates = self.resistance is None, rows.velocity[self.turning :]
        return ca.SX(0, 1) if none else self.resistance * rates

    def opening(self, rows: ContactRows) -> ca.SX:
        """Return a guard, positive while the contact is open [m]; it closes at zero force."""
        if self.stiffness is None or ca.SX(self.damping).is_zero():
            return rows.gap
        return ca.fmax(rows.gap, rows.gap + self.damping / self.stiffness * rows.velocity[2])

    def directions(self, rows: ContactRows, phase: str) -> dict[int, ca.SX]:
        """Return the force for a unit of each component that is free in a phase, by index."""
        size, first, u = rows.velocity.numel(), self.turning, ca.SX(rows.velocity)
        if phase == 'separated':
            return {}
        units = ca.SX(ca.DM.eye(size))
        able = [k for k in range(size) if k > 1 or not u[k].is_zero()]  # not across a plane
        if phase == 'resting':
            return {k: units[:, k] for k in able}
        if self.resistance is not None:
            slow = SLOW if phase == 'slipping' else self.slow  # a sliding contact need not roll
            lever = ca.SX(self.resistance)
            units[first:, 2] = lever * against(lever * u[first:], STILL + lever * slow)
        if self.rolling_resistance is not None:
            units[first:, 2] -= self.rolling_resistance * u[first:]
        if phase == 'rolling':
            return {k: units[:, k] for k in able if k < first}
        mu = ca.SX(0 if self.mu_kinetic is None else self.mu_kinetic)
        slip = u if rows.slip is None else rows.slip
        if self.patch is None:
            units[:2, 2] = mu * against(
                slip[:2] if self.side_stiffness is None else self.pull(rows)
            )
        else:
            force, torque = against_patch(slip[:2], self.patch * slip[3])
            units[:2, 2], units[3, 2] = mu * force, mu * self.patch * torque
        return {2: units[:, 2]}

    def holds(self, rows: ContactRows, phase: str) -> list[int]:
        """Return the components that vanish in a phase, along which the force is unknown."""
        given = self.given(rows)
        return [k for k in self.directions(rows, phase) if k not in given]

    def held_by(self, force: ca.SX) -> ca.SX:
        """Return the force (2 or 3) [N] by friction; with a patch, also by spin friction."""
        spin = ca.SX(0, 1) if self.patch is None else force[3] / self.patch
        return held(force[:2], spin)


class Phases(NamedTuple):
    """Indices of the contacts that slip, are separated, or rest; the others roll."""

    slipping: tuple[int, ...] = ()
    separated: tuple[int, ...] = ()
    resting: tuple[int, ...] = ()

    def of(self, i: int) -> str:
        """Return the phase of a contact."""
        return next((name for name, these in self._asdict().items() if i in these), 'rolling')

    def moved(self, i: int, phase: str = 'rolling') -> Phases:
        """Return phases with one contact in another phase."""
        rest = {n: tuple(k for k in these if k != i) for n, these in self._asdict().items()}
        if phase in rest:
            rest[phase] = tuple(sorted((*rest[phase], i)))
        return Phases(**rest)


class Closed(NamedTuple):
    """
    Motion of a tree with loops closed by contacts.

    Attributes
    ----------
    rates
        Rates of the speeds (n), in the axes of the equations.
    forces
        Force (3) of each contact on its body, in the frame of the plane.
    pushes
        Change of the normal acceleration by the normal force of each contact that slips [1/kg], by
        index; Coulomb friction determines the force if it is positive.
    internal
        Internal forces: forces of each contact that together cause no motion (3, m).

    """

    rates: ca.SX
    forces: list[ca.SX]
    pushes: Mapping[int, ca.SX]
    internal: list[ca.SX]


def closed_rates(
    equations: tuple[ca.SX, ca.SX],
    contacts: Sequence[Contact],
    rows: Sequence[ContactRows],
    speeds: tuple[ca.SX, ca.SX],
    *,
    symmetric: bool,
    phases: Phases,
    spread: float,
    dependent: int,
) -> Closed:
    """
    Return the motion of a tree with loops closed by contacts.

    Parameters
    ----------
    equations
        Matrix and right side of the tree.
    contacts, rows
        The contacts and their kinematics.
    speeds
        Symbols of the speeds (n), and their axes in those of the equations (n, n).
    symmetric
        Whether the matrix is symmetric.
    phases
        Contacts that slip or are separated.
    spread
        Fraction of the diagonal that is added to the equations of the multipliers. It is tiny if
        rows depend on others, which gives minimal forces across the normals; 0 if they are
        independent.
    dependent
        Number of requested internal forces.

    """
    (matrix, right), n = equations, equations[0].shape[0]
    numbered = enumerate(zip(contacts, rows, strict=True))
    every = [_held(c, r, phases.of(i), speeds) for i, (c, r) in numbered]
    right = right + sum((h.push for h in every), ca.SX(n, 1))
    starts = [0, *np.cumsum([len(h.numbers) for h in every]).tolist()]
    size = starts[-1]
    slips = [i for i in phases.slipping if every[i].numbers]
    J = ca.vertcat(ca.SX(0, n), *(h.rows for h in every))
    C = ca.horzcat(ca.SX(n, 0), *(h.columns for h in every))
    even = symmetric and not slips and not any(c.resists for c in contacts)
    left = reduced(
        ca.vertcat(ca.horzcat(matrix, C), ca.horzcat(J, -ca.diag(idle(contacts, rows, phases)))),
        ca.horzcat(
            ca.vertcat(right, *(h.needed for h in every)),
            ca.DM.eye(n + size)[:, [n + starts[i] for i in slips]],
        ),
        n,
        symmetric=n + size if even else n * symmetric,
    )
    exact = left.matrix
    regular = spread_over(exact, spread, ca.diagcat(*(h.weights for h in every)))
    found = eliminate(regular, left.right, symmetric=even)
    reverse = found[:, :1]
    if spread:  # compensates for the effect of the weights on the constraints
        rest = left.right[:, 0] - exact @ reverse
        reverse += eliminate(regular, rest, symmetric=even)
    rates, reverse = ca.vertsplit(left.whole(reverse), [0, n, n + size])
    each = zip(every, ca.vertsplit(reverse, starts), strict=True)
    forces = [h.known - h.base @ part for h, part in each]
    pushes = {i: -1 / found[starts[i], 1 + k] for k, i in enumerate(slips)}
    open_ = null_space(regular, regular - exact, dependent) if dependent else ca.SX(size, 0)
    each = zip(every, ca.vertsplit(open_, starts), strict=True)
    return Closed(rates, forces, pushes, [h.base @ part for h, part in each])


class _Held(NamedTuple):
    """
    Rows of a contact in the equations of the speeds.

    Attributes
    ----------
    numbers
        Indices of components that vanish, along which the force is unknown.
    rows, needed
        Rates of their velocities per unit rate of the speeds (k, n), and required values (k).
    base, columns
        Components of the force for unit multipliers, and their generalised forces (n, k).
    known, push
        Components of the given force, and its generalised force (n).
    weights
        Weights of undetermined components of the force (k, k).

    """

    numbers: list[int]
    rows: ca.SX
    needed: ca.SX
    base: ca.SX
    columns: ca.SX
    known: ca.SX
    push: ca.SX
    weights: ca.SX


def _held(c: Contact, r: ContactRows, phase: str, speeds: tuple[ca.SX, ca.SX]) -> _Held:
    """Return the rows of a contact in a phase; see :func:`closed_rates`."""
    given, units, velocity, bias = c.given(r), c.directions(r, phase), r.velocity, r.bias
    numbers, (of, turns) = [k for k in units if k not in given], speeds
    zero = ca.SX(velocity.numel(), 1)
    known = sum((f * units[k] for k, f in given.items() if k in units), zero)
    base = own = ca.horzcat(zero[:, []], *(units[k] for k in numbers))
    back = returning(r, numbers)
    weights = ca.diag(ca.SX([ALONG if k == 2 else ACROSS for k in numbers]))
    if numbers[:3] == [0, 1, 2]:  # they replace the complete velocity, in its own axes
        R, more = r.along.axes, ca.SX.eye(len(numbers) - 3)
        turned = ca.diagcat(R, more)
        base, back, weights = base @ turned.T, turned @ back, turned @ weights @ turned.T
        own, velocity = ca.SX(base), ca.vertcat(r.along.velocity, velocity[3:])
        own[:3, :3] = ca.SX.eye(3)
        bias = ca.vertcat(r.along.bias, bias[3:])
    by = ca.jacobian(velocity, of)
    slips = phase == 'slipping'  # one column: backward it costs less than by the matrix
    column = ca.jtimes(velocity, of, own, True) if slips else by.T @ own
    return _Held(
        numbers=numbers,
        rows=by[numbers, :] @ turns,
        needed=-bias[numbers] - back,
        base=base,
        columns=turns.T @ column,
        known=known,
        push=turns.T @ (by.T @ known),
        weights=weights,
    )


def returning(rows: ContactRows, numbers: Sequence[int]) -> ca.SX:
    """
    Return a stabilising term for the rates of some rows; it is zero if they and the gap are.

    Errors of the constraints by a step of an integrator, a linearisation or a plan decay
    (Baumgarte 1972).
    """
    v = rows.velocity
    back = ((2 * v[k] + RETURN * rows.gap if k == 2 else v[k]) for k in numbers)
    return ca.vertcat(ca.SX(0, 1), *(RETURN * each for each in back))


def spread_over(matrix: ca.SX, fraction: float, weights: ca.SX | None = None) -> ca.SX:
    """Return a matrix with a fraction of its mean diagonal, by weights (n, n), added to it."""
    if not fraction:
        return matrix
    n = matrix.shape[0]
    return matrix + fraction / n * ca.trace(matrix) * (
        ca.SX.eye(n) if weights is None else weights
    )


def idle(contacts: Sequence[Contact], rows: Sequence[ContactRows], phases: Phases) -> ca.SX:
    """Return 1 for each of the rows that is zero and constrains nothing, else 0."""
    out = [ca.SX(0, 1)]
    for i, (c, r) in enumerate(zip(contacts, rows, strict=True)):
        spin = 3 if c.patch is not None else -1
        out += [1 - ca.SX(c.spins) if k == spin else ca.SX(1, 1) for k in c.holds(r, phases.of(i))]
    return ca.vertcat(*out)


def constraints(
    contacts: Sequence[Contact], rows: Sequence[ContactRows], phases: Phases
) -> list[ca.SX]:
    """Return the velocities that vanish, along which the force is unknown."""
    out = []
    for i, (c, r) in enumerate(zip(contacts, rows, strict=True)):
        held = c.holds(r, phases.of(i))
        out.append(ca.vertcat(ca.SX(0, 1), *(r.velocity[k] for k in held)))
    return out

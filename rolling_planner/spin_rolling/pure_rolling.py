"""
Pure rolling: a spin-rolling path whose spins in place are replaced by loops.

One or two rolls first lead from start and goal to the inside of the region, until there is space
for loops. Between these two points a three-input plan is made, in a region reduced by the size of
the loops. Each of its spins in place is then replaced by loops. The size is varied from half the
region downwards; the shortest motion is returned.

Loops roll straight out from the contact, around a regular polygon centred on it, and straight
back. On the plane a leg of length l with the angle e between legs subtends the angle e at the
centre. On the sphere it subtends an angle o, cos(o/2) = cos(l/2) cos(e/2). After N legs with N o =
2 pi k the contact on the sphere has completed k rounds of its polygon. The contact on the plane
has turned by N e around its centre. The straight line back therefore ends at the start on both.
The spin is 2 pi k - N e, the area that the sphere's polygon encloses (Gauss and Bonnet). The
maximum distance from the start is that of the polygon's corner on the plane, l / (2 sin(e/2)).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import itertools
import math
from typing import NamedTuple

from rolling_dynamics.errors import ParameterError, PlanningError
from rolling_planner.spin_rolling.geometric import plan_geometric, REACHED
from rolling_planner.spin_rolling.motion import (
    angle_between,
    apply,
    arc_is_free,
    Contact,
    ContactRegion,
    from_pole,
    goal_error,
    Motion,
    multiply,
    NOTHING,
    pruned,
    roll,
    rotation,
    tangent,
    unit,
    Vector,
    wrap,
)

SIZES = (0.5, 0.35, 0.25, 0.15, 0.1, 0.06, 0.03)  # sizes of loops, over half the region's width
WIDEST = 3.0  # half the width of a region without bounds [radius]
DIRECTIONS = 24  # directions of a roll to the inside
REACH = (0.0, 1.0, 1.5, 2.5, 4.0)  # lengths of such a roll, in units of the size of loops
SMALLER = (0.7, 0.5, 0.35, 0.25)  # loops near an edge, fractions of the required size
MARGIN = 0.49  # maximum margin from the poles [rad]; the motion is checked exactly
MOST = 20_000  # rolls of a plan
SIGNS = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))  # sides of the first folds
SIDES = 6  # of a polygon on the sphere
SIDE_ANGLE = 2 * math.pi / SIDES  # angle of a side at the centre [rad]


def plan_pure_rolling(
    radius: float, start: Contact, goal: Contact, region: ContactRegion | None = None
) -> Motion:
    """
    Return a motion without spin from start to goal.

    Parameters
    ----------
    radius
        Radius [m].
    start, goal
        Contacts and attitudes.
    region
        Where the contact may be; everywhere but at the poles if None.

    Raises
    ------
    ParameterError
        Start or goal lie outside the region.
    PlanningError
        There is no path to the inside from start or goal, or there would be too many loops.

    """
    region = region or ContactRegion()
    region.check(start=start, goal=goal)
    return _Search(radius, start, goal, region).best()


class _Search(NamedTuple):
    """Radius [m], contacts and attitudes of start and goal, and allowed contacts."""

    radius: float
    start: Contact
    goal: Contact
    region: ContactRegion

    def best(self) -> Motion:
        """Return the shortest motion that was found."""
        stuck = {'start': True, 'goal': True}
        best: Motion | None = None
        for size in self._sizes():
            inward = [self._inward(contact, size) for contact in (self.start, self.goal)]
            stuck = {k: stuck[k] and r is None for k, r in zip(stuck, inward, strict=True)}
            if inward[0] is None or inward[1] is None:
                continue
            found = sorted(self._between(size, inward[0], inward[1]), key=lambda c: c.length)
            if best is not None and found and found[0].length * self.radius > best.length:
                return best  # smaller loops are longer
            best = next(self._checked(found, best), best)
        if best is None:
            raise PlanningError(_why(stuck))
        return best

    def _checked(self, candidates: list[_Candidate], best: Motion | None) -> Iterator[Motion]:
        """Yield motions shorter than the best that reach the goal and stay in the region."""
        for candidate in candidates:
            if best is not None and candidate.length * self.radius >= best.length:
                return
            motion = Motion(self.radius, self.start, candidate.turns())
            near = goal_error(motion.end, self.goal) <= REACHED * max(1.0, self.radius)
            if near and stays_inside(motion, self.region, self.goal):
                yield motion

    def _sizes(self) -> Iterator[float]:
        """Yield sizes of loops, the largest first, in units of the radius."""
        radius, region = self.radius, self.region
        widths = [(high - low) / radius for low, high in (region.u_bounds, region.v_bounds)]
        half = min(WIDEST, region.half_angle, *(w / 2 for w in widths))
        for fraction in SIZES:
            yield fraction * half

    def _narrower(self, size: float) -> ContactRegion | None:
        """Return a region whose points have space for loops, None if there are none."""
        radius, region = self.radius, self.region
        half = region.half_angle
        try:
            return replace(
                region,
                u_bounds=(region.u_bounds[0] + size * radius, region.u_bounds[1] - size * radius),
                v_bounds=(region.v_bounds[0] + size * radius, region.v_bounds[1] - size * radius),
                half_angle=half if half == math.pi else half - size,
                pole_margin=min(2 * (region.pole_margin + size), MARGIN),
            )
        except ParameterError:
            return None

    def _inward(self, start: Contact, size: float) -> tuple[Vector, ...] | None:
        """Return the shortest of some rolls after which loops have space, or None."""
        inside = self._narrower(size)
        if inside is None:
            return None
        tries = [
            (angle, roll(2 * math.pi * k / DIRECTIONS, angle))
            for reach in REACH
            for angle in (reach * size,)
            for k in range(DIRECTIONS if reach else 1)
        ]
        for _, w in tries:
            if self._fits(start, (w,), inside):
                return pruned([w])
        short = [t for t in tries if t[0] > 0]
        pairs = sorted(itertools.product(short, short), key=lambda pair: pair[0][0] + pair[1][0])
        firsts = {w: self._stays(start, (w,)) for _, w in short}
        for (_, v), (_, w) in pairs:
            if firsts[v] and self._fits(start, (v, w), inside):
                return (v, w)
        return self._turned_inward(start, size)

    def _turned_inward(self, start: Contact, size: float) -> tuple[Vector, ...] | None:
        """
        Return small loops and a roll after which larger loops have space, or None.

        The loops turn the sphere until the centre of its cap lies in the direction of the centre
        of the plane's rectangle, so that one roll leads away from both edges.
        """
        inside = self._narrower(size)
        for fraction in SMALLER:
            small = fraction * size
            first = self._narrower(small)
            if (
                inside is None
                or first is None
                or loops_for(math.pi, small).rounds * SIDES > MOST / 4
            ):
                continue
            for angle, k in itertools.product((0.0, small, 2 * small), range(DIRECTIONS)):
                w = roll(2 * math.pi * k / DIRECTIONS, angle)
                if not self._fits(start, (w,), first):
                    continue
                here = Motion(self.radius, start, (w,)).end
                heading, spin, far = self._to_the_middle(here)
                loops = spin_by_loops(spin, small)
                for reach in REACH[1:]:
                    last = roll(heading, min(reach * size, far))
                    turns = pruned([w, *loops, last])
                    if self._fits(start, turns, inside):
                        return turns
        return None

    def _to_the_middle(self, here: Contact) -> tuple[float, float, float]:
        """Return heading to the rectangle's centre, spin to align the cap, and distance."""
        radius, region = self.radius, self.region
        to = [
            sum(bounds) / 2 - at if all(map(math.isfinite, bounds)) else 0.0
            for bounds, at in ((region.u_bounds, here.u_s), (region.v_bounds, here.v_s))
        ]
        on_plane, far = math.atan2(to[1], to[0]), math.hypot(*to) / radius
        axis, normal = unit(region.axis), here.normal
        away = angle_between(axis, normal)
        if region.half_angle == math.pi or away < NOTHING:
            return on_plane, 0.0, far
        d = apply(here.R_SO, tangent(normal, axis))
        on_sphere = math.atan2(d[1], d[0])
        if far < NOTHING:
            return on_sphere, 0.0, away
        return on_plane, wrap(on_plane - on_sphere), max(far, away)

    def _stays(self, start: Contact, turns: tuple[Vector, ...]) -> bool:
        motion = Motion(self.radius, start, pruned(turns))
        return stays_inside(motion, self.region, motion.end)

    def _fits(self, start: Contact, turns: tuple[Vector, ...], inside: ContactRegion) -> bool:
        """Return whether rolls stay in the region and end where loops have space."""
        u, v, R = start
        for w in turns:
            u, v, R = u + self.radius * w[1], v - self.radius * w[0], multiply(rotation(w), R)
        end = Contact(u, v, R)
        if not inside.holds_point((u, v)) or from_pole(end.normal) < inside.pole_margin:
            return False
        if not angle_between(unit(inside.axis), end.normal) <= inside.half_angle:
            return False
        return self._stays(start, turns)

    def _between(
        self, size: float, inbound: tuple[Vector, ...], outbound: tuple[Vector, ...]
    ) -> Iterator[_Candidate]:
        """Yield motions through two inner points, with folds to either side."""
        inside = self._narrower(size)
        if inside is None:
            return
        here = Motion(self.radius, self.start, inbound).end
        there = Motion(self.radius, self.goal, outbound).end
        for signs in SIGNS:
            try:
                between = plan_geometric(self.radius, here, there, inside, signs)
            except (PlanningError, ParameterError):
                continue
            out = _Candidate(size, inbound, between.turns, outbound)
            if sum(loops_for(s, size).rounds * SIDES for s in out.spins()) <= MOST:
                yield out


class _Candidate(NamedTuple):
    """Rolls inwards, rolls and spins inside, rolls outwards; size of the loops [radius]."""

    size: float
    inbound: tuple[Vector, ...]
    inside: tuple[Vector, ...]
    outbound: tuple[Vector, ...]

    def spins(self) -> list[float]:
        """Return the spins to replace by loops [rad]."""
        return [w[2] for w in self.inside if w[2] != 0]

    @property
    def length(self) -> float:
        """Length of the path, in units of the radius."""
        rolls = sum(math.hypot(w[0], w[1]) for w in self.inbound + self.inside + self.outbound)
        return rolls + sum(loops_for(s, self.size).length for s in self.spins())

    def turns(self) -> tuple[Vector, ...]:
        """Return all rolls."""
        out = list(self.inbound)
        for w in self.inside:
            out += spin_by_loops(w[2], self.size) if w[2] != 0 else [w]
        out += [(-w[0], -w[1], -w[2]) for w in reversed(self.outbound)]
        return pruned(out)


def _why(stuck: dict[str, bool]) -> str:
    for name, is_stuck in stuck.items():
        if is_stuck:
            return (
                f'{name}: no pure rolling of at most {MOST} rolls was found that leads from this '
                f'contact off the edges of plane and sphere at once; move {name} off the edges, '
                "widen the region, or allow spin (mode 'spin_rolling')"
            )
    return (
        f'goal: no pure rolling of at most {MOST} rolls stays in the contact region and off the '
        "poles; widen the region, reduce pole_margin, or allow spin (mode 'spin_rolling')"
    )


def stays_inside(motion: Motion, region: ContactRegion, goal: Contact) -> bool:
    """Return whether a motion stays in a region and off the poles."""
    discs = region.keep_out((motion.start.normal, goal.normal))
    if motion.pole_distance() < min(discs[0][1], discs[1][1]):
        return False
    if not region.is_bounded:
        return True
    contacts = motion.contacts
    if not all(region.holds_point((c.u_s, c.v_s)) for c in contacts):
        return False
    for contact, w in zip(contacts, motion.turns, strict=False):
        parts = 1 + int(math.hypot(w[0], w[1]) / 1.0)
        part = (w[0] / parts, w[1] / parts, w[2] / parts)
        here = contact
        for _ in range(parts):
            there = Contact(0.0, 0.0, multiply(rotation(part), here.R_SO))
            if not arc_is_free(discs, here.normal, there.normal):
                return False
            here = there
    return True


class Loops(NamedTuple):
    """A polygon: rounds on the sphere, side, angle between sides, circumradius [radius, rad]."""

    rounds: int
    side: float
    corner: float
    out: float

    @property
    def length(self) -> float:
        """Length of the path, in units of the radius."""
        return 2 * self.out + self.rounds * SIDES * self.side


def loops_for(spin: float, size: float) -> Loops:
    """
    Return the loops that spin by an angle and go no further than ``size``.

    Parameters
    ----------
    spin
        Angle, of which only the magnitude is used, at most 2 pi [rad].
    size
        Maximum distance from the start, positive, in units of the radius.

    """
    area = 2 * math.pi * (1 - math.cos(math.atan(size)))  # of a cap: more than a polygon's
    rounds = max(1, math.ceil(abs(spin) / area))
    while (loops := _loops(abs(spin), rounds)).out > size:
        rounds += 1
    return loops


def _loops(spin: float, rounds: int) -> Loops:
    corner = SIDE_ANGLE - spin / (rounds * SIDES)
    if corner <= 0:  # more than the polygon can enclose
        return Loops(rounds, math.pi, 0.0, math.inf)
    # sin^2(l/2) = (cos^2(e/2) - cos^2(o/2)) / cos^2(e/2), without cancellation
    rise = math.sqrt(math.sin((SIDE_ANGLE + corner) / 2) * math.sin((SIDE_ANGLE - corner) / 2))
    side = 2 * math.asin(rise / math.cos(corner / 2))
    return Loops(rounds, side, corner, side / (2 * math.sin(corner / 2)))


def spin_by_loops(spin: float, size: float) -> list[Vector]:
    """
    Return rolls that spin the sphere in place by an angle and stay within a distance.

    Parameters
    ----------
    spin
        Angle about the plane's normal [rad].
    size
        As in :func:`loops_for`.

    """
    loops = loops_for(spin, size)
    sign = -math.copysign(1.0, spin)
    turns = [roll(0.0, loops.out)]
    heading = sign * (math.pi / 2 + loops.corner / 2)
    for _ in range(loops.rounds * SIDES):
        turns.append(roll(heading, loops.side))
        heading += sign * loops.corner
    back = sign * loops.rounds * SIDES * loops.corner + math.pi
    turns.append(roll(back, loops.out))
    return turns

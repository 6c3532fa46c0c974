"""Motions of a spin-rolling sphere in phases, their limits, and the problem of planning one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
import math
from typing import Annotated, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    model_validator,
    StrictBool,
    ValidationInfo,
)
from rolling_dynamics.errors import check_choice, check_positive, ParameterError, ScenarioError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.document import line_numbers
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.fields import (
    Brought,
    entry,
    gone,
    quantity,
    refused,
    SECTION,
    Section,
    several,
)
from rolling_dynamics.spin_rolling_sphere.system import (
    check_radius,
    coordinates_from_attitude,
    SpinRollingSphere,
)

Vector: TypeAlias = tuple[float, float, float]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]
NOTHING = 1e-15  # a rotation that is negligible [rad]
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Sequence[float], b: Sequence[float]) -> Vector:
    """Return a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(a: Sequence[float]) -> float:
    """Return the length of a."""
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


def unit(a: Sequence[float]) -> Vector:
    """Return a / |a|."""
    n = norm(a)
    return (a[0] / n, a[1] / n, a[2] / n)


def combine(x: float, a: Sequence[float], y: float, b: Sequence[float]) -> Vector:
    """Return x a + y b."""
    return (x * a[0] + y * b[0], x * a[1] + y * b[1], x * a[2] + y * b[2])


def angle_between(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the angle between two unit vectors, accurate near 0 and pi [rad]."""
    return math.atan2(norm(cross(a, b)), dot(a, b))


def tangent(a: Sequence[float], b: Sequence[float]) -> Vector:
    """Return the unit tangent at a of the great circle to b; b is neither a nor -a."""
    axis = unit(cross(a, b))
    return cross(axis, a)


def any_normal(a: Sequence[float]) -> Vector:
    """Return a unit vector normal to a, along the parallel of the chart's y axis."""
    x, _, z = a
    n = math.hypot(x, z)
    return (z / n, 0.0, -x / n) if n > 1e-9 else (1.0, 0.0, 0.0)


def apply(R: Matrix, a: Sequence[float]) -> Vector:
    """Return R a."""
    return (dot(R[0], a), dot(R[1], a), dot(R[2], a))


def multiply(A: Matrix, B: Matrix) -> Matrix:
    """Return A B."""
    columns = tuple(zip(*B, strict=True))
    return tuple(tuple(dot(row, c) for c in columns) for row in A)  # type: ignore[return-value]


def transpose(A: Matrix) -> Matrix:
    """Return the transpose."""
    return tuple(zip(*A, strict=True))  # type: ignore[return-value]


def rotation(w: Sequence[float]) -> Matrix:
    """Return the rotation matrix of a rotation vector [rad]."""
    t = norm(w)
    if t < 1e-300:
        return IDENTITY
    x, y, z = w[0] / t, w[1] / t, w[2] / t
    s, c = math.sin(t), 2 * math.sin(t / 2) ** 2  # sin, 1 - cos
    return (
        (1 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y),
        (c * x * y + s * z, 1 - c * (x * x + z * z), c * y * z - s * x),
        (c * x * z - s * y, c * y * z + s * x, 1 - c * (x * x + y * y)),
    )


def rotation_angle(R: Matrix) -> float:
    """Return the angle of a rotation, accurate near 0 [rad]."""
    twice_sine = norm((R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]))
    return math.atan2(twice_sine, R[0][0] + R[1][1] + R[2][2] - 1)


def distance_to_arc(q: Sequence[float], a: Sequence[float], b: Sequence[float]) -> float:
    """Return the minimum angle between a point and the great-circle arc from a to b [rad]."""
    ends = min(angle_between(q, a), angle_between(q, b))
    axis = cross(a, b)
    n = norm(axis)
    if n < 1e-14:
        return ends
    axis = (axis[0] / n, axis[1] / n, axis[2] / n)
    height = dot(q, axis)
    foot = combine(1, q, -height, axis)
    if dot(cross(a, foot), axis) > 0 and dot(cross(foot, b), axis) > 0:
        return math.atan2(abs(height), norm(foot))
    return ends


def wrap(angle: float) -> float:
    """Return an angle shifted by whole turns into [-pi, pi]."""
    return math.remainder(angle, 2 * math.pi)


class Contact(NamedTuple):
    """Contact on the plane [m] and attitude R_SO of the sphere."""

    u_s: float
    v_s: float
    R_SO: Matrix

    @property
    def normal(self) -> Vector:
        """Outward normal of the sphere at the contact, in O."""
        x, y, z = self.R_SO[2]
        return (-x, -y, -z)


@dataclass(frozen=True, eq=False)
class Motion:
    """
    Sequence of rotations.

    Attributes
    ----------
    radius
        Radius [m].
    start
        Position at the start.
    turns
        Rotation vectors in S [rad].

    """

    radius: float
    start: Contact
    turns: tuple[Vector, ...]

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """Contact before each rotation and after the last."""
        out = [self.start]
        for w in self.turns:
            last = out[-1]
            out.append(
                Contact(
                    last.u_s + self.radius * w[1],
                    last.v_s - self.radius * w[0],
                    multiply(rotation(w), last.R_SO),
                )
            )
        return tuple(out)

    @property
    def end(self) -> Contact:
        """End position."""
        return self.contacts[-1]

    @property
    def length(self) -> float:
        """Length of the path on the plane [m]."""
        return self.radius * sum(math.hypot(w[0], w[1]) for w in self.turns)

    @property
    def spin(self) -> float:
        """Sum of all spins [rad]."""
        return sum(abs(w[2]) for w in self.turns)

    def pole_distance(self) -> float:
        """Return the minimum angle from the contact on the sphere to a pole of the chart [rad]."""
        return (
            min(_distance_on_turn(a, w) for a, w in zip(self.contacts, self.turns, strict=False))
            if self.turns
            else from_pole(self.start.normal)
        )


def from_pole(n: Sequence[float]) -> float:
    """Return the angle from a normal to the nearest pole of the chart [rad]."""
    return math.atan2(math.hypot(n[0], n[2]), abs(n[1]))


def _distance_on_turn(start: Contact, w: Vector) -> float:
    """Return the minimum angle to a pole while the sphere rotates about w, in closed form."""
    size = math.sqrt(w[0] ** 2 + w[1] ** 2 + w[2] ** 2)
    if size < NOTHING:
        return from_pole(start.normal)
    k = (w[0] / size, w[1] / size, w[2] / size)
    # the pole's direction y(t) = exp([w] t) y0 in S; the contact is at -z
    y0 = (start.R_SO[0][1], start.R_SO[1][1], start.R_SO[2][1])
    along = k[0] * y0[0] + k[1] * y0[1] + k[2] * y0[2]
    mean = along * k[2]
    cosine = y0[2] - mean
    sine = k[0] * y0[1] - k[1] * y0[0]
    amplitude, phase = math.hypot(cosine, sine), math.atan2(sine, cosine)
    heights = [y0[2], mean + cosine * math.cos(size) + sine * math.sin(size)]
    for extreme, sign in ((phase, 1.0), (phase + math.pi, -1.0)):
        if extreme % (2 * math.pi) < size:
            heights.append(mean + sign * amplitude)
    return min(math.acos(min(abs(h), 1.0)) for h in heights)


def goal_error(end: Contact, goal: Contact) -> float:
    """Return the larger one of the distance on the plane [m] and the angle of attitude [rad]."""
    apart = math.hypot(end.u_s - goal.u_s, end.v_s - goal.v_s)
    return max(apart, rotation_angle(multiply(end.R_SO, transpose(goal.R_SO))))


def roll(direction: float, angle: float) -> Vector:
    """Return the rotation that rolls by an angle [rad] in a direction on the plane [rad]."""
    return (-angle * math.sin(direction), angle * math.cos(direction), 0.0)


def pruned(turns: Sequence[Vector]) -> tuple[Vector, ...]:
    """Return the rotations without negligible ones."""
    return tuple(w for w in turns if max(abs(w[0]), abs(w[1]), abs(w[2])) > NOTHING)


POLES: tuple[Vector, Vector] = ((0.0, 1.0, 0.0), (0.0, -1.0, 0.0))
EVERYWHERE = (-math.inf, math.inf)
AT_POLE = 1e-9  # a start or goal closer than this is at the pole, which cannot be avoided [rad]
EDGE = 1e-12  # tolerance of a point on an edge [rad], [m]


@dataclass(frozen=True, kw_only=True)
class ContactRegion:
    """
    Region of contact on both surfaces.

    Attributes
    ----------
    u_bounds, v_bounds
        Minimum and maximum u_s, v_s [m].
    axis
        Centre of the cap of the sphere, in O; any length.
    half_angle
        Angle from the centre of the cap to its edge [rad]; pi for the whole sphere.
    pole_margin
        Minimum angle from the poles of the chart [rad]. If start or goal are closer, half their
        distance is used.

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    u_bounds: Annotated[
        tuple[float, float], entry(several(count=2, made=tuple), 'range of u_s', 'm')
    ] = EVERYWHERE
    v_bounds: Annotated[
        tuple[float, float], entry(several(count=2, made=tuple), 'range of v_s', 'm')
    ] = EVERYWHERE
    axis: Annotated[
        tuple[float, float, float],
        entry(several(count=3, made=tuple), 'centre of the cap of the sphere, in its frame'),
    ] = (0.0, 0.0, -1.0)
    half_angle: Annotated[float, quantity('from the centre of the cap to its edge', 'rad')] = (
        math.pi
    )
    pole_margin: Annotated[float, quantity('minimum angle from the poles of the chart', 'rad')] = (
        0.01
    )

    def __post_init__(self) -> None:
        """Reject an invalid region."""
        for name in ('u_bounds', 'v_bounds'):
            low, high = getattr(self, name)
            if not low < high:
                raise ParameterError(f'{name} must increase [m], got {(low, high)}')
        if not (len(self.axis) == 3 and math.isfinite(norm(self.axis)) and norm(self.axis) > 0):
            raise ParameterError(f'axis must be 3 numbers, not all 0, got {self.axis}')
        if not 0 < self.half_angle <= math.pi:
            raise ParameterError(f'half_angle must lie in (0, pi] [rad], got {self.half_angle!r}')
        if not 0 <= self.pole_margin < 0.5:
            raise ParameterError(
                f'pole_margin must lie in [0, 0.5) [rad], got {self.pole_margin!r}'
            )

    @property
    def is_bounded(self) -> bool:
        """Return whether more than the poles is excluded."""
        return self.half_angle < math.pi or (self.u_bounds, self.v_bounds) != (
            EVERYWHERE,
            EVERYWHERE,
        )

    def check(self, **contacts: Contact) -> None:
        """Raise ParameterError that names the first contact outside."""
        for name, contact in contacts.items():
            for which, (low, high) in (('u_s', self.u_bounds), ('v_s', self.v_bounds)):
                value = getattr(contact, which)
                if not low - EDGE <= value <= high + EDGE:
                    raise ParameterError(
                        f'{name}: {which} = {value:g} m lies outside the contact region, '
                        f'{low:g} to {high:g} m'
                    )
            away = angle_between(unit(self.axis), contact.normal)
            if not away <= self.half_angle + EDGE:
                raise ParameterError(
                    f'{name}: the contact on the sphere lies {away:.4g} rad from the centre of '
                    f'the contact region, whose edge is at {self.half_angle:.4g} rad'
                )

    def keep_out(self, normals: Sequence[Vector]) -> list[tuple[Vector, float]]:
        """Return forbidden discs of the sphere (centre, angular radius) for a path."""
        discs = []
        for pole in POLES:
            nearest = min(angle_between(pole, n) for n in normals)
            nearest = nearest if nearest > AT_POLE else 0.0
            discs.append((pole, min(self.pole_margin, 0.5 * nearest)))
        if self.half_angle < math.pi:
            x, y, z = unit(self.axis)
            discs.append(((-x, -y, -z), math.pi - self.half_angle - EDGE))
        return discs

    def holds_point(self, point: Sequence[float]) -> bool:
        """Return whether a point of the plane lies inside."""
        u, v = self.u_bounds, self.v_bounds
        return u[0] - EDGE <= point[0] <= u[1] + EDGE and v[0] - EDGE <= point[1] <= v[1] + EDGE


def arc_is_free(discs: Sequence[tuple[Vector, float]], a: Vector, b: Vector) -> bool:
    """Return whether the short great-circle arc from a to b enters no disc."""
    return all(distance_to_arc(q, a, b) >= radius for q, radius in discs)


@dataclass(frozen=True, kw_only=True)
class InputBounds:
    """
    Maximum magnitude of the inputs.

    Attributes
    ----------
    delta
        Rolling rate [m/s].
    alpha_s, gamma_s
        Geodesic and normal curvature of the virtual surface [1/m]; beta_s is not used by plans.

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    delta: Annotated[float, quantity('rolling rate', 'm/s')] = 0.1
    alpha_s: Annotated[float, quantity('geodesic curvature', '1/m')] = math.inf
    gamma_s: Annotated[float, quantity('normal curvature', '1/m')] = math.inf

    def __post_init__(self) -> None:
        """Reject bounds that allow no motion."""
        check_positive('delta', self.delta, 'm/s')
        for name in ('alpha_s', 'gamma_s'):
            check_positive(name, getattr(self, name), '1/m', zero=True, most=math.inf)


def seconds_per_turn(w: Sequence[float], radius: float, bounds: InputBounds) -> float:
    """Return the minimum time of a roll or a spin in place at a constant rate [s]."""
    length = radius * math.hypot(w[0], w[1])
    if length > 0:
        return length / bounds.delta
    return abs(w[2]) / (bounds.delta * min(bounds.alpha_s, 1 / radius))


Mode = Literal['spin_rolling', 'pure_rolling']
FORMERLY = (
    'belonged to the search for extremals of pure rolling, which has been removed; leave it out: '
    "mode 'pure_rolling' is planned in closed form by rolls and loops"
)
ENTRIES = ('u_s', 'v_s', 'u_o', 'v_o', 'psi')


class ContactGoal(Section):
    """Contact at the end; missing coordinates are as at the start."""

    u_s: float | None = quantity('contact on the plane', 'm', default=None)
    v_s: float | None = quantity('contact on the plane', 'm', default=None)
    u_o: float | None = quantity('contact on the sphere', 'rad', default=None)
    v_o: float | None = quantity('contact on the sphere', 'rad', default=None)
    psi: float | None = quantity('angle of spin', 'rad', default=None)

    @model_validator(mode='after')
    def _some(self) -> ContactGoal:
        if not self.given:
            raise refused('at least one entry is needed, got none')
        return self


def contact_after(values: Mapping[str, float], start: Contact) -> Contact:
    """Return the contact with these coordinates by name; missing ones are kept."""
    place, turns = (values.get('u_s', start.u_s), values.get('v_s', start.v_s)), ENTRIES[2:]
    if not values.keys() & set(turns):
        return Contact(*place, start.R_SO)
    here = {}  # not needed if all are given, and not defined at a pole
    if not values.keys() >= set(turns):
        here = dict(zip(turns, coordinates_from_attitude(start.R_SO).tolist(), strict=True))
    return contact_at([*place, *({**here, **values}[name] for name in turns)])


def _at_end(goal: ContactGoal, info: ValidationInfo) -> Contact:
    return contact_after(goal.model_dump(exclude_unset=True), (info.context or {})['start'])


@dataclass(frozen=True, kw_only=True)
class SpinRollingProblem:
    """
    A planning problem of the sphere on a plane.

    Attributes
    ----------
    radius
        Radius [m].
    start, goal
        Contacts and attitudes.
    mode
        ``spin_rolling``, three inputs, or ``pure_rolling``, two.
    region
        Allowed contacts.
    bounds
        Bounds of the inputs.
    optimise
        Whether to choose the fold of a spin-rolling path that is shortest and spins least.

    """

    __pydantic_config__: ClassVar[ConfigDict] = SECTION

    radius: Brought[float]
    start: Brought[Contact]
    goal: Annotated[Contact, entry(Annotated[ContactGoal, AfterValidator(_at_end)])]
    mode: Annotated[Mode, Field(description='three inputs, or two')] = 'spin_rolling'
    region: Annotated[
        ContactRegion, Field(description='where the contact may be; everywhere by default')
    ] = field(default_factory=ContactRegion)
    bounds: InputBounds = field(default_factory=InputBounds)
    optimise: Annotated[StrictBool, Field(description='whether the plan is shortened')] = True
    _gone = gone(shots=FORMERLY, seed=FORMERLY)

    def __post_init__(self) -> None:
        """Reject an invalid problem."""
        check_radius(self.radius)
        check_choice('mode', self.mode, Mode)
        self.region.check(start=self.start, goal=self.goal)


def contact_at(coordinates: Sequence[float]) -> Contact:
    """
    Return the contact of (u_s, v_s, u_o, v_o, psi) [m, rad].

    Raises
    ------
    ParameterError
        They are not five finite numbers.

    """
    values = [float(c) for c in coordinates]
    if len(values) != 5 or not all(math.isfinite(c) for c in values):
        raise ParameterError(
            f'u_s v_s u_o v_o psi: five finite numbers are needed, got {list(coordinates)}'
        )
    u_s, v_s, u, v, psi = values
    cu, su, cv, sv = math.cos(u), math.sin(u), math.cos(v), math.sin(v)
    c, s = math.cos(psi), math.sin(psi)
    e_u, e_v = (-cu, 0.0, su), (su * sv, cv, cu * sv)
    x = (-c * e_u[0] + s * e_v[0], s * e_v[1], -c * e_u[2] + s * e_v[2])
    y = (s * e_u[0] + c * e_v[0], c * e_v[1], s * e_u[2] + c * e_v[2])
    return Contact(u_s, v_s, (x, y, (su * cv, -sv, cu * cv)))


def contact_of_attitude(contact_s: ArrayLike, R_SO: ArrayLike) -> Contact:
    """Return the contact of a point of the plane [m] and an attitude, rotation matrix (3, 3)."""
    point, R = np.asarray(contact_s, dtype=float), np.asarray(R_SO, dtype=float)
    if point.shape != (2,) or R.shape != (3, 3) or not np.all(np.isfinite(point)):
        raise ParameterError('contact_s takes 2 finite numbers and R_SO a 3x3 matrix')
    if not np.allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-9) or np.linalg.det(R) < 0:
        raise ParameterError('R_SO must be a rotation matrix')
    rows = R.tolist()
    return Contact(
        float(point[0]), float(point[1]), (tuple(rows[0]), tuple(rows[1]), tuple(rows[2]))
    )


@line_numbers
def read_spin_rolling_problem(scenario: Scenario) -> SpinRollingProblem:
    """
    Return the planning problem of a scenario.

    Raises
    ------
    ScenarioError
        There is no section ``plan``, or an entry is wrong; the text starts with its path.

    """
    raw = scenario.raw.get('plan')
    if raw is None:
        raise ScenarioError('plan: is missing; add this section, with the goal of the plan')
    system = scenario.system
    if not isinstance(system, SpinRollingSphere):
        raise ScenarioError(f'system: a spin_rolling_sphere is needed, got {system.name!r}')
    start = contact_of_attitude(scenario.x0[:2], np.array(system.attitude(scenario.x0)))
    try:
        known = {'radius': float(scenario.p[0]), 'start': start}
        return check(SpinRollingProblem, raw, 'plan', known)
    except ScenarioError as e:
        raise ScenarioError(str(e).replace('plan.start: ', 'initial: ', 1)) from None

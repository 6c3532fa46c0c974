"""Rails, drives, and motion beyond rolling, of bodies with internal masses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
import json
from typing import Any, Literal

import casadi as ca
import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Layout
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.internal_masses.masses import FreeMass, RailMass
from rolling_dynamics.internal_masses.rails import (
    Circle,
    Ellipse,
    ExpressionRail,
    FigureEight,
    published_frame,
    Rail,
    Spline,
    Straight,
)
from rolling_dynamics.scenario.control import (
    check_covered,
    check_finite,
    Control,
    straight_between,
)
from rolling_dynamics.scenario.faults import check, located
from rolling_dynamics.scenario.fields import (
    array,
    entry,
    formulas,
    Kinds,
    note,
    Number,
    numbers,
    pair,
    quantity,
    refused,
    Section,
    Term,
    terms,
    TIME,
    vector,
)
from rolling_dynamics.scenario.hand_motion import Attitude, quaternion_of
from rolling_dynamics.simulation.control import PiecewiseLinear
from transforms3d.quaternions import quat2mat


class Breakpoints(Section):
    """Accelerations at given times."""

    times: Array = numbers('', 's', count=(2, None))
    values: Array = numbers(count=(2, None))

    @model_validator(mode='after')
    def _in_order(self) -> Breakpoints:
        if (self.times[1:] < self.times[:-1]).any():
            raise refused(f'must not decrease, got {self.times.tolist()}', 'times')
        return self

    def samples(self, path: str, duration: float) -> PiecewiseLinear:
        """Return the samples, which must last as long as the motion."""
        times = self.times
        check_covered(f'{path}.times', times, duration)
        if self.values.shape != times.shape:
            raise ScenarioError(
                f'{path}.values: takes {times.size} numbers, one for each of the times, got '
                f'{self.values.size}'
            )
        return PiecewiseLinear(times, self.values[:, None], 1)


def read_drives(
    given: Mapping[str, ca.SX | Breakpoints], state: Layout, control: Layout, duration: float
) -> Control:
    """Return the control made of the drives of the masses on rails, in order, by their paths."""
    drives = [_acceleration(path, drive, duration) for path, drive in given.items()]
    parts = [drive for drive in drives if isinstance(drive, PiecewiseLinear)]
    if drives and len(parts) == len(drives):
        return Control(None, control, _merged(parts), states=state.size)
    x = ca.SX.sym('x', state.size)
    u = [
        straight_between(TIME, d.times, d.values[:, 0]) if isinstance(d, PiecewiseLinear) else d
        for d in drives
    ]
    borders = sorted({float(t) for part in parts for t in part.times})
    column = ca.vertcat(*u) if u else ca.SX(0, 1)
    function = ca.Function('control', [x, TIME], [ca.densify(column)])
    return Control(function, control, borders=tuple(borders))


def _acceleration(
    path: str, given: ca.SX | Breakpoints, duration: float
) -> ca.SX | PiecewiseLinear:
    """Return the acceleration of a mass: samples over time, or an expression of it."""
    if isinstance(given, Breakpoints):
        return given.samples(path, duration)
    check_finite({path: given}, TIME, duration)
    if ca.depends_on(given, TIME):
        return given
    return PiecewiseLinear([0.0], [[float(ca.evalf(given))]], 1)


def _merged(parts: Sequence[PiecewiseLinear]) -> tuple[Array, Array]:
    """Return all samples over common times; where one jumps, the time stands twice."""
    first = parts[0].times
    if all(np.array_equal(s.times, first) for s in parts[1:]):
        return first, np.hstack([s.values for s in parts])
    times = np.unique(np.concatenate([s.times for s in parts]))
    rows: list[tuple[float, list[float]]] = []
    for t in times:
        before = [_before(s, t) for s in parts]
        after = [float(s(t)[0]) for s in parts]
        if before != after:
            rows.append((float(t), before))
        rows.append((float(t), after))
    return np.array([r[0] for r in rows]), np.array([r[1] for r in rows])


def _before(samples: PiecewiseLinear, t: float) -> float:
    """Return the limit from the left."""
    k = int(np.searchsorted(samples.times, t, side='left'))
    if k < samples.times.size and samples.times[k] == t:
        return float(samples.values[k, 0])
    return float(samples(t)[0])


RAILS = Kinds('rail')


class RailSection(Section):
    """A curve in the body, from the geometric centre."""

    def rail(self) -> Rail:
        """Return the rail."""
        raise NotImplementedError


def ends(stops: Array) -> tuple[float, float]:
    """Return the minimum and the maximum theta of a vector of two, in its unit."""
    return float(stops[0]), float(stops[1])


class PlaneCurve(RailSection):
    """A curve in a plane of the body."""

    centre: Array = vector('centre of the curve', 'm', default=np.zeros(3))
    frame: Attitude | None = note(
        'attitude of the plane X-Z of the curve in the body; Y is its normal', default=None
    )
    normal: Array | None = vector(
        'instead of frame: n of the paper, zeta = r (n cos theta - b1 sin theta)', default=None
    )
    stops: Array | None = pair('minimum and maximum theta', default=None)

    @model_validator(mode='after')
    def _one_frame(self) -> PlaneCurve:
        if self.frame is not None and self.normal is not None:
            raise refused('and frame say the same; leave one of the two out', 'normal')
        return self

    def placed(self) -> dict[str, Any]:
        """Return where it lies, and where it ends."""
        frame = quat2mat(quaternion_of(self.frame))
        if self.normal is not None:
            with np.errstate(all='ignore'):  # an invalid normal is rejected with the frame
                frame = published_frame(self.normal)
        stops = None if self.stops is None else ends(self.stops)
        return {'centre': self.centre, 'frame': frame, 'stops': stops}


@RAILS.add
class CircleSection(PlaneCurve):
    """A circle."""

    kind: Literal['circle']
    radius: float = quantity('radius of the circle', 'm', positive=True)

    def rail(self) -> Rail:
        """Return the rail."""
        return Circle(self.radius, **self.placed())


@RAILS.add
class EllipseSection(PlaneCurve):
    """An ellipse."""

    kind: Literal['ellipse']
    semi_axes: Array = pair('semi-axes along X and Z of its frame', 'm')

    def rail(self) -> Rail:
        """Return the rail."""
        return Ellipse(self.semi_axes, **self.placed())


@RAILS.add
class StraightSection(RailSection):
    """A straight tube."""

    kind: Literal['straight']
    direction: Array = vector('direction of the tube')
    stops: Array = pair('minimum and maximum theta')
    centre: Array = vector('where theta is 0', 'm', default=np.zeros(3))

    def rail(self) -> Rail:
        """Return the rail."""
        return Straight(self.direction, ends(self.stops), self.centre)


@RAILS.add
class FigureEightSection(PlaneCurve):
    """A figure eight."""

    kind: Literal['figure_eight']
    length: float = quantity('half the length, along X', 'm', positive=True)
    width: float = quantity('half the width, along Z', 'm', positive=True)

    def rail(self) -> Rail:
        """Return the rail."""
        return FigureEight(self.length, self.width, **self.placed())


@RAILS.add
class SplineSection(RailSection):
    """A spline through points."""

    kind: Literal['spline']
    points: Array = numbers('points that it goes through', 'm', of=array(count=3), count=(6, None))
    closed: bool = note('whether it is closed', default=False)

    def rail(self) -> Rail:
        """Return the rail."""
        return Spline(self.points, closed=self.closed)


@RAILS.add
class ExpressionSection(RailSection):
    """Any curve by formulas."""

    kind: Literal['expression']
    position: list[Term] = terms(
        'formulas of x, y, z in `theta` and the names of `dimensions`', 'm', count=3
    )
    dimensions: Mapping[str, Number] = note('', 'm', default={})
    period: float | None = quantity('of theta on a closed curve', positive=True, default=None)
    stops: Array | None = pair('minimum and maximum theta', default=None)

    def rail(self) -> Rail:
        """Return the rail."""
        stops = None if self.stops is None else ends(self.stops)
        return ExpressionRail(
            self.position, dict(self.dimensions), stops=stops, period=self.period
        )


class MassSection(Section):
    """A mass on a rail, or on a trajectory."""

    mass: float = quantity('mass', 'kg', least=0)
    rail: RailSection | None = entry(
        RAILS, 'curve in the body, from the geometric centre', default=None
    )
    trajectory: list[Term] | None = formulas(
        'instead of rail: place in the body as formulas of `t`', 'm', count=3, default=None
    )

    @model_validator(mode='after')
    def _one_place(self) -> MassSection:
        if (self.rail is None) == (self.trajectory is None):
            got = 'neither' if self.rail is None else 'rail and trajectory'
            raise refused(f'exactly one of rail and trajectory is needed, got {got}')
        return self


def mass_of(given: Mapping[str, Any], path: str) -> RailMass | FreeMass:
    """Return a mass; one that is given alike in several scenarios is one and the same object."""
    own = {key: value for key, value in given.items() if key in MassSection.model_fields}
    return _mass(json.dumps(own), path)


@lru_cache(maxsize=256)
def _mass(text: str, path: str) -> RailMass | FreeMass:
    given = json.loads(text)
    section = check(MassSection, given, path)
    with located(path):
        if section.rail is None:
            return FreeMass(section.mass, given['trajectory'])
    with located(f'{path}.rail'):
        rail = section.rail.rail()
    with located(path):
        return RailMass(section.mass, rail)

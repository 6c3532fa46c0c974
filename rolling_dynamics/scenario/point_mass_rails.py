"""Masses of a scenario and the rails that they stand on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
import json
from typing import Any, Literal

import numpy as np
from pydantic import model_validator
from rolling_dynamics.arrays import Array
from rolling_dynamics.internal_masses import FreeMass, RailMass
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
from rolling_dynamics.scenario.attitude import Attitude, quaternion_of
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
    vector,
)
from transforms3d.quaternions import quat2mat

RAILS = Kinds('rail')


class RailSection(Section):
    """A curve in the body, from the geometric centre."""

    def rail(self) -> Rail:
        """Return the rail."""
        raise NotImplementedError


def ends(stops: Array) -> tuple[float, float]:
    """Return the least and the greatest theta of a vector of two, in its unit."""
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
            with np.errstate(all='ignore'):  # what is no normal is refused as a frame
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

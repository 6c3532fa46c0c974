"""Masses of a scenario and the rails that they stand on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
import json
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import model_validator
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
from rolling_dynamics.scenario.entry import Array, Numbers, Quantity, refused, Term
from rolling_dynamics.scenario.faults import check, located
from rolling_dynamics.scenario.fields import formulas, note, numbers, pair, quantity, terms, vector
from rolling_dynamics.scenario.model import Section
from transforms3d.quaternions import quat2mat

NEEDED = {
    'circle': ('radius',),
    'ellipse': ('semi_axes',),
    'straight': ('direction', 'stops'),
    'figure_eight': ('length', 'width'),
    'spline': ('points',),
    'expression': ('position',),
}
PLACED = ('centre', 'frame', 'normal', 'stops')
ALLOWED = {
    **dict.fromkeys(('circle', 'ellipse', 'figure_eight'), PLACED),
    'straight': ('centre',),
    'spline': ('closed',),
    'expression': ('dimensions', 'period', 'stops'),
}


class RailSection(Section):
    """Curve in the body, from the geometric centre."""

    kind: Literal['circle', 'ellipse', 'straight', 'figure_eight', 'spline', 'expression'] = note(
        'kind of rail'
    )
    radius: float = quantity('of a circle', 'm', positive=True, default=0.0)
    semi_axes: Array | None = pair('of an ellipse along X and Z of its frame', 'm', default=None)
    length: float = quantity(
        'half the length of a figure eight along X', 'm', positive=True, default=0.0
    )
    width: float = quantity(
        'half the width of a figure eight along Z', 'm', positive=True, default=0.0
    )
    direction: Array | None = vector('of a straight tube', default=None)
    centre: Array = vector('centre of the curve', 'm', default=np.zeros(3))
    frame: Attitude | None = note(
        'attitude of the plane X-Z of the curve in the body; Y is its normal', default=None
    )
    normal: Array | None = vector(
        'instead of frame: n of the paper, zeta = r (n cos theta - b1 sin theta)', default=None
    )
    points: Array | None = numbers(
        'of a spline', 'm', of=Numbers(count=3), count=(6, None), default=None
    )
    closed: bool = note('whether a spline is closed', default=False)
    position: list[Term] = terms(
        'formulas of x, y, z in `theta` and the names of `dimensions`', 'm', count=3, default=[]
    )
    dimensions: Mapping[str, Annotated[float, Quantity()]] = note('', 'm', default={})
    period: float | None = quantity('of theta on a closed expression', positive=True, default=None)
    stops: Array | None = pair('least and greatest theta', default=None)

    @model_validator(mode='after')
    def _of_its_kind(self) -> RailSection:
        given = self.given
        for key in NEEDED[self.kind]:
            if key not in given:
                raise refused(f'is missing; a rail of kind {self.kind} needs it', key)
        for key in sorted(given.difference(('kind',), NEEDED[self.kind], ALLOWED[self.kind])):
            raise refused(f'has no meaning for a rail of kind {self.kind}', key)
        if self.frame is not None and self.normal is not None:
            raise refused('and frame say the same; leave one of the two out', 'normal')
        return self

    def rail(self, path: str) -> Rail:
        """Return the rail; its path stands in errors."""
        with located(path):
            return KINDS[self.kind](self)

    @property
    def ends(self) -> tuple[float, float] | None:
        """Least and greatest theta."""
        return None if self.stops is None else (float(self.stops[0]), float(self.stops[1]))

    def placed(self) -> dict[str, Any]:
        """Return where a plane curve lies."""
        frame = quat2mat(quaternion_of(self.frame))
        if self.normal is not None:
            frame = published_frame(self.normal)
        return {'centre': self.centre, 'frame': frame, 'stops': self.ends}


KINDS: dict[str, Callable[[Any], Rail]] = {
    'circle': lambda s: Circle(s.radius, **s.placed()),
    'ellipse': lambda s: Ellipse(s.semi_axes, **s.placed()),
    'straight': lambda s: Straight(s.direction, s.ends, s.centre),
    'figure_eight': lambda s: FigureEight(s.length, s.width, **s.placed()),
    'spline': lambda s: Spline(s.points, closed=s.closed),
    'expression': lambda s: ExpressionRail(
        s.position, dict(s.dimensions), stops=s.ends, period=s.period
    ),
}


class MassSection(Section):
    """A mass on a rail, or on a trajectory."""

    mass: float = quantity('mass', 'kg', least=0)
    rail: RailSection | None = note(default=None)
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
        return RailMass(section.mass, section.rail.rail(f'{path}.rail'))

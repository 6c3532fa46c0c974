"""Masses of a scenario and the rails that they stand on."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
import json
from typing import Any

import numpy as np
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
from rolling_dynamics.scenario.attitude import read_attitude
from rolling_dynamics.scenario.section import located, Section
from transforms3d.quaternions import quat2mat

STARTS = ('theta', 'theta_rate', 'drive')  # of a mass, what is no part of the system
NEEDED = {
    'circle': ('radius',),
    'ellipse': ('semi_axes',),
    'straight': ('direction', 'stops'),
    'figure_eight': ('length', 'width'),
    'spline': ('points',),
    'expression': ('position',),
}
ALLOWED = {
    'circle': ('centre', 'frame', 'normal', 'stops'),
    'ellipse': ('centre', 'frame', 'normal', 'stops'),
    'straight': ('centre',),
    'figure_eight': ('centre', 'frame', 'normal', 'stops'),
    'spline': ('closed',),
    'expression': ('dimensions', 'period', 'stops'),
}


def read_mass(section: Section) -> RailMass | FreeMass:
    """Return a mass; one that is given alike in several scenarios is one and the same object."""
    own = {key: value for key, value in section.values.items() if key not in STARTS}
    mass = _mass(json.dumps(own), section.path)
    for key in STARTS:
        if isinstance(mass, FreeMass) and key in section:
            raise section.fail(key, 'has no meaning for a mass on a trajectory')
    return mass


@lru_cache(maxsize=256)
def _mass(text: str, path: str) -> RailMass | FreeMass:
    section = Section(json.loads(text), path)
    given = [key for key in ('rail', 'trajectory') if key in section]
    if len(given) != 1:
        got = ' and '.join(given) or 'neither'
        raise section.fail('', f'exactly one of rail and trajectory is needed, got {got}')
    with located(section.path):
        if given == ['trajectory']:
            return FreeMass(section.number('mass'), section['trajectory'])
        return RailMass(section.number('mass'), _rail(section.section('rail')))


def _rail(section: Section) -> Rail:
    kind = section['kind']
    for key in NEEDED[kind]:
        if key not in section:
            raise section.fail(key, f'is missing; a rail of kind {kind} needs it')
    known = {'kind', *NEEDED[kind], *ALLOWED[kind]}
    for key in section.values:
        if key not in known:
            raise section.fail(key, f'has no meaning for a rail of kind {kind}')
    if 'frame' in section and 'normal' in section:
        raise section.fail('normal', 'and frame say the same; leave one of the two out')
    with located(section.path):
        return KINDS[kind](section)


def _placed(section: Section) -> dict[str, Any]:
    frame = quat2mat(read_attitude(section, 'frame'))
    if 'normal' in section:
        frame = published_frame(section.numbers('normal'))
    return {
        'centre': section.numbers('centre', np.zeros(3)),
        'frame': frame,
        'stops': _stops(section),
    }


def _stops(section: Section) -> tuple[float, float] | None:
    if 'stops' not in section:
        return None
    low, high = section.numbers('stops')
    return float(low), float(high)


KINDS: dict[str, Callable[[Section], Rail]] = {
    'circle': lambda s: Circle(s.number('radius'), **_placed(s)),
    'ellipse': lambda s: Ellipse(s.numbers('semi_axes'), **_placed(s)),
    'straight': lambda s: Straight(
        s.numbers('direction'), _stops(s) or (0.0, 0.0), s.numbers('centre', np.zeros(3))
    ),
    'figure_eight': lambda s: FigureEight(s.number('length'), s.number('width'), **_placed(s)),
    'spline': lambda s: Spline(s.numbers('points'), closed=s.get('closed', False)),
    'expression': lambda s: ExpressionRail(
        s['position'],
        {k: s.section('dimensions').number(k) for k in s.get('dimensions', {})},
        stops=_stops(s),
        period=s.number('period') if 'period' in s else None,
    ),
}

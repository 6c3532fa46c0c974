"""What a number with a unit would be without it."""

from __future__ import annotations

import math
import re

GIVEN = re.compile(
    r'\s*([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*([A-Za-z%/^0-9]*[A-Za-z%][A-Za-z%/^0-9]*)\s*'
)
LONGEST = 40  # characters of a number with its unit
DEGREE = math.pi / 180
UNITS = {
    **dict.fromkeys(('m', 'metre', 'metres', 'meter', 'meters'), (1.0, 'metres')),
    'km': (1e3, 'metres'),
    'cm': (1e-2, 'metres'),
    'mm': (1e-3, 'metres'),
    'um': (1e-6, 'metres'),
    'in': (0.0254, 'metres'),
    'inch': (0.0254, 'metres'),
    'kg': (1.0, 'kilograms'),
    'g': (1e-3, 'kilograms'),
    'mg': (1e-6, 'kilograms'),
    's': (1.0, 'seconds'),
    'ms': (1e-3, 'seconds'),
    'min': (60.0, 'seconds'),
    'rad': (1.0, 'radians'),
    'deg': (DEGREE, 'radians'),
    'degrees': (DEGREE, 'radians'),
    'Hz': (1.0, 'hertz'),
    'm/s': (1.0, 'm/s'),
    'mm/s': (1e-3, 'm/s'),
    'm/s^2': (1.0, 'm/s^2'),
    'rad/s': (1.0, 'rad/s'),
    'deg/s': (DEGREE, 'rad/s'),
    '%': (1e-2, 'parts of one'),
}


def without_unit(text: str) -> str:
    """Return what to write instead of a number with a unit, such as ``in metres: 0.1``, or ''."""
    given = GIVEN.fullmatch(text) if len(text) < LONGEST else None
    if given is None or given[2] not in UNITS:
        return ''
    factor, name = UNITS[given[2]]
    return f'in {name}: {float(given[1]) * factor:.12g}'

"""Whether the equations hold in other units of mass, length and time."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import GivenFormulas, offers
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.testing.checked_system import close, Failed, NotApplicable, Subject, values

EXPONENTS: dict[str, tuple[float, float, float]] = {  # of kg, m, s
    '': (0, 0, 0),
    '1': (0, 0, 0),
    'rad': (0, 0, 0),
    'chart': (0, np.nan, 0),
    'kg': (1, 0, 0),
    'm': (0, 1, 0),
    's': (0, 0, 1),
    'N': (1, 1, -2),
    'J': (1, 2, -2),
    'W': (1, 2, -3),
    'Hz': (0, 0, -1),
}
WRENCH = ('N m',) * 3 + ('N',) * 3
FACTORS = {'kg': 2.0, 'm': 3.0, 's': 0.7}
TOLERANCE = 1e-9


def units(s: Subject) -> None:
    """Check that motion and contact force do not depend on the units of computation."""
    system = s.system
    if system.independent_variable != 'time':
        raise NotApplicable('units are checked for motions in time')
    given = offers(system, GivenFormulas)
    if given is not None and given.given_formulas:
        raise NotApplicable(f'{", ".join(given.given_formulas)}: numbers of formulas are in SI')
    x_powers, u_powers, p_powers = (
        exponents(layout) for layout in (system.state, system.control, system.parameters)
    )
    wrench_powers = np.array([unit_exponents(w) for w in WRENCH])
    for k, (unit, factor) in enumerate(FACTORS.items()):
        if np.isnan(np.concatenate([x_powers, u_powers, p_powers])[:, k]).any():
            continue  # coordinates on a chart may be lengths, angles or neither
        by_x, by_u, by_p = (factor ** powers[:, k] for powers in (x_powers, u_powers, p_powers))
        slower = factor if unit == 's' else 1.0
        for x, u in s.samples:
            here, there = (x, u, 0.0, s.p), (x * by_x, u * by_u, 0.0, s.p * by_p)
            _compare(s.mode.dynamics, here, there, by_x / slower, unit, system.state.names)
            if s.mode.wrench is not None:
                by_wrench = factor ** wrench_powers[:, k]
                _compare(s.mode.wrench, here, there, by_wrench, unit, [*'xyz', *'xyz'])


def _compare(
    f: ca.Function,
    here: tuple[object, ...],
    there: tuple[object, ...],
    by: Array,
    unit: str,
    names: list[str],
) -> None:
    expected, found = values(f, *here) * by, values(f, *there)
    if not close(found, expected, TOLERANCE):
        k = int(np.nanargmax(np.abs(found - expected)))
        raise Failed(
            f'{f.name()} of {names[k]}, in a {unit} {FACTORS[unit]:g} times smaller: '
            f'{expected[k]:.6g} is expected, found {found[k]:.6g}; a unit of a layout is wrong, '
            'or a number in the equations should be a parameter'
        )


def exponents(layout: Layout) -> Array:
    """
    Return the powers of the units kg, m and s of each number of a layout, shape (size, 3).

    A power that the layout does not tell is not a number.
    """
    rows: list[tuple[float, ...]] = []
    for entry in layout.entries:
        try:
            power = unit_exponents(entry.unit)
        except KeyError:
            raise NotApplicable(f'the unit of {entry.name} is not known: {entry.unit}') from None
        rows += [power] * entry.size
    return np.array(rows, dtype=float).reshape(-1, 3)


def unit_exponents(unit: str) -> tuple[float, ...]:
    """Return the powers of kg, m and s of a unit such as ``kg m^2/s``; KeyError if unknown."""
    total, sign = np.zeros(3), 1.0
    for part in re.split(r'([ /])', unit):
        if part == '/':
            sign = -1.0
        elif part.strip():
            base, _, power = part.partition('^')
            total += sign * float(power or 1) * np.array(EXPONENTS[base])
    return tuple(total)

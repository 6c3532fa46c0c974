"""Formulas of scenario files, and controls as functions of state and time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
import math
import re

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import Layout
from rolling_dynamics.errors import ExpressionError, ParameterError, ScenarioError
from rolling_dynamics.expressions import parse_expression
from rolling_dynamics.scenario.document import shorten
from rolling_dynamics.simulation.control import ControlLike, Formula

INSTANTS = 1001  # at which a formula of time is evaluated before it is used
LARGEST = 1e12  # magnitude of a number, in any unit: beyond lies an error of units, and overflow
SMALLEST = 1e-30  # of a number that must be positive: its powers must not vanish
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


def number(value: str | float) -> float:
    """Return the number of an entry; raise ExpressionError if it is not a number."""
    if isinstance(value, str):
        return _number_of(value)
    if not isinstance(value, bool) and abs(value) <= LARGEST:
        return float(value)
    return _checked(value)


@lru_cache(maxsize=1024)
def _number_of(text: str) -> float:
    return _checked(text)


def _checked(value: str | float) -> float:
    result = float(_parsed(value, {}))
    if not math.isfinite(result):
        raise ExpressionError(f'a finite number is needed, got {shorten(value)} = {result}')
    if abs(result) > LARGEST:
        raise ExpressionError(f'at most {LARGEST:g} in SI units is allowed, got {shorten(value)}')
    return result


def formula_of_time(value: str | float, t: ca.SX) -> ca.SX:
    """Return the expression of an entry in the time ``t``."""
    return _parsed(value, {'t': t})


def check_finite(formulas: Mapping[str, ca.SX], t: ca.SX, end: float) -> None:
    """
    Reject formulas without a value, or with too large a value, at some instant.

    Parameters
    ----------
    formulas
        Path of an entry -> its expression in ``t``.
    t, end
        Symbol of the time; last instant, in the unit of ``t``.

    Raises
    ------
    ScenarioError
        The text names the entry, the instant and the value there.

    """
    values = ca.densify(ca.vertcat(*formulas.values()))
    times = np.linspace(0, end, INSTANTS) if ca.depends_on(values, t) else np.zeros(1)
    table = np.array(ca.Function('formulas', [t], [values])(times[None, :]))
    for path, row in zip(formulas, table, strict=True):
        wrong = np.flatnonzero(~(np.abs(row) <= LARGEST))
        if wrong.size:
            raise ScenarioError(
                f'{path}: is {row[wrong[0]]:.6g} at t = {times[wrong[0]]:.6g}; a finite number of '
                f'at most {LARGEST:g} is needed at all times from 0 to {end:.6g}'
            )


def check_covered(path: str, times: Array, end: float) -> None:
    """Raise ScenarioError unless times (N,) [s] of an entry go from 0 to an end [s]."""
    if times[0] > 0 or times[-1] < end:
        raise ScenarioError(
            f'{path}: must cover 0 to the duration {end:g} s without a gap, got '
            f'{times[0]:g} to {times[-1]:g}'
        )


def _parsed(value: str | float, symbols: Mapping[str, ca.SX]) -> ca.SX:
    """Parse; in messages a long formula is cut and the parser's own place left out."""
    try:
        return parse_expression(value, symbols)
    except OverflowError:
        raise ExpressionError(f'a finite number is needed, got {shorten(value)}') from None
    except ExpressionError as e:
        instead = without_unit(str(value))
        if instead:
            text = f'{shorten(value)} has a unit, and numbers here have none; {instead}'
            raise ExpressionError(text) from None
        text = str(e).replace(repr(value), shorten(value)).replace(' (<unknown>, line 1)', '')
        raise ExpressionError(text) from None


def without_unit(text: str) -> str:
    """Return what to write instead of a number with a unit, such as ``in metres: 0.1``, or ''."""
    given = GIVEN.fullmatch(text) if len(text) < LONGEST else None
    if given is None or given[2] not in UNITS:
        return ''
    factor, name = UNITS[given[2]]
    return f'in {name}: {float(given[1]) * factor:.12g}'


Samples = tuple[Array, Array]


class Control:
    """
    Control of a system; call it as ``control(t, x)``.

    Attributes
    ----------
    layout
        Layout of u.
    samples
        Times [s], shape (N,), and values, shape (N, m), of a control that is linear between them;
        a time that stands twice is a jump. None for any other.
    borders
        Times at which it jumps [s], where it is not samples.

    """

    def __init__(
        self,
        function: ca.Function | None,
        layout: Layout,
        samples: Samples | None = None,
        borders: tuple[float, ...] = (),
        states: int = 0,
    ) -> None:
        """
        Create the control from a function, samples, or both.

        Parameters
        ----------
        function
            ``(x, t) -> u``, u dense; interpolates the samples on demand if None.
        layout, samples, borders
            See the attributes.
        states
            Length of x, where there is no function.

        """
        if function is None and samples is None:
            raise ParameterError('a control needs a function or samples')
        self._given, self._states = function, states
        self.layout, self.samples, self.borders = layout, samples, borders

    @cached_property
    def function(self) -> ca.Function:
        """``(x, t) -> u``."""
        if self._given is not None:
            return self._given
        x, t = ca.SX.sym('x', self._states), ca.SX.sym('t')
        assert self.samples is not None  # noqa: S101 (checked at the start)
        times, values = self.samples
        columns = [straight_between(t, times, column) for column in values.T]
        u = ca.vertcat(*columns) if columns else ca.SX(0, 1)
        return ca.Function('control', [x, t], [ca.densify(u)])

    def __call__(self, t: float, x: ArrayLike) -> Array:
        """Return u, shape (m,)."""
        if self._given is not None or self.samples is None:
            return self._fast(x, t)
        times, values = self.samples  # as the function of them has it, without making that
        k = int(np.searchsorted(times[1:], t, side='right'))
        if k >= times.size - 1:
            return np.array(values[-1])
        fraction = (t - times[k]) / (times[k + 1] - times[k])
        return np.asarray(values[k] + fraction * (values[k + 1] - values[k]))

    @cached_property
    def _fast(self) -> FastFunction:
        return FastFunction(self.function)

    @cached_property
    def held(self) -> Array | None:
        """The value of a control that depends on neither time nor state, else None."""
        x, t = ca.SX.sym('x', self.function.size1_in(0)), ca.SX.sym('t')
        u = self.function(x, t)
        if ca.depends_on(u, ca.vertcat(x, t)):
            return None
        return np.array(ca.evalf(u), dtype=float).reshape(-1)

    @property
    def simplest(self) -> ControlLike:
        """The form that is simulated fastest: samples, held, or a formula of (x, t)."""
        if self.samples is not None:
            return self.samples
        held = self.held
        if held is not None:
            return held
        states = self.function.numel_in(0)
        return Formula(self.function, states, self.layout.size, self.borders)


def straight_between(t: ca.SX, times: Array, values: Array) -> ca.SX:
    """
    Return a piecewise linear function that jumps at repeated times.

    Times [s] and values, in the unit of the result, both of shape (N,).
    """
    out = ca.SX(float(values[-1]))
    for k in range(times.size - 2, -1, -1):
        if times[k + 1] == times[k]:
            continue
        fraction = (t - times[k]) / (times[k + 1] - times[k])
        piece = values[k] + fraction * (values[k + 1] - values[k])
        out = ca.if_else(t < times[k + 1], piece, out)
    return out

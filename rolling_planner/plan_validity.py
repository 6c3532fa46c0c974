"""What makes a plan valid, whatever system it is for: sizes, names, times and finite numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.text import LONGEST_NAME, printable, quoted

LINEAR, HOLD = 'linear', 'hold'
INTERPOLATIONS = (LINEAR, HOLD)
MAX_NUMBERS = 1_000_000  # in states, and in controls: 8 MB
MIN_DURATION = 1e-6  # [s], or [m] where the arc length is the independent variable


class Sizes(NamedTuple):
    """Lengths of the lists of a plan; states and controls as one row of numbers."""

    state_names: int
    control_names: int
    times: int
    states: int
    controls: int
    contact_wrenches: int


def check_sizes(sizes: Sizes) -> None:
    """Raise ParameterError unless the lists fit together and are not too long."""
    n, m, k = sizes.state_names, sizes.control_names, sizes.times
    if not (n and m and k > 1):
        raise ParameterError(
            'plan: state_names and control_names must not be empty and times must be two or '
            f'more, got {n} names of states, {m} names of controls and {k} times'
        )
    for name, given, names in (('states', sizes.states, n), ('controls', sizes.controls, m)):
        if given != k * names:
            raise ParameterError(
                f'plan.{name} must have {k * names} numbers, got {given}: one for each of '
                f'{k} times and {names} names'
            )
        if given > MAX_NUMBERS:
            raise ParameterError(
                f'plan.{name} must have at most {MAX_NUMBERS} numbers, got {given}: give at most '
                f'{MAX_NUMBERS // names} times, or several plans one after the other'
            )
    if sizes.contact_wrenches not in (0, k):
        raise ParameterError(
            f'plan.contact_wrenches must be one for each of {k} times or empty, got '
            f'{sizes.contact_wrenches}'
        )


def numbers(name: str, values: Any) -> Array:  # noqa: ANN401  whatever a file holds
    """
    Return values, in any shape and unit, as an array.

    Raises ParameterError with the name of the entry.
    """
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f'plan.{name} must be numbers: {printable(error)}') from None


def check_texts(**texts: object) -> None:
    """Raise ParameterError unless each of these is a string."""
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ParameterError(f'plan.{name} must be a string, got {printable(repr(text))}')


def check_names(what: str, names: Sequence[object]) -> None:
    """Raise ParameterError unless names are strings, each different."""
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise ParameterError(f'plan.{what} must be strings, got {printable(repr(wrong))}')
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ParameterError(f'plan.{what}: {quoted(twice[0])} is there more than once')


def check_interpolation(given: object) -> None:
    """Raise ParameterError unless controls are linear between the times, or held."""
    if given not in INTERPOLATIONS:
        raise ParameterError(f"plan.interpolation must be 'linear' or 'hold', got {quoted(given)}")


def check_times(times: Array) -> None:
    """Raise ParameterError unless times [s], shape (N,), are finite, >= 0 and increase."""
    check_finite('times', times)
    if not times[0] >= 0.0:
        raise ParameterError(f'plan.times must not be negative, got {times[0]:.9g} at first')
    falls = np.flatnonzero(~(np.diff(times) > 0))
    if falls.size:
        k = int(falls[0])
        raise ParameterError(
            f'plan.times must increase: times[{k}] is {times[k]:.9g}, the next {times[k + 1]:.9g}'
        )
    if not times[-1] - times[0] >= MIN_DURATION:
        raise ParameterError(
            f'plan.times must span {MIN_DURATION:g} or more, got {times[-1] - times[0]:.9g}'
        )


def check_finite(name: str, values: Array, columns: Sequence[str] = ()) -> None:
    """Raise ParameterError naming the first number, in any shape and unit, that is not finite."""
    if np.isfinite(values).all():
        return
    where = np.argwhere(~np.isfinite(values))[0]
    place = ''.join(f'[{k}]' for k in where)
    column = f' ({printable(columns[where[-1]], LONGEST_NAME)})' if columns else ''
    raise ParameterError(
        f'plan.{name} must be finite, got {values[tuple(where)]} for {name}{place}{column}'
    )

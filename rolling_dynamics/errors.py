"""Exceptions, and helpers for their texts: printable text, and suggestions of similar names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
import sys
import traceback
from typing import Any, get_args

LARGEST = sys.float_info.max
PLUGIN_OF: dict[str, str] = {}  # plug-in by the top package of one of its roles


class RollingError(Exception):
    """
    Base class of every exception that the suite raises on purpose.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario, RollingError
    >>> try:
    ...     load_scenario('spining_plate')
    ... except RollingError as error:
    ...     print(str(error).partition(';')[0])
    no file 'spining_plate', and no example of that name

    """


class ParameterError(RollingError, ValueError):
    """A physical parameter, a state or an option lies outside its range."""


class ExpressionError(RollingError, ValueError):
    """A formula given as text cannot be understood."""


class SurfaceError(RollingError, ValueError):
    """A chart is not a regular surface at a point, or two surfaces cannot roll there."""


class ScenarioError(RollingError, ValueError):
    """An entry of a scenario is missing, misspelt or out of range; the text names its path."""


class SimulationError(RollingError, RuntimeError):
    """An integration could not be carried to its end."""


class JammingError(SimulationError):
    """An impact under Coulomb friction does not come to an end."""


class PlanningError(RollingError, RuntimeError):
    """There is no plan; the text names the constraint that could not be met."""


class CancelledError(RollingError):
    """The caller requested the work to stop."""


class ConformanceError(RollingError):
    """A system violates its interface; the text has a line for each check that failed."""


def origin(error: BaseException) -> str:
    """Return the plug-in, file and line that raised an exception; empty if there is none."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        package = str(frame.f_globals.get('__name__', '')).partition('.')[0]
        if package in PLUGIN_OF:
            code = frame.f_code
            where = f'{package}/{Path(code.co_filename).name}, line {line}, in {code.co_name}'
            return f'plug-in {PLUGIN_OF[package]!r} ({where})'
    return ''


def described(error: BaseException) -> str:
    """Return origin, type and text of an unexpected exception."""
    text, where = f'{type(error).__name__}: {error}', origin(error)
    return f'{where}: {text}' if where else text


LONGEST = 500  # characters of a message that contains such text
LONGEST_NAME = 80  # characters of a name of a topic, type, frame, joint or node
LEFT_OUT = '...'


def printable(text: object, longest: int = LONGEST) -> str:
    """
    Return a text on one line, without control characters and of limited length.

    Parameters
    ----------
    text
        Any text: a name, a sentence, an exception.
    longest
        Number of characters that are kept; a longer text ends in ``...``.

    Returns
    -------
    str
        The text, with a blank for each line break and a question mark for every other unprintable
        character, such as escape sequences and marks of writing direction.

    """
    given = str(text)
    kept = given if len(given) <= longest else given[: longest - len(LEFT_OUT)] + LEFT_OUT
    return kept if kept.isprintable() else ''.join(map(_shown, kept))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return ' ' if character.isspace() else '?'


def quoted(text: object, longest: int = LONGEST_NAME) -> str:
    """Return a name in quotes, see :func:`printable`."""
    return repr(printable(text, longest))


def nearest(given: str, known: Iterable[str]) -> str:
    """Return the name most similar to the given one, empty if none is similar."""
    import difflib  # noqa: PLC0415  (only errors need it)

    return next(iter(difflib.get_close_matches(given, list(known), n=1, cutoff=0.6)), '')


def suggestion(given: str, known: Sequence[str]) -> str:
    """Return ``; did you mean ...? ...``: the most similar name, and all known ones."""
    close = nearest(str(given), known)
    hint = f'did you mean {close!r}? ' if close else ''
    return f'; {hint}there are: {", ".join(known)}' if known else ''


def check_names(given: Iterable[str], known: Sequence[str], what: str) -> None:
    """
    Reject a name that does not exist.

    Parameters
    ----------
    given
        Names.
    known
        Names that exist.
    what
        Start of the error, such as ``weights.tracking: no state``.

    Raises
    ------
    ParameterError
        A name is unknown; the text gives the most similar one and all known names.

    """
    for name in given:
        if name not in known:
            raise ParameterError(f'{what} {quoted(name)}{suggestion(name, known)}')


def check_choice(name: str, given: object, choices: Any) -> None:  # noqa: ANN401  a Literal
    """Raise ParameterError unless a value is in a ``Literal`` or a collection."""
    known = get_args(choices) or tuple(choices)
    if given not in known:
        raise ParameterError(f'{name} must be one of {known}, got {given!r}')


def check_positive(
    name: str, value: object, unit: str = '', *, zero: bool = False, most: float = LARGEST
) -> None:
    """
    Reject a number that is not positive, or several of which one is not.

    Parameters
    ----------
    name
        Start of the error.
    value, unit
        A number, or numbers, and their unit.
    zero
        Whether they may be zero.
    most
        Maximum; infinity if a number need not be finite.

    Raises
    ------
    ParameterError
        A number is out of this range; the text has the given value.

    """
    given = value.ravel().tolist() if hasattr(value, 'ravel') else value
    for v in given if isinstance(given, list | tuple) else [given]:
        if not (isinstance(v, int | float) and (v > 0 or (zero and v == 0)) and v <= most):
            kind = 'zero or positive' if zero else 'positive'
            finite = ' and finite' if most == LARGEST else ''
            shown = f' [{unit}]' if unit else ''
            raise ParameterError(f'{name} must be {kind}{finite}{shown}, got {given!r}')

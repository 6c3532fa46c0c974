"""Names that are like one that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from rolling_dynamics.errors import ParameterError
from rolling_dynamics.text import quoted


def nearest(given: str, known: Iterable[str]) -> str:
    """Return the name most like the given one, empty if none is like it."""
    import difflib  # noqa: PLC0415  (only errors need it)

    return next(iter(difflib.get_close_matches(given, list(known), n=1, cutoff=0.6)), '')


def suggestion(given: str, known: Sequence[str]) -> str:
    """Return ``; did you mean ...? ...``: the name most like the given one, and all there are."""
    close = nearest(str(given), known)
    hint = f'did you mean {close!r}? ' if close else ''
    return f'; {hint}there are: {", ".join(known)}' if known else ''


def check_names(given: Iterable[str], known: Sequence[str], what: str) -> None:
    """
    Refuse a name that does not exist.

    Parameters
    ----------
    given
        Names.
    known
        Names that exist.
    what
        What they name, for the error: ``weights.tracking: no state``, say.

    Raises
    ------
    ParameterError
        A name is unknown; the text gives the one most like it and all there are.

    """
    for name in given:
        if name not in known:
            raise ParameterError(f'{what} {quoted(name)}{suggestion(name, known)}')


def check_choice(name: str, given: object, choices: Any) -> None:  # noqa: ANN401  a Literal
    """Raise ParameterError unless a value is one of those of a ``Literal``."""
    known = get_args(choices)
    if given not in known:
        raise ParameterError(f'{name} must be one of {known}, got {given!r}')

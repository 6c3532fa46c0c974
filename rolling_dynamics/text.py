"""Text that came from outside, as it may stand in a log, in diagnostics and in an answer."""

from __future__ import annotations

LONGEST = 500  # characters of a message in which such text stands
LONGEST_NAME = 80  # characters of a name: of a topic, a type, a frame, a joint, a node
LEFT_OUT = '...'


def printable(text: object, longest: int = LONGEST) -> str:
    """
    Return a text on one line, without control characters and not longer than stated.

    Parameters
    ----------
    text
        Whatever came: a name, a sentence, an exception.
    longest
        Number of characters that are kept; what is longer ends in ``...``.

    Returns
    -------
    str
        The text, with a blank for each line break and a question mark for every other character
        that is not printable: those of escape sequences, marks that turn the direction of writing.

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

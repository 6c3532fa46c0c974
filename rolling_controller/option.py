"""A number of a law that a user may choose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """
    A number that a user may choose.

    Attributes
    ----------
    name
        Name, possibly dotted.
    default, low, high
        Value if nothing is chosen, least and greatest value.
    text
        What it means, in one line.
    unit
        SI unit; the empty string if dimensionless.

    """

    name: str
    default: float
    low: float
    high: float
    text: str
    unit: str = ''

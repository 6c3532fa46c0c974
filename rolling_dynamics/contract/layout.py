"""Layout of a state, control or parameter vector: names, units, frames, angles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.suggestion import suggestion
from rolling_dynamics.text import quoted

if TYPE_CHECKING:
    import casadi as ca

KINDS = ('vector', 'angle', 'quaternion', 'turn')


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A named block of a vector.

    Attributes
    ----------
    name
        Name in monogram notation, for example ``w_WH_H``.
    components
        Scalar names, as they stand in messages and files.
    unit
        SI unit of every component; the empty string if dimensionless.
    frame
        Frame in which the components are expressed, or the empty string.
    kind
        ``vector``, ``angle`` (each component may be shifted by whole turns), ``quaternion``
        (four components w, x, y, z of a unit quaternion) or ``turn`` (two components of one,
        cosine and sine of half the angle about an axis).
    text
        What it means, in one line.
    scale
        A deviation that matters, in the unit; for a quaternion, of its rotation [rad]. Default
        weights of a regulator follow from it.

    """

    name: str
    components: tuple[str, ...]
    unit: str
    frame: str = ''
    kind: str = 'vector'
    text: str = ''
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Refuse an entry that no vector can hold."""
        if self.kind not in KINDS:
            raise ParameterError(f'{self.name}: kind must be one of {KINDS}, got {self.kind!r}')
        if self.kind == 'quaternion' and len(self.components) != 4:
            raise ParameterError(f'{self.name}: a quaternion has 4 components w, x, y, z')
        if self.kind == 'turn' and len(self.components) != 2:
            raise ParameterError(f'{self.name}: a turn has 2 components')
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise ParameterError(f'{self.name}: scale must be positive, got {self.scale!r}')

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.components)

    @property
    def has_unit_norm(self) -> bool:
        """Whether its components make a vector of norm 1."""
        return self.kind in {'quaternion', 'turn'}


def vector_entry(
    name: str, unit: str, frame: str = '', text: str = '', suffixes: Sequence[str] = 'xyz'
) -> Entry:
    """Return an entry whose components are the name with a suffix each."""
    return Entry(name, tuple(f'{name}_{s}' for s in suffixes), unit, frame, 'vector', text)


def quaternion_entry(name: str, text: str = '') -> Entry:
    """Return the entry of a unit quaternion, order w, x, y, z."""
    return Entry(name, tuple(f'{name}_{s}' for s in 'wxyz'), '', '', 'quaternion', text)


@dataclass(frozen=True)
class Layout:
    """
    Ordered entries of a vector.

    Attributes
    ----------
    entries
        The blocks, in order; names are unique.
    defaults
        Values of entries that :meth:`pack` may leave out.

    """

    entries: tuple[Entry, ...]
    defaults: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a name that stands twice."""
        for names in ([e.name for e in self.entries], self.names):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ParameterError(f'layout: {twice} named twice')

    @cached_property
    def names(self) -> list[str]:
        """Scalar names, in order."""
        return [c for e in self.entries for c in e.components]

    @cached_property
    def size(self) -> int:
        """Length of the vector."""
        return len(self.names)

    @cached_property
    def _slices(self) -> dict[str, slice]:
        start, out = 0, {}
        for e in self.entries:
            out[e.name] = slice(start, start + e.size)
            start += e.size
        return out

    def __contains__(self, name: object) -> bool:
        """Tell whether an entry has this name."""
        return name in self._slices

    def entry(self, name: str) -> Entry:
        """Return the entry of this name, or raise ParameterError naming those that exist."""
        self.slice(name)
        return next(e for e in self.entries if e.name == name)

    def slice(self, name: str) -> slice:
        """Return where the entry stands, or raise ParameterError naming those that exist."""
        try:
            return self._slices[name]
        except KeyError:
            known = list(self._slices)
            raise ParameterError(f'no entry {quoted(name)}{suggestion(name, known)}') from None

    def index(self, name: str, what: str = 'no entry') -> NDArray[np.int_]:
        """
        Return where an entry, or a single number, stands in the vector.

        Parameters
        ----------
        name
            Name of an entry or of one of its components.
        what
            What is said of a name that does not exist.

        Raises
        ------
        ParameterError
            There is no such name; the text gives the one most like it and all there are.

        """
        where = self._indices.get(name)
        if where is None:
            raise ParameterError(f'{what} {quoted(name)}{suggestion(name, list(self._indices))}')
        return where

    @cached_property
    def _indices(self) -> dict[str, NDArray[np.int_]]:
        numbers = np.arange(self.size)
        entries = {e.name: numbers[self._slices[e.name]] for e in self.entries}
        return entries | {c: numbers[k : k + 1] for k, c in enumerate(self.names)}

    def pack(self, **values: ArrayLike) -> NDArray[np.float64]:
        """
        Return the vector made of one array for each entry.

        Parameters
        ----------
        values
            One array for each entry; entries with a default may be left out.

        Returns
        -------
        NDArray
            Shape (size,).

        Raises
        ------
        ParameterError
            An entry is unknown, missing, of the wrong length, or not finite.

        """
        for name in values:
            self.slice(name)
        out = np.empty(self.size)
        for e in self.entries:
            if e.name in values:
                given = np.asarray(values[e.name], dtype=float).reshape(-1)
            elif e.name in self.defaults:
                given = np.asarray(self.defaults[e.name], dtype=float)
            else:
                raise ParameterError(f'{e.name} is missing ({e.size} numbers: {e.text})')
            if given.size != e.size:
                raise ParameterError(f'{e.name} takes {e.size} numbers, got {given.size}')
            out[self._slices[e.name]] = given
        if not np.isfinite(out).all():
            for name, given in self.unpack(out).items():
                if not np.isfinite(given).all():
                    raise ParameterError(f'{name} must be finite, got {given.tolist()}')
        return out

    def split(self, x: ca.SX) -> dict[str, ca.SX]:
        """Return the entries of an expression, by name."""
        return {name: x[s] for name, s in self._slices.items()}

    def unpack(self, x: ArrayLike) -> dict[str, NDArray[np.float64]]:
        """Return the entries of vectors x, shape (..., size), as views by name."""
        array = np.asarray(x, dtype=float)
        if array.shape[-1:] != (self.size,):
            raise ParameterError(f'a vector of {self.size} numbers is needed, got {array.shape}')
        return {name: array[..., s] for name, s in self._slices.items()}

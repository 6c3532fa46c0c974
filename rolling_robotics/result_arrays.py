"""The arrays of a result file, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


class Arrays:
    """The arrays of a result, by name."""

    def __init__(self, result: dict[str, Any]) -> None:
        """Wrap a result."""
        self.result = result
        self._arrays = result['arrays']

    def __contains__(self, name: object) -> bool:
        """Tell whether there is an array of this name."""
        return name in self._arrays

    def __getitem__(self, name: str) -> Values:
        """Return its values; null has become NaN."""
        return np.array(self._arrays[name]['values'], dtype=float)

    def names(self) -> list[str]:
        """Return the names of all arrays."""
        return list(self._arrays)

    def unit(self, name: str) -> str:
        """Return the unit of an array."""
        return str(self._arrays[name]['unit'])

    def components(self, name: str) -> list[str]:
        """Return the names of its columns."""
        return list(self._arrays[name]['components'])

    def text(self, name: str) -> str:
        """Return what it is."""
        return str(self._arrays[name]['text'])

    def parameter(self, name: str) -> float:
        """Return a parameter that is one number."""
        return float(self.result['parameters'][name]['values'][0])

    @property
    def time(self) -> Values:
        """Output times [s]."""
        return self['time']

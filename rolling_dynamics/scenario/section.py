# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""One mapping of a checked scenario, with its path for error messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import RollingError, ScenarioError
from rolling_dynamics.scenario.formulas import LARGEST, number


@contextmanager
def located(path: str) -> Iterator[None]:
    """Put the path of an entry before the text of an error raised inside."""
    try:
        yield
    except ScenarioError:
        raise
    except RollingError as e:
        raise ScenarioError(f'{path}: {e}') from None


class Section:
    """
    A mapping and where it stands.

    Attributes
    ----------
    values
        Plain data that fulfils its schema.
    path
        Path of the mapping, empty at the top.

    """

    def __init__(self, values: Mapping[str, Any], path: str = '') -> None:
        """Wrap a mapping."""
        self.values, self.path = values, path

    def __contains__(self, key: object) -> bool:
        """Tell whether an entry is there."""
        return key in self.values

    def __getitem__(self, key: str) -> Any:
        """Return an entry as it stands."""
        return self.values[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Return an entry as it stands, or the default."""
        return self.values.get(key, default)

    def at(self, key: str = '') -> str:
        """Return the path of an entry."""
        return f'{self.path}.{key}' if self.path and key else self.path or key

    def fail(self, key: str, text: str) -> ScenarioError:
        """Return an error about an entry."""
        return ScenarioError(f'{self.at(key)}: {text}')

    def section(self, key: str) -> Section:
        """Return an entry that is a mapping; empty if it is not there."""
        return Section(self.values.get(key) or {}, self.at(key))

    def only(self) -> str:
        """Return the name of the only entry."""
        return next(iter(self.values))

    def number(self, key: str, default: float | None = None) -> float:
        """Return an entry that is a number, or the default."""
        if key not in self.values and default is not None:
            return default
        with located(self.at(key)):
            return number(self.values[key])

    def numbers(self, key: str, default: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return an entry of nested lists of numbers as an array, or the default."""
        if key not in self.values and default is not None:
            return np.array(default, dtype=float)
        with located(self.at(key)):
            return numbers(self.values[key], self.at(key))


def numbers(values: Any, path: str) -> NDArray[np.float64]:
    """Return nested lists of numbers as an array, or raise ScenarioError naming the entry."""
    if isinstance(values, list) and all(
        type(v) in {int, float} and abs(v) <= LARGEST for v in values
    ):
        return np.array(values, dtype=float)

    def evaluate(value: Any, where: str) -> Any:
        if isinstance(value, list):
            return [evaluate(v, f'{where}[{k}]') for k, v in enumerate(value)]
        with located(where):
            return number(value)

    try:
        return np.array(evaluate(values, path), dtype=float)
    except (ValueError, TypeError) as e:
        if isinstance(e, ScenarioError):
            raise
        raise ScenarioError(f'{path}: the rows differ in length, got {values!r}') from None

"""
Lie brackets and controllability of kinematic systems.

Brackets are expressions, differentiated by CasADi; [f, g] = Dg f - Df g. The Lie algebra of the
fields is spanned by brackets whose left member is f or a g_i; one that is a combination of earlier
ones with constant coefficients brings nothing new and is left out, so that a finite-dimensional
algebra closes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.control_affine import AffineFields

RANK_TOLERANCE = 1e-9  # relative to the greatest singular value
SAMPLES = 12  # states at which a bracket is compared with the earlier ones


def lie_bracket(f: ca.SX, g: ca.SX, x: ca.SX) -> ca.SX:
    """Return [f, g] = Dg f - Df g."""
    return ca.jtimes(g, x, f) - ca.jtimes(f, x, g)


def divergence(f: ca.SX, x: ca.SX, volume: ca.SX | float = 1.0) -> ca.SX:
    """Return the divergence of f for a volume density: sum of d(volume f_i)/dx_i over volume."""
    return ca.trace(ca.jacobian(volume * f, x)) / volume


@dataclass(frozen=True, eq=False, kw_only=True)
class LieAlgebra:
    """
    Brackets of a system by depth.

    Attributes
    ----------
    fields
        The system.
    names, brackets
        Names such as ``[f, alpha_s]`` and expressions, in the order of their depth.
    depths
        Depth of each, from 1.
    closed
        Whether no deeper bracket is new: then the algebra is complete.
    generic_growth
        Rank at a general state up to each depth.

    """

    fields: AffineFields
    names: tuple[str, ...]
    brackets: tuple[ca.SX, ...]
    depths: tuple[int, ...]
    closed: bool
    generic_growth: tuple[int, ...]
    _values: list[ca.Function] = field(default_factory=list, repr=False)

    def values(self, x: ArrayLike, held: ArrayLike) -> NDArray[np.float64]:
        """Return all brackets at a state as columns, shape (n, count)."""
        if not self._values:
            self._values.append(self.fields.function(ca.horzcat(*self.brackets)))
        return np.array(self._values[0](np.asarray(x, dtype=float), np.asarray(held, dtype=float)))

    def growth(self, x: ArrayLike, held: ArrayLike) -> tuple[int, ...]:
        """Return the rank at a state up to each depth."""
        values, depths = self.values(x, held), np.array(self.depths)
        return tuple(rank(values[:, depths <= d]) for d in range(1, max(depths) + 1))

    def rank(self, x: ArrayLike, held: ArrayLike) -> int:
        """Return the rank of the whole algebra at a state."""
        return rank(self.values(x, held))

    def weakest(self, x: ArrayLike, held: ArrayLike) -> float:
        """
        Return the singular value that decides about full rank at a state.

        Zero where it is lost.
        """
        s = np.linalg.svd(self.values(x, held), compute_uv=False)
        return float(s[self.fields.dimension - 1]) if s.size >= self.fields.dimension else 0.0


def rank(values: NDArray[np.float64]) -> int:
    """Return the rank of a matrix whose columns are vector fields at a state."""
    s = np.linalg.svd(values, compute_uv=False)
    return int(np.sum(s > RANK_TOLERANCE * max(s[0], 1e-300))) if s.size else 0


def lie_algebra(
    fields: AffineFields, *, depth: int = 6, most: int = 60, seed: int = 0
) -> LieAlgebra:
    """
    Return the Lie algebra of f and all g_i, until it closes or its rank stops growing.

    Parameters
    ----------
    fields
        The system.
    depth
        Greatest depth. Growth at a general state is over for good once one depth adds nothing; at
        a singular state it may pause, which is why the brackets go on to this depth.
    most
        Greatest number of brackets.
    seed
        Of the states at which brackets are compared.

    """
    generators = dict(fields.fields)
    if fields.drift is not None:
        generators = {'f': fields.drift, **generators}
    rng = np.random.default_rng(seed)
    held = rng.uniform(0.3, 1.1, fields.held.numel())
    states = [fields.random_state(rng) for _ in range(SAMPLES)]
    independent = _Independent(fields, states, held)
    level = [(n, g) for n, g in generators.items() if independent.accepts(g)]
    found, growth, closed = [(n, g, 1) for n, g in level], [independent.rank], False
    for d in range(2, depth + 1):
        new: list[tuple[str, ca.SX]] = []
        for name, g in level:
            for left, f in generators.items():
                bracket = lie_bracket(f, g, fields.x)
                if len(found) + len(new) < most and independent.accepts(bracket):
                    new.append((f'[{left}, {name}]', bracket))
        if not new:
            closed = True
            break
        found += [(n, g, d) for n, g in new]
        growth.append(independent.rank)
        level = new
    return LieAlgebra(
        fields=fields,
        names=tuple(n for n, _, _ in found),
        brackets=tuple(g for _, g, _ in found),
        depths=tuple(d for _, _, d in found),
        closed=closed and len(found) < most,
        generic_growth=tuple(growth),
    )


class _Independent:
    """Which fields are no combination of earlier ones with constant coefficients."""

    def __init__(
        self,
        fields: AffineFields,
        states: Sequence[NDArray[np.float64]],
        held: NDArray[np.float64],
    ) -> None:
        self._fields, self._states, self._held = fields, states, held
        self._basis: list[NDArray[np.float64]] = []
        self._first: list[NDArray[np.float64]] = []

    def accepts(self, g: ca.SX) -> bool:
        function = self._fields.function(g)
        values = [np.array(function(x, self._held)).ravel() for x in self._states]
        vector = np.concatenate(values)
        size = np.linalg.norm(vector)
        if size < 1e-13:
            return False
        rest = vector / size
        for _ in range(2):  # Gram-Schmidt, twice is enough
            for b in self._basis:
                rest = rest - b * (b @ rest)
        left = np.linalg.norm(rest)
        if left < 1e-8:
            return False
        self._basis.append(rest / left)
        self._first.append(values[0])
        return True

    @property
    def rank(self) -> int:
        return rank(np.column_stack(self._first))

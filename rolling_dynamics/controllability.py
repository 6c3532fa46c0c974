"""Controllability of systems: Lie brackets, singular sets, control-affine form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import smooth_mode
from rolling_dynamics.contract.rolling_system import Layout, RollingSystem, Symbols
from rolling_dynamics.errors import ParameterError
from scipy.optimize import minimize_scalar


@dataclass(frozen=True, eq=False, kw_only=True)
class AffineFields:
    """
    A control-affine system and its constants.

    Attributes
    ----------
    x
        Symbols of the state.
    held
        Symbols that are constant along a motion: parameters, then inputs that do not enter
        linearly.
    held_names
        Their names.
    drift
        f(x), None if it vanishes identically.
    fields
        Input name -> g(x).
    layout
        Layout of x, used to draw random states.
    dimension
        Dimension of the state space.

    """

    x: ca.SX
    held: ca.SX
    held_names: tuple[str, ...]
    drift: ca.SX | None
    fields: Mapping[str, ca.SX]
    layout: Layout
    dimension: int

    def function(self, expression: ca.SX) -> ca.Function:
        """Return ``(x, held) -> expression``."""
        return ca.Function('value', [self.x, self.held], [ca.densify(expression)])

    def random_state(self, rng: np.random.Generator) -> Array:
        """Return a random state, each component within +-1.2, quaternions of norm 1."""
        x = rng.uniform(-1.2, 1.2, self.layout.size)
        for entry in self.layout.entries:
            if entry.has_unit_norm:
                x[self.layout.slice(entry.name)] /= np.linalg.norm(
                    x[self.layout.slice(entry.name)]
                )
        return x

    def without(self, *names: str) -> AffineFields:
        """Return the system without some of its inputs."""
        for name in names:
            if name not in self.fields:
                raise ParameterError(f'no input {name!r}; there are: {", ".join(self.fields)}')
        kept = {n: g for n, g in self.fields.items() if n not in names}
        return replace(self, fields=kept)


def affine_fields(system: RollingSystem) -> AffineFields:
    """
    Return the vector fields of a kinematic system.

    Inputs that do not enter linearly together with the earlier ones, such as angles, are held.

    Parameters
    ----------
    system
        A system whose mode has no wrench.

    Raises
    ------
    ParameterError
        The system is dynamic, which needs other brackets.

    """
    mode = smooth_mode(system)
    if mode.wrench is not None:
        raise ParameterError(
            f'{system.name}: is a dynamic system (it has a contact wrench); Lie brackets are '
            'computed for kinematic ones, such as spin_rolling_sphere'
        )
    x, u, _, p = Symbols.of(system.state, system.control, system.parameters)
    xdot = mode.dynamics(x, u, 0, p)
    columns = ca.jacobian(xdot, u)
    affine: list[int] = []
    for j in range(u.numel()):
        trial = [*affine, j]
        if not ca.depends_on(columns[:, trial], u[trial]):
            affine = trial
    rest = [j for j in range(u.numel()) if j not in affine]
    zero = ca.SX.zeros(len(affine), 1)
    drift = ca.substitute(xdot, u[affine], zero)
    names = system.control.names
    return AffineFields(
        x=x,
        held=ca.vertcat(p, u[rest]),
        held_names=(*system.parameters.names, *(names[j] for j in rest)),
        drift=None if ca.simplify(drift).nnz() == 0 or _vanishes(drift, x, p, u[rest]) else drift,
        fields={names[j]: columns[:, j] for j in affine},
        layout=system.state,
        dimension=system.tangent.size,
    )


def _vanishes(drift: ca.SX, x: ca.SX, p: ca.SX, rest: ca.SX) -> bool:
    f, rng = ca.Function('f', [x, p, rest], [drift]), np.random.default_rng(0)
    values = [
        np.abs(np.array(f(*(rng.uniform(0.3, 1.2, s.numel()) for s in (x, p, rest))))).max()
        for _ in range(5)
    ]
    return bool(max(values) < 1e-14)


RANK_TOLERANCE = 1e-9  # relative to the largest singular value
SAMPLES = 12  # states at which a bracket is compared with the earlier ones
MOST = 60  # brackets


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
        Whether deeper brackets add nothing, so that the algebra is complete.
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

    def values(self, x: ArrayLike, held: ArrayLike) -> Array:
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
        Return the singular value that determines full rank at a state.

        It is zero where rank is lost.
        """
        s = np.linalg.svd(self.values(x, held), compute_uv=False)
        return float(s[self.fields.dimension - 1]) if s.size >= self.fields.dimension else 0.0


def rank(values: Array) -> int:
    """Return the rank of a matrix whose columns are vector fields at a state."""
    s = np.linalg.svd(values, compute_uv=False)
    return int(np.sum(s > RANK_TOLERANCE * max(s[0], 1e-300))) if s.size else 0


def lie_algebra(fields: AffineFields, *, depth: int = 6) -> LieAlgebra:
    """
    Return the Lie algebra of f and all g_i, until it closes or its rank stops growing.

    Parameters
    ----------
    fields
        The system.
    depth
        Maximum depth. At a general state, growth ends at the first depth that adds nothing. At a
        singular state it may resume, which is why brackets are computed up to this depth.

    """
    generators = dict(fields.fields)
    if fields.drift is not None:
        generators = {'f': fields.drift, **generators}
    rng = np.random.default_rng(0)
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
                if len(found) + len(new) < MOST and independent.accepts(bracket):
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
        closed=closed and len(found) < MOST,
        generic_growth=tuple(growth),
    )


class _Independent:
    """Finds the fields that are not combinations of earlier ones with constant coefficients."""

    def __init__(self, fields: AffineFields, states: Sequence[Array], held: Array) -> None:
        self._fields, self._states, self._held = fields, states, held
        self._basis: list[Array] = []
        self._first: list[Array] = []

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


GRID = 361  # points per turn at which zeros are searched for
SMALL = 1e-7  # of the median of |value| over the scan


@dataclass(frozen=True)
class SingularSet:
    """``form = value``, on which a function is ``zero`` or ``infinite`` for any other angles."""

    form: str
    value: float
    kind: str

    def __str__(self) -> str:
        """Return it as text, the value in parts of pi."""
        fraction = round(self.value / math.pi, 6) + 0.0  # no minus zero
        return f'{self.form} = {fraction:.4g} pi ({self.kind})'


def singular_sets(
    function: Callable[[Array], float], names: Sequence[str], *, trials: int = 4
) -> list[SingularSet]:
    """
    Return the sets a_i = c, a_i + a_j = c, a_i - a_j = c on which a function is singular.

    Parameters
    ----------
    function
        Of the angles, shape (n,), [rad].
    names
        Names of the angles.
    trials
        Number of random values of the other angles for which the set must be the same.

    Returns
    -------
    list of SingularSet
        With values in (-pi, pi]; a sum is given only if neither of its angles alone is singular.

    """
    rng = np.random.default_rng(0)
    starts = rng.uniform(-1.1, 1.1, (trials, len(names)))
    found: list[SingularSet] = []
    scans = {
        (i, t): _scan(function, starts[t], i) for i in range(len(names)) for t in range(trials)
    }
    for kind in ('zero', 'infinite'):
        alone: dict[int, list[float]] = {}
        for i, name in enumerate(names):
            alone[i] = _common([scans[i, t][kind] for t in range(trials)])
            found += [SingularSet(name, c, kind) for c in alone[i]]
        for i, j in combinations(range(len(names)), 2):
            for sign, mark in ((1, '+'), (-1, '-')):
                shifted = [
                    [
                        _turn(z + sign * starts[t][j])
                        for z in scans[i, t][kind]
                        if not _near(z, alone[i])
                    ]
                    for t in range(trials)
                ]
                found += [
                    SingularSet(f'{names[i]} {mark} {names[j]}', c, kind) for c in _common(shifted)
                ]
    return found


def _turn(z: float) -> float:
    """Return an angle in (-pi, pi]."""
    out = math.remainder(z, 2 * math.pi)
    return math.pi if abs(out + math.pi) < 1e-6 else out


def _near(z: float, values: Sequence[float]) -> bool:
    return any(abs(math.remainder(z - v, 2 * math.pi)) < 1e-4 for v in values)


def _common(lists: Sequence[Sequence[float]]) -> list[float]:
    """Return the values that are in every list."""
    return [z for z in lists[0] if all(_near(z, other) for other in lists[1:])]


def _scan(function: Callable[[Array], float], start: Array, i: int) -> dict[str, list[float]]:
    """Return the zeros and poles along one angle, the others constant."""

    def magnitude(z: float, power: int = 1) -> float:
        x = start.copy()
        x[i] = z
        value = abs(function(x))
        return value if power == 1 else 1 / max(value, 1e-300)

    grid = np.linspace(-math.pi, math.pi, GRID)[1:] + 1.234e-4
    values = np.array([magnitude(z) for z in grid])
    step, median = grid[1] - grid[0], float(np.median(values))
    out: dict[str, list[float]] = {}
    inverse = 1 / np.maximum(values, 1e-300)
    for kind, power, data in (('zero', 1, values), ('infinite', -1, inverse)):
        scale = median if power == 1 else 1 / max(median, 1e-300)
        out[kind] = []
        low = np.flatnonzero((data <= np.roll(data, 1)) & (data <= np.roll(data, -1)))
        for k in low:
            best = minimize_scalar(
                magnitude,
                bounds=(grid[k] - step, grid[k] + step),
                args=(power,),
                method='bounded',
                options={'xatol': 1e-10},
            )
            if best.fun < SMALL * scale and not _near(best.x, out[kind]):
                out[kind].append(_turn(float(best.x)))
    return out

"""Steps and functions of many trajectories at once, by vectorised machine code or by CasADi."""

from __future__ import annotations

from collections.abc import Callable
import ctypes
from functools import cache, cached_property
from importlib.resources import files
import logging
from pathlib import Path
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.batch.trajectories import (
    Array,
    Attempt,
    Batch,
    Equations,
    equations,
    MappedKernel,
)
from rolling_dynamics.batch.vector_source import adaptive_source, vector_source, vectors
from rolling_dynamics.compiled import cache_folder, compiled_source, compiles
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.simulation.guards import in_mode

LOG = logging.getLogger(__name__)
CARRIED = ('x', 'u', 'p', 'levels', 't', 'goal', 'stop', 'mode', 'h')  # arrays of a step


class VectorKernel:
    """Machine code on vectors; no trajectory depends on another."""

    compiled = True

    def __init__(self, equations: Equations, file: str, real: str) -> None:
        """Load a library made of :func:`kernel_source`."""
        self.width = vectors().lanes(real)
        self._real = np.dtype(real if real == 'double' else 'float32')
        self._count = np.dtype(np.int64 if real == 'double' else np.int32)
        self._guards = len(equations.names)
        self._library = ctypes.CDLL(file)

    def carry(self, batch: Batch, number: int, longest: float) -> int:
        """
        Advance trajectories to their goals by classical Runge-Kutta steps of order 4, in place.

        A trajectory stops before a step after which a guard is below its level or the state is not
        finite. It also stops before a step in which the slip direction turns, by a cosine below
        the level that follows those of the guards. ``batch.h`` then holds the length of that step,
        else 0.

        Parameters
        ----------
        batch
            Trajectories, a multiple of ``width``.
        number
            Index of the mode; only running trajectories in it are advanced.
        longest
            Longest step [s]; the remaining time is divided evenly.

        Returns
        -------
        int
            Number of trajectories that stopped.

        """
        stride = batch.x.strides[0] // batch.x.itemsize
        given = (batch.addresses[name] for name in CARRIED)
        return int(self._carry(batch.size, stride, *given, number, longest))

    @cached_property
    def _carry(self) -> Callable[..., int]:
        """The C function of :meth:`carry`; converting its arguments here is faster."""
        carry: Any = self._library.carry
        arrays = [ctypes.c_void_p] * len(CARRIED)
        carry.argtypes = [ctypes.c_long, ctypes.c_long, *arrays, ctypes.c_long, ctypes.c_double]
        carry.restype = ctypes.c_long
        return carry  # type: ignore[no-any-return]

    def dop853(
        self, batch: Batch, rate: Array, h: Array, asked: Array, tolerance: tuple[float, float]
    ) -> Attempt:
        """
        Try a step of the Dormand-Prince method of order 8.

        Parameters
        ----------
        batch
            Trajectories, a multiple of ``width``.
        rate
            Rates of their states.
        h
            Length of the step of each trajectory [s].
        asked
            Mask of the trajectories to step.
        tolerance
            Relative and absolute tolerance.

        """
        attempt = Attempt.empty(len(batch.x), batch.size)
        given = (batch.x, rate, batch.u, batch.slope, batch.p, batch.t, h, batch.levels)
        counts = asked.astype(self._count)
        self._call('dop853', batch, *given, counts, *tolerance, *attempt)
        return attempt

    def rates(self, batch: Batch) -> Array:
        """Return the rates of the states."""
        out = np.empty((len(batch.x), batch.size))
        self._call('rates_at', batch, batch.x, batch.u, batch.p, batch.t, out)
        return out

    def guards(self, batch: Batch) -> Array:
        """Return the guards, shape (guards, trajectories), in their units."""
        out = np.empty((self._guards, batch.size), self._real)
        clocks = batch.t.astype(self._real)
        self._call('watch', batch, batch.x, batch.u, batch.p, clocks, out)
        return out

    def _call(self, name: str, batch: Batch, *given: Array | float) -> None:
        """Call a function of the library, with Python's lock released."""
        getattr(self._library, name)(
            ctypes.c_long(batch.size),
            ctypes.c_long(batch.x.strides[0] // batch.x.itemsize),
            *(
                ctypes.c_double(a)
                if isinstance(a, float)
                else ctypes.c_void_p(a.__array_interface__['data'][0])
                for a in given
            ),
        )


Kernel: TypeAlias = MappedKernel | VectorKernel


def kernel_of(system: RollingSystem, mode: str, real: str, method: str) -> Kernel:
    """Return the kernel of a mode of a system; its machine code is loaded once."""
    made = _loaded(system, mode, real, method, cache_folder()) if compiles() else None
    return made or MappedKernel(equations(system, mode), in_mode(system, mode))


@once_per_system
def _loaded(
    system: RollingSystem, mode: str, real: str, method: str, _folder: Path
) -> VectorKernel | None:
    return compiled_kernel(equations(system, mode), real, method)


def compiled_kernel(equations: Equations, real: str, method: str) -> VectorKernel | None:
    """Return machine code; None where it cannot be made."""
    try:
        source = kernel_source(equations, real, method)
    except ParameterError as error:
        LOG.warning('batches are evaluated by CasADi, which is slower: %s', error)
        return None
    file = compiled_source('batch', source, vectors().target(real))
    return None if file is None else VectorKernel(equations, str(file), real)


def kernel_source(equations: Equations, real: str, method: str) -> str:
    """Return the C of a mode's steps."""
    sizes = {
        'NX': equations.dynamics.numel_in(0),
        'NU': equations.dynamics.numel_in(1),
        'NP': equations.dynamics.numel_in(3),
        'NG': len(equations.names),
        'NS': 0 if equations.slip is None else equations.slip.numel_out(0),
    }
    lines = [*vectors().preamble(real), *(f'#define {n} {size}' for n, size in sizes.items())]
    for function in equations.functions:
        lines += vector_source(function)
    lines.append(c_text('vectors.c'))
    if method == 'DOP853':
        lines += [*adaptive_source(), c_text('adaptive.c')]
    elif method == 'RK4':
        lines.append(c_text('fixed.c'))
    return '\n'.join(lines)


@cache
def c_text(name: str) -> str:
    """Return a file of C of this folder."""
    return files(__package__).joinpath(name).read_text()


APPLIED = """
void apply(long lanes, const casadi_real *in, casadi_real *out) {{
  for (long b = 0; b < lanes; b += LANES) {{
    V given[{given} + 1], made[{made} + 1];
    for (int i = 0; i < {given}; ++i) memcpy(&given[i], in + i * lanes + b, sizeof(V));
    {name}({inputs}, made);
    for (int i = 0; i < {made}; ++i) memcpy(out + i * lanes + b, &made[i], sizeof(V));
  }}
}}
"""


class VectorFunction:
    """
    A function that is evaluated for many columns at a time.

    Attributes
    ----------
    compiled
        Whether it is machine code; without a compiler CasADi evaluates it, which is slower.

    """

    def __init__(self, function: ca.Function, columns: int) -> None:
        """
        Compile the function, unless it has been compiled before.

        Parameters
        ----------
        function
            Function of scalar expressions, all inputs and its output dense.
        columns
            Number of columns.

        """
        self._columns = columns
        self._sizes = [function.numel_in(k) for k in range(function.n_in())]
        file = _library(function, np.cumsum([0, *self._sizes]).tolist()) if compiles() else None
        self.compiled = file is not None
        width = vectors().lanes('double') if self.compiled else 1
        padded = -(-columns // width) * width
        self._given = np.zeros((sum(self._sizes), padded))
        self._made = np.zeros((function.numel_out(0), padded))
        self._mapped = None if self.compiled else function.map(columns)
        self._apply = ctypes.CDLL(str(file)).apply if self.compiled else None

    def __call__(self, *given: ArrayLike) -> Array:
        """
        Return the output, shape (size of the output, columns), a view until the next call.

        Parameters
        ----------
        given
            Shape (size of the input, columns) each, or (size of the input,) where all columns
            have the same.

        """
        first = 0
        for size, values in zip(self._sizes, given, strict=True):
            array = np.asarray(values, dtype=float)
            where = self._given[first : first + size, : self._columns]
            where[...] = array if array.ndim == 2 else array[:, None]
            first += size
        if self._mapped is not None:
            parts = np.split(self._given, np.cumsum(self._sizes)[:-1])
            return np.array(self._mapped(*parts))
        assert self._apply is not None  # noqa: S101 - machine code is available
        addresses = (ctypes.c_void_p(a.ctypes.data) for a in (self._given, self._made))
        self._apply(ctypes.c_long(self._given.shape[1]), *addresses)
        return self._made[:, : self._columns]


def _library(function: ca.Function, ends: list[int]) -> Path | None:
    """Return the machine code of a function; None where there is no compiler or it fails."""
    applied = APPLIED.format(
        name=function.name(),
        given=ends[-1],
        made=function.numel_out(0),
        inputs=', '.join(f'given + {end}' for end in ends[:-1]),
    )
    source = '\n'.join([*vectors().preamble('double'), *vector_source(function), applied])
    return compiled_source('batch', source, vectors().target('double'))

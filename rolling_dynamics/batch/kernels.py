"""Steps of many lanes at a time: by machine code of vectors, else by CasADi's own map."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.resources import files
import logging
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.batch.equations import Equations
from rolling_dynamics.batch.lanes import Array, Lanes
from rolling_dynamics.batch.mapped import MappedKernel
from rolling_dynamics.batch.processor import vectors
from rolling_dynamics.batch.vector_source import vector_source
from rolling_dynamics.compiled import compiled_source, compiles
from rolling_dynamics.errors import ParameterError

LOG = logging.getLogger(__name__)


class Kernel(Protocol):
    """What is evaluated for each lane; nothing that one lane gets depends on another."""

    compiled: bool
    width: int

    def rk4(self, lanes: Lanes, h: Array, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """
        Take classical Runge-Kutta steps of order 4; states are changed in place.

        A lane stops before a step after which a guard is below its level, or the state is not
        finite.

        Parameters
        ----------
        lanes
            As many as a multiple of ``width``.
        h
            Length of a step of each lane [s].
        steps
            How many steps each lane is to take.

        Returns
        -------
        NDArray
            How many it took.

        """
        ...

    def guards(self, lanes: Lanes) -> Array:
        """Return the guards, a row for each."""
        ...


class VectorKernel:
    """Machine code whose numbers are vectors."""

    compiled = True

    def __init__(self, equations: Equations, file: str, real: str) -> None:
        """Load a library made of :func:`kernel_source`."""
        self.width = vectors().lanes(real)
        self._real = np.dtype(real if real == 'double' else 'float32')
        self._count = np.dtype(np.int64 if real == 'double' else np.int32)
        self._guards = len(equations.names)
        library = ctypes.CDLL(file)
        self._rk4, self._watch = library.rk4, library.watch
        self._rk4.argtypes = [ctypes.c_long] * 2 + [ctypes.c_void_p] * 8
        self._watch.argtypes = [ctypes.c_long] * 3 + [ctypes.c_void_p] * 5
        self._rk4.restype = self._watch.restype = None

    def rk4(self, lanes: Lanes, h: Array, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """See :class:`Kernel`."""
        counts, taken = steps.astype(self._count), np.zeros(lanes.size, self._count)
        given = (lanes.t.astype(self._real), h.astype(self._real), lanes.levels, counts, taken)
        self._rk4(lanes.size, _stride(lanes), *map(_address, (lanes.x, lanes.u, lanes.p, *given)))
        return taken.astype(np.int64)

    def guards(self, lanes: Lanes) -> Array:
        """See :class:`Kernel`."""
        out = np.empty((self._guards, lanes.size), self._real)
        given = (lanes.x, lanes.u, lanes.p, lanes.t.astype(self._real), out)
        self._watch(lanes.size, _stride(lanes), lanes.size, *map(_address, given))
        return out


def kernel(equations: Equations, real: str) -> Kernel:
    """Return the kernel of a mode: machine code where there is a compiler."""
    if compiles():
        try:
            source = kernel_source(equations, real)
        except ParameterError as error:
            LOG.warning('a batch goes by CasADi: %s', error)
            return MappedKernel(equations)
        file = compiled_source('batch', source, vectors().target(real))
        if file is not None:
            return VectorKernel(equations, str(file), real)
    return MappedKernel(equations)


def kernel_source(equations: Equations, real: str) -> str:
    """Return the C of a mode's steps."""
    sizes = {
        'NX': equations.dynamics.numel_in(0),
        'NU': equations.dynamics.numel_in(1),
        'NP': equations.dynamics.numel_in(3),
        'NG': len(equations.names),
    }
    lines = [*vectors().preamble(real), *(f'#define {n} {size}' for n, size in sizes.items())]
    for function in equations.functions:
        lines += vector_source(function)
    return '\n'.join(lines) + '\n' + _steps()


@cache
def _steps() -> str:
    return files(__package__).joinpath('kernel.c').read_text()


def _stride(lanes: Lanes) -> int:
    return lanes.x.strides[0] // lanes.x.itemsize


def _address(array: Array) -> int:
    return array.ctypes.data

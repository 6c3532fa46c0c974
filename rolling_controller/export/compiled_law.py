"""An exported law that runs here: its C, compiled for this machine."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
import shutil
import subprocess
from tempfile import TemporaryDirectory
from typing import Any, cast, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.export.c import CSource
from rolling_controller.law import as_function, Law, LawFunction
from rolling_controller.step_law import VectorLaw
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Layout
from rolling_dynamics.errors import ParameterError

OPTIONS = ('-std=c99', '-O1', '-ffp-contract=off', '-shared', '-fPIC')
TYPES = {'double': np.float64, 'float': np.float32}


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledLaw:
    """
    A law that steps in C; see :class:`rolling_controller.law.Law`.

    Attributes
    ----------
    source
        Its C.
    real
        Type of its numbers in C.

    """

    source: CSource
    real: Literal['double', 'float'] = 'double'

    @property
    def law(self) -> VectorLaw:
        """The law that was exported."""
        return self.source.law

    @property
    def opaque(self) -> str:
        """Reason why the law that was exported is not one function."""
        return self.law.opaque

    def as_function(self) -> LawFunction:
        """Return the law that was exported as a function of vectors."""
        return as_function(cast('Law[Any]', self.law))

    @property
    def inputs(self) -> Layout:
        """Layout of measurement, then set point."""
        return self.law.inputs

    @property
    def output(self) -> Layout:
        """Layout of the output of a step."""
        return self.law.output

    @property
    def period(self) -> float:
        """Time between two steps [s]."""
        return self.law.period

    @cached_property
    def _functions(self) -> tuple[Any, Any]:
        library = _loaded(self.source, self.real)
        start, step = (
            getattr(library, f'{self.source.name}_{what}') for what in ('start', 'step')
        )
        return start, step

    def start(self, before: Array | None = None) -> Array:  # noqa: ARG002
        """Return a struct of C, shape (state.size,); raise ParameterError where none compiles."""
        z = np.zeros(self.law.state.size, TYPES[self.real])
        self._functions[0](_address(z))
        return z

    def step(self, memory: Array, inputs: ArrayLike, t: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Return memory and output after a measurement; see :meth:`start`."""
        z, out = memory.astype(TYPES[self.real]), np.zeros(self.output.size, TYPES[self.real])
        with np.errstate(over='ignore'):  # too much for a float is not a measurement either
            given = np.asarray(inputs, dtype=float).astype(z.dtype)
        place, goal = (part.copy() for part in np.split(given, [self.law.measurement.size]))
        self._functions[1](*(_address(v) for v in (z, place, goal, out)))
        return z, out.astype(float)


def _address(values: NDArray[np.floating]) -> ctypes.c_void_p:
    return ctypes.c_void_p(values.ctypes.data)


def _loaded(source: CSource, real: str) -> ctypes.CDLL:
    compiler = shutil.which('cc')
    if compiler is None:
        raise ParameterError('an exported law needs a C compiler to run here: there is no `cc`')
    with TemporaryDirectory() as folder:
        source.write(Path(folder))
        define = f'-D{source.name.upper()}_REAL={real}'
        command = [compiler, *OPTIONS, define, f'{source.name}.c', '-o', 'law.so']
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise ParameterError(f'`{" ".join(command)}` failed: {done.stderr.strip()}')
        return ctypes.CDLL(str(Path(folder) / 'law.so'))  # stays loaded when the file is gone

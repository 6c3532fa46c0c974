"""An exported law that runs here: its C, compiled for this machine."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
import shutil
import subprocess
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.export.c import CSource
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError

OPTIONS = ('-std=c99', '-O1', '-ffp-contract=off', '-shared', '-fPIC')
TYPES = {'double': np.float64, 'float': np.float32}


@dataclass(frozen=True, eq=False, kw_only=True)
class CompiledLaw:
    """
    A law that steps in C.

    Attributes
    ----------
    source
        The law.
    period
        Time between two steps [s].
    outputs
        Numbers that a step returns.
    real
        Type of its numbers in C.

    """

    source: CSource
    period: float
    outputs: int
    real: Literal['double', 'float'] = 'double'

    def start(self) -> RunningCompiled:
        """Return the law at its start; raise ParameterError where it cannot be compiled."""
        return RunningCompiled(self)


class RunningCompiled:
    """
    The law with its state.

    Attributes
    ----------
    z
        Its state, a struct of numbers in C.

    """

    def __init__(self, law: CompiledLaw) -> None:
        """Compile and load it."""
        name, library = law.source.name, _loaded(law.source, law.real)
        self._begin, self._step = (
            getattr(library, f'{name}_{what}') for what in ('start', 'step')
        )
        self.z = np.zeros(law.source.state, TYPES[law.real])
        self._out = np.zeros(law.outputs, TYPES[law.real])
        self.begin()

    def begin(self) -> None:
        """Go back to the start."""
        self._begin(_address(self.z))

    def step(self, measurement: ArrayLike, set_point: ArrayLike) -> Array:
        """Return the output after a measurement; see :meth:`RunningLaw.step`."""
        with np.errstate(over='ignore'):  # too much for a float is no measurement either
            given = [np.ascontiguousarray(v, self.z.dtype) for v in (measurement, set_point)]
        self._step(*(_address(v) for v in (self.z, *given, self._out)))
        return self._out.astype(float)


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

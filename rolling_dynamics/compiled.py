"""
Machine code for CasADi functions, cached by content.

A function is written out as C once, compiled by the system's compiler and kept in a cache folder
under a name that is a hash of its content; where there is no compiler, CasADi's virtual machine
evaluates it instead, with the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import hashlib
from itertools import accumulate, pairwise
import os
from pathlib import Path
import shutil
import subprocess
import tempfile

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGE = 600_000  # bytes of C beyond which optimisation costs more than it gives
FLAGS = ('-shared', '-fPIC', '-fno-math-errno')
USUAL, LOOPS, LITTLE = '-O2', '-O3', '-O1'  # levels of optimisation


def cache_folder() -> Path:
    """Return the folder of compiled code: $ROLLING_CACHE_DIR, else below the user's cache."""
    given = os.environ.get('ROLLING_CACHE_DIR')
    if given:
        return Path(given)
    return Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'rolling_robotics'


def compiler() -> str | None:
    """Return the C compiler: $CC, else the first of cc, gcc, clang; None if there is none."""
    if os.environ.get('ROLLING_NO_COMPILER'):
        return None
    for name in (os.environ.get('CC'), 'cc', 'gcc', 'clang'):
        found = shutil.which(name) if name else None
        if found:
            return found
    return None


def compiled(*functions: ca.Function) -> tuple[ca.Function, ...]:
    """
    Return the same functions as machine code.

    Parameters
    ----------
    functions
        Functions of distinct names; they share one library.

    Returns
    -------
    tuple of casadi.Function
        Compiled, or the functions as given where there is no compiler or it fails.

    """
    cc = compiler()
    if cc is None:
        return functions
    content = ''.join(f.serialize() for f in functions)
    library = _library(functions[0].name(), content, cc, USUAL)
    if not library.exists() and not _build(functions, cc, library, USUAL):
        return functions
    return tuple(ca.external(f.name(), str(library)) for f in functions)


def compiled_once(
    content: str,
    names: Sequence[str],
    build: Callable[[], tuple[ca.Function, ...]],
    level: str = USUAL,
) -> tuple[ca.Function, ...]:
    """
    Return functions that follow from a content, building them only if they are not in the cache.

    Parameters
    ----------
    content
        Text that determines the functions, for instance the serialized function of which they are
        derivatives, with a version of how they are derived.
    names
        Their names, in order.
    build
        Returns them.
    level
        Level of optimisation: ``USUAL``, or ``LOOPS`` for functions that loop over vectors, which
        takes nearly half as much time again to compile and a sixth less to run.

    Returns
    -------
    tuple of casadi.Function
        Compiled, or as built where there is no compiler or it fails.

    """
    cc = compiler()
    if cc is None:
        return build()
    library = _library(names[0], content, cc, level)
    if not library.exists():
        functions = build()
        if not _build(functions, cc, library, level):
            return functions
    return tuple(ca.external(name, str(library)) for name in names)


def _library(name: str, content: str, cc: str, level: str) -> Path:
    digest = hashlib.sha256(f'{ca.__version__} {FLAGS} {level} {os.path.realpath(cc)}'.encode())
    digest.update(content.encode())
    return cache_folder() / f'{name}_{digest.hexdigest()[:24]}.so'


def _build(functions: Sequence[ca.Function], cc: str, library: Path, level: str) -> bool:
    """Write and compile; put the library in place in one step, so that others never see half."""
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as folder:
            generator = ca.CodeGenerator('code.c', {'with_header': False})
            for f in functions:
                generator.add(f)
            source = Path(folder, 'code.c')
            source.write_text(generator.dump())
            built = Path(folder, 'code.so')
            chosen = level if source.stat().st_size < LARGE else LITTLE
            done = subprocess.run(  # noqa: S603  the compiler that the user has
                [cc, *FLAGS, chosen, str(source), '-o', str(built), '-lm'],
                capture_output=True,
                check=False,
            )
            if done.returncode != 0:
                return False
            built.replace(library)
    except OSError:
        return False
    return True


class FastFunction:
    """
    A function called without CasADi's conversions: arrays in, one preallocated array out.

    One call costs a fraction of a microsecond plus the function itself. Not for use from two
    threads at once.

    Attributes
    ----------
    inputs, output
        Arrays that are read and written in place.
    call
        Evaluates at what stands in ``inputs``.

    """

    def __init__(self, function: ca.Function) -> None:
        """
        Bind buffers to a function with dense inputs and one dense output.

        Parameters
        ----------
        function
            Compiled or not.

        """
        self.function = function
        self._buffer, self.call = function.buffer()
        sizes = (function.nnz_in(k) for k in range(function.n_in()))
        self._ends = list(accumulate(sizes, initial=0))
        self._given = np.zeros(self._ends[-1])
        self.inputs = [self._given[a:b] for a, b in pairwise(self._ends)]
        for k, array in enumerate(self.inputs):
            self._buffer.set_arg(k, memoryview(array.data))
        sparsity = function.sparsity_out(0)
        self.output = np.zeros(function.nnz_out(0))
        self._buffer.set_res(0, memoryview(self.output.data))
        if not sparsity.is_dense():
            raise ValueError(f'{function.name()}: a dense output is needed')

    def __call__(self, *values: ArrayLike) -> NDArray[np.float64]:
        """Return the output as a new array, entries in column-major order."""
        for array, value in zip(self.inputs, values, strict=True):
            array[:] = value
        self.call()
        return self.output.copy()

    def side_by_side(self, first: int, end: int) -> NDArray[np.float64]:
        """Return inputs of one size, from one up to another, as the rows of one array."""
        return self._given[self._ends[first] : self._ends[end]].reshape(end - first, -1)

    def evaluate(self) -> NDArray[np.float64]:
        """Evaluate at what stands in ``inputs``; return the output's own array."""
        self.call()
        return self.output

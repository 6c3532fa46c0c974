"""What the processor at hand can do with vectors, and the C that stands before all else."""

from __future__ import annotations

from collections.abc import Iterator
import ctypes
from functools import cache
from typing import NamedTuple

from rolling_dynamics.batch.vector_source import FUNCTIONS, OF_TWO
from rolling_dynamics.compiled import Target
from rolling_dynamics.fingerprint import processor_features

LEVEL = '-O2'
_AVX512 = '-mavx512f -mavx512dq -mavx512vl -mprefer-vector-width=512'


class Vectors(NamedTuple):
    """
    Vectors of a processor.

    Attributes
    ----------
    width
        Size of one [byte].
    options
        What the compiler is told.
    library
        Letter of their functions in the GNU C library's vector mathematics, empty without them.

    """

    width: int
    options: str
    library: str

    def lanes(self, real: str) -> int:
        """Return how many numbers there are in one."""
        return self.width // (8 if real == 'double' else 4)

    def target(self, real: str) -> Target:
        """Return what machine code is made for."""
        return Target(LEVEL, real, f'{self.options} -Wno-psabi'.strip())

    def preamble(self, real: str) -> Iterator[str]:
        """Yield the C of the vector types and of the functions of a vector."""
        lanes = self.lanes(real)
        yield '#include <math.h>'
        yield '#include <string.h>'
        yield f'#define LANES {lanes}'
        yield f'typedef {"long long" if real == "double" else "int"} lane_int;'
        yield f'typedef casadi_real V __attribute__((vector_size({self.width})));'
        yield f'typedef lane_int M __attribute__((vector_size({self.width})));'
        yield 'static const V zero = {0};'
        yield '#define one (zero + (casadi_real)1)'
        yield ('static inline V choose(M m, V a, V b) { return (V)(((M)a & m) | ((M)b & ~m)); }')
        yield 'static inline V truth(M m) { return choose(m, one, zero); }'
        for name in ('sqrt', 'fabs', *FUNCTIONS):
            yield self._function(name, real)

    def _function(self, name: str, real: str) -> str:
        """Return the C of one function of a vector: a library's own, or number by number."""
        single = name if real == 'double' else f'{name}f'
        two = name in OF_TWO
        own = f'_ZGV{self.library}N{self.lanes(real)}{"vv" if two else "v"}_{single}'
        if self.library and own in _vector_library(own):
            return f'V {own}(V{", V" if two else ""});\n#define lane_{name} {own}'
        given, passed = ('V a, V b', 'a[k], b[k]') if two else ('V a', 'a[k]')
        return (
            f'static inline V lane_{name}({given}) {{\n'
            f'  V r; for (int k = 0; k < LANES; ++k) r[k] = {single}({passed}); return r;\n}}'
        )


@cache
def vectors() -> Vectors:
    """Return the widest vectors of this processor."""
    features = processor_features()
    if {'avx512f', 'avx512dq', 'avx512vl'} <= features:
        return Vectors(64, _AVX512, 'e')
    if 'avx2' in features:
        return Vectors(32, '-mavx2', 'd')
    return Vectors(16, '', 'b' if 'sse2' in features else '')


@cache
def _vector_library(symbol: str) -> tuple[str, ...]:
    """Return the symbol if the GNU C library's vector mathematics has it."""
    try:
        return (symbol,) if hasattr(ctypes.CDLL('libmvec.so.1'), symbol) else ()
    except OSError:
        return ()

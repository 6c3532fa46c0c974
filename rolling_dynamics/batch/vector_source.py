"""C code of functions and adaptive steps on SIMD vectors of this processor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
import ctypes
from functools import cache
import math
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.compiled import Target
from rolling_dynamics.compiled.source import NumberType, statement
from rolling_dynamics.fingerprint import processor_features
from rolling_dynamics.simulation.dormand_prince import (
    EXTRA,
    GUARDED,
    interpolation_weights,
    POWER,
    SAMPLES,
    STAGES,
)
from scipy.integrate import DOP853

_EXACT = {
    ca.OP_ASSIGN: '{0}',
    ca.OP_LIFT: '{0}',
    ca.OP_ADD: '{0}+{1}',
    ca.OP_SUB: '{0}-{1}',
    ca.OP_MUL: '{0}*{1}',
    ca.OP_DIV: '{0}/{1}',
    ca.OP_NEG: '-{0}',
    ca.OP_INV: 'one/{0}',
    ca.OP_SQ: '{0}*{0}',
    ca.OP_TWICE: '{0}+{0}',
    ca.OP_SQRT: 'lane_sqrt({0})',
    ca.OP_FABS: 'lane_fabs({0})',
    ca.OP_FMIN: 'choose(({0}<{1})|({1}!={1}), {0}, {1})',
    ca.OP_FMAX: 'choose(({0}>{1})|({1}!={1}), {0}, {1})',
    ca.OP_SIGN: 'truth({0}>zero)-truth({0}<zero)',
    ca.OP_LT: 'truth({0}<{1})',
    ca.OP_LE: 'truth({0}<={1})',
    ca.OP_EQ: 'truth({0}=={1})',
    ca.OP_NE: 'truth({0}!={1})',
    ca.OP_NOT: 'truth({0}==zero)',
    ca.OP_AND: 'truth(({0}!=zero)&({1}!=zero))',
    ca.OP_OR: 'truth(({0}!=zero)|({1}!=zero))',
    ca.OP_IF_ELSE_ZERO: 'choose({0}!=zero, {1}, zero)',
}
_LIBRARY = {
    ca.OP_SIN: 'sin',
    ca.OP_COS: 'cos',
    ca.OP_TAN: 'tan',
    ca.OP_ASIN: 'asin',
    ca.OP_ACOS: 'acos',
    ca.OP_ATAN: 'atan',
    ca.OP_ATAN2: 'atan2',
    ca.OP_SINH: 'sinh',
    ca.OP_COSH: 'cosh',
    ca.OP_TANH: 'tanh',
    ca.OP_EXP: 'exp',
    ca.OP_LOG: 'log',
    ca.OP_POW: 'pow',
    ca.OP_CONSTPOW: 'pow',
    ca.OP_HYPOT: 'hypot',
    ca.OP_FLOOR: 'floor',
    ca.OP_CEIL: 'ceil',
    ca.OP_FMOD: 'fmod',
    ca.OP_COPYSIGN: 'copysign',
    ca.OP_EXPM1: 'expm1',
    ca.OP_LOG1P: 'log1p',
}
FUNCTIONS = tuple(sorted(set(_LIBRARY.values())))
OF_TWO = ('atan2', 'copysign', 'fmod', 'hypot', 'pow')
_CALLS = {
    operation: f'lane_{name}({"{0}, {1}" if name in OF_TWO else "{0}"})'
    for operation, name in _LIBRARY.items()
}


def vector_source(function: ca.Function) -> Iterator[str]:
    """
    Yield lines of C that define a function of vectors, named as it is.

    Parameters
    ----------
    function
        Function of scalar expressions, all inputs and outputs dense.

    Raises
    ------
    ParameterError
        It has an operation without a vector form.

    """
    inputs = [f'const V *restrict in{k}' for k in range(function.n_in())]
    outputs = [f'V *restrict out{k}' for k in range(function.n_out())]
    yield f'static void {function.name()}({", ".join(inputs + outputs)}) {{'
    if function.sz_w():
        yield f'  V {", ".join(f"a{k}" for k in range(function.sz_w()))};'
    reciprocal = _reciprocals(function)
    taken: set[int] = set()
    for k in range(function.n_instructions()):
        if k not in reciprocal:
            yield f'  {statement(function, k, _NUMBERS, "in{}[{}]".format, "out{}[{}]".format)};'
            continue
        made, (above, below) = function.instruction_output(k)[0], function.instruction_input(k)
        one = reciprocal[k]
        if one not in taken:
            taken.add(one)
            yield f'  const V r{one} = one/a{below};'
        yield f'  a{made} = a{above}*r{one};'
    yield '}'


def _reciprocals(function: ca.Function) -> dict[int, int]:
    """Return the divisions that have a denominator in common, with its index."""
    made: dict[int, int] = {}  # operation that wrote the number at a position
    of: dict[int, int] = {}
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        if operation == ca.OP_DIV:
            of[k] = made[function.instruction_input(k)[1]]
        if operation != ca.OP_OUTPUT:
            made[function.instruction_output(k)[0]] = k
    often = Counter(of.values())
    return {k: denominator for k, denominator in of.items() if often[denominator] > 1}


def _constant(value: float) -> str:
    """Return a vector of a constant."""
    if math.isnan(value):
        text = 'NAN'
    elif math.isinf(value):
        text = 'INFINITY' if value > 0 else '(-INFINITY)'
    else:
        text = f'({value.hex()})'
    return f'zero + (casadi_real){text}'


_NUMBERS = NumberType('a{}', _constant, _EXACT | _CALLS)
_LAST = len(DOP853.C)


def adaptive_source() -> Iterator[str]:
    """Yield the C that precedes ``adaptive.c``: stages, errors and dense output of a step."""
    yield f'#define STAGES {_LAST + 1 + len(EXTRA)}'
    yield f'#define LAST {_LAST}'
    yield f'#define POWER {POWER}'
    yield f'#define SAMPLES {SAMPLES}'
    yield 'typedef struct { const V *x, *u, *slope, *p; V t, h; } Step;'
    yield 'static void rates(const Step *s, double part, const V *z, V *out) {'
    yield '  V u[NU + 1];'
    yield '  const V later = s->h * (casadi_real)part, now = s->t + later;'
    yield '  for (int i = 0; i < NU; ++i) u[i] = s->u[i] + s->slope[i] * later;'
    yield '  dynamics(z, u, &now, s->p, out);'
    yield '}'
    yield 'static void stages(const Step *s, V K[STAGES][NX + 1], V *y) {'
    yield '  V z[NX + 1];'
    for k in range(1, _LAST):
        yield f'  {_each(f"z[i] = s->x[i] + s->h * ({_combined(DOP853.A[k][:k])})")}'
        yield f'  rates(s, {STAGES[k - 1]!r}, z, K[{k}]);'
    yield f'  {_each(f"z[i] = s->x[i] + s->h * ({_combined(DOP853.B)})")}'
    yield '  project(z, s->p, y);'
    yield f'  rates(s, 1.0, y, K[{_LAST}]);'
    yield '}'
    yield 'static void dense_output('
    yield '    const Step *s, V K[STAGES][NX + 1], const V *y, V F[POWER][NX + 1]) {'
    yield '  V z[NX + 1];'
    for k, (a, part) in enumerate(zip(DOP853.A_EXTRA, EXTRA, strict=True), _LAST + 1):
        yield f'  {_each(f"z[i] = s->x[i] + s->h * ({_combined(a[:k])})")}'
        yield f'  rates(s, {part!r}, z, K[{k}]);'
    yield '  for (int i = 0; i < NX; ++i) {'
    yield '    const V delta = y[i] - s->x[i];'
    yield '    F[0][i] = delta;'
    yield '    F[1][i] = s->h * K[0][i] - delta;'
    yield '    F[2][i] = delta + delta - s->h * (K[LAST][i] + K[0][i]);'
    for k, row in enumerate(DOP853.D, 3):
        yield f'    F[{k}][i] = s->h * ({_combined(row)});'
    yield '  }'
    yield '}'
    yield 'static void errors(V K[STAGES][NX + 1], int i, V *five, V *three) {'
    yield f'  *five = {_combined(DOP853.E5)};'
    yield f'  *three = {_combined(DOP853.E3)};'
    yield '}'
    rows = ', '.join(f'{{{", ".join(map(repr, row))}}}' for row in _weights())
    yield f'static const casadi_real WEIGHTS[SAMPLES + 1][POWER] = {{{rows}}};'


def _weights() -> list[list[float]]:
    rows: list[list[float]] = interpolation_weights(GUARDED).tolist()
    return rows


def _each(statement: str) -> str:
    return f'for (int i = 0; i < NX; ++i) {statement};'


def _combined(weights: Sequence[float]) -> str:
    """Return a linear combination of the rates at the stages."""
    return ' + '.join(
        f'(casadi_real){float(w)!r} * K[{k}][i]' for k, w in enumerate(weights) if w != 0
    )


LEVEL = '-O2'
_AVX512 = '-mavx512f -mavx512dq -mavx512vl -mprefer-vector-width=512'


class Vectors(NamedTuple):
    """
    SIMD vectors of a processor.

    Attributes
    ----------
    width
        Size of a vector [byte].
    options
        Options of the compiler.
    library
        Letter of their functions in the GNU C library's vector mathematics; may be empty.

    """

    width: int
    options: str
    library: str

    def lanes(self, real: str) -> int:
        """Return how many numbers a vector holds."""
        return self.width // (8 if real == 'double' else 4)

    def target(self, real: str) -> Target:
        """Return the target of the machine code."""
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
        """Return the C of one function of a vector: from a library, or element by element."""
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

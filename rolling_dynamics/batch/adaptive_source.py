"""C for the stages of the Dormand-Prince method of order 8, from the coefficients of SciPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rolling_dynamics.simulation.dormand_prince import (
    EXTRA,
    GUARDED,
    interpolation_weights,
    POWER,
    SAMPLES,
    STAGES,
)
from scipy.integrate import DOP853

_LAST = len(DOP853.C)


def adaptive_source() -> Iterator[str]:
    """Yield the C that stands before ``adaptive.c``: stages, errors and dense output of a step."""
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
    """Return a combination of the rates at the stages."""
    return ' + '.join(
        f'(casadi_real){float(w)!r} * K[{k}][i]' for k, w in enumerate(weights) if w != 0
    )

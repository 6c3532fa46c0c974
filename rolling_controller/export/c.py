"""
A law in discrete time as C99: one header and one source, without allocation.

The function of the law is a sequence of scalar operations; each becomes one line of C in the same
order. In double precision the results are bit-identical where the compiler keeps to IEEE
arithmetic (``-ffp-contract=off`` where the processor can fuse a product and a sum). Only square
roots, by Newton's method, and the sines of another library may differ in the last bit. Laws of
rigs need no library. Laws with the equations of any machine use sines and roots of C's library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.step_law import StepLaw, VectorLaw
from rolling_dynamics.compiled.source import NumberType, statement
from rolling_dynamics.contract.rolling_system import Layout
from rolling_dynamics.errors import ParameterError, quoted

OPERATIONS = {
    ca.OP_ASSIGN: '{0}',
    ca.OP_NEG: '-{0}',
    ca.OP_SQ: '{0} * {0}',
    ca.OP_TWICE: '2 * {0}',
    ca.OP_FABS: '{0} < 0 ? -{0} : {0}',
    ca.OP_FLOOR: 'floor_of({0})',
    ca.OP_NOT: '{0} == 0',
    ca.OP_SQRT: 'root_of({0})',
    ca.OP_ADD: '{0} + {1}',
    ca.OP_SUB: '{0} - {1}',
    ca.OP_MUL: '{0} * {1}',
    ca.OP_DIV: '{0} / {1}',
    ca.OP_LT: '{0} < {1}',
    ca.OP_LE: '{0} <= {1}',
    ca.OP_EQ: '{0} == {1}',
    ca.OP_NE: '{0} != {1}',
    ca.OP_AND: '{0} != 0 && {1} != 0',
    ca.OP_OR: '{0} != 0 || {1} != 0',
    ca.OP_FMIN: '{0} < {1} ? {0} : {1}',
    ca.OP_FMAX: '{0} > {1} ? {0} : {1}',
    ca.OP_IF_ELSE_ZERO: '{0} != 0 ? {1} : 0',
}
OF_ONE = 'sqrt', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'exp', 'log', 'sinh', 'cosh', 'tanh'
CALLS = {
    **OPERATIONS,
    ca.OP_DIV: '{1} != 0 ? {0} / {1} : 0',
    ca.OP_INV: '{0} != 0 ? 1 / {0} : 0',
    ca.OP_SIGN: '({0} > 0) - ({0} < 0)',
    **{getattr(ca, f'OP_{name.upper()}'): f'CALL({name}, {{0}})' for name in OF_ONE},
    ca.OP_ATAN2: 'CALL(atan2, {0}, {1})',
    ca.OP_POW: 'CALL(pow, {0}, {1})',
    ca.OP_CONSTPOW: 'CALL(pow, {0}, {1})',
}

HELPERS = {
    'CALL': """
#include <math.h>
#define CALL(name, ...) \\
  (sizeof(REAL) == sizeof(float) ? (REAL)name##f(__VA_ARGS__) : (REAL)name(__VA_ARGS__))
""",
    'floor_of': """
static REAL floor_of(REAL value) {
  REAL whole;
  if (!(value < (REAL)1e9 && value > (REAL)-1e9)) {
    return value;
  }
  whole = (REAL)(long)value;
  return whole > value ? whole - 1 : whole;
}
""",
    'root_of': """
/* Square root by Newton's method from above, within 1e-30 and 1e30. */
static REAL root_of(REAL value) {
  REAL root = 1, scaled = value;
  int k;
  if (!(value > (REAL)1e-30)) {
    return 0;
  }
  for (k = 0; k < 50 && scaled > 4; ++k) {
    scaled /= 4;
    root *= 2;
  }
  for (k = 0; k < 50 && scaled < 1; ++k) {
    scaled *= 4;
    root /= 2;
  }
  root *= 2;
  for (k = 0; k < 6; ++k) {
    root = (root + value / root) / 2;
  }
  return root;
}
""",
}


@dataclass(frozen=True)
class CSource:
    """
    A law as C.

    Attributes
    ----------
    name
        Of its files, ``name.h`` and ``name.c``, and before the names in them.
    header, source
        Their texts.
    operations
        Arithmetic operations and comparisons of a step: the same at every one.
    work
        Numbers that a step keeps on the stack.
    law
        The law.
    control
        ``(output, p) -> control of the plant``; None where the output is that.

    """

    name: str
    header: str
    source: str
    operations: int
    work: int
    law: VectorLaw
    control: ca.Function | None = None

    def write(self, folder: Path) -> list[Path]:
        """Write both files; return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f'{self.name}.{suffix}' for suffix in ('h', 'c')]
        for path, text in zip(paths, (self.header, self.source), strict=True):
            path.write_text(text, encoding='utf-8')
        return paths


def as_c(law: StepLaw, *, library: bool = False) -> CSource:
    """
    Return a law as C.

    Parameters
    ----------
    law
        The law.
    library
        Whether it takes equations of a machine: sines and roots then come from the library of C,
        and a quotient whose denominator vanishes is zero.

    Raises
    ------
    ParameterError
        The law needs a library, or divides by what may vanish.

    """
    read = [[f'was.{n}' for n in law.state.names]]
    read += [[f'place[{k}]' for k in range(law.measurement.size)], ['seen']]
    read += [[f'goal[{k}]' for k in range(law.set_point.size)]]
    functions, steps = '', f'  const {law.name}_state was = *state;\n'
    if law.rows is None:
        read += [[f'{law.name}_gains[{k}]' for k in range(law.gains.size)]]
    else:
        read += [[f'row[{k}]' for k in range(law.rows.shape[1])]]
        last, count = len(law.rows) - 1, f'was.{law.state.names[0]}'
        functions = table(f'{law.name}_rows', law.rows)
        at = f'{count} < {last} ? (int){count} : {last}'
        steps += f'  const REAL *row = {law.name}_rows[{at}];\n'
    written = [f'state->{n}' for n in law.state.names]
    written += [f'output[{k}]' for k in range(law.output.size)]
    body = straight(law.joined, read, written, library=library)
    return CSource(
        law.name,
        header(law),
        source(law, functions, steps + body),
        operations(law.joined),
        law.joined.sz_w(),
        law,
    )


def operations(f: ca.Function) -> int:
    """Return how many arithmetic operations and comparisons a function takes."""
    moves = (ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST, ca.OP_ASSIGN)
    return sum(f.instruction_id(k) not in moves for k in range(f.n_instructions()))


def straight(
    f: ca.Function,
    read: Sequence[Sequence[str]],
    written: Sequence[str],
    *,
    library: bool = False,
) -> str:
    """
    Return the body of a function in C; raise ParameterError as :func:`as_c` does.

    Parameters
    ----------
    f
        Function of scalar operations with one vector of results.
    read, written
        C expression for each component of each argument, and for each result.
    library
        See :func:`as_c`.

    """
    if not library:
        _check_divisions(f)
    numbers = NumberType('w[{}]', number, CALLS if library else OPERATIONS)
    lines = (
        statement(f, k, numbers, lambda i, j: read[i][j], lambda _, j: written[j])
        for k in range(f.n_instructions())
    )
    return '\n'.join([f'  REAL w[{f.sz_w()}];', *(f'  {line};' for line in lines)])


def _check_divisions(f: ca.Function) -> None:
    """Raise ParameterError where a denominator is not positive for certain."""
    least: dict[int, float] = {}  # lower bounds of the available factors
    for k in range(f.n_instructions()):
        op, into, of = f.instruction_id(k), f.instruction_output(k), f.instruction_input(k)
        if op == ca.OP_DIV and not least.get(of[1], -math.inf) > 0:
            raise ParameterError(f'law {quoted(f.name())} divides by what may vanish')
        if op == ca.OP_CONST:
            least[into[0]] = f.instruction_constant(k)
        elif op != ca.OP_OUTPUT:
            least[into[0]] = _least(op, [least.get(j, -math.inf) for j in of])


def _least(op: int, of: list[float]) -> float:
    """Return a lower bound of the result of an operation, from the bounds of its operands."""
    if op in (ca.OP_FABS, ca.OP_SQ):
        return 0.0
    if op == ca.OP_ADD:
        return sum(of)
    if op == ca.OP_IF_ELSE_ZERO:
        return min(of[1], 0.0)
    if op == ca.OP_SQRT:
        return math.sqrt(max(of[0], 0.0))
    if op in (ca.OP_MUL, ca.OP_DIV) and min(of) >= 0:
        return of[0] * of[1] if op == ca.OP_MUL else 0.0
    return max(of) if op == ca.OP_FMAX else -math.inf


def number(value: float) -> str:
    """Return a constant exactly."""
    if not math.isfinite(value):
        return f'(REAL)({0.0 if math.isnan(value) else math.copysign(1.0, value)} / 0.0)'
    return f'{value:.0f}' if value == int(value) and abs(value) < 1e9 else f'(REAL){value.hex()}'


def header(law: VectorLaw) -> str:
    """Return the header of a law."""
    name, upper = law.name, law.name.upper()
    fields = '\n'.join(
        f'  {upper}_REAL {component}; /* {entry.unit or "1"} */'
        for entry in law.state.entries
        for component in entry.components
    )
    return f"""\
/* {law.text}; a step every {law.period:.9g} s */
#ifndef {upper}_H
#define {upper}_H

#ifndef {upper}_REAL
#define {upper}_REAL double
#endif

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct {{
{fields}
}} {name}_state;
{_gains(law)}
/* Puts the state at its start. */
void {name}_start({name}_state *state);

/*
 * One step. measurement: {_listed(law.measurement)};
 * what is not a number, or beyond {law.limits[0]:g}, counts as not seen.
 * set_point: {_listed(law.set_point)}; beyond {law.limits[1]:g} it counts as zero.
 * output: {_listed(law.output)}.
 */
void {name}_step({name}_state *state, const {upper}_REAL *measurement,
                 const {upper}_REAL *set_point, {upper}_REAL *output);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _gains(law: VectorLaw) -> str:
    """Return what declares the gains, empty without any."""
    if not law.gains.size:
        return ''
    return f"""
/* Gains, which may be changed between two steps: {_listed(law.gains)}. */
extern {law.name.upper()}_REAL {law.name}_gains[{law.gains.size}];
"""


def _listed(layout: Layout) -> str:
    return ', '.join(f'{c} [{e.unit}]' for e in layout.entries for c in e.components)


def source(law: VectorLaw, functions: str, steps: str) -> str:
    """
    Return the source of a law.

    Parameters
    ----------
    law
        The law.
    functions
        Text of functions that the step needs.
    steps
        Body of the step, from ``place``, ``seen`` and ``goal`` to ``output``.

    """
    name, n, m = law.name, law.measurement.size, law.set_point.size
    values = zip(law.state.names, law.start().tolist(), strict=True)
    reset = '\n'.join(f'  state->{c} = {number(v)};' for c, v in values)
    gains = f'REAL {name}_gains[{law.gains.size}] = {_row(law.tuned)};\n' if law.tuned else ''
    helpers = [text for called, text in HELPERS.items() if called in functions + steps]
    return f"""\
#include "{name}.h"

#if defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__
#error "what is not a number tells that there is no ball: compile without -ffinite-math-only"
#endif

#define REAL {name.upper()}_REAL
{gains}{''.join(helpers)}
/* Whether all values are numbers within a limit; asked in an order that raises no flag. */
static int within(const REAL *values, int count, REAL limit) {{
  int k;
  for (k = 0; k < count; ++k) {{
    if (values[k] != values[k] || values[k] >= limit || values[k] <= -limit) {{
      return 0;
    }}
  }}
  return 1;
}}
{functions}
void {name}_start({name}_state *state) {{
{reset}
}}

void {name}_step({name}_state *state, const REAL *measurement, const REAL *set_point,
                 REAL *output) {{
  REAL place[{n}], goal[{m}];
  const REAL seen = within(measurement, {n}, (REAL){law.limits[0]:.9g}) ? 1 : 0;
  const int there = within(set_point, {m}, (REAL){law.limits[1]:.9g});
  int k;
  for (k = 0; k < {n}; ++k) {{
    place[k] = seen != 0 ? measurement[k] : 0;
  }}
  for (k = 0; k < {m}; ++k) {{
    goal[k] = there ? set_point[k] : 0;
  }}
  {{
{steps}
  }}
}}
"""


def table(name: str, values: ArrayLike) -> str:
    """Return a constant array in C; ``values`` has shape (m,) or (m, n), and any unit."""
    array = np.asarray(values)
    size = ''.join(f'[{n}]' for n in array.shape)
    if array.ndim == 1:
        return f'static const REAL {name}{size} = {_row(array.tolist())};\n'
    rows = ',\n'.join(_row(row) for row in array.tolist())
    return f'static const REAL {name}{size} = {{\n{rows}}};\n'


def _row(values: Sequence[float]) -> str:
    return '{' + ',\n'.join(number(v) for v in values) + '}'

"""
C for CasADi functions whose numbers are vectors: one element for each lane of a batch.

CasADi's own C writes conditions, roots and sines in a way that only single numbers have. Its list
of operations, in the order in which its virtual machine carries them out, is written out here
instead. Where several divisions have one denominator, its reciprocal is taken once: a ball on a
plate takes 1.6 times as many steps so, for a unit in the last place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
import math

import casadi as ca
from rolling_dynamics.errors import ParameterError

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
        It has an operation that is not known here.

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
            yield f'  {_statement(function, k)};'
            continue
        made, (above, below) = function.instruction_output(k)[0], function.instruction_input(k)
        one = reciprocal[k]
        if one not in taken:
            taken.add(one)
            yield f'  const V r{one} = one/a{below};'
        yield f'  a{made} = a{above}*r{one};'
    yield '}'


def _reciprocals(function: ca.Function) -> dict[int, int]:
    """Return the divisions whose denominator is that of others too, with the number of that."""
    made: dict[int, int] = {}  # which operation the number at a place comes from
    of: dict[int, int] = {}
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        if operation == ca.OP_DIV:
            of[k] = made[function.instruction_input(k)[1]]
        if operation != ca.OP_OUTPUT:
            made[function.instruction_output(k)[0]] = k
    often = Counter(of.values())
    return {k: denominator for k, denominator in of.items() if often[denominator] > 1}


def _statement(function: ca.Function, k: int) -> str:
    """Return the C of one operation."""
    operation = function.instruction_id(k)
    given, made = function.instruction_input(k), function.instruction_output(k)
    if operation == ca.OP_INPUT:
        return f'a{made[0]} = in{given[0]}[{given[1]}]'
    if operation == ca.OP_OUTPUT:
        return f'out{made[0]}[{made[1]}] = a{given[0]}'
    if operation == ca.OP_CONST:
        return f'a{made[0]} = zero + (casadi_real){_number(function.instruction_constant(k))}'
    names = [f'a{i}' for i in given]
    if operation in _EXACT:
        return f'a{made[0]} = {_EXACT[operation].format(*names)}'
    if operation in _LIBRARY:
        return f'a{made[0]} = lane_{_LIBRARY[operation]}({", ".join(names)})'
    raise ParameterError(f'{function.name()}: operation {operation} of CasADi is not known here')


def _number(value: float) -> str:
    """Return a constant in C that is the same number."""
    if math.isnan(value):
        return 'NAN'
    if math.isinf(value):
        return 'INFINITY' if value > 0 else '(-INFINITY)'
    return f'({value.hex()})'

"""
Formulas given as text, turned into CasADi expressions.

The text is parsed, never executed: only numbers, the names that the caller allows, arithmetic and
the functions of ``FUNCTIONS`` are accepted.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
import math
import operator
import sys

import casadi as ca
from rolling_dynamics.errors import ExpressionError

FUNCTIONS = {
    name: getattr(ca, name)
    for name in (
        'sin',
        'cos',
        'tan',
        'asin',
        'acos',
        'atan',
        'atan2',
        'sinh',
        'cosh',
        'tanh',
        'exp',
        'log',
        'sqrt',
        'fabs',
        'sign',
        'fmin',
        'fmax',
        'floor',
    )
} | {'abs': ca.fabs, 'min': ca.fmin, 'max': ca.fmax, 'where': ca.if_else}
CONSTANTS = {'pi': math.pi, 'tau': 2 * math.pi, 'e': math.e}
_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_UNARY: dict[type, Callable[..., ca.SX]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_COMPARE = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
_ARITY = {'atan2': 2, 'fmin': 2, 'fmax': 2, 'min': 2, 'max': 2, 'where': 3}
MAX_LENGTH, MAX_SHOWN = 4000, 60


def parse_expression(text: str | float, symbols: Mapping[str, ca.SX]) -> ca.SX:
    """
    Return the expression that a text represents.

    Parameters
    ----------
    text
        A number, or a formula such as ``'0.1*sin(2*pi*t)'``; ``^`` is accepted for ``**``.
    symbols
        Names that may be used, in addition to ``pi``, ``tau`` and ``e``.

    Returns
    -------
    casadi.SX
        A scalar expression.

    Raises
    ------
    ExpressionError
        The text is not a formula, or uses a name or a construct that is not allowed.

    """
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise ExpressionError(f'a number or a formula is needed, got {text!r}')
    if not isinstance(text, str):
        if not abs(text) <= sys.float_info.max:
            raise ExpressionError(f'a finite number is needed, got {repr(text)[:MAX_SHOWN]}')
        return ca.SX(float(text))
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f'a formula has at most {MAX_LENGTH} characters, got {len(text)}')
    try:
        tree = ast.parse(text.strip().replace('^', '**'), mode='eval')
        return ca.SX(_evaluate(tree.body, symbols, text))
    except (SyntaxError, ValueError, OverflowError, ZeroDivisionError, RecursionError) as e:
        if isinstance(e, ExpressionError):
            raise
        raise ExpressionError(f'{text!r} is not a formula: {e}') from None


def _evaluate(node: ast.expr, symbols: Mapping[str, ca.SX], text: str) -> ca.SX:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        if isinstance(node.value, bool):
            raise ExpressionError(f'{text!r} contains something other than arithmetic')
        return ca.SX(float(node.value))
    if isinstance(node, ast.Name):
        return _name(node.id, symbols, text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node.func.id, node.args, symbols, text)
    operation, operands = _operation(node)
    if operation is None:
        raise ExpressionError(f'{text!r} contains something other than arithmetic')
    return operation(*(_evaluate(n, symbols, text) for n in operands))


def _name(name: str, symbols: Mapping[str, ca.SX], text: str) -> ca.SX:
    if name in symbols:
        return symbols[name]
    if name in CONSTANTS:
        return ca.SX(CONSTANTS[name])
    known = ', '.join([*symbols, *CONSTANTS])
    raise ExpressionError(f'{text!r} uses {name!r}; names that may be used: {known}')


def _call(
    name: str, arguments: Sequence[ast.expr], symbols: Mapping[str, ca.SX], text: str
) -> ca.SX:
    if name not in FUNCTIONS:
        known = ', '.join(FUNCTIONS)
        raise ExpressionError(f'{text!r} calls {name!r}; functions that may be used: {known}')
    arity = _ARITY.get(name, 1)
    if len(arguments) != arity:
        raise ExpressionError(f'{text!r}: {name} takes {arity} argument(s)')
    result: ca.SX = FUNCTIONS[name](*(_evaluate(a, symbols, text) for a in arguments))
    return result


def _operation(node: ast.expr) -> tuple[Callable[..., ca.SX] | None, tuple[ast.expr, ...]]:
    """Return the operator and its operands, or None if it is not arithmetic."""
    if isinstance(node, ast.BinOp):
        return _BINARY.get(type(node.op)), (node.left, node.right)
    if isinstance(node, ast.UnaryOp):
        return _UNARY.get(type(node.op)), (node.operand,)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _COMPARE.get(type(node.ops[0])), (node.left, node.comparators[0])
    return None, ()

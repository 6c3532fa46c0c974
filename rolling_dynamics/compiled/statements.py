"""C of the operations of a CasADi function, a statement each, for any type of number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.errors import ParameterError, quoted


class NumberType(NamedTuple):
    """
    How numbers of a type are written in C.

    Attributes
    ----------
    place
        A number at hand, with its index to fill in.
    constant
        Returns a constant.
    operations
        Operation of CasADi -> its C, with what it takes to fill in.

    """

    place: str
    constant: Callable[[float], str]
    operations: Mapping[int, str]


def statement(
    f: ca.Function,
    k: int,
    numbers: NumberType,
    read: Callable[[int, int], str],
    written: Callable[[int, int], str],
) -> str:
    """
    Return the C of an operation, without a semicolon.

    Parameters
    ----------
    f, k
        Function of scalar expressions, all inputs and outputs dense; index of its operation.
    numbers
        Their type.
    read, written
        Return what stands in C for a component of an argument, and of a result.

    Raises
    ------
    ParameterError
        The type has no C for the operation.

    """
    operation, at = f.instruction_id(k), numbers.place.format
    given, made = f.instruction_input(k), f.instruction_output(k)
    if operation == ca.OP_OUTPUT:
        return f'{written(*made)} = {at(given[0])}'
    if operation == ca.OP_INPUT:
        value = read(*given)
    elif operation == ca.OP_CONST:
        value = numbers.constant(f.instruction_constant(k))
    elif operation in numbers.operations:
        value = numbers.operations[operation].format(*map(at, given))
    else:
        raise ParameterError(
            f'{quoted(f.name())} has an operation that C has only in a library '
            f'(number {operation} of CasADi)'
        )
    return f'{at(made[0])} = {value}'

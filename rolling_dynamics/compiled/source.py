"""
C for CasADi functions, in blocks that compile quickly.

CasADi writes a function out as one piece of straight-line code in which each input may be missing.
Tens of thousands of such lines with as many branches take a compiler minutes. Here they are
divided into functions of a thousand lines without branches; blocks pass values in an array. The
operations and their order stay the same, and so do the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import re
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.errors import ParameterError, quoted

BLOCK = 1000  # lines; smaller ones compile faster and run slower
_HEAD = re.compile(r'static int (casadi_f\d+)\(')
_SCALAR = re.compile(r'\ba\d+\b')
_ASSIGNMENT = re.compile(r'  (a\d+)=(.*)')
_INPUT = re.compile(r'arg\[(\d+)\]\? arg\[\1\]\[(\d+)\] : 0;')
_OUTPUT = re.compile(r'  if \(res\[(\d+)\]!=0\) res\[\1\]\[(\d+)\]=')
_STRAIGHT = re.compile(r'  (a\d+|out\d+\[\d+\])=(?!.*\b(?:arg|res)\b)[^;{}]*;')


def c_source(functions: Sequence[ca.Function]) -> str:
    """
    Return C that defines functions.

    Parameters
    ----------
    functions
        Functions of distinct names.

    Returns
    -------
    str
        One translation unit, with ``casadi_real`` as its number type.

    """
    generator = ca.CodeGenerator('code.c', {'with_header': False})
    for function in functions:
        generator.add(function)
    return '\n'.join(_rewritten(generator.dump().split('\n'))) + '\n'


def _rewritten(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a file, long straight-line functions in blocks."""
    k = 0
    while k < len(lines):
        head = _HEAD.match(lines[k])
        if head is None:
            yield lines[k]
            k += 1
            continue
        end = lines.index('}', k)
        first = k + 1
        while lines[first].startswith('  casadi_real a'):
            first += 1
        yield from _function(head[1], lines[k], lines[k + 1 : first], lines[first:end])
        k = end + 1


def _function(name: str, head: str, declared: list[str], lines: list[str]) -> Iterator[str]:
    """Yield a function in blocks, or as it is where it is short or has branches of its own."""
    body = [_OUTPUT.sub(r'  out\1[\2]=', _INPUT.sub(r'in\1[\2];', line)) for line in lines[:-1]]
    if len(body) < BLOCK or not all(_STRAIGHT.fullmatch(line) for line in body):
        yield from (head, *declared, *lines, '}')
        return
    text = '\n'.join(body)
    inputs = _extents(re.findall(r'\b(in\d+)\[(\d+)\]', text))
    outputs = _extents(re.findall(r'\b(out\d+)\[(\d+)\]', text))
    blocks = [body[k : k + BLOCK] for k in range(0, len(body), BLOCK)]
    used = [_used(block) for block in blocks]
    left = _left_to_others(used)
    place = {a: k for k, a in enumerate(sorted(set().union(*left)))}
    takes = ', '.join(
        [f'const casadi_real* restrict {v}' for v in inputs]
        + [f'casadi_real* restrict {v}' for v in outputs]
        + ['casadi_real* restrict shared']
    )
    for k, (block, (written, read), leaves) in enumerate(zip(blocks, used, left, strict=True)):
        scalars = (f'{a}=shared[{place[a]}]' if a in read else a for a in sorted(written | read))
        yield f'static __attribute__((noinline)) void {name}_{k}({takes}) {{'
        yield f'  casadi_real {", ".join(scalars)};'
        yield from block
        yield from (f'  shared[{place[a]}]={a};' for a in leaves)
        yield '}'
    yield head
    for variable, size in inputs.items():
        yield f'  static const casadi_real no_{variable}[{size}]={{0}};'
        given = f'arg[{variable[2:]}]'
        yield f'  const casadi_real* {variable}={given}? {given} : no_{variable};'
    for variable, size in outputs.items():
        given = f'res[{variable[3:]}]'
        yield f'  casadi_real no_{variable}[{size}];'
        yield f'  casadi_real* {variable}={given}? {given} : no_{variable};'
    yield f'  casadi_real shared[{max(1, len(place))}];'
    passed = ', '.join([*inputs, *outputs, 'shared'])
    yield from (f'  {name}_{k}({passed});' for k in range(len(blocks)))
    yield from (lines[-1], '}')


def _extents(found: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return how many entries of each array are used, arrays in a fixed order."""
    sizes: dict[str, int] = {}
    for name, entry in sorted(found):
        sizes[name] = max(sizes.get(name, 0), int(entry) + 1)
    return sizes


def _used(block: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the scalars that a block writes, and those that it reads before it writes them."""
    written: set[str] = set()
    read: set[str] = set()
    for line in block:
        assignment = _ASSIGNMENT.match(line)
        names = _SCALAR.findall(assignment[2] if assignment else line)
        read.update(a for a in names if a not in written)
        if assignment:
            written.add(assignment[1])
    return written, read


def _left_to_others(used: Sequence[tuple[set[str], set[str]]]) -> list[list[str]]:
    """Return the scalars that each block passes to later ones."""
    needed: set[str] = set()
    left = []
    for written, read in reversed(used):
        left.append(sorted(written & needed))
        needed = (needed - written) | read
    return left[::-1]


class NumberType(NamedTuple):
    """
    Number type of generated C, and its operations.

    Attributes
    ----------
    place
        Format of an intermediate value, by its index.
    constant
        Returns a constant.
    operations
        CasADi operation -> format of its C, by operands.

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
        Return the C of a component of an argument, and of a result.

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

"""Cost of exported C, as a compiler of this machine reports it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
import re
import shutil
import subprocess
from tempfile import TemporaryDirectory

from rolling_controller.export.c import CSource

COMPILERS = ('arm-none-eabi-gcc', 'cc')
SIZES = {'arm-none-eabi-gcc': 'arm-none-eabi-size', 'cc': 'size'}
FOR = {'arm-none-eabi-gcc': ' for a Cortex-M4F', 'cc': ''}
M4F = ['-mcpu=cortex-m4', '-mthumb', '-mfpu=fpv4-sp-d16', '-mfloat-abi=hard']
OPTIONS = {'arm-none-eabi-gcc': M4F, 'cc': []}
REALS = ('float', 'double')
GRAPH = '-fcallgraph-info=su'
FRAME = re.compile(r'node: \{ title: "([^"]*)" label: "[^"]*\\n(\d+) bytes')
CALL = re.compile(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"')


def compiled_cost(source: CSource) -> str:
    """Return size of code and deepest stack as a compiler reports them, or that there is none."""
    compiler = next((c for c in COMPILERS if shutil.which(c)), None)
    if compiler is None:
        return 'not known: there is no C compiler here'
    costs = [_cost(source, compiler, real) for real in REALS]
    if None in costs:
        return f'not known: {compiler} failed'
    each = ', '.join(f'{cost} in {real}' for cost, real in zip(costs, REALS, strict=True))
    return f'{each}, by {compiler} -Os{FOR[compiler]}'


def _cost(source: CSource, compiler: str, real: str) -> str | None:
    """Return flash and, where the compiler reports the call graph, stack; None if it fails."""
    with TemporaryDirectory() as folder:
        source.write(Path(folder))
        command = [compiler, '-std=c99', '-Os', f'-D{source.name.upper()}_REAL={real}']
        command += [*OPTIONS[compiler], '-c', f'{source.name}.c', '-o', 'law.o']
        if _run(folder, *command, GRAPH) is None and _run(folder, *command) is None:
            return None
        table = _run(folder, SIZES[compiler], 'law.o')
        if table is None:
            return None
        flash = f'{table.splitlines()[1].split()[0]} bytes of flash'
        graph = ''.join(p.read_text(encoding='utf-8') for p in Path(folder).glob('*.ci'))
    return f'{flash} and {deepest(graph)} of stack' if graph else flash


def deepest(graph: str) -> int:
    """Return the bytes of stack down the deepest calls of a graph, as GCC writes it (VCG)."""
    frames = {name: int(size) for name, size in FRAME.findall(graph)}
    calls: dict[str, set[str]] = {}
    for caller, called in CALL.findall(graph):
        calls.setdefault(caller, set()).add(called)

    @cache
    def below(name: str) -> int:  # no function of a law calls itself
        return frames.get(name, 0) + max(map(below, calls.get(name, ())), default=0)

    return max(map(below, frames), default=0)


def _run(folder: str, *command: str) -> str | None:
    """Return the output of a program, None if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    return None if done.returncode else done.stdout

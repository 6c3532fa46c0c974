"""What exported C costs, as a compiler of this machine has it."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess
from tempfile import TemporaryDirectory

from rolling_controller.export.c import CSource

COMPILERS = ('arm-none-eabi-gcc', 'cc')
SIZES = {'arm-none-eabi-gcc': 'arm-none-eabi-size', 'cc': 'size'}
OPTIONS = {'arm-none-eabi-gcc': ['-mcpu=cortex-m4', '-mthumb', '-mfloat-abi=soft'], 'cc': []}


def compiled_cost(source: CSource) -> str:
    """Return size of code and stack as a compiler tells them, or that there is none."""
    compiler = next((c for c in COMPILERS if shutil.which(c)), None)
    if compiler is None:
        return 'not known: there is no C compiler here'
    with TemporaryDirectory() as folder:
        source.write(Path(folder))
        options = ['-std=c99', '-Os', '-fstack-usage', *OPTIONS[compiler]]
        failed = _run(folder, compiler, *options, '-c', f'{source.name}.c', '-o', 'law.o') is None
        table = _run(folder, SIZES[compiler], 'law.o')
        if failed or table is None:
            return f'not known: {compiler} failed'
        usage = ''.join(p.read_text(encoding='utf-8') for p in Path(folder).glob('*.su'))
    stack_bytes = max(int(line.split('\t')[1]) for line in usage.splitlines())
    code = table.splitlines()[1].split()[0]
    return f'{code} bytes of flash, {stack_bytes} bytes of stack, by {compiler} -Os in double'


def _run(folder: str, *command: str) -> str | None:
    """Return what a program prints, None if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    return None if done.returncode else done.stdout

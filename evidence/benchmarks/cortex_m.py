"""
Exported laws on emulated Cortex-M processors: instructions of a step, stack, and the same bits.

QEMU counts instructions, not cycles: with ``-icount shift=7`` its clock goes on by 128 ns an
instruction, in which the timer of the boards, of 25 MHz, ticks 3.2 times. The call of a step and
the reading of the timer count too, less than ten. A loop of known length is counted beside. What a
processor needs beyond a cycle an instruction, for divisions, loads and flash, is not in it, nor
what it does two at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
import shutil
import subprocess
from tempfile import TemporaryDirectory
from typing import Literal

from evidence.benchmarks.row import Row
import numpy as np
from rolling_controller.ball_balancer import protocol
from rolling_controller.ball_balancer.estimator import RigModel
from rolling_controller.ball_balancer.laws import LAWS, lqr_law, sources_of
from rolling_controller.ball_balancer.rig import run_rig
from rolling_controller.export.c import CSource, number
from rolling_controller.export.compiled_law import CompiledLaw
from rolling_controller.export.cost import compiled_cost
from rolling_controller.law import replay
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.scenario import load_scenario

Real = Literal['float', 'double']
COMPILER, QEMU = 'arm-none-eabi-gcc', 'qemu-system-arm'
BOARD = Path(__file__).with_name('cortex_m_board')
OPTIONS = ('-std=c99', '-O2', '-ffp-contract=off', '-mthumb', '-mfloat-abi=hard')
REALS: tuple[Real, ...] = ('float', 'double')
TICKS = 3.2  # an instruction
LOOPS = 400_000  # rounds of two instructions
SECONDS = 30.0  # on the rig
WILD = 800  # frames in which ball and set point are anywhere
CLOCK = 168e6  # 1/s, of a usual Cortex-M4


@dataclass(frozen=True)
class Processor:
    """A processor, the board that QEMU has with it, and what the compiler is given."""

    name: str
    machine: str
    options: tuple[str, ...]


PROCESSORS = (
    Processor('Cortex-M4', 'mps2-an386', ('-mcpu=cortex-m4', '-mfpu=fpv4-sp-d16')),
    Processor('Cortex-M7', 'mps2-an500', ('-mcpu=cortex-m7', '-mfpu=fpv5-d16')),
)


@dataclass(frozen=True, eq=False)
class Counted:
    """
    Instructions, outputs and stack that an emulated board reported.

    Attributes
    ----------
    instructions
        Of each step, shape (k,).
    outputs
        Of each step, shape (k, n).
    stack
        Most that was used [bytes].
    loop
        Instructions that were counted of the loop, over how many it has.

    """

    instructions: Array
    outputs: Array
    stack: float
    loop: float


def on_board(
    source: CSource, real: Real, inputs: Array, outputs: int, processor: Processor
) -> Counted:
    """Return what a law does on a board, frame by frame, shape (k, 4)."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        source.write(folder)
        (folder / 'frames.h').write_text(_frames(source, real, inputs, outputs))
        define = [f'-D{source.name.upper()}_REAL={real}', f'-DLAW_HEADER="{source.name}.h"']
        command = [COMPILER, *OPTIONS, *processor.options, *define, '-I.', f'{source.name}.c']
        command += [str(BOARD / 'main.c'), '-nostartfiles', '-T', str(BOARD / 'board.ld')]
        subprocess.run([*command, '-o', 'law.elf'], cwd=folder, check=True)  # noqa: S603
        board = [
            QEMU,
            '-M',
            processor.machine,
            '-nographic',
            '-monitor',
            'none',
            '-serial',
            'none',
        ]
        board += ['-semihosting-config', 'enable=on,target=native', '-icount', 'shift=7']
        done = subprocess.run(  # noqa: S603
            [*board, '-kernel', 'law.elf'], cwd=folder, stdout=subprocess.PIPE, check=True
        )
    numbers = np.frombuffer(done.stdout)
    table = numbers[:-2].reshape(len(inputs), 1 + outputs)
    return Counted(
        np.round(table[:, 0] / TICKS), table[:, 1:], numbers[-1], numbers[-2] / TICKS / (2 * LOOPS)
    )


def _frames(source: CSource, real: Real, inputs: Array, outputs: int) -> str:
    rows = ',\n'.join('{' + ', '.join(_number(v) for v in row) + '}' for row in inputs.tolist())
    name = source.name
    return f"""
#define REAL {real}
#define FRAMES {len(inputs)}
#define OUTPUTS {outputs}
#define LOOPS {LOOPS}
#define STATE {name}_state
#define START {name}_start
#define STEP {name}_step
static const REAL frames[FRAMES][4] = {{
{rows}}};
"""


def _number(value: float) -> str:
    return number(value) if np.isfinite(value) else '(REAL)__builtin_nan("")'


def rows() -> Iterator[Row]:
    """Yield what each law takes on each processor, and whether its commands are equal here."""
    missing = [tool for tool in (COMPILER, QEMU) if shutil.which(tool) is None]
    if missing:
        why = f'needs {" and ".join(missing)}'
        yield Row('instructions of a step', None, reference=why)
        return
    scenario = load_scenario('ball_balancer')
    file, rig = BallBalancerFile.of(scenario), RigModel.of(BallBalancerFile.of(scenario))
    for name, write in sources_of(scenario).items():
        source, law = write(), LAWS.get(name, lqr_law)(rig)
        run = run_rig(file, law, protocol.jumps, SECONDS)
        given = (
            run.inputs[:, 2:] if name in LAWS else run.outputs
        )  # those that the estimator hears of
        frames, outputs = np.hstack([run.inputs[:, :2], given]), 2 if name in LAWS else 6
        against = f'{compiled_cost(source)}; {8 * source.law.state.size} bytes of state'
        yield Row(f'{name}, operations of a step', source.operations, reference=against)
        for processor in PROCESSORS:
            for real in REALS:
                yield from _rows(source, real, frames, processor, outputs)
    m7 = PROCESSORS[-1]
    yield from _rows(source, 'float', wild(), m7, 2, 'ball and goal anywhere, ')


def wild() -> Array:
    """Return frames in which the ball wanders all over the plate and the set point jumps."""
    rng = np.random.default_rng(3)
    place = np.cumsum(rng.normal(0, 4e-3, (WILD, 2)), axis=0) % 0.16 - 0.08
    return np.hstack([place, rng.uniform(-0.06, 0.06, (WILD, 2))])


def _rows(
    source: CSource, real: Real, frames: Array, processor: Processor, outputs: int, how: str = ''
) -> Iterator[Row]:
    board = on_board(source, real, frames, outputs, processor)
    here = CompiledLaw(source=source, real=real)
    expected = replay(here, frames)[0]
    title = f'{source.name} in {real} on {processor.name}, {how}'
    most = board.instructions.max()
    yield Row(
        name=f'{title}most instructions of a step',
        value=most,
        reference=f'median {np.median(board.instructions):.0f}, {board.stack:.0f} bytes of stack; '
        f'{1e3 * most / CLOCK:.2g} ms at {CLOCK / 1e6:.0f} MHz and a cycle each, a frame 33.7; '
        f'a loop counted {board.loop:.4f} times its length',
    )
    name = f'{title}outputs that differ from those here'
    yield Row(name, int(np.count_nonzero(board.outputs != expected)), goal='at most 0')

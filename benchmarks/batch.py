"""Steps of batches a CPU second, beside scalar machine code and MuJoCo."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.row import Row
from benchmarks.timing import timed
import numpy as np
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.compiled import compiles
from rolling_dynamics.plugin import plugins
from rolling_dynamics.simulation import Stepper
from rolling_robotics.named_system import named_system, NamedSystem
from rolling_robotics.reproduce.woodruff_lynch.other_engines import MODEL, STEP

LANES, DT, STEPS, REPEATS = 16_384, 0.02, 20, 3  # steps of 1 ms in each repeat
SCALAR = 3000
BALL = 'contact'
FEWEST = {'float64': 6.0, 'float32': 12.0}  # million steps of the ball on a plate
BYTES = 2e9


def rows() -> Iterator[Row]:
    """Yield the figures."""
    mujoco = _mujoco()
    for name, plugin in plugins().items():
        if not plugin.example:
            continue
        given = named_system(name)
        scalar = _scalar(given)
        for dtype, fewest in FEWEST.items():
            reference = f'scalar machine code: {scalar:.3g}'
            if name == BALL and mujoco is not None:
                reference += f'; MuJoCo, one ball on a hinged plate: {mujoco:.3g}'
            yield Row(
                name=f'steps of a batch, {name}, {dtype}, guards watched',
                value=_batch(given, dtype) if compiles() else None,
                unit='million/CPU s',
                goal=f'at least {fewest:g}' if name == BALL else '',
                reference=reference,
            )
    ball = BatchSimulator(named_system(BALL).system, 100_000, DT)
    yield Row(
        name='memory of a million lanes of the ball on a plate',
        value=10 * ball.nbytes / 1e9,
        unit='GB',
        goal=f'at most {BYTES / 1e9:g}',
    )


def _batch(given: NamedSystem, dtype: str) -> float | None:
    """Return steps of 1 ms in a CPU second, in millions; None where lanes do not go on."""
    batch = BatchSimulator(given.system, LANES, DT, dtype=dtype)
    u = np.zeros(given.system.control.size)

    def run() -> float:
        batch.reset(states=given.x, parameters=given.p)
        for _ in range(STEPS):
            batch.step(u)
        return 1e3 * float(batch.times.sum())

    spent, steps = timed(run, REPEATS)
    return 1e-6 * steps / min(spent) if batch.running.all() else None


def _scalar(given: NamedSystem) -> float:
    """Return the same of one motion at a time, guards not watched."""
    stepper = Stepper(given.system, given.p, mode=next(iter(given.system.modes)))
    u = np.zeros(given.system.control.size)
    spent, _ = timed(lambda: stepper.step(given.x, u, 1e-3 * SCALAR), REPEATS)
    return 1e-6 * SCALAR / min(spent)


def _mujoco() -> float | None:
    """Return the same of MuJoCo; None where it is not installed."""
    try:
        import mujoco  # noqa: PLC0415  (optional)
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_string(MODEL.format(step=STEP, contact=''))
    data = mujoco.MjData(model)
    data.qvel[:7] = 7.0, 0.0, -0.2, 0.0, 1.0, 0.0, 0.0
    spent, _ = timed(lambda: mujoco.mj_step(model, data, nstep=SCALAR), REPEATS)
    return 1e-6 * SCALAR / min(spent)

"""Steps of batches a CPU second, beside scalar machine code and MuJoCo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
import os
from pathlib import Path
import time

from evidence.benchmarks.row import Row, timed
from evidence.papers.woodruff_lynch.spinning_plate import MODEL, STEP
import numpy as np
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.compiled import compiles
from rolling_dynamics.simulation import Stepper
from rolling_robotics.named_system import named_system, NamedSystem

LANES, DT, STEPS, REPEATS = 16_384, 0.02, 20, 3  # steps of 1 ms in each repeat
SCALAR = 3000
TOGETHER = 1024, 10  # motions, and steps of each, by MJX
ON_PLATE = 'contact'
FEWEST = {'float64': 6.0, 'float32': 12.0}  # million steps of the ball on a plate
OVER_MUJOCO = 35.0
SCALING = 0.9  # fraction of the cores
BYTES = 2e9


def rows() -> Iterator[Row]:
    """Yield the figures."""
    for name in MODELS:
        given = named_system(name)
        mujoco = mujoco_steps(name, SCALAR)
        reference = f'scalar machine code: {_scalar(given):.3g}'
        if mujoco is not None:
            reference += f'; MuJoCo, one motion: {mujoco:.3g}'
        for dtype, fewest in FEWEST.items():
            steps = _batch(given, dtype)[0] if compiles() else None
            yield Row(
                name=f'steps of a batch, {name}, {dtype}, guards watched',
                value=steps,
                unit='million/CPU s',
                goal=f'at least {fewest:g}' if name == ON_PLATE else '',
                reference=reference,
            )
            if name == ON_PLATE and dtype == 'float64':
                yield Row(
                    name=f'steps of a batch for a step of MuJoCo, {name}, float64',
                    value=None if mujoco is None or steps is None else steps / mujoco,
                    goal=f'at least {OVER_MUJOCO:g}',
                    reference=_mjx(name),
                )
        if compiles():
            yield from _on_all_cores(name, given)
    title = 'memory of a million trajectories of the ball on a plate, stepped'
    yield Row(title, _memory(named_system(ON_PLATE)), 'GB', f'at most {BYTES / 1e9:g}')


def _mjx(name: str) -> str:
    steps = mjx_steps(name, *TOGETHER)
    size = f'MJX on the processor, {TOGETHER[0]} motions together'
    return '' if steps is None else f'{size}: {steps:.3g} million/CPU s'


def _memory(given: NamedSystem) -> float:
    """Return the growth of this process with a million trajectories [GB]."""
    before = _resident()
    batch = BatchSimulator(given.system, 1_000_000, 1e-3)
    batch.reset(states=given.x, parameters=given.p)
    batch.step(np.zeros(given.system.control.size))
    return 1e-9 * (_resident() - before)


def _resident() -> int:
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE')


def _on_all_cores(name: str, given: NamedSystem) -> Iterator[Row]:
    """Yield the steps of a second of the clock, a thread for each core, and of one, in turns."""
    cores = len(os.sched_getaffinity(0))
    one, every = _batch(given, 'float64', (1, cores), time.perf_counter)
    reference = f'one core: {one:.3g}' if one else ''
    mujoco = mujoco_steps(name, SCALAR, cores, time.perf_counter)
    if mujoco is not None:
        reference += f'; MuJoCo, a motion in each of {cores} threads: {mujoco:.3g}'
    title = f'steps of a batch, {name}, float64, on {cores} cores'
    yield Row(title, every, 'million/s', reference=reference)
    title = f'the same over {cores} times that of one core, {name}'
    yield Row(
        title, every / (cores * one) if one and every else None, goal=f'at least {SCALING:g}'
    )


def _batch(
    given: NamedSystem,
    dtype: str,
    threads: tuple[int, ...] = (1,),
    clock: Callable[[], float] = time.process_time,
) -> list[float | None]:
    """Return steps of 1 ms in a second, in millions; None where trajectories do not go on."""
    batches = [BatchSimulator(given.system, LANES, DT, dtype=dtype, threads=n) for n in threads]
    u = np.zeros(given.system.control.size)

    def run(batch: BatchSimulator) -> None:
        for _ in range(STEPS):
            batch.step(u)

    spent: dict[BatchSimulator, list[float]] = {batch: [] for batch in batches}
    for _ in range(REPEATS):
        for batch in batches:
            batch.reset(states=given.x, parameters=given.p)
            spent[batch] += timed(partial(run, batch), clock=clock)[0]
    return [
        1e-3 * float(batch.times.sum()) / min(spent[batch]) if batch.running.all() else None
        for batch in batches
    ]


def _scalar(given: NamedSystem) -> float:
    """Return the same of one motion at a time, guards not watched."""
    stepper = Stepper(given.system, given.p, mode=next(iter(given.system.modes)))
    u = np.zeros(given.system.control.size)
    spent, _ = timed(lambda: stepper.step(given.x, u, 1e-3 * SCALAR), REPEATS)
    return 1e-6 * SCALAR / min(spent)


HEAD = f"""
<mujoco>
  <option timestep="{STEP:g}" cone="elliptic" gravity="0 0 %g"/>
  <worldbody>
    <geom name="floor" type="plane" size="50 50 1"/>
"""
PAIR = '<pair geom1="%s" geom2="body" condim="3" friction="1 1 0 0 0"/>'
TAIL = '</worldbody><contact>%s</contact></mujoco>'


def _on_circle(number: int, axis: str, place: str) -> str:
    """Return a mass on a circle round the centre of a body, by a hinge."""
    return f"""
      <body name="mass_{number}">
        <joint type="hinge" axis="{axis}" armature="1e-6"/>
        <inertial pos="{place}" mass="1" diaginertia="1e-9 1e-9 1e-9"/>
      </body>"""


DISK = (
    HEAD % -1
    + """
    <body pos="0 0 1">
      <joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 0 1"/>
      <joint type="hinge" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.5 1 0.5"/>
      <geom name="body" type="sphere" size="1"/>"""
    + ''.join(
        _on_circle(k, '0 1 0', f'0 0 {-radius}')
        for k, radius in enumerate((0.9, 0.6333, 0.3667, 0.1), 1)
    )
    + '</body>'
    + TAIL % (PAIR % 'floor')
)
BALL = (
    HEAD % -1
    + """
    <body pos="0 0 1">
      <freejoint/>
      <inertial pos="0 0 -0.05" mass="1" diaginertia="0.9 1 1.1"/>
      <geom name="body" type="sphere" size="1"/>"""
    + _on_circle(1, '0 1 0', '0.95 0 0')
    + _on_circle(2, '0 0 1', '0.9 0 0')
    + _on_circle(3, '1 0 0', '0 0.85 0')
    + '</body>'
    + TAIL % (PAIR % 'floor')
)
PENDULUM = (
    HEAD % -9.81
    + """
    <body pos="0 0 0.15">
      <freejoint/>
      <inertial pos="0 0 0" mass="0.1" diaginertia="0.0015 0.0015 0.0015"/>
      <geom name="body" type="sphere" size="0.15"/>
      <body>
        <joint type="ball"/>
        <inertial pos="0 0 -0.0375" mass="1" diaginertia="0.0048 0.0048 0.0048"/>
      </body>
    </body>"""
    + TAIL % (PAIR % 'floor')
)
BETWEEN_PLATES = (
    HEAD % -9.81
    + """
    <body pos="0 0 0.3">
      <freejoint/>
      <geom name="body" type="sphere" size="0.3" mass="1"/>
    </body>
    <body pos="0 0 0.6">
      <joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/>
      <joint type="hinge" axis="0 0 1"/>
      <inertial pos="0 0 0.01" mass="1" diaginertia="1 1 1"/>
      <geom name="plate" type="box" size="2 2 0.01" pos="0 0 0.01"/>
    </body>"""
    + TAIL % (PAIR % 'floor' + PAIR % 'plate')
)
MODELS = {
    'contact': (MODEL.format(step=STEP, contact=''), (7.0, 0.0, -0.2, 0.0, 1.0, 0.0, 0.0)),
    'pendulum_sphere': (PENDULUM, (0, 0, 0, 0, 0, 0, 0.1, 0.2, 0)),
    'point_mass_ball': (BALL, ()),
    'point_mass_disk': (DISK, (0, 0, 0, 0.1, -0.1, 0.1, -0.1)),
    'spin_rolling_sphere': (BETWEEN_PLATES, (0, 0, 0, 0, 0, 0, 0.1, 0.1, 0, 0.1)),
}


def mjx_steps(name: str, size: int, count: int) -> float | None:
    """
    Return steps a CPU second by MJX on the processor, in millions; None where it is missing.

    Parameters
    ----------
    name
        Of the system.
    size
        Motions that are stepped together, in double precision.
    count
        Steps of each in a measurement; compiling is not measured.

    """
    try:
        jax, mujoco, mjx = map(import_module, ('jax', 'mujoco', 'mujoco.mjx'))
    except ImportError:
        return None
    text, rates = MODELS[name]
    with jax.enable_x64(True):
        model = mjx.put_model(mujoco.MjModel.from_xml_string(text))
        one = mjx.make_data(model)
        start = one.replace(qvel=one.qvel.at[: len(rates)].set(jax.numpy.array(rates, float)))
        motions = jax.tree.map(lambda a: jax.numpy.broadcast_to(a, (size, *a.shape)), start)
        steps = jax.jit(
            lambda now: jax.lax.fori_loop(
                0, count, lambda _, then: jax.vmap(mjx.step, (None, 0))(model, then), now
            )
        )
        jax.block_until_ready(steps(motions))
        spent, _ = timed(lambda: jax.block_until_ready(steps(motions)), REPEATS)
    return 1e-6 * size * count / min(spent)


def mujoco_steps(
    name: str, count: int, threads: int = 1, clock: Callable[[], float] = time.process_time
) -> float | None:
    """
    Return steps per second, in millions; None where MuJoCo is missing or does not know the system.

    Parameters
    ----------
    name
        Of the system.
    count
        Steps of each thread in a measurement.
    threads
        That many motions, each in a thread of its own; a step holds no lock of Python.
    clock
        What a second is of.

    Raises
    ------
    RuntimeError
        The body has lost its contacts: the figure would be of something else.

    """
    try:
        import mujoco  # noqa: PLC0415  (optional)
    except ImportError:
        return None
    if name not in MODELS:
        return None
    text, rates = MODELS[name]
    model = mujoco.MjModel.from_xml_string(text)
    motions = [mujoco.MjData(model) for _ in range(threads)]
    for data in motions:
        data.qvel[: len(rates)] = rates
    with ThreadPoolExecutor(threads) as pool:
        spent, _ = timed(
            lambda: list(pool.map(lambda data: mujoco.mj_step(model, data, nstep=count), motions)),
            REPEATS,
            clock,
        )
    contacts = text.count('<pair ')
    if any(data.ncon != contacts for data in motions):
        raise RuntimeError(f'{name}: MuJoCo has {motions[0].ncon} contacts, not {contacts}')
    return 1e-6 * threads * count / min(spent)

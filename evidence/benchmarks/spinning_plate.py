"""
A ball on a spinning plate and its closed solution, and the systems in MuJoCo.

The ball of radius 0.2 m starts in the middle of a plate that turns at 7 rad/s and goes round a
circle of radius 0.1 m, Eqs. (14)-(16); on a plate tilted by 0.01 rad the circle drifts, Eq. (17).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
import time

from evidence.benchmarks.row import Row, timed
from evidence.papers.woodruff_lynch.spinning_plate import (
    COMPARED,
    contact_path,
    divergence,
    drift_velocity,
    MODEL,
    mujoco_path,
    path,
    PERIOD,
    plate,
    STEP,
    TILTED,
    TUNINGS,
    WEIGHT,
    wrench_of,
)
import numpy as np
from rolling_dynamics.simulation import simulate

REPEATS = 3
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


DURATION = 120.0  # s


def rows() -> Iterator[Row]:
    """Yield the figures."""
    system, p, x0 = plate()
    simulate(system, p, x0, None, 1.0)  # warm
    times = np.linspace(0.0, DURATION, 2401)
    run = partial(simulate, system, p, x0, None, DURATION, t_eval=times, dense=False, events=())
    (seconds,), motion = timed(run)
    name = 'spinning plate, radius divergence in 120 s'
    against = 'closed solution, Eqs. (14)-(16)'
    yield Row(
        name, divergence(contact_path(system, p, motion.states)), '%', 'at most 1e-8', against
    )
    wrench = motion.evaluate(wrench_of)
    yield Row(
        name='spinning plate, normal force over weight - 1',
        goal='at most 1e-10',
        value=float(np.abs(wrench[:, 5] / WEIGHT - 1).max()),
        reference='closed solution: the weight',
    )
    name = 'spinning plate, faster than real time'
    against = f'{DURATION:g} s in {seconds:.3g} CPU s'
    yield Row(name, DURATION / seconds, 'times', 'at least 200', against)
    for tuning in TUNINGS:
        found = mujoco_path(COMPARED, tuning)
        value = None if found is None else divergence(found)
        said = f'for comparison, {COMPARED:g} s at 1 ms'
        against = said if value is not None else 'mujoco is not installed'
        yield Row(f'the same in MuJoCo, {tuning}', value, '%', reference=against)
    # places that are whole turns apart
    _, points = path(TILTED, 38 * PERIOD, 39)
    drift, exact = np.linalg.norm(np.diff(points, axis=0), axis=1) / PERIOD, drift_velocity()
    name = 'tilted plate, relative error of the drift velocity'
    against = f'Eq. (17): {exact:.6g} m/s'
    yield Row(name, float(np.abs(drift / exact - 1).max()), goal='at most 1e-9', reference=against)

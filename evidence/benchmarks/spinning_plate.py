"""
A ball on a spinning plate, Woodruff & Lynch, Section V-C, against its closed solution.

The ball of radius 0.2 m starts in the middle of a plate that turns at 7 rad/s and goes round a
circle of radius 0.1 m, Eqs. (14)-(16); on a plate tilted by 0.01 rad the circle drifts, Eq. (17).
"""

from __future__ import annotations

from collections.abc import Iterator
import math
import time
from typing import cast

import casadi as ca
from evidence.benchmarks.row import Row
from evidence.papers.woodruff_lynch.other_engines import (
    divergence,
    mujoco_path,
    TUNINGS,
)
from evidence.papers.woodruff_lynch.spinning_plate import contact_path
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Plane, Sphere

RATE, RADIUS, MASS, GRAVITY = 7.0, 0.2, 0.1, 9.81
CIRCLE, ORBIT_RATE = 0.1, 2.0  # m, rad/s
DURATION, TILT = 120.0, 0.01
COMPARED = 10.0  # s
PERIOD = math.pi  # of the circle [s]


def rows() -> Iterator[Row]:
    """Yield the figures."""
    system = ContactSystem(Sphere(RADIUS), Plane())
    p = system.pack_parameters(mass=MASS, inertia=0.4 * MASS * RADIUS**2)
    simulate(system, p, _start(system, 0.0), None, 1.0)  # warm
    times = np.linspace(0.0, DURATION, 2401)
    began = time.process_time()
    motion = simulate(
        system, p, _start(system, 0.0), None, DURATION, t_eval=times, dense=False, events=()
    )
    seconds = time.process_time() - began
    place = contact_path(system, p, motion.states)
    radius = np.linalg.norm(place[:, :2] - [CIRCLE, 0.0], axis=1)
    yield Row(
        name='spinning plate, radius divergence in 120 s',
        unit='%',
        goal='at most 1e-8',
        value=100 * float(np.abs(radius - CIRCLE).max()) / CIRCLE,
        reference='closed solution, Eqs. (14)-(16)',
    )
    wrench = motion.evaluate(_wrench)
    yield Row(
        name='spinning plate, normal force over weight - 1',
        unit='',
        goal='at most 1e-10',
        value=float(np.abs(wrench[:, 5] / (MASS * GRAVITY) - 1).max()),
        reference='closed solution: the weight',
    )
    yield Row(
        name='spinning plate, faster than real time',
        value=DURATION / seconds,
        unit='times',
        goal='at least 200',
        reference=f'{DURATION:g} s in {seconds:.3g} CPU s',
    )
    for tuning in TUNINGS:
        path = mujoco_path(COMPARED, tuning)
        value = None if path is None else divergence(path)
        said = f'for comparison, {COMPARED:g} s at 1 ms'
        yield Row(
            name=f'the same in MuJoCo, {tuning}',
            value=value,
            unit='%',
            reference=said if value is not None else 'mujoco is not installed',
        )
    yield from _tilted(system, p)


def _tilted(system: ContactSystem, p: NDArray[np.float64]) -> Iterator[Row]:
    """Yield the drift on a tilted plate, from places that are whole turns apart."""
    times = np.arange(0, 39) * PERIOD
    motion = simulate(
        system, p, _start(system, TILT), None, float(times[-1]) + 1e-9, t_eval=times, events=()
    )
    place = contact_path(system, p, motion.states)
    drift = np.linalg.norm(np.diff(place, axis=0), axis=1) / PERIOD
    exact = 5 / 2 * GRAVITY / RATE * math.sin(TILT)  # (17)
    yield Row(
        name='tilted plate, relative error of the drift velocity',
        unit='',
        goal='at most 1e-9',
        value=float(np.abs(drift / exact - 1).max()),
        reference=f'Eq. (17): {exact:.6g} m/s',
    )


def _start(system: ContactSystem, tilt: float) -> NDArray[np.float64]:
    """Return the start: the ball rolls along -y of the world, without spin in the world."""
    return system.state.pack(
        q_WH=[math.cos(tilt / 2), math.sin(tilt / 2), 0, 0],
        p_WH=np.zeros(3),
        q_HO=[1, 0, 0, 0],
        contact_h=[0, 0],
        w_WH_H=[0, 0, RATE],
        v_WH_H=np.zeros(3),
        w_HO_H=[1, 0, -RATE],
    )


def _wrench(system: RollingSystem) -> ca.Function:
    return cast('ca.Function', next(iter(system.modes.values())).wrench)

"""Woodruff and Lynch: a ball on a spinning plate, and its figures."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
import math
from typing import Any, cast, NamedTuple

import casadi as ca
from evidence.papers.row import at_most, Row
from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.conversions import to_coordinates
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate, Trajectory
from rolling_robotics.figures.states import COLOURS, GREY, WIDTH
from scipy.integrate import RK45

STEP = 1e-3  # s
BULLET_STEP = 1 / 60  # s, Bullet's own where none is given


# Options of a contact in MuJoCo, and the divergence that they give in 10 s [%].
# MuJoCo's own values; the fastest reference that its manual allows for the step; and the damping
# of the friction reference, 1/s, at which the errors of a step cancel.
TUNINGS = {
    'default': ('', 44.9),
    'usual': (f'solref="{2 * STEP:g} 1" solreffriction="{2 * STEP:g} 1"', 2.0),
    'friction reference tuned': (f'solref="{2 * STEP:g} 1" solreffriction="-1e-9 -1950"', 0.01),
}
MODEL = """
<mujoco>
  <option timestep="{step}" cone="elliptic"/>
  <worldbody>
    <body name="plate">
      <joint name="spin" type="hinge" axis="0 0 1" damping="0"/>
      <inertial pos="0 0 0" mass="1e6" diaginertia="1e6 1e6 1e6"/>
      <geom name="plate" type="cylinder" size="2 0.5" pos="0 0 -0.5"/>
    </body>
    <body name="ball" pos="0 0 0.2">
      <freejoint/>
      <geom name="ball" type="sphere" size="0.2" mass="0.1"/>
    </body>
  </worldbody>
  <contact>
    <pair geom1="plate" geom2="ball" condim="3" friction="1 1 0 0 0" {contact}/>
  </contact>
</mujoco>
"""


def missing() -> list[str]:
    """Return the names of the engines that are not installed."""
    engines = {'Bullet': 'pybullet', 'MuJoCo': 'mujoco'}
    return [name for name, module in engines.items() if find_spec(module) is None]


def divergence(points: Array) -> float:
    """Return the greatest change of the radius of a path, shape (k, 2 or 3) [%]."""
    radius = np.hypot(points[:, 0] - 0.1, points[:, 1])
    return 100 * float(np.abs(radius / 0.1 - 1).max())


def mujoco_path(duration: float, tuning: str) -> Array | None:
    """
    Return the path of the ball after each step, shape (k, 2) [m].

    Parameters
    ----------
    duration
        Time [s].
    tuning
        One of ``TUNINGS``.

    Returns
    -------
    Array or None
        None where MuJoCo is not installed.

    """
    try:
        import mujoco  # noqa: PLC0415  (optional)
    except ImportError:
        return None
    text = MODEL.format(step=STEP, contact=TUNINGS[tuning][0])
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:7] = 7.0, 0.0, -0.2, 0.0, 1.0, 0.0, 0.0
    places = []
    for _ in range(round(duration / STEP)):
        mujoco.mj_step(model, data)
        places.append(data.qpos[1:3].copy())
    return np.array(places)


def bullet_path(duration: float, step: float = STEP) -> Array | None:
    """
    Return the path of the ball after each step, without damping, shape (k, 2) [m].

    Parameters
    ----------
    duration, step
        Time, and length of a step [s].

    Returns
    -------
    Array or None
        None where PyBullet is not installed.

    """
    try:
        import pybullet as bullet  # noqa: PLC0415  (optional)
    except ImportError:
        return None
    bullet.connect(bullet.DIRECT)
    bullet.setPhysicsEngineParameter(fixedTimeStep=step)
    bullet.setGravity(0, 0, -9.81)
    box = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[2, 2, 0.5])
    sphere = bullet.createCollisionShape(bullet.GEOM_SPHERE, radius=0.2)
    plate = bullet.createMultiBody(
        baseMass=0,
        linkMasses=[1e6],
        linkCollisionShapeIndices=[box],
        linkVisualShapeIndices=[-1],
        linkPositions=[[0, 0, -0.5]],
        linkOrientations=[[0, 0, 0, 1]],
        linkInertialFramePositions=[[0, 0, 0]],
        linkInertialFrameOrientations=[[0, 0, 0, 1]],
        linkParentIndices=[0],
        linkJointTypes=[bullet.JOINT_REVOLUTE],
        linkJointAxis=[[0, 0, 1]],
    )
    ball = bullet.createMultiBody(0.1, sphere, -1, [0, 0, 0.2])
    friction = {'lateralFriction': 1, 'rollingFriction': 0, 'spinningFriction': 0}
    damping = {'linearDamping': 0, 'angularDamping': 0, 'jointDamping': 0}
    for body, link in ((plate, -1), (plate, 0), (ball, -1)):
        bullet.changeDynamics(body, link, **friction, **damping)
    bullet.resetJointState(plate, 0, 0, 7.0)
    drive = {'targetVelocity': 7.0, 'force': 1e12}
    bullet.setJointMotorControl2(plate, 0, bullet.VELOCITY_CONTROL, **drive)
    bullet.resetBaseVelocity(ball, [0, -0.2, 0], [1, 0, 0])
    places = []
    for _ in range(round(duration / step)):
        bullet.stepSimulation()
        places.append(bullet.getBasePositionAndOrientation(ball)[0][:2])
    bullet.disconnect()
    return np.array(places)


HORIZONTAL, TILTED = 'spinning_plate', 'tilted_spinning_plate'
CENTRE, CIRCLE, ORBIT_RATE = 0.1, 0.1, 2.0  # m, m, rad/s
PERIOD = 2 * math.pi / ORBIT_RATE
LONG, COMPARED = 120.0, 10.0  # s
WEIGHT = 0.1 * 9.81  # N
MEAN_STEP = 0.01  # s, of the paper's run
AT_MEAN_STEP = 4.4e-5  # %


class Plate(NamedTuple):
    """Ball and plate, their parameters, and the state at the start."""

    system: ContactSystem
    p: Array
    x0: Array


@cache
def plate(name: str = HORIZONTAL) -> Plate:
    """Return what the scenario of Section V-C1, or of V-C2, describes."""
    scenario = load_scenario(name)
    return Plate(cast('ContactSystem', scenario.system), scenario.p, scenario.x0)


@cache
def run(name: str, duration: float, count: int) -> Trajectory:
    """Return the motion of a scenario for a time [s] at evenly spaced times."""
    times = np.linspace(0.0, duration, count)
    return simulate(*plate(name), None, duration, t_eval=times, events=())


def contact_path(system: ContactSystem, p: Array, states: Array) -> Array:
    """Return the contact point in the world at states (k, n), shape (k, 3) [m]."""
    poses = np.array(system.pose.map(len(states))(states.T, np.tile(p, (len(states), 1)).T)[2])
    return poses[:3].reshape(3, len(states), 4)[:, :, 3].T


def path(name: str, duration: float, count: int) -> tuple[Array, Array]:
    """Return times and the contact point in the world, shape (k, 3) [m]."""
    motion = run(name, duration, count)
    return motion.times, contact_path(plate(name).system, plate(name).p, motion.states)


def circle(times: Array, drift: float = 0.0) -> Array:
    """Return the closed solution, shape (k, 2) [m]; ``drift`` along x [m/s], Eq. (17)."""
    # v(0) = (0, -0.2) goes round the drifting circle with the velocity v(0) - drift
    turn = ORBIT_RATE * times
    c, s = np.cos(turn), np.sin(turn)
    v = np.array([-drift, -CIRCLE * ORBIT_RATE])
    x = (s * v[0] - (1 - c) * v[1]) / ORBIT_RATE + drift * times
    y = ((1 - c) * v[0] + s * v[1]) / ORBIT_RATE
    return np.column_stack([x, y])


def drift_velocity() -> float:
    """Return the drift on the tilted plate, Eq. (17) [m/s]."""
    parameters = plate(TILTED).system.parameters.unpack(plate().p)
    g = float(np.linalg.norm(parameters['gravity_W']))
    return 5 / 2 * g / 7.0 * math.sin(0.01)


def divergence_in_steps(step: float, duration: float) -> float:
    """Return the divergence of the radius [%] under Dormand & Prince's steps, as in ode45."""
    system, p, x0 = plate()
    rates, u = FastFunction(system.mode.dynamics), np.zeros(system.control.size)
    x, K, states = x0.copy(), np.zeros((6, system.state.size)), []
    for _ in range(round(duration / step)):
        for k in range(6):
            K[k] = rates(x + step * (RK45.A[k, :k] @ K[:k]), u, 0.0, p)
        x = x + step * (RK45.B @ K)
        states.append(x)
    return divergence(contact_path(system, p, np.array(states)))


def rows() -> list[Row]:
    """Return the numbers of Section V-C."""
    return [*_horizontal(), *_tilted(), *_other_engines()]


def _horizontal() -> list[Row]:
    times, points = path(HORIZONTAL, LONG, 2401)
    motion = run(HORIZONTAL, LONG, 2401)
    wrench = motion.evaluate(wrench_of)
    angle = np.unwrap(np.arctan2(points[:, 1], points[:, 0] - CENTRE))
    q_dot, spin = _start_rates(*plate())
    usual = 'divergence of the radius in 120 s, usual tolerance (printed: below)'
    stepped = 'the same at steps of 0.01 s, the mean step of the paper (printed: below)'
    in_steps, off = divergence_in_steps(MEAN_STEP, LONG), np.abs(wrench[:, 5] - WEIGHT).max()
    return [
        Row('V-C1: rate of the circle, (14)', 2.0, _slope(times, angle), 1e-8, 'rad/s'),
        Row('V-C1: centre of the circle, (15)', 0.1, _centre(points)[0], 1e-9, 'm'),
        Row('V-C1: radius of the circle, (16)', 0.1, float(_radii(points).mean()), 1e-9, 'm'),
        at_most(f'V-C1: {usual}', 5e-6, divergence(points), unit='%'),
        at_most(f'V-C1: {stepped}', 5e-6, in_steps, 5e-6, unit='%', expected=AT_MEAN_STEP),
        Row('V-C1: normal force, greatest difference from the weight', None, off, 1e-10, 'N', 0.0),
        Row('V-C1: psi-dot at the start, from (1)', -7.0, q_dot[4], 1e-9, 'rad/s', 7.0),
        Row('V-C1: angular velocity of the ball at the start', 0.0, spin, 1e-9, 'rad/s', 1.0),
    ]


def _tilted() -> list[Row]:
    turns = 3
    times, points = path(TILTED, turns * PERIOD, 60 * turns + 1)
    whole = points[::60]
    drift = float(np.linalg.norm(whole[-1] - whole[0]) / times[-1])
    exact = drift_velocity()
    away = np.linalg.norm(points[:, :2] - circle(times, exact) * [1.0, math.cos(0.01)], axis=1)
    return [
        Row('V-C2: velocity of the drift', 0.035, drift, 5e-4, 'm/s'),
        Row('V-C2: velocity of the drift, beside (17)', None, drift, 1e-9, 'm/s', exact),
        Row('V-C2: greatest distance from circle and drift', None, away.max(), 1e-8, 'm', 0.0),
    ]


def _other_engines() -> list[Row]:
    """Return what the engines that are installed make of the circle in 10 s, at 1 ms."""
    ends = 'divergence of the radius in 10 s'
    runs = [
        (f'Bullet at steps of 1 ms, {ends}', 34.0, bullet_path(COMPARED), 0.5, 2.0),
        (
            "the same at Bullet's own step of 1/60 s",
            None,
            bullet_path(COMPARED, BULLET_STEP),
            1.0,
            39.5,
        ),
    ]
    for tuning, (_, expected) in TUNINGS.items():
        motion, tolerance = mujoco_path(COMPARED, tuning), 0.05 + 0.1 * expected
        runs.append((f'MuJoCo, {tuning}, {ends}', None, motion, tolerance, expected))
    return [
        Row(f'Fig. 6: {name}', printed, divergence(motion), tolerance, '%', expected)
        for name, printed, motion, tolerance, expected in runs
        if motion is not None
    ]


def _start_rates(system: ContactSystem, p: Array, x0: Array) -> tuple[Array, float]:
    """Return q_dot and the size of the ball's angular velocity in the world at the start."""
    coordinates = system.with_representation('coordinates')
    x = to_coordinates(system, p, x0)
    rates = np.asarray(coordinates.mode.dynamics(x, np.zeros(6), 0.0, p)).ravel()
    layout = coordinates.state
    q_dot = np.concatenate([rates[layout.slice(n)] for n in ('contact_o', 'contact_h', 'psi')])
    w, _ = system.object_twist(x0, p)
    return q_dot, float(np.linalg.norm(np.asarray(w)))


def _centre(points: Array) -> Array:
    """Return the centre of the circle through points, by least squares, shape (2,) [m]."""
    rows = np.column_stack([2 * points[:, :2], np.ones(len(points))])
    return np.asarray(np.linalg.lstsq(rows, (points[:, :2] ** 2).sum(axis=1))[0][:2])


def _radii(points: Array) -> Array:
    return np.hypot(points[:, 0] - CENTRE, points[:, 1])


def _slope(times: Array, angle: Array) -> float:
    return float((angle[-1] - angle[0]) / (times[-1] - times[0]))


def wrench_of(system: RollingSystem) -> ca.Function:
    """Return the contact wrench of the first mode."""
    return cast('ca.Function', next(iter(system.modes.values())).wrench)


COUNT = 2001


def paths_on_the_plate() -> Figure:
    """Return Fig. 5: the contact point in the world, on the horizontal and on the tilted plate."""
    figure = Figure(figsize=(WIDTH, 3.1))
    drift = drift_velocity()
    for axes, (name, title, v) in zip(
        figure.subplots(1, 2, width_ratios=(1, 2)),
        (
            ('spinning_plate', '(a) horizontal', 0.0),
            ('tilted_spinning_plate', '(b) tilted by 0.01 rad', drift),
        ),
        strict=True,
    ):
        times, points = path(name, COMPARED, COUNT)
        axes.plot(points[:, 0], points[:, 1], color=COLOURS[0], linewidth=2.5, label='simulated')
        closed = circle(times, v)
        axes.plot(*closed.T, ':', color='black', linewidth=1.2, label='closed solution')
        axes.plot(0, 0, 'x', color='black')
        error = np.linalg.norm(points[:, :2] - closed * [1, math.cos(0.01 if v else 0)], axis=1)
        said = f', drift {v:.3g} m/s' if v else ''
        _frame(axes, f'{title}{said}\napart by {error.max():.0e} m at most')
    axes.legend(loc='lower right')
    return figure


def other_engines() -> Figure:
    """Return Fig. 6: the circle of this suite and of other engines in 10 s."""
    _, own = path('spinning_plate', COMPARED, COUNT)
    found: dict[str, Array | None] = {
        'Bullet, 1 ms': bullet_path(COMPARED),
        'Bullet, its own 1/60 s': bullet_path(COMPARED, BULLET_STEP),
        'MuJoCo, default': mujoco_path(COMPARED, 'default'),
        'MuJoCo, usual': mujoco_path(COMPARED, 'usual'),
        'MuJoCo, tuned': mujoco_path(COMPARED, 'friction reference tuned'),
    }
    figure = Figure(figsize=(WIDTH, 3.4))
    axes, radius = figure.subplots(1, 2)
    for k, (name, points) in enumerate({'this suite': own, **found}.items()):
        if points is None:
            continue
        style: dict[str, Any] = {
            'color': COLOURS[k % len(COLOURS)],
            'linewidth': 1.0 if k else 2.2,
            'label': name,
        }
        axes.plot(points[:, 0], points[:, 1], **style)
        times = np.linspace(0.0, COMPARED, len(points))
        radius.plot(times, 100 * (np.hypot(points[:, 0] - 0.1, points[:, 1]) / 0.1 - 1), **style)
    if missing():
        radius.set_title(f'not installed: {", ".join(missing())}', color=GREY)
    _frame(axes, 'contact point in 10 s')
    radius.set(xlabel='time [s]', ylabel='divergence of the radius [%]')
    radius.axhline(34.0, color=GREY, linewidth=0.8, linestyle='--')
    radius.text(0.1, 34.5, 'Bullet as printed, at 10 s', color=GREY, fontsize=7)
    radius.legend(loc='upper left', bbox_to_anchor=(0.0, 0.75))
    return figure


def _frame(axes: Axes, title: str) -> None:
    axes.set(xlabel='x [m]', ylabel='y [m]', title=title)
    axes.set_aspect('equal', adjustable='datalim')

"""Ivanova and Pivovarova: numbers and figures of the sphere with a pendulum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
import math
from pathlib import Path
from typing import NamedTuple

from evidence.papers.row import Row, write_drawings
import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.gaits import (
    choose_gait,
    GaitLimits,
    gaits_for_speed,
    speed_change,
    swing_extremes,
)
from rolling_dynamics.pendulum_sphere.parameters import (
    paper_parameters,
    scales_of,
    SphereParameters,
)
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing
from rolling_dynamics.pendulum_sphere.system import pendulum_direction, PendulumSphere
from rolling_dynamics.simulation import simulate
from rolling_robotics.figures.states import COLOURS, GREY, WIDTH
from scipy.integrate import solve_ivp


class FixedPoint(NamedTuple):
    """An angle at which the pendulum stays [rad], and its kind: ``center`` or ``saddle``."""

    theta: float
    kind: str


def angular_acceleration(
    params: SphereParameters, a0: float, theta: ArrayLike, rate: ArrayLike
) -> Array:
    """
    Return the pendulum's theta'' [rad/s^2], Eq. (19), in the common shape of theta and rate.

    theta in rad, its rate in rad/s, a0 in m/s^2.
    """
    th, w = np.asarray(theta, dtype=float), np.asarray(rate, dtype=float)
    c, R, weight = params.coupling, params.shell_radius, params.pendulum_mass * params.gravity
    L = params.pendulum_length
    force = a0 / R * (params.I0 - c * np.cos(th)) - c * np.sin(th) * w**2 - weight * L * np.sin(th)
    return np.array(force / (params.i0 - c * np.cos(th)))


def torque(params: SphereParameters, a0: float, theta: ArrayLike, rate: ArrayLike) -> Array:
    """Return the torque that keeps the acceleration, about s x e [N m] (before Eq. (19))."""
    th, w = np.asarray(theta, dtype=float), np.asarray(rate, dtype=float)
    acc = angular_acceleration(params, a0, th, w)
    swirl = np.cos(th) * acc - np.sin(th) * w**2
    return np.array(a0 / params.shell_radius * params.I0 + params.coupling * swirl)


def first_integral(
    params: SphereParameters, a0: float, theta: ArrayLike, rate: ArrayLike
) -> Array:
    """Return C, quadratic in the rate (after Eq. (19)), in (kg m^2)^2 / s^2."""
    th, w = np.asarray(theta, dtype=float), np.asarray(rate, dtype=float)
    c, R, i0, I0 = params.coupling, params.shell_radius, params.i0, params.I0
    b = params.pendulum_mass * params.gravity * params.pendulum_length
    cosine, sine = np.cos(th), np.sin(th)
    k = a0 / R
    return np.array(
        -((i0 - c * cosine) ** 2) * w**2 / 2
        + (i0 - c / 2 * cosine) * (b * cosine - k * c * sine)
        + k * th * (I0 * i0 + c * c / 2)
        - k * c * I0 * sine
    )


def fixed_points(params: SphereParameters, a0: float) -> tuple[FixedPoint, ...]:
    """
    Return the angles at which the pendulum stays while the sphere accelerates.

    Parameters
    ----------
    params
        The sphere, on a level floor.
    a0
        Acceleration [m/s^2].

    Returns
    -------
    tuple of FixedPoint
        A center and a saddle, in (-pi, pi].

    Raises
    ------
    ParameterError
        The acceleration is too great to be held.

    """
    # a0 I0 / R = sin theta m g R_t + cos theta a0 c / R = size cos(theta - ahead)
    b = params.pendulum_mass * params.gravity * params.pendulum_length
    k = a0 / params.shell_radius
    size, ahead = math.hypot(b, k * params.coupling), math.atan2(b, k * params.coupling)
    if not abs(k * params.I0) < size:
        most = b / math.sqrt(params.I0**2 - params.coupling**2) * params.shell_radius
        raise ParameterError(
            f'a constant acceleration of {a0:.6g} m/s^2 has no fixed point; less than '
            f'{most:.6g} m/s^2 can be held'
        )
    turn = math.acos(k * params.I0 / size)
    found = []
    angles = [math.remainder(ahead + side * turn, math.tau) for side in (-1, 1)]
    for angle in sorted(angles, key=abs):
        h = 1e-6
        slope = np.diff(angular_acceleration(params, a0, np.array([angle - h, angle + h]), 0.0))[0]
        found.append(FixedPoint(angle, 'center' if slope < 0 else 'saddle'))
    return tuple(found)


def motion_from_rest(params: SphereParameters, a0: float, times: Array) -> Array:
    """Return angle [rad] and rate [rad/s] from zero on, shape (2, N), at times [s]."""
    done = solve_ivp(
        lambda _, y: [y[1], float(angular_acceleration(params, a0, y[0], y[1]))],
        (times[0], times[-1]),
        [0.0, 0.0],
        'DOP853',
        t_eval=times,
        rtol=1e-11,
        atol=1e-13,
    )
    return np.asarray(done.y)


TO_PAPER = np.array([1.0, -1.0, -1.0])  # the paper's z points down
PERIOD, CHANGE, TURN, ACCELERATION = 5.0, 0.5, math.radians(40), 0.1  # of the examples
AFTER = 2.0  # time shown after the swing
REPLAYED = 1e-6  # relative error of a swing that is replayed on the full model


class Replay(NamedTuple):
    """A swing's torque replayed open loop on the full model, in the paper's units and axes."""

    times: Array
    n: Array
    omega: Array
    torque: Array
    path: Array
    velocity: Array
    acceleration: Array


@cache
def paper_sphere() -> SphereParameters:
    """Return the sphere of the paper in its own units."""
    si = paper_parameters()
    return scales_of(si).parameters_to_dimensionless(si)


def rows() -> list[Row]:
    """Return every number the paper prints."""
    return list(_numbers())


def stated(_: list[Row]) -> list[str]:
    """Return what the paper leaves unsaid."""
    params = paper_sphere()
    M, m = params.shell_mass, params.pendulum_mass
    factor = Fraction(params.shell_inertia / (M * params.shell_radius**2)).limit_denominator(100)
    return [
        f'unsaid in the paper, inferred: thin shell, I = {factor} M R_o^2, M = {M / m:g} m',
        'unit of time t_0 = sqrt((i + j) / (m g R_t)), of length g t_0^2, of mass m',
        'Eq. (12) with the signs of its first and third terms corrected',
    ]


def example(velocity: tuple[float, float], direction: float) -> Replay:
    """Return a swing of 0.5 in 5 in a direction, and the free rolling after it."""
    params = paper_sphere()
    amplitude = choose_gait(params, CHANGE, PERIOD, GaitLimits(friction=1.0))
    # the paper's y points the other way
    swing = SpatialSwing(params=params, direction=-direction, amplitude=amplitude, period=PERIOD)
    system = PendulumSphere()
    x0 = system.rolling_state(params, velocity=[velocity[0], -velocity[1]])
    times = np.linspace(0, PERIOD + AFTER, 281)
    run = simulate(
        system,
        system.pack_parameters(params),
        x0,
        lambda t: swing.at(t).torque[0],
        times[-1],
        t_eval=times,
        rtol=1e-10,
        atol=1e-12,
    )
    table, states, s = swing.at(times), run.states, system.state
    w_x, w_y, _ = states[:, s.slice('w_WS_W')].T
    values = (
        np.array([pendulum_direction(x) for x in states]),
        states[:, s.slice('w_WP_W')],
        table.torque,
        states[:, s.slice('contact')],
        params.shell_radius * np.column_stack([w_y, -w_x]),
        table.acceleration,
    )
    in_space = (np.pad(v, ((0, 0), (0, 3 - v.shape[1]))) for v in values)
    return Replay(times, *(v * TO_PAPER for v in in_space))


def _numbers() -> Iterator[Row]:
    """Yield the rows; a number that the paper rounds may differ by half its last digit."""
    params = paper_sphere()
    center, saddle = fixed_points(params, ACCELERATION)
    name = '{} fixed point at a_0 = 0.1 (Section 3)'
    yield Row(name.format('stable'), 0.38, center.theta, 0.005, 'rad')
    yield Row(name.format('unstable'), 2.56, saddle.theta, 0.005, 'rad')
    gaits = gaits_for_speed(params, CHANGE, PERIOD)
    name = 'amplitude for a change of speed by 0.5 in 5 (Example 1)'
    yield Row(name, 0.83, gaits[0], 0.005, 'rad')
    speed = CHANGE / math.tan(TURN)
    yield Row('initial speed of the turn by 40 deg (Example 2)', 0.6, speed, 0.05, 'x_0/t_0')
    reached = example((0.0, 0.0), 0.0).velocity[-1, 0]
    name = 'speed after the swing, replayed on the full model (Example 1)'
    yield Row(name, CHANGE, reached, REPLAYED * CHANGE, 'x_0/t_0')
    turn = example((speed, 0.0), math.pi / 2)
    angle = math.degrees(math.atan2(turn.velocity[-1, 1], turn.velocity[-1, 0]))
    name, printed = 'turn by the swing, replayed on the full model (Example 2)', math.degrees(TURN)
    yield Row(name, printed, angle, REPLAYED * printed, 'deg')
    stop = gaits_for_speed(params, -CHANGE, PERIOD)[0]
    yield Row('amplitude of the stop (Section 2.1)', -0.83, stop, 0.005, 'rad')
    odd = np.sum(speed_change(params, np.array([0.83, -0.83]), PERIOD))
    name = 'odd: dV(alpha) + dV(-alpha) at 0.83, 5 (Section 2.1)'
    yield Row(name, 0.0, odd, 1e-12, 'x_0/t_0')
    count = sum(amplitude > 0 for amplitude in gaits)
    name = 'amplitudes for 0.5 in 5: at least (Section 2.1)'
    yield Row(name, 2, count, 0.0, relation='at least')


FRICTION = 0.8  # coefficient for which the surfaces are masked


def figures(folder: Path) -> list[Path]:
    """Draw figures 3, 4, 7, 8, 9 and 10 into a folder and return the files."""
    drawings = {
        'figure_3': speed_figure,
        'figure_4': example_1_figure,
        'figure_7': turn_figure,
        'figure_8': trajectory_figure,
        'figure_9': phase_portrait,
        'figure_10': history_figure,
    }
    return write_drawings(folder, 'ivanova_pivovarova', drawings)


def speed_figure() -> Figure:
    """Return figure 3: the change of speed over amplitude and period, masked, and sections."""
    return _surface_figure(
        lambda alpha, T: speed_change(paper_sphere(), alpha, T), r'$\Delta V$', 'Change of speed'
    )


def turn_figure() -> Figure:
    """Return figure 7: the angle of a turn at the speed of Example 2."""
    speed = CHANGE / math.tan(TURN)
    return _surface_figure(
        lambda alpha, T: np.arctan2(speed_change(paper_sphere(), alpha, T), speed),
        r'$\psi$',
        rf'Angle of turn at $V_s$ = {speed:.3g}',
    )


def _surface_figure(value: Callable[[Array, Array], Array], label: str, title: str) -> Figure:
    params = paper_sphere()
    figure = Figure(figsize=(WIDTH, 3.4))
    grid = figure.add_gridspec(1, 2, width_ratios=(1.15, 1))
    surface = figure.add_subplot(grid[0], projection='3d')
    alpha, T = np.meshgrid(np.linspace(-math.pi, math.pi, 81), np.linspace(0.8, 8, 61))
    values = value(alpha, T)
    good = GaitLimits(friction=FRICTION).allow(params, alpha, T)
    blue, grey = mpl.colors.to_rgba(COLOURS[0], 0.95), (0.8, 0.8, 0.8, 0.35)
    colours = np.where(good[..., None], blue, grey)
    surface.plot_surface(
        alpha, T, values, facecolors=colours, rstride=1, cstride=1, linewidth=0, shade=True
    )
    surface.set(xlabel=r'$\alpha$ [rad]', ylabel='$T$', zlabel=label)
    surface.set_title(f'{title}: blue where the contact holds\n(N > 0, friction below {FRICTION})')
    surface.view_init(24, -128)
    axes = figure.add_subplot(grid[1])
    for period, dash, colour in ((5.0, '-', COLOURS[0]), (1.0, '--', COLOURS[1])):
        _section(axes, value, period, dash, colour)
    axes.axhline(0, color=GREY, linewidth=0.6)
    axes.set(xlabel=r'$\alpha$ [rad]', ylabel=label)
    axes.set_title('Sections; thick where the contact holds')
    axes.legend()
    return figure


def _section(
    axes: Axes, value: Callable[[Array, Array], Array], period: float, dash: str, colour: str
) -> None:
    params = paper_sphere()
    alpha = np.linspace(-2 * math.pi, 2 * math.pi, 1601)
    values = value(alpha, np.full_like(alpha, period))
    axes.plot(alpha, values, dash, color=colour, linewidth=0.9, label=f'T = {period:g}')
    good = GaitLimits(friction=FRICTION, amplitude=2 * math.pi).allow(params, alpha, period)
    axes.plot(alpha, np.where(good, values, np.nan), color=colour, linewidth=3, alpha=0.6)
    pressed = swing_extremes(params, alpha, period).normal_force > 0
    edge = np.abs(alpha[~pressed]).min() if not pressed.all() else None
    if edge is not None:
        for a in (-edge, edge):
            axes.axvline(a, color=colour, linewidth=0.6, linestyle=':')


def example_1_figure() -> Figure:
    """Return figure 4: pendulum, torque, velocity and acceleration while starting."""
    run = example((0.0, 0.0), 0.0)
    figure = Figure(figsize=(WIDTH, 3.6))
    axes = figure.subplots(2, 3, sharex=True)
    curves = (
        (run.n[:, 0], '$n_1$'),
        (run.n[:, 2], '$n_3$'),
        (run.omega[:, 1], r'$\omega_2$'),
        (run.torque[:, 1], '$Q_2$'),
        (run.velocity[:, 0], '$V$'),
        (run.acceleration[:, 0], '$a$'),
    )
    _curves(axes.ravel(), run.times, curves)
    figure.suptitle(
        "Start by 0.5 in 5, the swing's torque replayed on the full model (axes of the paper)",
        fontsize=9,
    )
    return figure


def trajectory_figure() -> Figure:
    """Return figure 8: the trajectory of the turn by 40 degrees."""
    run = example((CHANGE / math.tan(TURN), 0.0), math.pi / 2)
    figure = Figure(figsize=(WIDTH * 0.7, 3.0))
    axes = figure.subplots()
    before = np.array([[-1.2, 0.0]])
    path = np.vstack([before, run.path[:, :2]])
    swing = run.times <= PERIOD
    axes.plot(path[:, 0], path[:, 1], color=COLOURS[0], label='trajectory')
    axes.plot(*run.path[swing][:, :2].T, color=COLOURS[1], linewidth=2.4, label='during the swing')
    corner = run.velocity[0, 0] * PERIOD / 2
    axes.plot(
        [-1.2, corner, path[-1, 0]],
        [0, 0, (path[-1, 0] - corner) * math.tan(TURN)],
        color=GREY,
        linewidth=0.7,
        linestyle='--',
        label='straight lines, 40 deg apart',
    )
    axes.set(xlabel='$x$', ylabel='$y$', aspect='equal')
    axes.set_title('Turn by 40 deg in one swing')
    axes.legend()
    return figure


def phase_portrait() -> Figure:
    """Return figure 9: level lines of the first integral and the trajectory from rest."""
    params = paper_sphere()
    figure = Figure(figsize=(WIDTH * 0.75, 3.6))
    axes = figure.subplots()
    theta, rate = np.meshgrid(np.linspace(-2.2, 4.4, 600), np.linspace(-6, 6, 600))
    C = first_integral(params, ACCELERATION, theta, rate)
    center, saddle = fixed_points(params, ACCELERATION)
    high, low = (
        float(first_integral(params, ACCELERATION, p.theta, 0.0)) for p in (center, saddle)
    )
    fractions = np.array([2.2, 1.8, 1.4, 0.8, 0.6, 0.4, 0.15, 0.04])
    steps = high - (high - low) * fractions
    axes.contour(theta, rate, C, sorted(steps), colors=COLOURS[0], linewidths=0.7, linestyles='-')
    axes.contour(theta, rate, C, [low], colors=COLOURS[2], linewidths=1.1)
    rest = motion_from_rest(params, ACCELERATION, np.linspace(0, 6, 400))
    axes.plot(*rest, color=COLOURS[1], linewidth=2.2, label='from rest')
    axes.plot(center.theta, 0, 'o', color='k', label=f'center, {center.theta:.2f}')
    axes.plot(saddle.theta, 0, 'x', color='k', label=f'saddle, {saddle.theta:.2f}')
    axes.set(xlabel=r'$\theta$ [rad]', ylabel=r'$\dot\theta$')
    axes.set_title('Constant acceleration 0.1: phase portrait')
    axes.legend(loc='upper left', frameon=True, facecolor='white', framealpha=1)
    return figure


def history_figure() -> Figure:
    """Return figure 10: pendulum and torque while the sphere accelerates from rest."""
    params = paper_sphere()
    times = np.linspace(0, 12, 800)
    theta, rate = motion_from_rest(params, ACCELERATION, times)
    figure = Figure(figsize=(WIDTH, 3.6))
    axes = figure.subplots(2, 2, sharex=True)
    curves = (
        (np.sin(theta), '$n_1$'),
        (np.cos(theta), '$n_3$'),
        (rate, r'$\omega_2$'),
        (torque(params, ACCELERATION, theta, rate), '$Q_2$'),
    )
    _curves(axes.ravel(), times, curves)
    figure.suptitle('Constant acceleration 0.1 from rest (axes of the paper)', fontsize=9)
    return figure


def _curves(
    axes: NDArray[np.object_], times: Array, curves: tuple[tuple[Array, str], ...]
) -> None:
    for a, (values, name) in zip(axes, curves, strict=True):
        a.plot(times, values, color=COLOURS[0])
        a.set_title(name)
        a.margins(x=0)
    for a in axes[-len(curves) // 2 :]:
        a.set_xlabel('$t$')

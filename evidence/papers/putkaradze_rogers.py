"""Putkaradze and Rogers: numbers and figures of balls and disks with moving masses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
import math
from pathlib import Path
import time
from typing import cast, NamedTuple

import casadi as ca
from evidence.papers.disk_and_ball import ball, disk, masses_of, simulated
from evidence.papers.row import Row, write_drawings
from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.internal_masses.masses import pairs_that_hold
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_dynamics.simulation import simulate, Trajectory
from rolling_dynamics.simulation.control import Samples
from rolling_robotics.figures.states import COLOURS, contact_figure, GREY, legend, WIDTH
from rolling_robotics.files import Arrays
from rolling_robotics.plugins.point_mass_ball.report import (
    forces_at,
    required_friction,
    RequiredFriction,
)
from rolling_robotics.result import simulate_scenario, simulation_result
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

PRINTED_DETACHMENT = 3.7358  # s
# of a second paper, whose text at hand names its figures without a picture or a caption
OTHER = 'Putkaradze & Rogers, On the dynamics of a rolling ball'
UNSEEN = tuple(f'{OTHER}: Fig. {k}' for k in range(1, 14))
LEAST = '{}: least normal force (printed: above)'
DETACHING = (0.1, 0.1, 0.1, 60.0)


class Run(NamedTuple):
    """A run of an example and what it asks of the contact."""

    example: Scenario
    trajectory: Trajectory
    needed: RequiredFriction


@cache
def disk_run() -> Run:
    """Return the disk of Section 5."""
    return _run(disk(), 20.0, 1e-12)


@cache
def ball_run() -> Run:
    """Return the ball of Section 6."""
    return _run(ball(), 20.0, 1e-10)


@cache
def detaching_run() -> Run:
    """Return the modified ball up to where N vanishes, friction without limit."""
    return _run(ball(DETACHING), 20.0, 1e-10)


def _run(example: Scenario, duration: float, tolerance: float) -> Run:
    trajectory = simulated(example, duration, tolerance)
    return Run(example, trajectory, required_friction(trajectory))


def slip_time(mu: float) -> float:
    """Return when the modified ball begins to slip at a coefficient of static friction [s]."""
    ex = ball(DETACHING, mu=mu)
    control = ex.control.simplest
    hit = simulate(ex.system, ex.p, ex.x0, control, 20.0, rtol=1e-10, atol=1e-10)
    event = hit.terminal_event
    return float('nan') if event is None else event.time


def balanced_angles() -> Array:
    """
    Return theta_2, theta_3 [rad] that put the mass above the centre at theta_1 = 0.

    Shape (2,).
    """
    example = ball()
    rails = [m.rail for m in masses_of(example)]

    def aside(angles: Array) -> Array:
        places = [r.points(a)[0] for r, a in zip(rails, [0.0, *angles], strict=True)]
        total: Array = np.sum(places, axis=0)[:2]
        return total

    return np.asarray(
        fsolve(aside, example.x0[example.system.state.slice('theta')][1:], xtol=1e-14)
    )


def forces(run: Run, count: int = 2001) -> tuple[Array, Array, Array, Array]:
    """Return times [s], N [N], static friction (count, 2) [N] and f / N of a run."""
    end = run.trajectory.segments[-1].end
    times = np.linspace(0.0, end, count)
    return (times, *forces_at(run.trajectory, times))


def rows() -> list[Row]:
    """Return every number the paper prints; rounding may move one by half its last digit."""
    disk, ball, angles = disk_run(), ball_run(), balanced_angles()
    disk_pairs, ball_pairs = (sum(pairs_that_hold(r.needed.mu).values()) for r in (disk, ball))
    disk_force, ball_force = disk.needed.least_normal_force, ball.needed.least_normal_force
    return [
        Row('disk: least coefficient of friction', 0.2951, disk.needed.mu, 5e-5),
        Row(LEAST.format('disk'), 0, disk_force, 1e-6, 'N', relation='above'),
        Row('disk: pairs of materials that hold', 4, disk_pairs, 0),
        Row('ball: least coefficient of friction', 0.19, ball.needed.mu, 5e-3),
        Row(LEAST.format('ball'), 0, ball_force, 1e-6, 'N', relation='above'),
        Row('ball: pairs of materials that hold', 6, ball_pairs, 0),
        Row('ball: initial angle theta_2', 2.0369, angles[0], 5e-5, 'rad'),
        Row('ball: initial angle theta_3', 0.7044, angles[1], 5e-5, 'rad'),
        *integrator_rows(),
        *stepper_rows(),
        *_detachment(),
    ]


def _detachment() -> list[Row]:
    end = detaching_run().trajectory.terminal_event
    friction = float(np.linalg.norm(forces(detaching_run(), 2)[2][-1]))
    when = end.time if end else float('nan')
    name = 'modified ball: normal force vanishes'
    return [
        Row(name, PRINTED_DETACHMENT, when, 1e-4, 's', expected=3.6095),
        Row('modified ball: static friction at that instant', None, friction, 1e-2, 'N', 5.046),
        Row('modified ball: begins to slip, mu = 1', None, slip_time(1.0), 1e-4, 's', 3.5520),
    ]


def stated(rows: list[Row]) -> list[str]:
    """Return what the paper leaves unsaid, and what comes of its detachment."""
    end, friction, slip = rows[-3:]
    return [
        'of the other paper (dynamics) the text at hand holds abstract and appendices A to D, no',
        '  simulation: none of its figures can be laid beside ours; --unseen lists them',
        'rails of the ball, unsaid in the paper: zeta = r (n cos theta - b1 sin theta), b1 of',
        '  Frisvad',
        f'detachment at {end.printed:g} does not follow from the printed parameters: N vanishes',
        f'  at {end.computed:.4f}; rounding of the printed angles moves this by',
        f'  {end.tolerance:g} at most. At that instant friction is {friction.computed:.2f} N, not',
        '  0, and without contact force the centre would accelerate into the plane: flight cannot',
        f'  start there. With mu = 1 slip comes first, at {slip.computed:.4f}',
    ]


COUNT = 2001


def figures(folder: Path) -> list[Path]:
    """Draw figures 5.3, 5.4, 6.2, 6.3 and 6.4 into a folder and return the files."""
    drawings = {
        'figure_5_3': disk_motion,
        'figure_5_4': lambda: contact_forces(load_scenario('point_mass_disk')),
        'figure_6_2': ball_motion,
        'figure_6_3': lambda: contact_forces(load_scenario('point_mass_ball')),
        'figure_6_4': detachment,
    }
    return write_drawings(folder, 'putkaradze_rogers', drawings)


def _places(run: Run, times: Array) -> tuple[Array, Array]:
    """Return bodies over the centre in B and in W, shape (N, bodies, 3); the last is the whole."""
    system, p = run.example.system, run.example.p
    poses = [np.array(system.pose(x, p)) for x in run.trajectory.state_at(times)]
    X = np.array([[np.array(m) for m in pose] for pose in poses])
    shell = X[:, 0, :3, :3]
    over = X[:, 1:, :3, 3] - X[:, :1, :3, 3]
    layout = system.parameters
    masses = p[layout.slice('masses')]
    chi0 = p[layout.slice('centre_of_mass')]
    chi0 = chi0 if chi0.size == 3 else np.array([chi0[0], 0.0, chi0[1]])
    m0 = p[layout.slice('mass')][0]
    first = np.einsum('nij,j->ni', shell, chi0) * m0 + np.einsum('nbi,b->ni', over, masses)
    over = np.concatenate([over, (first / (m0 + masses.sum()))[:, None]], axis=1)
    return np.einsum('nji,nbj->nbi', shell, over), over


def _sheet(title: str, threes: tuple[int, ...] = ()) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(WIDTH, 0.82 * WIDTH))
    axes = [
        figure.add_subplot(2, 2, k + 1, projection='3d' if k in threes else None) for k in range(4)
    ]
    figure.suptitle(title, fontsize=10, x=0.01, ha='left')
    return figure, axes


def _labels(count: int) -> list[str]:
    return [*(f'$m_{k + 1}$' for k in range(count - 1)), 'whole']


def disk_motion() -> Figure:
    """Return figure 5.3: paths of the masses in body and space, rate, path of the centre."""
    run, t = disk_run(), np.linspace(0, 20, COUNT)
    figure, axes = _sheet('Motion of the rolling disk (figure 5.3)')
    for ax, places, title in zip(
        axes[:2], _places(run, t), ('In the body', 'In space, over the centre'), strict=True
    ):
        for k, label in enumerate(_labels(places.shape[1])):
            ax.plot(places[:, k, 0], places[:, k, 2], color=COLOURS[k], label=label)
        turn = np.linspace(0, 2 * np.pi, 200)
        ax.plot(np.cos(turn), np.sin(turn), color=GREY, linewidth=0.8)
        ax.set(aspect='equal', title=title, xlabel='$e_1$ [m]', ylabel='$e_3$ [m]')
    axes[0].legend(loc='center left', bbox_to_anchor=(1.0, 0.5), ncols=1)
    x = run.trajectory.state_at(t)
    layout = run.example.system.state
    axes[2].plot(t, x[:, layout.slice('phi_rate')], color=COLOURS[0])
    axes[2].set(title='Rate of the angle', xlabel='t [s]', ylabel=r'$\dot\phi$ [rad/s]')
    axes[3].plot(t, x[:, layout.slice('p')], color=COLOURS[0])
    axes[3].set(title='Centre and contact point', xlabel='t [s]', ylabel='z [m]')
    return figure


def ball_motion() -> Figure:
    """Return figure 6.2: paths of the masses in body and space, rates, path of the centre."""
    run, t = ball_run(), np.linspace(0, 20, COUNT)
    figure, axes = _sheet('Motion of the rolling ball (figure 6.2)', threes=(0, 1))
    for ax, places, title in zip(
        axes[:2], _places(run, t), ('In the body', 'In space, over the centre'), strict=True
    ):
        for k, label in enumerate(_labels(places.shape[1])):
            ax.plot(*places[:, k].T, color=COLOURS[k], label=label, linewidth=0.9)
        ax.set(title=title, xlabel='x [m]', ylabel='y [m]', zlabel='z [m]')
        ticks = (-1, 0, 1)
        ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1), xticks=ticks, yticks=ticks)
        ax.set(zticks=ticks, aspect='equal')
        ax.set_box_aspect((1, 1, 1), zoom=0.9)  # type: ignore[call-arg,arg-type]
    axes[0].legend(loc='center left', bbox_to_anchor=(-0.45, 0.5), fontsize=7)
    _rates(axes[2], run, t)
    path = run.trajectory.state_at(t)[:, run.example.system.state.slice('p')]
    axes[3].plot(*path.T, color=COLOURS[0])
    axes[3].set(
        aspect='equal', title='Centre and contact point', xlabel='$z_1$ [m]', ylabel='$z_2$ [m]'
    )
    axes[3].set_aspect('equal', adjustable='datalim')
    return figure


def _rates(ax: Axes, run: Run, t: Array) -> None:
    rates = run.trajectory.state_at(t)[:, run.example.system.state.slice('w_WB_B')]
    for k in range(3):
        ax.plot(t, rates[:, k], color=COLOURS[k], label=rf'$\Omega_{k + 1}$')
    ax.set(title='Body angular velocity', xlabel='t [s]', ylabel='[rad/s]')
    legend(ax, 3)


def contact_forces(example: Scenario) -> Figure:
    """Return figure 5.4 or 6.3: contact force, friction that is needed, and the force cone."""
    figure = contact_figure(Arrays(simulation_result(example, simulate_scenario(example))))
    assert figure is not None  # noqa: S101  (a body that rolls has a contact)
    return figure


def detachment() -> Figure:
    """Return figure 6.4 with the true time, up to where N vanishes."""
    figure = contact_forces(ball(DETACHING))
    friction = figure.axes[1]
    friction.axvline(PRINTED_DETACHMENT, color=GREY, linestyle='--', label='printed end')
    legend(friction, 3)
    return figure


TOLERANCE, REFERENCE = 1e-9, 1e-13
DURATION = 10.0  # s
AGREE = 1e-6  # of the state at the end, from the reference
SCIPY, SUNDIALS = ('DOP853', 'Radau', 'BDF'), ('cvodes', 'idas')


def compare(
    example: Scenario, duration: float, tolerance: float
) -> dict[str, tuple[Array, float]]:
    """Return state at the end and CPU time [s] by name of the integrator."""
    given = example, duration, tolerance
    runs = {'suite, DOP853': partial(_suite, *given)}
    runs |= {f'SciPy, {name}': partial(_others, *given, name) for name in SCIPY}
    runs |= {f'SUNDIALS, {name.upper()}': partial(_others, *given, name) for name in SUNDIALS}
    found = {}
    for name, run in runs.items():
        began = time.process_time()
        found[name] = run(), time.process_time() - began
    return found


def integrator_rows() -> list[Row]:
    """Return how far each integrator ends from a tight run of the suite, and its time."""
    example = ball()
    reference = _suite(example, DURATION, REFERENCE)
    out = []
    for name, (state, seconds) in compare(example, DURATION, TOLERANCE).items():
        off = float(np.abs(state - reference).max())
        out += [
            Row(
                f'ball, {DURATION:g} s: {name}, from a run at 1e-13',
                None,
                off,
                AGREE,
                expected=0.0,
            ),
            Row(f'ball, {DURATION:g} s: {name}, CPU time', None, seconds, 0.0, 's'),
        ]
    return out


def _suite(example: Scenario, duration: float, tolerance: float) -> Array:
    return np.asarray(simulated(example, duration, tolerance).states[-1])


def _others(example: Scenario, duration: float, tolerance: float, name: str) -> Array:
    """Return the state at the end by SciPy, or through CasADi by SUNDIALS."""
    system, (times, values) = (
        example.system,
        map(np.asarray, cast('Samples', example.control.samples)),
    )
    x, t = ca.SX.sym('x', system.state.size), ca.SX.sym('t')
    line = ca.SX.sym('line', 2 * system.control.size)  # control and its rate between two points
    u, rate = ca.vertsplit(line, system.control.size)
    ode = ca.densify(next(iter(system.modes.values())).dynamics(x, u + t * rate, t, example.p))
    problem = {'x': x, 't': t, 'p': line, 'ode': ode}
    options = {'reltol': tolerance, 'abstol': tolerance, 'max_num_steps': 1_000_000}
    rates, state = FastFunction(ca.Function('rates', [t, x, line], [ode])), example.x0
    for k, (a, b) in enumerate(pairwise(times)):
        slope = (values[k + 1] - values[k]) / (b - a)
        given, end = np.concatenate([values[k] - a * slope, slope]), float(min(b, duration))
        if name in SUNDIALS:
            solve = ca.integrator('solve', name, problem, float(a), end, options)
            state = np.array(solve(x0=state, p=given)['xf']).ravel()
        else:
            limits = {'rtol': tolerance, 'atol': tolerance}
            state = solve_ivp(rates, (a, end), state, name, args=(given,), **limits).y[:, -1]
    return state


MOTORS_FOR, SAMPLE, SUBSTEPS = 5.0, 2e-3, 8  # s, s, of the motors within a sample
TIGHT = 1e-8


@dataclass(frozen=True, kw_only=True)
class Stepper:
    """
    A stepper motor with its gear.

    Attributes
    ----------
    step
        Angle of a step of the shaft [rad].
    error
        Standard deviation of where a step ends, as a fraction of it; it does not add up.
    rate
        Greatest commanded rate [rad/s].
    holding
        Greatest torque on the shaft [N m].
    damping
        Ratio of damping of the swing about a step.

    """

    step: float = math.radians(1.8)
    error: float = 0.015
    rate: float = 3 * 2 * math.pi
    holding: float = 4.0
    damping: float = 0.4

    def follow(self, wanted: Array, start: float, inertia: float, seed: int) -> Array:
        """
        Return the acceleration of the shaft [rad/s^2] at the samples of a wanted angle.

        Parameters
        ----------
        wanted
            Planned angle [rad] every ``SAMPLE`` seconds; the motor begins on a step there.
        start
            Rate at the start [rad/s].
        inertia
            About the shaft [kg m^2].
        seed
            Of the errors of the steps.

        """
        rng, off = np.random.default_rng(seed), {0: 0.0}
        teeth = math.pi / (2 * self.step)  # four steps to a tooth
        stiff = self.holding / inertia
        loss = 2 * self.damping * math.sqrt(stiff * teeth)
        h, out = SAMPLE / SUBSTEPS, np.zeros(len(wanted))
        angle, rate, at, target = 0.0, start, 0.0, 0
        for k, place in enumerate(wanted - wanted[0]):
            at += float(np.clip(place - at, -self.rate * SAMPLE, self.rate * SAMPLE))
            target = round(at / self.step)
            if target not in off:
                off[target] = self.error * float(rng.normal())
            goal, before = (target + off[target]) * self.step, rate
            for _ in range(SUBSTEPS):
                rate += h * (-stiff * math.sin(teeth * (angle - goal)) - loss * rate)
                angle += h * rate
            out[k] = (rate - before) / SAMPLE
        return out


def stepped(example: Scenario, planned: Trajectory, motor: Stepper) -> Trajectory:
    """Return the motion of a ball whose masses follow a planned motion by stepper motors."""
    times = np.arange(0.0, MOTORS_FOR, SAMPLE)
    layout, states = example.system.state, planned.state_at(times)
    angles = states[:, layout.slice('theta')]
    rates = states[0, layout.slice('theta_rate')]
    bodies = masses_of(example)
    inertias = [m.mass * float(np.sum(m.rail.derivatives(0.0)[1] ** 2)) for m in bodies]
    drives = [motor.follow(angles[:, k], float(rates[k]), J, k) for k, J in enumerate(inertias)]
    # each acceleration holds for its sample: the same value at both of its ends
    held = np.repeat(np.column_stack(drives), 2, axis=0)
    ends = np.column_stack([times, times + SAMPLE * (1 - 1e-6)]).ravel()
    return simulated(example, MOTORS_FOR, TIGHT, control=(ends, held))


def stepper_rows() -> list[Row]:
    """Return what steps of one and two degrees do to the ball: path, masses, friction, force."""
    example = ball()
    planned = simulated(example, MOTORS_FOR, TIGHT)
    out = []
    for degrees, error in ((1.0, 0.01), (2.0, 0.02)):
        motor = Stepper(step=math.radians(degrees), error=error)
        masses, path, friction = deviation(planned, stepped(example, planned, motor))
        name = f'ball, {MOTORS_FOR:g} s, steppers of {degrees:g} degree(s), {error:.0%}: '
        out += [
            Row(f'{name}masses off the plan', None, masses, 0.0, 'rad'),
            Row(f'{name}ball off its path', None, path, 0.0, 'm'),
            Row(f'{name}coefficient of friction', None, friction, 0.0),
        ]
    return out


def deviation(planned: Trajectory, found: Trajectory) -> tuple[float, float, float]:
    """Return greatest distance of masses [rad] and ball [m] from a plan, and friction needed."""
    layout, times = planned.system.state, np.arange(0.0, MOTORS_FOR, SAMPLE)
    off = np.abs(found.state_at(times) - planned.state_at(times))
    masses, place = off[:, layout.slice('theta')], off[:, layout.slice('p')]
    path = np.linalg.norm(place, axis=1)
    return float(masses.max()), float(path.max()), required_friction(found).mu

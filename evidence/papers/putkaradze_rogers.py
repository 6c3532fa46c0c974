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
from evidence.papers.row import Drawing, Row, write_drawings
from matplotlib.figure import Figure
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.internal_masses.masses import pairs_that_hold
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_dynamics.simulation import simulate, Trajectory
from rolling_dynamics.simulation.control import Samples
from rolling_robotics.figures.states import (
    COLOURS,
    contact_figure,
    GREY,
    legend,
    lines,
    WIDTH,
)
from rolling_robotics.files import Arrays
from rolling_robotics.plugins.point_mass_ball.report import (
    forces_at,
    required_friction,
    RequiredFriction,
)
from rolling_robotics.result import simulate_scenario, simulation_result
from rolling_robotics.scene.scene import rotation_matrices
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


def figures(folder: Path) -> list[Path]:
    """Draw figures 5.3, 5.4, 6.2, 6.3 and 6.4 into a folder and return the files."""
    paths = {'disk': ('5_3', '5_4'), 'ball': ('6_2', '6_3')}
    drawings: dict[str, Drawing] = {'figure_6_4': detachment}
    for body, numbers in paths.items():
        example = load_scenario(f'point_mass_{body}')
        for number, draw in zip(numbers, (motion, contact_forces), strict=True):
            drawings[f'figure_{number}'] = partial(draw, example)
    return write_drawings(folder, 'putkaradze_rogers', drawings)


def _arrays(example: Scenario) -> Arrays:
    return Arrays(simulation_result(example, simulate_scenario(example)))


def motion(example: Scenario) -> Figure:
    """Return figure 5.3 or 6.2: paths of the masses in body and space, rates, path of the body."""
    arrays = _arrays(example)
    whole, names = arrays['centre_of_mass_W'], ['x', 'y', 'z']
    axes = [0, 1, 2] if whole.shape[1] == len(names) else [0, 2]  # a disk rolls in a plane
    centre = arrays['shell_position'][:, axes]
    shell = rotation_matrices(arrays['shell_attitude'])[:, axes][:, :, axes]
    masses = [arrays[f'mass_{k + 1}_position'][:, axes] for k, _ in enumerate(masses_of(example))]
    over = np.stack([place - centre for place in (*masses, whole)], axis=1)
    figure = Figure(figsize=(WIDTH, 0.82 * WIDTH))
    for k, (title, places) in enumerate(
        {'In the body': np.einsum('nji,nbj->nbi', shell, over), 'In space': over}.items(), 1
    ):
        ax = figure.add_subplot(2, 2, k, projection='3d' if len(axes) == len(names) else None)
        for mass, path in enumerate(places.transpose(1, 2, 0), 1):
            label = 'whole' if mass == places.shape[1] else f'$m_{mass}$'
            ax.plot(*path, color=COLOURS[mass - 1], label=label, linewidth=0.9)
        labels = {f'{x}label': f'{names[a]} [m]' for x, a in zip(names, axes, strict=False)}
        ax.set(aspect='equal', title=f'{title}, over the centre', **labels)
    figure.legend(*ax.get_legend_handles_labels(), loc='outside lower center', ncols=5)
    rates, place = (figure.add_subplot(2, 2, k) for k in (3, 4))
    if 'w_WB_B' in arrays:
        lines(rates, arrays.time, arrays['w_WB_B'], ('$x$', '$y$', '$z$'))
        place.plot(*arrays['p'].T, color=COLOURS[0])
        place.set(xlabel='$z_1$ [m]', ylabel='$z_2$ [m]')
    else:
        lines(rates, arrays.time, arrays['phi_rate'], [''])
        place.plot(arrays.time, arrays['p'], color=COLOURS[0])
        place.set(xlabel='t [s]', ylabel='z [m]')
    rates.set(title='Angular velocity', xlabel='t [s]', ylabel='[rad/s]')
    place.set(title='Centre and contact point')
    return figure


def contact_forces(example: Scenario) -> Figure:
    """Return figure 5.4 or 6.3: contact force, friction that is needed, and the force cone."""
    figure = contact_figure(_arrays(example))
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

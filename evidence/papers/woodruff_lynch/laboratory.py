"""Woodruff and Lynch: experiments of the laboratory, and their figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
import math

from evidence.papers.row import at_most, Row
from matplotlib.figure import Figure
import numpy as np
from PIL import Image
from rolling_controller.laboratory.laws import experiment_plan, restricted_plan
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.robots.view import HAND, OBJECT
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.surfaces import Ellipsoid, Plane
from rolling_planner.laboratory.laboratory import Laboratory, plan_throw_catch, ThrowCatchPlan
from rolling_robotics.animation.movie import pictures, Shot, side_by_side
from rolling_robotics.animation.painter import Camera
from rolling_robotics.figures.states import COLOURS, GREY, WIDTH
from rolling_robotics.scene.parts import surface_mesh
from rolling_robotics.scene.scene import Body, GROUND, Scene
from rolling_robotics.trials.run import ANGLE, CRITERIA, run_many
from rolling_robotics.trials.trial import Record


def band(trials: Sequence[Record]) -> tuple[Array, Array, Array]:
    """
    Return times [s], mean and two standard deviations over trials, shape (k,), as in Fig. 13.

    Parameters
    ----------
    trials
        Run to the end, all of one length.

    Raises
    ------
    ParameterError
        There are no trials, or some ended early.

    """
    if len({len(trial.times) for trial in trials}) != 1:
        raise ParameterError(
            'trials of one length are needed; run them with to_the_end, got lengths '
            f'{sorted({len(trial.times) for trial in trials})}'
        )
    rows = np.array([trial[ANGLE] for trial in trials])
    return trials[0].times, rows.mean(axis=0), 2 * rows.std(axis=0)


SEEDS = range(1, 13)  # twelve trials, as in the paper
FEWER = SEEDS[:2]  # in a fast run
ONE = 1
LAST = 2.0  # s of a trial in which the rocking that is left is measured


@cache
def trial(name: str, law: str) -> Record:
    """Return one trial of an experiment to its end."""
    (found,) = run_many(name, [law], [ONE], to_the_end=True, workers=1)
    return found


@cache
def flip_ups(*, fast: bool = False) -> dict[str, tuple[Record, ...]]:
    """Return twelve flip-ups by law, which takes minutes; ``fast`` two."""
    laws = ('open_loop', 'closed_loop')
    trials = list(run_many('flip_up', laws, FEWER if fast else SEEDS, to_the_end=True))
    return {law: tuple(t for t in trials if t.law == law) for law in laws}


@cache
def throw() -> ThrowCatchPlan:
    """Return the planned throw and catch."""
    laboratory = Laboratory.of_paper()
    plan = experiment_plan(load_scenario('laboratory_throw_catch'))
    return plan_throw_catch(laboratory, restricted_plan(plan, laboratory.model()[0]))


def rows(*, fast: bool) -> list[Row]:
    """Return the numbers of Section VIII; ``fast`` makes two flip-ups a law, not twelve."""
    return [*_damping(), *_flip_up(fast=fast), *_throw()]


def _damping() -> list[Row]:
    goal = CRITERIA['damping'].goal
    left = {}
    for law in ('closed_loop', 'open_loop'):
        found = trial('damping', law)
        late = found.times > found.times[-1] - LAST
        left[law] = float(np.abs(found[ANGLE][late] - goal).max())
    ratio = left['closed_loop'] / left['open_loop']
    name = 'VIII-C: rocking left after 5 s, controlled over alone (printed: below)'
    return [at_most(name, 1.0, ratio)]


def _flip_up(*, fast: bool) -> list[Row]:
    trials = flip_ups(fast=fast)
    printed = {'closed_loop': 1.0, 'open_loop': 0.0}  # of 12: 12 and 0
    rows = []
    for law, fraction in printed.items():
        name = f'VIII-D: fraction of {len(trials[law])} flip-ups that balance'
        balanced = float(np.mean([not t.ended for t in trials[law]]))
        rows.append(Row(f'{name}, {law.replace("_", " ")}', fraction, balanced, 0.0))
    return rows


def _throw() -> list[Row]:
    plan, thrown = throw(), trial('throw_catch', 'closed_loop')
    impact, mu = plan.impact, Laboratory.of_paper().mu
    beyond = 'VIII-E: rate after the impact beyond that which just comes upright'
    needed = 'VIII-E: friction that impact and carry need, of the coefficient (printed: below)'
    return [
        Row(beyond, None, impact.excess, 1e-3, 'rad/s', 0.0),
        at_most(needed, 1.0, max(impact.friction, plan.carry_friction) / mu),
        Row('VIII-E: a throw is caught and balanced', 1, not thrown.ended, 0),
    ]


def stated() -> list[str]:
    """Return the state before the impact, which the paper describes and does not print."""
    plan = throw()
    (x, z), (v_x, v_z) = plan.before.p - plan.hand, plan.before.v
    return [
        f'VIII-E: {plan.touch:.3f} s after the start, just before the impact, the centre is at',
        f'    ({x:.4f}, {z:.4f}) m from the middle of the plate at ({v_x:.3f}, {v_z:.3f}) m/s,',
        f'    turned by {plan.before.angle:.3f} rad at {plan.before.rate:.2f} rad/s; the impact',
        f'    leaves {plan.impact.rate:.3f} rad/s',
    ]


SIDE = Camera(-math.pi / 2, math.radians(8))
DEPTH = 0.02  # m, half of what is drawn of plate and object across the plane


def flip_up_band(*, fast: bool = False) -> Figure:
    """Return Fig. 13: mean and two standard deviations of flip-ups of each law."""
    figure = Figure(figsize=(WIDTH, 3.0))
    axes = figure.subplots()
    for k, (law, trials) in enumerate(flip_ups(fast=fast).items()):
        times, mean, spread = band(trials)
        stood = sum(not t.ended for t in trials)
        label = f'{law.replace("_", " ")}: {stood} of {len(trials)} balance'
        axes.plot(times, mean, color=COLOURS[k], label=label)
        axes.fill_between(times, mean - spread, mean + spread, color=COLOURS[k], alpha=0.25)
    axes.axhline(0.0, color=GREY, linewidth=0.8, linestyle='--')
    axes.set(
        xlabel='time [s]',
        ylabel='turn from upright [rad]',
        title='flip-up: mean and two standard deviations',
        ylim=(-2.0, 2.0),  # what falls over is not followed
    )
    axes.legend(loc='lower right')
    return figure


def flip_up_strip() -> Image.Image:
    """Return Fig. 14: a flip-up under feedback, snapshots every 0.5 s."""
    return _strip(trial('flip_up', 'closed_loop'), 4.5, 0.5, 'flip-up')


def throw_strip() -> Image.Image:
    """Return Fig. 15: a throw, its catch and the balance after it, snapshots every 0.5 s."""
    return _strip(trial('throw_catch', 'closed_loop'), 4.5, 0.5, 'throw, catch and balance')


def flight_strip() -> Image.Image:
    """Return the throw and the catch of Fig. 15, snapshots every 0.1 s."""
    return _strip(trial('throw_catch', 'closed_loop'), 1.4, 0.1, 'throw and catch')


def damping_figure() -> Figure:
    """Return the rocking of the object, alone and under control, Section VIII-C."""
    figure = Figure(figsize=(WIDTH, 2.6))
    axes = figure.subplots()
    for k, (law, name) in enumerate((('open_loop', 'alone'), ('closed_loop', 'controlled'))):
        record = trial('damping', law)
        axes.plot(record.times, record[ANGLE] + math.pi / 2, color=COLOURS[k], label=name)
    axes.set(xlabel='time [s]', ylabel='turn from flat [rad]', title='damping of the rocking')
    axes.legend(loc='upper right')
    return figure


def _strip(record: Record, end: float, every: float, title: str) -> Image.Image:
    shot = Shot(rate=1 / every, every=every, width=360, camera=SIDE, strips=False)
    return Image.fromarray(side_by_side(list(pictures(_scene(record, end, title), shot))))


def _scene(record: Record, end: float, title: str) -> Scene:
    """Return plate and object of a trial up to a time [s]."""
    shown, laboratory = record.times <= end + 1e-9, Laboratory.of_paper()
    a, b = laboratory.semi_axes
    left, right = laboratory.system.parameters.unpack(laboratory.params)['hand_edges'][:2]
    ellipse, plate = Ellipsoid(b, DEPTH, a), Plane()
    whole = np.array([[1e-3, 0.0], [math.pi - 1e-3, 2 * math.pi]])
    part = np.array([[left, -2 * DEPTH], [right, 2 * DEPTH]])
    hand, object_ = record['hand'][shown], record['object'][shown]
    return Scene(
        title=title,
        system='hybrid_contact',
        times=record.times[shown],
        bodies=(
            Body(
                name='hand',
                position=hand[:, 4:],
                attitude=hand[:, :4],
                meshes=(surface_mesh(plate, part, HAND, closed=False),),
                layer=GROUND,
            ),
            Body(
                name='object',
                position=object_[:, 4:],
                attitude=object_[:, :4],
                meshes=(surface_mesh(ellipse, whole, OBJECT),),
            ),
        ),
    )

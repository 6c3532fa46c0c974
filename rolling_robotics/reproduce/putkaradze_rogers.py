"""
The printed numbers and figures of Putkaradze & Rogers (normal force), beside the computed ones.

The frame of the ball's rails is left open in the paper; the one used here is the one with which
the printed initial angles put the centre of mass on the vertical.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.internal_masses import published
from rolling_dynamics.internal_masses.masses import pairs_that_hold, rail_masses
from rolling_dynamics.internal_masses.published import Example
from rolling_dynamics.internal_masses.required_friction import (
    contact_forces,
    required_friction,
    RequiredFriction,
)
from rolling_dynamics.simulation import simulate, Trajectory
from rolling_robotics.reproduce import integrators, steppers
from rolling_robotics.reproduce.row import beside, Row, unprinted
from scipy.optimize import fsolve

SUMMARY = 'disk and ball with internal masses: friction, normal force (Putkaradze & Rogers)'
PRINTED_DETACHMENT = 3.7358  # s
# of a second paper, whose text at hand names its figures without a picture or a caption
OTHER = 'Putkaradze & Rogers, On the dynamics of a rolling ball'
UNSEEN = tuple(f'{OTHER}: Fig. {k}' for k in range(1, 14))
LEAST = '{}: least normal force (printed: above)'
DETACHING = (0.1, 0.1, 0.1, 60.0)
PAIRS = ('aluminium', 'nickel'), ('aluminium', 'copper')


class Run(NamedTuple):
    """A run of an example and what it asks of the contact."""

    example: Example
    trajectory: Trajectory
    needed: RequiredFriction


@cache
def disk_run() -> Run:
    """Return the disk of Section 5."""
    return _run(published.disk(), 20.0, 1e-12)


@cache
def ball_run() -> Run:
    """Return the ball of Section 6."""
    return _run(published.ball(), 20.0, 1e-10)


@cache
def detaching_run() -> Run:
    """Return the modified ball up to where N vanishes, friction without limit."""
    return _run(published.ball(DETACHING), 20.0, 1e-10)


def _run(example: Example, duration: float, tolerance: float) -> Run:
    trajectory = example.simulated(duration, tolerance)
    return Run(example, trajectory, required_friction(trajectory))


def slip_time(mu: float) -> float:
    """Return when the modified ball begins to slip at a coefficient of static friction [s]."""
    ex = published.ball(DETACHING, mu=mu)
    hit = simulate(ex.system, ex.p, ex.x0, ex.control, 20.0, rtol=1e-10, atol=1e-10)
    event = hit.terminal_event
    return float('nan') if event is None else event.time


def balanced_angles() -> Array:
    """
    Return theta_2, theta_3 [rad] that put the mass above the centre at theta_1 = 0.

    Shape (2,).
    """
    rails = [m.rail for m in rail_masses(published.ball().system.masses)]

    def aside(angles: Array) -> Array:
        places = [r.points(a)[0] for r, a in zip(rails, [0.0, *angles], strict=True)]
        total: Array = np.sum(places, axis=0)[:2]
        return total

    return np.asarray(fsolve(aside, published.PRINTED_ANGLES[1:], xtol=1e-14))


def forces(run: Run, count: int = 2001) -> tuple[Array, Array, Array, Array]:
    """Return times [s], N [N], static friction (count, 2) [N] and f / N of a run."""
    end = run.trajectory.segments[-1].end
    times = np.linspace(0.0, end, count)
    return (times, *contact_forces(run.trajectory, times))


def rows() -> list[Row]:
    """Return every number the paper prints; rounding may move one by half its last digit."""
    disk, ball, angles = disk_run(), ball_run(), balanced_angles()
    disk_pairs, ball_pairs = (sum(pairs_that_hold(r.needed.mu).values()) for r in (disk, ball))
    disk_force, ball_force = disk.needed.least_normal_force, ball.needed.least_normal_force
    return [
        beside('disk: least coefficient of friction', 0.2951, disk.needed.mu, 5e-5),
        beside(LEAST.format('disk'), 0, disk_force, 1e-6, 'N', relation='above'),
        beside('disk: pairs of materials that hold', 4, disk_pairs, 0),
        beside('ball: least coefficient of friction', 0.19, ball.needed.mu, 5e-3),
        beside(LEAST.format('ball'), 0, ball_force, 1e-6, 'N', relation='above'),
        beside('ball: pairs of materials that hold', 6, ball_pairs, 0),
        beside('ball: initial angle theta_2', 2.0369, angles[0], 5e-5, 'rad'),
        beside('ball: initial angle theta_3', 0.7044, angles[1], 5e-5, 'rad'),
        *integrators.rows(),
        *steppers.rows(),
        *_detachment(),
    ]


def _detachment() -> list[Row]:
    end = detaching_run().trajectory.terminal_event
    friction = float(np.linalg.norm(forces(detaching_run(), 2)[2][-1]))
    when = end.time if end else float('nan')
    name = 'modified ball: normal force vanishes'
    return [
        beside(name, PRINTED_DETACHMENT, when, 1e-4, 's', expected=3.6095),
        unprinted('modified ball: static friction at that instant', friction, 5.046, 1e-2, 'N'),
        unprinted('modified ball: begins to slip, mu = 1', slip_time(1.0), 3.5520, 1e-4, 's'),
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
    # matplotlib is slow to import
    from rolling_robotics.reproduce.putkaradze_rogers_figures import draw_all  # noqa: PLC0415

    return draw_all(folder)

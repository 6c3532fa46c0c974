"""Numbers and figures of Woodruff & Lynch, section by section."""

from pathlib import Path

from evidence.papers import woodruff_lynch
from evidence.papers.row import NOT_MET, REFUTED
from evidence.papers.woodruff_lynch import (
    ball_on_plate,
    laboratory,
    spinning_plate,
)
import numpy as np
from PIL import Image
import pytest

SECTIONS = (
    woodruff_lynch.dish_rows,
    *(pytest.param(s.rows, marks=pytest.mark.slow) for s in (spinning_plate, ball_on_plate)),
)
OFF = 'the same at steps of 0.01 s', 'psi-dot', 'angular velocity of the ball', 'printed recipe'


@pytest.mark.parametrize('section', SECTIONS)
def test_numbers_come_out_or_are_refuted_as_the_errata_say(section):
    rows = section()
    assert [row.name for row in rows if row.verdict == NOT_MET] == []
    for row in rows:
        errs = any(name in row.name for name in OFF) or 'Bullet at steps' in row.name
        assert (row.verdict == REFUTED) == errs, row.name


def test_ball_with_too_much_inertia_is_not_met(monkeypatch):
    """Moments of inertia off by a thousandth move the circle, its rate and the drift."""
    true = spinning_plate.plate

    def wrong(name=spinning_plate.HORIZONTAL):
        system, p, x0 = true(name)
        p = p.copy()
        p[system.parameters.slice('inertia')] *= 1.001
        return spinning_plate.Plate(system, p, x0)

    monkeypatch.setattr(spinning_plate, 'plate', wrong)
    monkeypatch.setattr(spinning_plate, 'LONG', 4.0)
    spinning_plate.run.cache_clear()
    try:
        missed = {row.name for row in spinning_plate.rows() if row.verdict == NOT_MET}
    finally:
        spinning_plate.run.cache_clear()
    assert 'V-C1: rate of the circle, (14)' in missed
    assert 'V-C1: centre of the circle, (15)' in missed
    assert 'V-C1: radius of the circle, (16)' in missed
    assert 'V-C2: velocity of the drift, beside (17)' in missed


def test_closed_solution_is_a_solution():
    """Its acceleration is that of a ball on a spinning plate, its start that of the paper."""
    times, h = np.linspace(0, 3, 31), 1e-4
    for drift in (0.0, spinning_plate.drift_velocity()):
        before, now, after = (spinning_plate.circle(times + s, drift) for s in (-h, 0, h))
        velocity, acceleration = (after - before) / (2 * h), (after - 2 * now + before) / h**2
        turned = 2.0 * np.column_stack([-velocity[:, 1], velocity[:, 0]])
        slope = np.array([0.0, -2.0 * drift])
        assert np.abs(acceleration - turned - slope).max() < 1e-6
        np.testing.assert_allclose(velocity[0], [0, -0.2], atol=1e-8)
        assert np.all(now[0] == 0)


def test_centre_of_a_circle_is_a_fit():
    """Samples of four radians have no extremes at its sides."""
    points = spinning_plate.circle(np.linspace(0.1, 2.1, 37))
    np.testing.assert_allclose(spinning_plate._centre(points), [0.1, 0.0], atol=1e-14)


def test_table_ii_is_as_printed():
    problem = ball_on_plate.table_ii()
    assert (problem.horizon, problem.segments, problem.refinements) == (2.0, 50, 3)
    assert (problem.method, problem.guess, problem.goal_tolerance) == (
        'trapezoidal',
        'stationary',
        0.1,
    )
    for name, unit in (('contact_h', 1000), ('contact_o', 10), ('psi_dot', 10), ('w_WH_H', 1)):
        assert problem.weights.tracking[name] == pytest.approx(unit / 100)
        assert problem.weights.terminal[name] == pytest.approx(unit * 1000)
    radius = 0.1
    other = ball_on_plate.table_ii(radius)
    assert other.p[other.system.parameters.slice('inertia')][:3] == pytest.approx(
        0.4 * 0.1 * radius**2
    )


def drawn(figure, path):
    """Return how much of a figure is not background."""
    figure.savefig(path, dpi=60)
    return np.mean(np.asarray(Image.open(path).convert('L')) < 200)


def test_figures_of_the_plate_are_drawn(tmp_path):
    for draw in (spinning_plate.paths_on_the_plate, spinning_plate.other_engines):
        assert drawn(draw(), tmp_path / 'figure.png') > 0.01


@pytest.mark.slow
def test_fast_reproduction_draws_every_figure(tmp_path):
    fast = {row.name: row.verdict for row in laboratory.rows(fast=True)}
    assert set(fast.values()) == {'met'}
    assert sum('of 2 flip-ups' in name for name in fast) == 2
    files = [Path(f).stem for f in woodruff_lynch.figures(tmp_path, fast=True)]
    assert {f'woodruff_lynch_figure_{n}' for n in (5, 6, 7, 9, 10, 13, 14, 15)} < set(files)
    assert np.asarray(laboratory.flip_up_strip()).shape[1] == 5 * 360

"""The labyrinth: its drawing, walls and holes, the plan, and a run."""

from functools import cache

import numpy as np
import pytest
from rolling_controller.ball_balancer.labyrinth import run_labyrinth
from rolling_dynamics.ball_balancer.labyrinth import (
    LabyrinthPlant,
    PLACE,
    RATE,
    read_labyrinth,
    RESTING,
    TILT,
)
from rolling_dynamics.errors import ScenarioError
from rolling_planner.ball_balancer.labyrinth import plan_labyrinth

BOARD = read_labyrinth()
LEVEL = np.zeros(2)
CORNER = np.radians(10)  # by which the path turns at least where it counts as a corner


def along_path(spacing=5e-4):
    """Points of the path."""
    parts = [
        np.linspace(a, b, max(2, round(np.hypot(*(b - a)) / spacing)))
        for a, b in zip(BOARD.path[:-1], BOARD.path[1:], strict=True)
    ]
    return np.vstack(parts)


def part_of_board(corners):
    """The board with a path that ends after some corners."""
    return BOARD.model_copy(update={'path': BOARD.path[:corners]})


@cache
def short_plan():
    board = part_of_board(14)  # a lane, its turn, and part of the next
    return board, plan_labyrinth(board)


def test_drawing_has_what_was_asked_for():
    points, way = along_path(), np.diff(BOARD.path, axis=0)
    near = [np.hypot(*(points - hole).T).min() < 1.5 * 2 * BOARD.radius for hole in BOARD.holes]
    cross = way[:-1, 0] * way[1:, 1] - way[:-1, 1] * way[1:, 0]
    turns = abs(np.arctan2(cross, (way[:-1] * way[1:]).sum(1)))
    assert len(BOARD.walls) == 50
    assert len(BOARD.holes) == 40
    assert sum(near) >= 30
    assert (turns > CORNER).sum() >= 60
    assert pytest.approx(1.9, abs=0.02) == BOARD.length
    assert np.ptp(BOARD.walls.reshape(-1, 2), axis=0) == pytest.approx([0.276, 0.231])


def test_path_is_clear_of_walls_and_holes():
    walls, holes = BOARD.room(along_path())
    assert walls.min() > 3e-3
    assert holes.min() > 3e-3


def test_missing_entry_is_named(tmp_path):
    file = tmp_path / 'board.yaml'
    file.write_text('radius: 0.006\n')
    with pytest.raises(ScenarioError, match='hole_radius'):
        read_labyrinth(file)


@pytest.mark.parametrize('end', [False, True], ids=['side', 'end'])
def test_wall_gives_back_its_share_of_the_speed_towards_it(end):
    """Level, so that without walls nothing changes the rate; also at the end of a wall."""
    wall = [-0.01, 0.05, 0.01, 0.05] if not end else [0.0, 0.05, 0.0, 0.09]
    board = BOARD.model_copy(update={'walls': np.array([wall]), 'holes': np.array([[1.0, 1.0]])})
    plant = LabyrinthPlant(board, np.array([0.003 if end else -0.005, 0]), LEVEL)
    before = plant.x[RATE] = np.array([0.0 if end else 0.02, 0.2])
    plant.advance(LEVEL, 0.3)
    (met,) = plant.met
    gap = board.radius if not end else np.sqrt(board.radius**2 - 0.003**2)
    normal = np.array([0.0, -1.0]) if not end else np.array([0.003, -gap]) / board.radius
    assert met.time == pytest.approx((0.05 - gap) / 0.2, abs=1e-6)
    wanted = before - (1 + board.restitution) * (before @ normal) * normal
    np.testing.assert_allclose(plant.x[RATE], wanted, atol=1e-6)


def test_ball_pressed_to_a_wall_rests_there():
    plant = LabyrinthPlant(BOARD, np.array([-0.125, -0.099]), LEVEL)
    plant.x[TILT] = [-0.05, 0.0]
    plant.advance(LEVEL, 2.0)
    assert plant.x[PLACE][0] == pytest.approx(-0.138 + BOARD.radius, abs=1e-5)
    assert abs(plant.x[RATE][0]) < RESTING


def test_ball_falls_with_its_centre_over_a_hole():
    hole = np.array([0.0, 0.0])
    board = BOARD.model_copy(update={'walls': BOARD.walls[:4], 'holes': hole[None]})
    plant = LabyrinthPlant(board, np.array([-0.05, 0.0]), LEVEL)
    plant.x[RATE] = [0.1, 0]
    plant.advance(LEVEL, 2.0)
    assert plant.fallen
    assert plant.time == pytest.approx((0.05 - board.hole_radius) / 0.1, abs=1e-6)
    beside = LabyrinthPlant(board, np.array([-0.05, board.hole_radius + 1e-4]), LEVEL)
    beside.x[RATE] = [0.1, 0]
    beside.advance(LEVEL, 0.9)
    assert not beside.fallen


def test_plan_keeps_clear_and_within_the_servos():
    board, plan = short_plan()
    walls, holes = board.room(plan.places(np.arange(0, plan.times[-1], 2e-3)))
    # between nodes it may come nearer by what a way of 5 mm bends
    assert walls.min() > board.plan.margin - 5e-4
    assert holes.min() > board.plan.margin - 5e-4
    share = board.plan.share + 1e-6
    assert abs(plan.tilt).max() <= share * board.servo.tilt
    assert abs(plan.turn).max() <= share * board.servo.speed
    assert np.hypot(*(plan.places(plan.times[-1:])[0] - board.path[-1])) < 0.01


def test_law_drives_a_part_of_the_path():
    board, plan = short_plan()
    run = run_labyrinth(board, plan, seed=3)
    assert run.reached
    assert not run.fallen
    assert board.length / run.times[-1] > 0.135

"""The labyrinth: its drawing, walls and holes, the plan, and a run."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from rolling_controller.ball_balancer import labyrinth, labyrinth_planner
from rolling_controller.ball_balancer.labyrinth import (
    arrival,
    BALL,
    BLIND,
    FRAMES,
    labyrinth_law,
    LabyrinthLaw,
    SETTLE,
    TILTED,
)
from rolling_controller.ball_balancer.laws import law_on_nodes
from rolling_controller.predictive.program import SOLVED
from rolling_dynamics.ball_balancer.labyrinth import from_walls, Labyrinth, RESTING
from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile
from rolling_dynamics.ball_balancer.rig_file import begin, emulated_rig
from rolling_dynamics.ball_balancer.robot_view import labyrinth_view
from rolling_dynamics.errors import CancelledError, ParameterError, ScenarioError
from rolling_dynamics.robots.emulated_robot import EmulatedRobot
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate, Stepper
from rolling_planner.ball_balancer.labyrinth import plan_labyrinth
from rolling_planner.planners.planner import planner_of, Request
from rolling_planner.progress import NotConvergedError
from rolling_robotics.arrays import Series
from rolling_robotics.plugins.labyrinth import demo
from rolling_robotics.result import plan_result, simulate_scenario
from rolling_robotics.trials.trial import Record, run_trials, Trial

SCENARIO = load_scenario('labyrinth')
FILE = LabyrinthFile.of(SCENARIO)
BOARD, RADIUS = FILE.board, FILE.ball.radius
STILL = np.zeros(2)  # speeds of the servos
FAR = np.array([[1.0, 1.0]])
CORNER = np.radians(10)  # by which the path turns at least where it counts as a corner


def along_path(spacing=5e-4):
    """Points of the path."""
    parts = [
        np.linspace(a, b, max(2, round(np.hypot(*(b - a)) / spacing)))
        for a, b in zip(BOARD.path[:-1], BOARD.path[1:], strict=True)
    ]
    return np.vstack(parts)


def level(file=FILE, **board):
    """A labyrinth that is level, with other walls or holes."""
    unknown = file.unknown.model_copy(update={'offset': 0.0})
    board = file.board.model_copy(update=board)
    return file.model_copy(update={'board': board, 'unknown': unknown})


def moved(file, place, rate, duration, tilt=STILL):
    """Where a ball on a board at rest is after a time, with what happened on the way."""
    system, p = file.system_and_parameters()
    plant = Stepper(system, p)
    s = plant.begin(np.concatenate([place, rate, tilt, STILL]), STILL)
    events = []
    for _ in range(round(duration / 0.01)):
        s = plant.step(s, STILL, 0.01)
        events += s.events
    return s, events


@cache
def short_plan():
    file = level(path=BOARD.path[:14])  # a lane, its turn, and part of the next
    return file, plan_labyrinth(file)


def test_drawing_has_what_was_asked_for():
    points, way = along_path(), np.diff(BOARD.path, axis=0)
    near = [np.hypot(*(points - hole).T).min() < 1.5 * 2 * RADIUS for hole in BOARD.holes]
    cross = way[:-1, 0] * way[1:, 1] - way[:-1, 1] * way[1:, 0]
    turns = abs(np.arctan2(cross, (way[:-1] * way[1:]).sum(1)))
    assert len(BOARD.walls) == 50
    assert len(BOARD.holes) == 40
    assert sum(near) >= 30
    assert (turns > CORNER).sum() >= 60
    assert pytest.approx(1.9, abs=0.02) == FILE.length
    assert np.ptp(BOARD.walls.reshape(-1, 2), axis=0) == pytest.approx([0.276, 0.231])
    assert FILE.camera.rate == 55


def test_path_is_clear_of_walls_and_holes():
    walls, holes = FILE.room(along_path())
    assert walls.min() > 3e-3
    assert holes.min() > 3e-3


def test_missing_entry_is_named():
    board = {k: v for k, v in SCENARIO.raw['board'].items() if k != 'hole_radius'}
    with pytest.raises(ScenarioError, match=r'board\.hole_radius'):
        load_scenario({**SCENARIO.raw, 'board': board})
    with pytest.raises(ParameterError, match='walls and holes, got 0 and 4'):
        Labyrinth(0, 4)


@pytest.mark.parametrize('end', [False, True], ids=['side', 'end'])
def test_wall_gives_back_its_share_of_the_speed_towards_it(end):
    """Level, so that without walls nothing changes the rate; also at the end of a wall."""
    wall = [-0.01, 0.05, 0.01, 0.05] if not end else [0.0, 0.05, 0.0, 0.09]
    file = level(walls=np.array([wall]), holes=FAR)
    before = np.array([0.0 if end else 0.02, 0.2])
    s, (met,) = moved(file, [0.003 if end else -0.005, 0], before, 0.3)
    gap = RADIUS if not end else np.sqrt(RADIUS**2 - 0.003**2)
    normal = np.array([0.0, -1.0]) if not end else np.array([0.003, -gap]) / RADIUS
    assert met.name == 'wall'
    assert met.time == pytest.approx((0.05 - gap) / 0.2, abs=1e-9)
    wanted = before - (1 + BOARD.restitution) * (before @ normal) * normal
    np.testing.assert_allclose(s.x[2:4], wanted, atol=1e-9)


def test_walls_are_not_passed_by_a_motion_with_long_steps():
    """A wall has no thickness; a free ball would take one step for the whole motion."""
    board = {**SCENARIO.raw['board'], 'walls': [[0.05, -0.02, 0.05, 0.02]], 'holes': [[1.0, 1.0]]}
    raw = {k: v for k, v in SCENARIO.raw.items() if k not in ('speeds', 'unknown')}
    scenario = load_scenario({**raw, 'board': board, 'duration': 1})
    x = np.concatenate([[-0.5, 0.0], [1.0, 0.0], STILL, STILL])
    end = simulate(scenario.system, scenario.p, x, scenario.control.simplest, 1.0).states[-1]
    assert end[2] == pytest.approx(-BOARD.restitution)


def test_ball_pressed_into_a_corner_rests_there_until_it_is_pulled_away():
    file = level()
    s, events = moved(file, [-0.125, -0.105], STILL, 2.0, tilt=[-0.05, -0.03])
    assert s.mode == 'at_wall'
    np.testing.assert_allclose(s.x[:2], FILE.edges[0], atol=1e-5)
    assert np.hypot(*s.x[2:4]) < 1e-6
    assert len(events) < 30
    assert all(e.name == 'wall' for e in events)
    s, _ = moved(file, s.x[:2], STILL, 0.3, tilt=[-0.05, 0.05])  # along the wall at the left
    assert s.x[:2] == pytest.approx([FILE.edges[0][0], s.x[1]], abs=1e-5)
    assert s.x[3] == pytest.approx(5 / 7 * 9.81 * np.sin(0.05) * 0.3, rel=0.02)
    assert abs(s.x[2]) < RESTING
    system, p = file.system_and_parameters()
    away = np.concatenate([s.x[:4], [0.05, 0.0], STILL])
    s = Stepper(system, p).step(replace(s, mode='at_wall', x=away), STILL, 0.1)
    assert s.mode == 'rolling'
    assert s.x[0] > FILE.edges[0][0] + 1e-3


def test_wall_takes_no_part_in_the_force_of_the_board():
    """A ball at rest at a wall on a tilted board: the wall holds it, the board bears it."""
    system, p = level(
        walls=np.array([[0.05, -0.02, 0.05, 0.02]]), holes=FAR
    ).system_and_parameters()
    x = np.concatenate([[0.05 - RADIUS, 0.0], STILL, [0.05, 0.0], STILL])
    wrench = np.array(system.modes['at_wall'].wrench(x, STILL, 0.0, p)).ravel()
    weight = FILE.ball.mass * FILE.gravity * np.cos(0.05)
    np.testing.assert_allclose(wrench, [0, 0, 0, 0, 0, weight], atol=1e-12)
    away = np.concatenate([x[:4], [-0.05, 0.0], STILL])  # pulled from it: as without a wall
    free, beside = (
        np.array(system.modes[m].wrench(away, STILL, 0.0, p)).ravel() for m in system.modes
    )
    np.testing.assert_allclose(beside, free, atol=1e-12)


def test_ball_falls_with_its_centre_over_a_hole():
    file = level(walls=BOARD.walls[:4], holes=np.zeros((1, 2)))
    s, _ = moved(file, [-0.05, 0.0], [0.1, 0.0], 2.0)
    assert s.ended.text == 'the ball falls through hole 1'
    assert s.t == pytest.approx((0.05 - BOARD.hole_radius) / 0.1, abs=1e-9)
    beside, _ = moved(file, [-0.05, BOARD.hole_radius + 1e-4], [0.1, 0.0], 0.9)
    assert beside.ended is None


def test_servos_reach_their_speed_with_a_lag_and_stop_at_their_end():
    system, p = level(walls=BOARD.walls[:4], holes=FAR).system_and_parameters()
    plant = Stepper(system, p)
    s = plant.begin(np.zeros(8), STILL)
    s = plant.step(s, np.array([1.0, 9.0]), FILE.servo.lag)
    assert s.x[6] == pytest.approx(1 - np.exp(-1), rel=1e-6)
    assert s.x[7] == pytest.approx(FILE.servo.speed * (1 - np.exp(-1)), rel=1e-6)
    s = plant.step(s, np.array([0.0, 9.0]), 0.3)
    assert s.x[5] == pytest.approx(FILE.servo.reach, rel=1e-3)


def test_plan_keeps_clear_and_within_the_servos():
    file, plan = short_plan()
    walls, holes = file.room(plan.places(np.arange(0, plan.times[-1], 2e-3)))
    # between nodes it may come nearer by what a way of 5 mm bends
    assert walls.min() > file.way.margin - 5e-4
    assert holes.min() > file.way.margin - 5e-4
    share = file.way.share + 1e-6
    assert abs(plan.tilt).max() <= share * file.servo.reach
    assert abs(plan.turn).max() <= share * file.servo.speed
    after = plan.at(plan.times[-1:] + 1.0)
    np.testing.assert_allclose(after[0][0], file.board.path[-1], atol=1e-9)
    np.testing.assert_allclose(after[1:3], 0.0, atol=1e-9)


def test_plan_as_controls_leads_to_the_end_when_it_is_simulated(monkeypatch):
    """Open loop, by another integrator: the controls were found on the same equations."""
    file, plan = short_plan()
    monkeypatch.setattr(labyrinth_planner, 'plan_labyrinth', lambda _: plan)
    raw = {**SCENARIO.raw, 'board': {**SCENARIO.raw['board'], 'path': file.board.path.tolist()}}
    scenario = load_scenario(raw)
    planner = planner_of('labyrinth')
    result = plan_result(planner.plan(scenario, lambda _: True))
    assert result['reached']
    assert result['goal_error'] < 1e-3
    assert not result['events']
    assert result['duration'] == pytest.approx(plan.times[-1], abs=1 / 55)
    assert result['report']['least_margins']['room to holes'] > 1e-3
    with pytest.raises(CancelledError):
        planner.plan(scenario, lambda _: False)
    asked = Request(start=scenario.x0, goal={'ball_x': 0.0}, horizon=0.0, options={})
    with pytest.raises(ParameterError, match='leave out ball_x'):
        planner.problem(scenario, asked)
    with pytest.raises(ScenarioError, match=r'plan\.margin'):
        planner.problem(load_scenario({**raw, 'plan': {'share': 0.2}}))


def test_a_plan_that_loses_the_ball_is_refused(monkeypatch):
    """The collocation did not know of the hole, which lies on the way."""
    file, plan = short_plan()
    monkeypatch.setattr(labyrinth_planner, 'plan_labyrinth', lambda _: plan)
    board = {**SCENARIO.raw['board'], 'path': file.board.path.tolist()}
    board['holes'] = [plan.places(plan.times[-1:] / 2)[0].tolist()]
    scenario = load_scenario({**SCENARIO.raw, 'board': board})
    with pytest.raises(NotConvergedError, match=r'the law loses the ball at \d\.\d+ s: hole'):
        planner_of('labyrinth').plan(scenario, lambda _: True)


def test_law_drives_a_part_of_the_path_and_stays_at_its_end():
    file, plan = short_plan()
    unknown = file.unknown.model_copy(update={'offset': 0.003})
    law = LabyrinthLaw(file.model_copy(update={'unknown': unknown}), plan)
    (run,) = run_trials([Trial(task=demo.Through(law=law), criterion=demo.Arrival(), seed=3)])
    end = file.board.path[-1]
    assert not run.ended
    assert file.length / arrival(run.times, run['ball'], end, RADIUS) > 0.135
    assert not run.events
    np.testing.assert_allclose(run['ball'][-1], end, atol=2e-3)


def driven(law, memory, rig, until, goal, *, seen=True, late=lambda: 0.0):
    """Return the memory of a law that answers frames until a time, each as late as is drawn."""
    while rig.state.t < until - 1e-9 and rig.state.ended is None:
        for frame in rig.advance(rig.state.t + 1 / FILE.camera.rate):
            place = frame.value[:2] if seen else np.full(2, np.nan)
            memory, sent = law.step(memory, [*place, *goal], frame.stamp)
            rig.send(sent, frame.arrival + late())
    return memory


def test_commands_up_to_four_milliseconds_late_drive_it_too():
    """Each leaves an error of the tilt, which nothing but the ball shows."""
    file, plan = short_plan()
    for seed in (3, 4, 5):
        law, rig = LabyrinthLaw(file, plan), emulated_rig(file, seed)
        late = partial(np.random.default_rng(seed).uniform, 0.0, 0.004)
        begin(rig, file, file.board.path[0])
        memory = driven(law, law.start(), rig, 1.0, file.board.path[0], late=late)
        driven(law, memory, rig, plan.times[-1] + 1.5, plan.end, late=late)
        assert rig.state.ended is None
        np.testing.assert_allclose(rig.state.x[:2], plan.end, atol=4e-3)


def test_law_waits_for_its_goal_and_finds_the_plan_again_where_the_ball_is_put():
    file, plan = short_plan()
    law, rig = LabyrinthLaw(file, plan), emulated_rig(file)
    begin(rig, file, file.board.path[0])
    memory = driven(law, law.start(), rig, 0.5, file.board.path[0])
    assert memory.clock == 0.0
    memory = driven(law, memory, rig, 1.0, plan.end)
    assert memory.clock == pytest.approx(0.5, abs=0.03)
    begin(rig, file, plan.places(np.array([2.0]))[0])  # by hand, and level
    memory = driven(law, memory, rig, 0.1, file.board.path[0])
    assert memory.clock == pytest.approx(2.0, abs=0.1)
    assert rig.state.ended is None


def test_board_is_levelled_when_the_ball_is_not_seen():
    file, plan = short_plan()
    law, rig = LabyrinthLaw(file, plan), emulated_rig(level(walls=BOARD.walls[:4], holes=FAR))
    begin(rig, file, file.board.path[0])
    memory = driven(law, law.start(), rig, 0.4, plan.end)
    assert abs(rig.state.x[4:6]).max() > 0.02
    memory = driven(law, memory, rig, 3.0, plan.end, seen=False)
    np.testing.assert_allclose(rig.state.x[4:6], 0.0, atol=1e-3)
    driven(law, memory, rig, 5.0, file.board.path[0])  # it is found, and held on the path
    assert np.hypot(*rig.state.x[2:4]) < 0.02


def test_the_ball_may_be_hidden_for_four_frames():
    """From the fifth on the board is levelled."""
    file, plan = short_plan()
    law, goal = LabyrinthLaw(file, plan), file.board.path[0]
    memory, _ = law.step(law.start(), [*goal, *goal], 0.0)
    for k in range(1, 2 * BLIND):
        memory, sent = law.step(memory, [np.nan, np.nan, *goal], k * law.period)
        assert memory.blind == k
        assert memory.known == (k < BLIND)
    tilted = memory._replace(z=memory.z + 0.0)
    tilted.z[TILTED] = [-0.05, 0.08]
    memory, sent = law.step(tilted, [np.nan, np.nan, *goal], 1.0)
    np.testing.assert_allclose(sent, -memory.z[TILTED] / (FRAMES * law.period))
    assert law.step(memory, [*goal, *goal], 1.1)[0].blind == 0


def test_while_it_waits_nothing_of_the_motion_is_fed_forward():
    file, plan = short_plan()
    law, clock = LabyrinthLaw(file, plan), 0.6
    now = np.zeros((5, 2))
    now[BALL] = plan.at(np.array([clock]))[0][0]
    after, ball, *moving = law._wanted(now, clock, going=False)
    assert after == clock
    np.testing.assert_array_equal(ball, np.tile(now[BALL], (FRAMES, 1)))
    assert not any(part.any() for part in moving)
    after, ball, *moving = law._wanted(now, clock, going=True)
    assert after == clock + law.period
    ahead = after + law.period * np.arange(1, FRAMES + 1)
    np.testing.assert_array_equal(ball, plan.at(ahead)[0])
    assert all(part.any() for part in moving)


def rested(law, z, wanted, frames=400):
    """Return the states of an axis that is driven to rest at a place."""
    still, states = np.zeros(FRAMES), []
    for _ in range(frames):
        u = law._axis(z, np.full(FRAMES, wanted), still, still, still)
        assert abs(u) <= law.file.servo.speed * (1 + 1e-6)
        z = law._A @ z + law._B * u
        states.append(z)
    return np.array(states)


@pytest.mark.parametrize('level', [0.02, -0.02])
def test_a_board_that_is_not_level_is_tilted_against_it(level):
    law = LabyrinthLaw(*short_plan())
    z = rested(law, np.array([0.01, 0.0, 0.0, 0.0, level]), 0.0)[-1]
    np.testing.assert_allclose(z[[BALL, TILTED]], [0.0, -level], atol=1e-5)


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_the_board_tilts_to_its_end_for_a_ball_far_away_and_no_further(side):
    law = LabyrinthLaw(*short_plan())
    tilt = side * rested(law, np.zeros(5), side * 1.0, 40)[:, TILTED]
    reach = law.file.servo.reach
    assert 0.98 * reach < tilt.max() < 1.001 * reach
    assert -1.001 * reach < tilt.min()


def test_without_a_solution_the_board_is_not_turned(monkeypatch):
    law = LabyrinthLaw(*short_plan())
    unsolved = np.ones(FRAMES), 0.0, SOLVED + 1, {}
    monkeypatch.setattr(labyrinth, 'solver', lambda: lambda *_: unsolved)
    still = np.zeros(FRAMES)
    assert law._axis(np.zeros(5), still + 0.05, still, still, still) == 0.0


def test_a_ball_has_arrived_within_its_radius_of_the_end_of_the_path():
    path, times = BOARD.path, np.array([-1.0, 2.0, 3.0, 4.0])
    near = [path[-1] + 0.9 * RADIUS * np.array([0.6, 0.8])] * 2
    assert arrival(times, np.array([*path[:2], *near]), path[-1], RADIUS) == 3.0
    far = np.tile(path[-1] + 1.1 * RADIUS * np.array([0.6, 0.8]), (4, 1))
    assert arrival(times, far, path[-1], RADIUS) is None


def test_the_law_sets_out_once_it_has_settled(monkeypatch):
    file, plan = short_plan()
    record, asked = Record(events=[(1.0, 'wall'), (2.0, 'hole'), (3.0, 'wall')]), []

    def driven(*given, begin):
        asked.extend((*given, begin))
        return record

    monkeypatch.setattr(demo, 'driven', driven)
    task = demo.Through(law=LabyrinthLaw(file, plan))
    assert task.run(Trial(task=task, seed=7)).values == {'walls': 2}
    _, _, goal, duration, seed, at, begin = asked
    assert seed == 7
    np.testing.assert_array_equal(at, file.start(7))
    assert begin == SETTLE
    assert duration == SETTLE + demo.LONGEST * plan.times[-1]
    np.testing.assert_array_equal(goal(np.nextafter(SETTLE, 0)), file.board.path[0])
    np.testing.assert_array_equal(goal(SETTLE), file.board.path[-1])


def test_other_laws_do_not_drive_a_labyrinth(monkeypatch):
    monkeypatch.setattr(
        'rolling_controller.ball_balancer.laws.labyrinth_law', lambda file: (labyrinth_law, file)
    )
    assert law_on_nodes(FILE, 'predictive') == (labyrinth_law, FILE)
    with pytest.raises(ParameterError, match="has the laws predictive; got 'lqr'"):
        law_on_nodes(FILE, 'lqr')


def test_ball_is_held_at_the_start_until_the_first_command():
    system, p = FILE.system_and_parameters()
    rig = emulated_rig(FILE)
    plant = EmulatedRobot(labyrinth_view(system, p), SCENARIO.x0, rig)
    plant.reset()
    for _ in range(100):
        plant.step(plant.brake(), 0.01)
    np.testing.assert_array_equal(plant.observe().x[:2], SCENARIO.x0[:2])
    assert len(plant.read_measurements()) == 55
    plant.step(np.array([0.1, 0.0]), 0.01)
    plant.step(np.array([0.1, 0.0]), 0.1)
    assert plant.observe().x[0] != SCENARIO.x0[0]


def test_walls_and_holes_are_drawn_where_they_are():
    system, p = FILE.system_and_parameters()
    shapes = labyrinth_view(system, p).shapes
    walls = np.array([[*s.start[:2], *s.end[:2]] for s in shapes if s.name == 'wall'])
    holes = np.array([s.centre[:2] for s in shapes if s.name == 'hole'])
    np.testing.assert_array_equal(walls, BOARD.walls)
    np.testing.assert_array_equal(holes, BOARD.holes)
    assert from_walls(walls, BOARD.path[0]).shape == (50, 2)


@pytest.mark.parametrize('arrives', [True, False])
def test_the_demonstration_reports_time_speed_and_distances(tmp_path, monkeypatch, arrives):
    """A ball that rolls along the plan at its speed, or stops in the first hole it comes to."""
    file, plan = short_plan()
    monkeypatch.setattr(demo, 'plan_labyrinth', lambda _: plan)
    monkeypatch.setattr(demo, '_file', lambda: file)
    t = np.arange(0.0, plan.times[-1] + 1.0, 0.01)
    ball = plan.places(t)
    if not arrives:
        ball[t > 1.0] = BOARD.holes[0]
    record = Record(times=t, arrays={'ball': Series(ball, 'm')}, end=t[-1])
    outcome = demo.Arrival().outcome(record)
    assert bool(outcome.failure) != arrives
    assert not outcome.inconclusive
    if arrives:
        time = arrival(t, ball, plan.end, RADIUS)
        assert (outcome.error, outcome.tolerance) == (time, demo.PATIENCE)
        assert f'time: {time:.2f} s for a path of {file.length:.3f} m' in outcome.text
        assert f'{file.length / time:.3f} m/s' in outcome.text
        assert f'from a wall: {1e3 * file.room(ball)[0].min():.1f} mm' in outcome.text
    else:
        assert 'it fell through a hole' in outcome.failure
        assert 'of its centre from a hole: 0.0 mm' in outcome.text
    demo.draw([record], tmp_path / 'labyrinth.png')
    assert (tmp_path / 'labyrinth.png').stat().st_size > 20_000


@pytest.mark.parametrize('e', [0.5, 0.8, 1.0])
@pytest.mark.parametrize(
    ('kept', 'rolls', 'most'),
    [(1, lambda e: (5 * e - 2) / 7, 3 / 7), (2 / 7, lambda e: (35 * e - 4) / 49, 31 / 49)],
    ids=['smooth', 'rough'],
)
def test_effective_coefficient_of_a_wall_is_what_the_skid_leaves(e, kept, rolls, most):
    """
    A ball whose speed a wall reversed, and whose spin it kept or stopped, skids until it rolls.

    A smooth wall keeps the spin; one that does not slip on the ball leaves 2/7 of it.
    """
    speed, radius = 0.4, FILE.ball.radius
    scenario = load_scenario(
        {
            'system': 'contact',
            'object': {
                'surface': {'kind': 'sphere', 'radius': radius},
                'mass': FILE.ball.mass,
                'inertia': 'solid',
            },
            'hand': {'surface': {'kind': 'plane'}},
            'friction': {'mu': 0.3, 'mu_kinetic': 0.3},
            'hybrid': {},
            'initial': {
                'object': {'position': [0, 0, radius], 'velocity': [-e * speed, 0, 0]},
                'relative_velocity': {'w_WO_W': [0, kept * speed / radius, 0]},
            },
            'duration': 1.0,
        }
    )
    motion = simulate_scenario(scenario)
    assert [event.name for event in motion.events] == ['stick']
    (after,) = motion.states[-1, scenario.system.state.index('v_HO_H_x', 'state')]
    assert after == pytest.approx(-rolls(e) * speed, abs=1e-7)
    assert rolls(1.0) == pytest.approx(most)  # as the scenario's reference says

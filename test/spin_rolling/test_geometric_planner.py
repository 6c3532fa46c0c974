"""Spin-rolling and pure rolling in closed form: every goal reached, none through a pole."""

import math

from evidence.benchmarks.spin_rolling import random_pairs, random_pairs_in
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.spin_rolling_sphere.system import attitude_from_coordinates
from rolling_planner.spin_rolling.geometric import least_length, plan_geometric
from rolling_planner.spin_rolling.motion import (
    angle_between,
    Contact,
    contact_at,
    contact_of_attitude,
    ContactRegion,
    distance_to_arc,
    goal_error,
    Motion,
    unit,
)
from rolling_planner.spin_rolling.pure_rolling import plan_pure_rolling
from scipy.spatial.transform import Rotation

R = 0.3


def from_pole(contact):
    """Return the angle from the contact on the sphere to the nearest pole of the chart."""
    n = contact.normal
    return math.atan2(math.hypot(n[0], n[2]), abs(n[1]))


def rolled(motion):
    """Second derivation: SciPy's rotations, and the centre's velocity w x (radius z)."""
    place, turn = (
        np.array([motion.start.u_s, motion.start.v_s, 0]),
        Rotation.from_matrix(np.array(motion.start.R_SO)),
    )
    for w in motion.turns:
        place = place + np.cross(w, [0, 0, motion.radius])
        turn = Rotation.from_rotvec(w) * turn
    return Contact(place[0], place[1], turn.as_matrix().tolist())


def sampled_pole_distance(motion, count=200):
    """Return the least angle to a pole by sampling every turn."""
    least, turn = math.pi, Rotation.from_matrix(np.array(motion.start.R_SO))
    for w in motion.turns:
        steps = Rotation.from_rotvec(np.linspace(0, 1, count)[:, None] * np.array(w)) * turn
        n = steps.as_matrix()[:, 2, :]
        least = min(least, np.min(np.arctan2(np.hypot(n[:, 0], n[:, 2]), np.abs(n[:, 1]))))
        turn = Rotation.from_rotvec(w) * turn
    return least


def check_reached(motion, start, goal):
    assert goal_error(rolled(motion), goal) < 1e-9
    margin = min(0.01, 0.5 * from_pole(start), 0.5 * from_pole(goal))
    assert motion.pole_distance() >= margin * (1 - 1e-9) - 1e-12


@pytest.mark.parametrize('plan', [plan_geometric, plan_pure_rolling])
def test_goals_are_reached_and_no_pole_is_met(plan):
    for start, goal in random_pairs(100, R):
        motion = plan(R, start, goal)
        check_reached(motion, start, goal)
        assert all(w[2] == 0 or w[0] == w[1] == 0 for w in motion.turns)
        if plan is plan_pure_rolling:
            assert motion.spin == 0


@pytest.mark.slow
@pytest.mark.parametrize('plan', [plan_geometric, plan_pure_rolling])
def test_ten_thousand_goals_are_reached(plan):
    at_optimum = 0
    for start, goal in random_pairs(10_000, R):
        motion = plan(R, start, goal)
        check_reached(motion, start, goal)
        at_optimum += motion.length <= least_length(R, start, goal) * (1 + 1e-9) + 1e-12
    if plan is plan_geometric:
        assert at_optimum > 9_900  # the others go round a pole


def test_length_is_the_least_that_is_possible():
    """No path is shorter than the line on the plane or the great circle on the sphere."""
    ratios = []
    for start, goal in random_pairs(300, R, seed=1):
        least = max(
            np.hypot(goal.u_s - start.u_s, goal.v_s - start.v_s),
            R * angle_between(start.normal, goal.normal),
        )
        assert least_length(R, start, goal) == pytest.approx(least)
        ratios.append(plan_geometric(R, start, goal).length / max(least, 1e-9))
    assert np.median(ratios) == pytest.approx(1.0, abs=1e-12)
    assert np.mean(np.array(ratios) < 1 + 1e-9) > 0.98
    assert max(ratios) < 1.5


@pytest.mark.parametrize(
    ('start', 'goal'),
    [
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),  # nothing to do
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 2.0]),  # only a spin
        ([0, 0, 0.3, 0.2, 0], [0, 0, 0.3, 0.2, np.pi]),  # half a turn in place
        ([0, 0, 0, 0, 0], [0, 0, np.pi, 0, 0]),  # upside down in place
        ([0, 0, 0, 0, 0], [R, 0, np.pi, 0, 1]),  # upside down elsewhere
        ([0, 0, 0, 0, 0], [2 * np.pi * R, 0, 0, 0, 0]),  # a whole turn
        ([0, 0, 0, 0, 0], [300 * R, -7 * R, 0.1, 0.2, 0.3]),  # far
        ([0, 0, 0, 1.2, 0], [0, 0, np.pi, 1.2, 0]),  # the great circle leads over the pole
        ([0, 0, 0, 1.3, 0], [0, 0, 0, -1.3, 0]),
        ([0, 0, 0, np.pi / 2 - 1e-6, 0], [0, 0, 1.0, 0.2, 0]),  # beside a pole
        ([0, 0, 0, np.pi / 2, 0], [R, 0, 1.0, -np.pi / 2, 0]),  # from pole to pole
        ([0, 0, 0, 0, 0], [1e-9, 0, 1e-10, 0, 0]),
    ],
)
@pytest.mark.parametrize('plan', [plan_geometric, plan_pure_rolling])
def test_special_goals(plan, start, goal):
    start, goal = contact_at(start), contact_at(goal)
    motion = plan(R, start, goal)
    check_reached(motion, start, goal)
    assert sampled_pole_distance(motion) == pytest.approx(motion.pole_distance(), abs=0.03) or (
        not motion.turns
    )


def test_closed_form_of_the_distance_to_a_pole_agrees_with_samples():
    rng = np.random.default_rng(2)
    for _ in range(50):
        start = contact_of_attitude([0, 0], Rotation.random(random_state=rng).as_matrix())
        motion = Motion(R, start, (tuple(rng.normal(size=3) * 2),))
        assert motion.pole_distance() == pytest.approx(
            sampled_pole_distance(motion, 4001), abs=2e-3
        )


REGIONS = [
    ContactRegion(u_bounds=(-R, R), v_bounds=(-R, R), half_angle=math.radians(60)),
    ContactRegion(
        u_bounds=(-R, R), v_bounds=(-R, R), axis=(0.3, 1.0, 0.2), half_angle=math.radians(40)
    ),  # the pole lies inside
    ContactRegion(
        u_bounds=(-0.3 * R, 0.3 * R), v_bounds=(-0.2 * R, 0.2 * R), half_angle=math.radians(25)
    ),
    ContactRegion(u_bounds=(-R, R), v_bounds=(-R, R), half_angle=math.radians(120)),
]


def stays_in(motion, region):
    """Report by sampling whether a motion stays in a region."""
    turn = Rotation.from_matrix(np.array(motion.start.R_SO))
    place = np.array([motion.start.u_s, motion.start.v_s])
    axis, share = np.array(unit(region.axis)), np.linspace(0, 1, 30)[:, None]
    for w in map(np.array, motion.turns):
        n = -(Rotation.from_rotvec(share * w) * turn).as_matrix()[:, 2, :]
        path = place + share * motion.radius * np.array([w[1], -w[0]])
        if np.max(np.arccos(np.clip(n @ axis, -1, 1))) > region.half_angle + 1e-7:
            return False
        if not all(region.holds_point(p) for p in path):
            return False
        turn, place = Rotation.from_rotvec(w) * turn, path[-1]
    return True


def check_region(region, count, seed):
    size = min(region.u_bounds[1], region.v_bounds[1])
    for start, goal in random_pairs_in(region, count, size, seed):
        motion = plan_geometric(R, start, goal, region)
        check_reached(motion, start, goal)
        assert stays_in(motion, region)


@pytest.mark.parametrize('region', REGIONS, ids=range(len(REGIONS)))
def test_bounded_region_is_kept(region):
    check_region(region, 30, 3)


@pytest.mark.slow
@pytest.mark.parametrize('region', REGIONS[:1], ids=['fingertip'])
def test_a_thousand_goals_in_a_bounded_region(region):
    check_region(region, 1000, 4)


@pytest.mark.parametrize(
    ('coordinates', 'text'),
    [
        ([2 * R, 0, 0, 0, 0], r'goal: u_s = 0\.6 m lies outside the contact region'),
        ([0, -2 * R, 0, 0, 0], r'goal: v_s = -0\.6 m lies outside'),
        ([0, 0, 2.0, 0, 0], 'goal: the contact on the sphere lies 2 rad from the centre'),
    ],
)
def test_goal_outside_the_region_is_refused(coordinates, text):
    with pytest.raises(ParameterError, match=text):
        plan_geometric(R, contact_at([0, 0, 0, 0, 0]), contact_at(coordinates), REGIONS[0])


@pytest.mark.parametrize(
    'options',
    [
        {'u_bounds': (1, 0)},
        {'half_angle': 0},
        {'half_angle': 4},
        {'axis': (0, 0, 0)},
        {'pole_margin': -1},
        {'v_bounds': (0, 0)},
    ],
)
def test_region_that_is_none_is_refused(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        ContactRegion(**options)


def test_contact_at_is_the_attitude_of_the_model():
    rng = np.random.default_rng(5)
    for _ in range(20):
        c = rng.uniform(-1.5, 1.5, 5)
        assert np.array(contact_at(c).R_SO) == pytest.approx(
            attitude_from_coordinates(c[2:4], c[4]), abs=1e-15
        )
    with pytest.raises(ParameterError, match='five finite numbers'):
        contact_at([0, 0, np.nan, 0, 0])
    with pytest.raises(ParameterError, match='rotation matrix'):
        contact_of_attitude([0, 0], np.eye(3) * 2)


def test_distance_to_an_arc():
    a, b = (1.0, 0, 0), (0, 1.0, 0)
    assert distance_to_arc((0, 0, 1.0), a, b) == pytest.approx(np.pi / 2)
    assert distance_to_arc(unit((1, 1, 0.1)), a, b) == pytest.approx(np.arctan2(0.1, np.sqrt(2)))
    assert distance_to_arc(unit((1, -1, 0)), a, b) == pytest.approx(np.pi / 4)


def contact_of_normal(normal, spin, place):
    """Return a contact with a given point of the sphere on the plane."""
    down = np.array(unit(normal))
    x = np.linalg.svd(down[None])[2][1]
    x = np.cos(spin) * x + np.sin(spin) * np.cross(down, x)
    return contact_of_attitude(place, np.array([x, np.cross(-down, x), -down]))


def test_starts_and_goals_on_edges_and_in_corners_of_random_regions():
    """In a corner no path can be folded; the plan then goes by the middle."""
    rng, by_the_middle = np.random.default_rng(7), 0
    for _ in range(150):
        axis, half = np.array(unit(rng.normal(size=3))), rng.uniform(0.15, 3.1)
        w, h = R * rng.uniform(0.02, 3, 2)
        region = ContactRegion(
            u_bounds=(-w, w), v_bounds=(-h, h), axis=tuple(axis), half_angle=half
        )
        ends = []
        for _ in range(2):
            away = np.cross(axis, unit(rng.normal(size=3)))
            a = half * (1 - 1e-12)
            normal = np.cos(a) * axis + np.sin(a) * away / np.linalg.norm(away)
            corner = [w * rng.choice([-1, 1]), h * rng.choice([-1, 1])]
            ends.append(contact_of_normal(normal, rng.uniform(-3, 3), corner))
        motion = plan_geometric(R, *ends, region)
        check_reached(motion, *ends)
        assert stays_in(motion, region)
        by_the_middle += motion.length > least_length(R, *ends) * 1.1
    assert by_the_middle > 0

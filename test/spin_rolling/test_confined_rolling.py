"""Pure rolling in a bounded region: loops that spin in place, plans that stay inside, refusals."""

import math

from evidence.benchmarks.spin_rolling import random_contact, random_pairs_in
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError, PlanningError
from rolling_dynamics.simulation import simulate
from rolling_dynamics.spin_rolling_sphere.system import SpinRollingSphere
from rolling_planner.spin_rolling.motion import (
    angle_between,
    Contact,
    contact_of_attitude,
    ContactRegion,
    goal_error,
    Motion,
    SpinRollingProblem,
    unit,
)
from rolling_planner.spin_rolling.planner import plan_spin_rolling
from rolling_planner.spin_rolling.pure_rolling import loops_for, plan_pure_rolling, spin_by_loops
from scipy.spatial.transform import Rotation

R = 0.3
FINGERTIP = ContactRegion(u_bounds=(-R, R), v_bounds=(-R, R), half_angle=math.radians(60))
POLE_INSIDE = ContactRegion(
    u_bounds=(-R, R), v_bounds=(-R, R), axis=(0.3, 1.0, 0.2), half_angle=math.radians(40)
)


def sampled(motion, count=20):
    """Return places (N, 2) and normals (N, 3) along a motion: SciPy's rotations, w x radius z."""
    turn = Rotation.from_matrix(np.array(motion.start.R_SO))
    place = np.array([motion.start.u_s, motion.start.v_s])
    share, places, normals = np.linspace(0, 1, count)[:, None], [], []
    for w in map(np.array, motion.turns):
        normals.append(-(Rotation.from_rotvec(share * w) * turn).as_matrix()[:, 2, :])
        places.append(place + share * motion.radius * np.array([w[1], -w[0]]))
        turn, place = Rotation.from_rotvec(w) * turn, places[-1][-1]
    end = Contact(place[0], place[1], turn.as_matrix().tolist())
    return np.vstack(places), np.vstack(normals), end


@pytest.mark.parametrize('spin', [0.05, -0.7, 2.0, -math.pi, 6.0])
@pytest.mark.parametrize('size', [5.0, 0.5, 0.06])
def test_loops_spin_in_place_and_stay_near(spin, size):
    start = random_contact(np.random.default_rng(1), 1.0)
    motion = Motion(1.0, start, tuple(spin_by_loops(spin, size)))
    places, normals, end = sampled(motion)
    wanted = Rotation.from_euler('z', spin) * Rotation.from_matrix(np.array(start.R_SO))
    goal = contact_of_attitude([start.u_s, start.v_s], wanted.as_matrix())
    assert motion.spin == 0
    assert goal_error(end, goal) < 1e-10
    assert np.max(np.hypot(*(places - places[0]).T)) <= size + 1e-9
    assert max(angle_between(start.normal, tuple(n)) for n in normals) <= size + 1e-9
    assert motion.length == pytest.approx(loops_for(spin, size).length)


def check_confined(region, count, seed):
    axis = np.array(unit(region.axis))
    lengths = []
    for start, goal in random_pairs_in(region, count, R, seed):
        try:
            motion = plan_pure_rolling(R, start, goal, region)
        except PlanningError:  # beside two edges that lead apart
            lengths.append(math.inf)
            continue
        places, normals, end = sampled(motion)
        assert all(w[2] == 0 for w in motion.turns)
        assert goal_error(end, goal) < 1e-9
        assert all(region.holds_point(p) for p in places)
        assert np.max(np.arccos(np.clip(normals @ axis, -1, 1))) < region.half_angle + 1e-7
        assert np.max(np.abs(normals[:, 1])) < 1  # no pole
        lengths.append(motion.length / R)
    return lengths


@pytest.mark.parametrize(
    'region',
    [
        pytest.param(FINGERTIP, id='fingertip'),
        pytest.param(POLE_INSIDE, id='pole inside', marks=pytest.mark.slow),
    ],
)
def test_plan_without_spin_stays_in_the_region(region):
    lengths = check_confined(region, 8, 5)
    assert np.median(lengths) < 150
    assert np.max(lengths) < math.inf


@pytest.mark.slow
def test_a_thousand_goals_of_pure_rolling_in_a_fingertip():
    assert np.mean(np.isfinite(check_confined(FINGERTIP, 1000, 4))) > 0.99


def test_planner_takes_loops_and_the_model_follows_them():
    start, goal = next(iter(random_pairs_in(FINGERTIP, 1, R, 5)))
    plan = plan_spin_rolling(
        SpinRollingProblem(radius=R, start=start, goal=goal, mode='pure_rolling', region=FINGERTIP)
    )
    assert plan.report['method'] == 'rolls and loops'
    assert np.all(plan.controls[:, 2] == 0)
    system = SpinRollingSphere()
    run = simulate(system, [R], plan.states[0], (plan.times, plan.controls), plan.duration)
    x = run.states[-1]
    assert goal_error(Contact(x[0], x[1], np.array(system.attitude(x))), goal) < 1e-9
    assert np.max(np.abs(run.states[:, :2])) <= R + 1e-9


def cornered(spin):
    """Return a contact in a corner of the plane and on the edge of the cap."""
    half = FINGERTIP.half_angle * (1 - 1e-13)
    tilted = Rotation.from_euler('z', spin) * Rotation.from_euler('y', half)
    return contact_of_attitude([R, R], tilted.as_matrix())


def test_contact_that_no_roll_can_leave_is_refused():
    """The corner's directions inwards lead out of the cap; half a turn further they lead in."""
    inside = contact_of_attitude([0, 0], np.eye(3))
    outcomes = []
    for spin in (np.pi / 4, np.pi / 4 + np.pi):
        try:
            plan_pure_rolling(R, cornered(spin), inside, FINGERTIP)
            outcomes.append('reached')
        except PlanningError as e:
            outcomes.append(str(e).split(';')[0])
    said = 'start: no pure rolling of at most 20000 rolls was found that leads from this contact '
    assert sorted(outcomes) == ['reached', f'{said}off the edges of plane and sphere at once']


def test_goal_outside_is_refused():
    inside = contact_of_attitude([0, 0], np.eye(3))
    outside = contact_of_attitude([2 * R, 0], np.eye(3))
    with pytest.raises(ParameterError, match='goal: u_s'):
        plan_pure_rolling(R, inside, outside, FINGERTIP)

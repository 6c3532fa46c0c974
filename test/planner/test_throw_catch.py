"""The throw: pre-impact state, hand profiles, and what the hybrid plant makes of the plan."""

import dataclasses

import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_dynamics.errors import ParameterError, PlanningError
from rolling_dynamics.hybrid_contact import HybridPlant
from rolling_dynamics.hybrid_contact.laboratory import Laboratory, UPRIGHT
from rolling_dynamics.hybrid_contact.model_state import plant_state
from rolling_planner.laboratory.throw_catch import plan_throw_catch, ThrowCatchOptions
from rolling_planner.laboratory.throw_catch_profile import ThrowProfile, transfer
from rolling_planner.laboratory.upright_impact import (
    contact_arm,
    FlightState,
    touch_time,
    upright_impact,
)

LAB = Laboratory()


@pytest.fixture(scope='module')
def plan():
    return plan_throw_catch(LAB)


def flown(plan, after):
    """Return the plant after the throw, with its events, simulated on its own."""
    system, p = LAB.plant()
    model, _ = LAB.model()
    plant = HybridPlant(system, p, plant_state(system, p, model, plan.start))
    events, gaps = [], []
    for k in range(round((plan.touch + after) * 1000)):
        s = plant.step(plan.control_at((k + 0.5) * 1e-3), 1e-3)
        events += s.events
        gaps.append(float(system.touch(s.x, p)[0]))
    return plant.state, events, np.array(gaps)


def test_impact_is_that_of_the_plant():
    """The law of the paper, written in the plane, against the impact of the hybrid plant."""
    system, p = LAB.plant()
    rng = np.random.default_rng(0)
    for _ in range(5):
        before = FlightState(
            p=np.array([0.0, 0.0]),
            v=np.array([rng.normal(), -rng.uniform(0.5, 2)]),
            angle=rng.uniform(-1, 1),
            rate=rng.normal(),
        )
        x = system.state.pack(
            **{e.name: np.zeros(e.size) for e in system.state.entries}
            | {
                'beta_HO': [before.angle],
                'p_HO_H': -contact_arm(LAB, before.angle),
                'w_HO_H': [before.rate],
                'v_HO_H': before.v,
            }
        )
        after, impulse, _ = (np.array(a).ravel() for a in system.impact(x, p))
        found = upright_impact(LAB, before)
        assert abs(found.rate) == pytest.approx(abs(after[9]), rel=1e-9)
        assert found.normal_impulse == pytest.approx(impulse[2], rel=1e-9)
        assert found.friction == pytest.approx(abs(impulse[0] / impulse[2]), rel=1e-9)


def test_wanted_rate_just_brings_it_upright():
    """Started with w+ on the level plate, it comes to rest upright: the plant's own motion."""
    lab = dataclasses.replace(LAB, damping=0.0)
    system, p = lab.plant()
    model, _ = lab.model()
    still = FlightState(p=np.zeros(2), v=np.zeros(2), angle=-0.4, rate=0.0)
    wanted = upright_impact(lab, still).wanted
    for share, comes_over in ((0.99, False), (1.01, True)):
        x = lab.rest(-0.4)
        x[8] = share * wanted
        plant = HybridPlant(system, p, plant_state(system, p, model, x))
        turns = [plant.step(np.zeros(3), 1e-3).x[3] for _ in range(1200)]
        assert (max(turns) > UPRIGHT) == comes_over


def test_flight_touches_where_its_lowest_point_meets_the_plate():
    release = FlightState(p=np.array([0.0, 0.1]), v=np.array([0.2, 0.8]), angle=-1.0, rate=6.0)
    t = touch_time(LAB, release, -0.05)
    s = release.after(t, LAB.gravity)
    assert s.p[1] + contact_arm(LAB, s.angle)[1] == pytest.approx(-0.05, abs=1e-9)
    assert s.v[1] < 0
    assert touch_time(LAB, release, 1.0) is None


def test_plan_meets_the_upright_condition(plan):
    assert abs(plan.impact.excess) < 1e-3
    assert abs(plan.impact.tilt) == pytest.approx(0.33, abs=1e-3)
    assert plan.impact.friction < 0.7
    assert plan.carry_friction < 0.7
    assert plan.carry_normal_force > 0.3
    assert np.all(plan.greatest_controls() <= [60, 15, 15])
    assert abs(plan.upright - plan.release.angle) > np.pi / 2  # it turns over


def test_the_plant_does_what_was_planned(plan):
    state, events, gaps = flown(plan, 0.02)
    assert [e.name for e in events] == ['lift_off', 'landing']
    assert events[0].time == pytest.approx(plan.profile.duration, abs=2e-3)
    assert events[1].time == pytest.approx(plan.touch, abs=1e-3)
    assert 'sticks' in events[1].text
    flight = slice(round((plan.profile.duration + 0.01) * 1000), round(plan.touch * 1000) - 2)
    assert gaps[flight].min() > 0
    at = events[1].state
    assert at[9] == pytest.approx(plan.impact.wanted, rel=0.02)
    assert_allclose(at[[1, 2]], plan.hand, atol=1e-4)
    assert_allclose([at[0], *at[6:9]], 0, atol=1e-3)  # the hand rests, level
    assert state.mode == 'rolling'


def test_trapezoid_and_transfer():
    profile = ThrowProfile(duration=0.4, alpha=8.0, a_x=-1.0, a_z=4.0, ramp=0.25)
    assert_allclose(profile.control(0.0), 0)
    assert_allclose(profile.control(0.05), profile.peak / 2)
    assert_allclose(profile.control(0.2), profile.peak)
    assert_allclose(profile.control(0.4), 0, atol=1e-12)
    pose, rate, away, goal = np.array([[0.3, 0, 0.1], [1, 0.2, -0.5], [0, 1, -8], [0, 0.2, 0.0]])
    move = transfer(1.0, 0.5, pose, rate, away, goal)
    first, last = move.at(1.0), move.at(2.0)
    assert_allclose(np.vstack(first), [pose, rate, away], atol=1e-12)
    assert_allclose(np.vstack(last), [goal, np.zeros(3), np.zeros(3)], atol=1e-10)
    h = 1e-6
    middle, ahead = move.at(1.2), move.at(1.2 + h)
    assert_allclose((ahead.pose - middle.pose) / h, middle.rate, atol=1e-4)
    assert_allclose((ahead.rate - middle.rate) / h, middle.acceleration, atol=1e-3)


def test_what_cannot_be_thrown_is_refused():
    with pytest.raises(ParameterError, match='ramp'):
        ThrowProfile(duration=0.3, alpha=1.0, a_x=0.0, a_z=1.0, ramp=0.7)
    with pytest.raises(PlanningError, match='coefficient of friction'):
        plan_throw_catch(LAB, ThrowCatchOptions(friction=1e-3))
    with pytest.raises(PlanningError, match='accelerations'):
        plan_throw_catch(LAB, ThrowCatchOptions(control_limits=(60.0, 1.0, 15.0)))
    with pytest.raises(PlanningError, match='normal force'):
        plan_throw_catch(LAB, ThrowCatchOptions(normal_force_min=2.0))
    still = ThrowProfile(duration=0.3, alpha=0.0, a_x=0.0, a_z=0.1)
    with pytest.raises(PlanningError, match='no throw'):
        plan_throw_catch(LAB, ThrowCatchOptions(first=still, catch_height=2.0))

"""The throw: pre-impact state, hand profiles, and what the hybrid plant makes of the plan."""

import dataclasses
import math

import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_controller.laboratory.laws import experiment_plan, restricted_plan
from rolling_dynamics.errors import ParameterError, PlanningError
from rolling_dynamics.hybrid_contact.from_contact_system import plant_state
from rolling_dynamics.scenario import load_scenario
from rolling_planner.laboratory.laboratory import (
    CatchOptions,
    contact_arm,
    FlightState,
    Laboratory,
    plan_throw_catch,
    transfer,
    turn_about_y,
    UPRIGHT,
    upright_impact,
)
from stepped_motion import SteppedMotion

LAB = Laboratory.of_paper()


@pytest.fixture(scope='module')
def carry():
    return restricted_plan(
        experiment_plan(load_scenario('laboratory_throw_catch')), LAB.model()[0]
    )


@pytest.fixture(scope='module')
def plan(carry):
    return plan_throw_catch(LAB, carry)


def flown(plan, after):
    """Return the plant after the throw, with its events, without resistance, as planned."""
    system, p = dataclasses.replace(LAB, damping=0.0).plant()
    model, _ = LAB.model()
    plant = SteppedMotion(system, p, plant_state(system, p, model, plan.carry.states[0]))
    events, gaps, touch = [], [], system.of(system.whole.touch)
    for k in range(round((plan.touch + after) * 1000)):
        s = plant.step(plan.control_at((k + 0.5) * 1e-3), 1e-3)
        events += s.events
        gaps.append(float(touch(s.x, p)[0]))
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
                'q_WH': [1.0, 0.0],
                'q_HO': [math.cos(before.angle / 2), math.sin(before.angle / 2)],
                'p_HO_H': -contact_arm(LAB, before.angle),
                'w_HO_H': [before.rate],
                'v_HO_H': before.v,
            }
        )
        whole = system.expand_states(x), system.expand_parameters(p)
        M, J, _ = (
            np.array(a) for a in system.whole.impact_terms(whole[0], np.zeros(6), 0, whole[1])
        )
        free = np.linalg.solve(M, J.T)
        impulse = -np.linalg.solve(J @ free, np.array(system.whole.touch(*whole)[1]).ravel())
        change = dict(zip(system.whole.speed_places, free @ impulse, strict=True))
        where = system.whole.state.names.index('w_HO_H_y')
        rate = whole[0][where] + change[where]
        found = upright_impact(LAB, before)
        assert abs(found.rate) == pytest.approx(abs(rate), rel=1e-9)
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
        x[model.state.names.index('w_HO_H_y')] = share * wanted
        plant = SteppedMotion(system, p, plant_state(system, p, model, x))
        turns = [turn_about_y(system, plant.step(np.zeros(3), 1e-3).x) for _ in range(1200)]
        assert (max(turns) > UPRIGHT) == comes_over


@pytest.mark.slow
def test_plan_meets_the_upright_condition(plan):
    assert abs(plan.impact.excess) < 1e-9
    assert abs(plan.impact.tilt) == pytest.approx(0.33, abs=0.03)
    assert plan.impact.friction < 0.7
    assert plan.carry_friction < 0.7
    assert np.all(plan.greatest_controls() <= [60, 15, 15])
    assert abs(plan.upright - plan.release.angle) > np.pi / 2  # it turns over


def test_the_plant_does_what_was_planned(plan):
    state, events, gaps = flown(plan, 0.02)
    assert [e.name for e in events] == ['lift_off', 'landing']
    assert events[0].time == pytest.approx(plan.carry.duration, abs=2e-3)
    assert events[1].time == pytest.approx(plan.touch, abs=1e-3)
    assert 'sticks' in events[1].text
    flight = slice(round((plan.carry.duration + 0.01) * 1000), round(plan.touch * 1000) - 2)
    assert gaps[flight].min() > 0
    at = events[1].state
    assert at[11] == pytest.approx(plan.impact.wanted, rel=0.02)
    assert_allclose(at[[2, 3]], plan.hand, atol=1e-4)
    assert_allclose([at[1], *at[8:11]], 0, atol=1e-3)  # the hand rests, level
    assert state.mode == 'rolling'


def test_transfer_goes_from_a_motion_to_rest():
    pose, rate, away, goal = np.array([[0.3, 0, 0.1], [1, 0.2, -0.5], [0, 1, -8], [0, 0.2, 0.0]])
    move = transfer(1.0, 0.5, pose, rate, away, goal)
    first, last = ([move(t, k) for k in range(3)] for t in (1.0, 1.5))
    assert_allclose(np.vstack(first), [pose, rate, away], atol=1e-12)
    assert_allclose(np.vstack(last), [goal, np.zeros(3), np.zeros(3)], atol=1e-10)


def test_what_cannot_be_caught_is_refused(carry):
    with pytest.raises(PlanningError, match='coefficient of friction'):
        plan_throw_catch(LAB, carry, CatchOptions(friction=1e-3))
    with pytest.raises(PlanningError, match='accelerations'):
        plan_throw_catch(LAB, carry, CatchOptions(control_limits=(60.0, 1.0, 15.0)))
    with pytest.raises(ParameterError, match='time to move the hand'):
        plan_throw_catch(LAB, carry, CatchOptions(early=2.0))
    still = dataclasses.replace(carry, states=carry.states[[0] * len(carry.times)])
    with pytest.raises(PlanningError, match='no position of the hand'):
        plan_throw_catch(LAB, still)  # lies flat and falls as it lies

"""A hand holds what it has rolled: what comes after the plan, in lockstep."""

import dataclasses

import numpy as np
import pytest
from rolling_controller.balance.hand_over import HandOver
from rolling_controller.balance.hold import Hold
from rolling_controller.design import follow, Wanted
from rolling_controller.law import as_function, FunctionLaw, GoingOn, state_inputs
from rolling_controller.lockstep import run_lockstep
from rolling_dynamics.scenario_model import load_model

STILL = 1e-3  # m, rad


@pytest.fixture(scope='module')
def model():
    return load_model('ball_on_plate_hard')


def off(model, **entries):
    """Return the start of a scenario, with these tangent entries off."""
    d = np.zeros(model.system.tangent.size)
    for name, value in entries.items():
        d[model.system.tangent.slice(name)] = value
    return np.array(model.system.retract(model.start, d)).ravel()


@pytest.mark.parametrize('time', [15.0, pytest.param(60.0, marks=pytest.mark.slow)])  # s
def test_the_ball_stays_at_its_goal_after_the_plan(model, hard, time):
    _, plan = hard
    following = follow(Wanted(model, plan, {}))
    assert following.warning == ''
    start = off(model, contact_h=[2e-3, 0.0], d_HO=[0.0, 0.03, 0.0])
    law = HandOver(following.law, following.hold, latest=plan.duration)
    duration = plan.duration + time
    run = run_lockstep(model.system, model.params, start, law, duration, rate=250.0)
    assert run.ended is None
    few = slice(0, None, 50)  # five a second
    d = np.array([model.system.difference(x, following.hold.x) for x in run.states[few]])[:, :, 0]
    kept = [model.system.tangent.slice(name) for name in ('p_WH', 'contact_h')]
    tilt = model.system.tangent.slice('d_WH').start + np.arange(2)
    late = run.times[few] > plan.duration + 5.0
    assert np.abs(d[np.ix_(late, np.r_[tuple(kept)])]).max() < STILL
    assert np.abs(d[np.ix_(late, tilt)]).max() < STILL


def test_what_no_control_moves_is_named(model):
    hold = Hold(model.system, model.params, model.start)
    assert 'w_WH_H_z + w_HO_H_z' in hold.uncontrollable  # the spin of the ball
    assert not any('p_WH' in text for text in hold.uncontrollable)


def test_a_plan_that_ends_moving_has_no_hold_and_says_so(model, hard):
    _, plan = hard
    half = len(plan.times) // 2
    cut = {
        name: getattr(plan, name)[:half]
        for name in ('times', 'states', 'controls', 'contact_wrenches')
    }
    following = follow(Wanted(model, dataclasses.replace(plan, **cut), {}))
    assert following.hold is None
    assert following.warning.startswith('no hold at the end of this plan: there is no equilibrium')


def test_a_plan_that_is_played_back_has_no_hold(model, hard):
    assert follow(Wanted(model, hard[1], {'open_loop': True})).hold is None


def test_a_law_that_goes_on_keeps_its_clock_and_its_memory(model):
    inputs, output = state_inputs(model.system), model.system.control
    law = FunctionLaw(inputs, output, lambda z, _y, t, g: (z + 1, g * t), lambda t: [t], [0.0])
    memory, _ = law.step(law.step(law.start(), model.start, 0.0)[0], model.start, 1.0)
    assert law.step(None, model.start, 0.0)[0] == 1  # as at the start, not where it was
    law.start()[0] = 7
    assert law.start() == 0
    on = GoingOn(law, memory, 100.0)
    (_, number), u = on.step(on.start(), model.start, 102.0)
    assert number == 3
    assert u == pytest.approx(np.full(6, 4.0))
    one = as_function(on)
    assert one.memory == 2
    out = np.array(one.function(one.memory, model.start, 102.0, one.given(102.0))).ravel()
    assert out == pytest.approx([3, *np.full(6, 4.0)])

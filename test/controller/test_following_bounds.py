"""Feedback along a plan is bounded in memory, ends when asked to, and holds held controls."""

import time
import tracemalloc

import numpy as np
import pytest
from rolling_controller import TimeVaryingLqr
from rolling_controller.design import open_loop
from rolling_controller.nominal import MAX_KNOTS
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.errors import CancelledError, ParameterError, SimulationError
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Plane, Sphere
from rolling_planner import Plan

NODES = np.array([0.0, 0.0613, 0.1507, 0.2])  # at no knot of 2 ms
PATIENCE = 0.2  # s until an interrupted design has to have ended


@pytest.fixture(scope='module')
def ball():
    system = ContactSystem(Sphere(0.1), Plane())
    p = system.pack_parameters(mass=0.1, inertia=0.4 * 0.1 * 0.1**2)
    still = np.zeros(3)
    attitude = [1.0, 0, 0, 0]
    x = system.state.pack(
        q_WH=attitude,
        p_WH=still,
        q_HO=attitude,
        contact_h=[0, 0],
        w_WH_H=still,
        v_WH_H=still,
        w_HO_H=still,
    )
    return system, p, x


def plan_of(ball, times, pushes, **changes):
    """Return a plan of the ball whose plate is pushed along x; the states are not those of it."""
    system, _, x = ball
    controls = np.zeros((len(times), system.control.size))
    controls[:, system.control.names.index('a_WH_H_x')] = pushes
    values = {
        'system': system.name,
        'model_hash': system.model_hash,
        'state_names': system.state.names,
        'control_names': system.control.names,
        'times': times,
        'states': np.tile(x, (len(times), 1)),
        'controls': controls,
    }
    return Plan(**values | changes)


@pytest.fixture
def held(ball):
    return plan_of(ball, NODES, [2.0, -3.0, 1.0, 5.0], interpolation='hold')


# -- held controls ------------------------------------------------------------------------------


def test_held_controls_are_simulated_as_such(ball, held):
    system, p, x = ball
    law = TimeVaryingLqr(system, p, held)
    truth = simulate(system, p, x, held.control_samples(), held.duration, t_eval=law.times)
    assert law.states == pytest.approx(truth.states, abs=1e-9)
    v = system.state.names.index('v_WH_H_x')
    pushed = 2.0 * 0.0613 - 3.0 * (0.1507 - 0.0613) + 1.0 * (0.2 - 0.1507)
    assert law.states[-1, v] == pytest.approx(pushed, abs=1e-9)
    following = open_loop(system, p, held)
    assert following.states == pytest.approx(truth.states, abs=1e-9)


@pytest.mark.parametrize('border', NODES[1:])
def test_feedback_on_the_nominal_motion_is_the_held_control(ball, held, border):
    """Between two knots as well: nothing is smeared over a jump."""
    system, p, _ = ball
    law = TimeVaryingLqr(system, p, held)
    for t in (border - 1e-6, np.nextafter(border, 0), border, border + 1e-6):
        x, u = law.nominal(t)
        assert np.array_equal(u, held.control_at(t))
        assert law.step(None, x, t)[1] == pytest.approx(held.control_at(t), abs=1e-9)


def test_linear_controls_are_as_before(ball):
    """The same knots, other controls: what a held plan does is not what a linear one does."""
    system, p, x = ball
    plan = plan_of(ball, NODES, [2.0, -3.0, 1.0, 5.0])
    law = TimeVaryingLqr(system, p, plan)
    truth = simulate(system, p, x, plan.control_samples(), plan.duration, t_eval=law.times)
    assert law.states == pytest.approx(truth.states, abs=1e-9)
    assert law.step(None, law.nominal(0.0613 / 2)[0], 0.0613 / 2)[1][3] == pytest.approx(
        -0.5, abs=0.05
    )


def test_nominal_from_the_states_of_a_held_plan_is_refused(ball, held):
    system, p, _ = ball
    with pytest.raises(ParameterError, match=r"plan.interpolation is 'hold'"):
        TimeVaryingLqr(system, p, held, nominal='plan')


# -- bounds -------------------------------------------------------------------------------------


@pytest.mark.parametrize('duration', [1e6, 1e300])
@pytest.mark.parametrize('design', [TimeVaryingLqr, open_loop], ids=['feedback', 'open loop'])
def test_two_points_over_a_long_time_take_no_memory(ball, design, duration):
    system, p, _ = ball
    plan = plan_of(ball, [0.0, duration], [1.0, 1.0])
    tracemalloc.start()
    try:
        with pytest.raises(ParameterError, match=f'at most {MAX_KNOTS} knots.* 0.002 s .* 200 s'):
            design(system, p, plan)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_longer_knot_makes_room(ball):
    system, p, _ = ball
    plan = plan_of(ball, [0.0, 1000.0], [1e-9, 1e-9])
    with pytest.raises(ParameterError, match='knot must be positive'):
        TimeVaryingLqr(system, p, plan, knot=0.0)
    assert len(TimeVaryingLqr(system, p, plan, knot=1.0).times) == 1001


@pytest.mark.parametrize('push', [1e160, -1e300])
def test_motion_that_is_not_finite_is_refused_by_its_time(ball, push):
    system, p, _ = ball
    with np.errstate(all='ignore'), pytest.raises(SimulationError, match=r'not finite at 0.512 s'):
        TimeVaryingLqr(system, p, plan_of(ball, [0.0, 1.0], [push, push]))


def test_attitudes_that_are_none_are_refused(ball):
    system, p, x = ball
    states = np.array([x, 1.01 * x])
    plan = plan_of(ball, [0.0, 1.0], [0.0, 0.0], states=states)
    with pytest.raises(ParameterError, match=r'q_WH must be a unit quaternion .* 1.01'):
        TimeVaryingLqr(system, p, plan)


# -- interruption -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'design',
    [
        pytest.param(TimeVaryingLqr, id='feedback', marks=pytest.mark.slow),
        pytest.param(open_loop, id='open loop'),
    ],
)
def test_design_asks_all_the_time_whether_to_go_on(ball, design):
    """By the time of its processor, so that other work on the machine does not count."""
    system, p, _ = ball
    plan = plan_of(ball, np.linspace(0.0, 20.0, 41), 0.01 * (-1.0) ** np.arange(41))
    asked = [time.thread_time()]

    def interrupted():
        asked.append(time.thread_time())
        return False

    design(system, p, plan, interrupted=interrupted)
    asked.append(time.thread_time())
    assert len(asked) > 30
    assert max(np.diff(asked)) < PATIENCE


@pytest.mark.parametrize('calls', [0, 1, 40, 60])
def test_design_ends_where_it_is_told(ball, calls):
    """At the start, in the integration, and in the Riccati equation."""
    system, p, _ = ball
    plan = plan_of(ball, np.linspace(0.0, 20.0, 41), 0.01 * (-1.0) ** np.arange(41))
    left = iter(range(calls))
    asked = []

    def interrupted():
        asked.append(None)
        return next(left, None) is None

    with pytest.raises(CancelledError):
        TimeVaryingLqr(system, p, plan, interrupted=interrupted)
    assert len(asked) == calls + 1

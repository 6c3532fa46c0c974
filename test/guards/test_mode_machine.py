"""What follows a guard: a jump of the state, an end, an event, or nothing; further guards."""

from dataclasses import replace

from cart import Cart, P
import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.contract.rolling_system import MotionState
from rolling_dynamics.simulation.modes import (
    AT_ONCE,
    ChatterError,
    mode_functions,
    ModeMachine,
    SAME_TIME,
)

ARGUMENTS = [ca.SX.sym(n, k) for n, k in zip('xutp', (2, 1, 1, 1), strict=True)]


def cart(**resets):
    """Return a cart before a wall."""
    made = Cart(wall=lambda here: here.end - here.s)
    made.modes['rolling'] = replace(made.modes['rolling'], resets=resets)
    return made


def function(value):
    x, u, t, p = ARGUMENTS
    return ca.Function('f', ARGUMENTS, [ca.densify(value(x, u, t, p))])


def state(x, **changes):
    return MotionState(**{'t': 0.25, 'x': np.array(x), 'mode': 'rolling', 'p': P} | changes)


def control(t, x):
    return np.array([10 * t + 100 * x[0]])


def test_a_jump_is_a_function_of_state_control_time_and_parameters():
    jump = function(lambda x, u, t, p: ca.vertcat(p, u - 2 * x[1] + 7 * t))
    after = ModeMachine(cart(wall=jump)).after(state([1.0, 3.0]), 'wall', control)
    assert after.x == pytest.approx([1.0, 102.5 - 6 + 1.75], rel=1e-15)
    assert after.x.shape == (2,)
    assert (after.t, after.mode, after.ended) == (0.25, 'rolling', None)
    (event,) = after.events
    assert (event.name, event.time, event.text) == ('wall', 0.25, '')
    assert after.changes == 1


def test_a_transition_decides_by_state_and_control():
    def turn(s, u):
        assert s.changes == 1
        return replace(s, x=np.array([s.x[0], u[0]]), changes=9).noted('turned', 'it turns')

    after = ModeMachine(cart(wall=turn)).after(state([0.5, 3.0]), 'wall', control)
    assert (after.x.tolist(), after.changes, after.changed) == ([0.5, 52.5], 1, 0.25)
    assert [event.name for event in after.events] == ['turned']


@pytest.mark.parametrize(
    ('actions', 'ends', 'text'),
    [
        ({}, True, 'the margin falls through zero'),
        ({'wall': 'stop'}, True, 'the margin falls through zero'),
        ({'wall': 'record'}, False, ''),
    ],
)
@pytest.mark.parametrize('resets', [{}, {'wall': function(lambda x, *_: -x)}])
def test_without_a_reset_a_motion_ends_or_is_recorded(actions, ends, text, resets):
    if resets and not actions:
        return  # it jumps
    after = ModeMachine(cart(**resets), actions).after(state([1.0, 3.0]), 'wall', control)
    assert (after.ended is not None) == ends
    assert [(e.name, e.text, e.terminal) for e in after.events] == [('wall', text, ends)]
    assert after.x.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ('actions', 'ends'),
    [({}, True), ({'wall': 'record'}, False), ({'wall': 'ignore'}, None)],
)
@pytest.mark.parametrize('resets', [{}, {'wall': function(lambda x, *_: -x)}])
def test_a_start_behind_a_wall_ends_or_is_recorded_or_ignored(actions, ends, resets):
    after = ModeMachine(cart(**resets), actions).start(state([1.5, 3.0]), control)
    assert (after.ended is not None) == bool(ends)
    found = [] if ends is None else [('wall', 'already so at the start', ends)]
    assert [(e.name, e.text, e.terminal) for e in after.events] == found


def test_a_start_at_the_wall_is_no_start_behind_it():
    machine = ModeMachine(cart())
    assert machine.start(state([1.0, 3.0]), control).ended is None
    assert machine.start(state([1.0 + 1e-6, 3.0]), control).ended is not None


def test_further_guards_are_watched_and_not_kept_for_others():
    system, fast = cart(), {'fast': function(lambda x, u, *_: 2 + u - x[1])}
    before = mode_functions(system, 'rolling')
    watched = ModeMachine(system, {}, fast)
    assert watched.functions('rolling').names == ('wall', 'fast')
    values = watched.guards('rolling')(np.array([0.25, 1.0]), np.array([0.5]), 0.0, P)
    assert np.array(values) == pytest.approx([0.75, 1.5])
    assert watched.start(state([0.0, 4.75]), control).ended is not None  # u is 2.5
    assert watched.start(state([0.0, 4.25]), control).ended is None
    assert mode_functions(system, 'rolling') is before
    assert before.names == ('wall',)
    assert watched.guards('rolling') is watched.guards('rolling')


def test_a_mode_without_guards_has_no_function_of_guards():
    machine = ModeMachine(Cart())
    assert machine.guards('rolling') is None
    assert machine.start(begin := state([9.0, 3.0]), control) is begin


def turning(**changes):
    """Return a cart that changes, held at rest at its end by the projection of its mode."""

    def turn(s, _u):
        return replace(s, changes=7, changed=-9.0, x=s.x + 1.0, **changes)

    made, (x, *_, p) = cart(wall=turn), ARGUMENTS
    rest = ca.Function('rest', [x, p], [ca.vertcat(p, 0)])
    made.modes['rolling'] = replace(made.modes['rolling'], projection=rest)
    return ModeMachine(made)


def test_after_a_transition_a_state_is_on_the_constraints_of_its_mode():
    after = turning().after(state([0.5, 3.0]), 'wall', control)
    assert (after.x.tolist(), after.changes, after.changed) == ([1.0, 0.0], 1, 0.25)


def test_a_transition_that_ends_the_motion_keeps_its_state():
    after = turning(ended='crash').after(state([0.5, 3.0]), 'wall', control)
    assert (after.x.tolist(), after.ended) == ([1.5, 4.0], 'crash')


def test_a_mode_that_is_left_out_ends_the_motion():
    after = turning(mode='slipping').after(state([0.5, 3.0]), 'wall', control)
    (event,) = after.events
    assert (event.name, event.terminal) == ('slipping', True)
    assert event.text == 'a mode begins that this system leaves out'
    assert after.ended is not None


def test_changes_in_one_instant_are_counted_and_limited():
    jump = ModeMachine(cart(wall=function(lambda x, *_: -x)))
    after = state([1.0, 3.0])
    for k in range(AT_ONCE):
        after = jump.after(after, 'wall', control)
        assert after.changes == k + 1
    with pytest.raises(ChatterError, match=r'at t = 0\.25 s .* chatters \(rolling\)'):
        jump.after(after, 'wall', control)
    assert jump.after(replace(after, t=0.25 + SAME_TIME), 'wall', control).changes == 1


def test_a_guard_of_time_is_evaluated_at_the_time():
    late = ModeMachine(cart(), {}, {'late': function(lambda _x, _u, t, _p: 0.2 - t)})
    assert late.start(state([0.0, 0.0]), control).ended is not None
    assert late.start(state([0.0, 0.0], t=0.1), control).ended is None

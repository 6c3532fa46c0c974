"""A system of several modes of one's own: guards and resets drive both engines."""

from dataclasses import replace
from types import MappingProxyType

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.contract import Entry, Layout, Mode, MotionState, tangent_layout
from rolling_dynamics.contract.rolling_system import difference, retraction
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.simulation import simulate, Stepper

G = 9.81


class Hopper:
    """A mass over a floor that a force per mass u lifts; it lands without rebound, or chatters."""

    name, independent_variable, model_hash = 'hopper', 'time', '1'
    state = Layout((Entry('z', ('z',), 'm'), Entry('v', ('v',), 'm/s')))
    control = Layout((Entry('lift', ('lift',), 'm/s^2'),))
    parameters = Layout((Entry('landings', ('landings',), ''),))
    invariants = MappingProxyType({})
    tangent = tangent_layout(state)
    retract, difference = retraction(state, tangent), difference(state)

    def __init__(self, *, resets=True, chatters=False):
        self.chatters = chatters
        x, u, _, p = given = [ca.SX.sym(n, k) for n, k in zip('xutp', (2, 1, 1, 1), strict=True)]
        self.pose = ca.Function('pose', [x, p], [ca.SX.eye(4)])

        def function(value):
            return ca.Function('f', given, [ca.densify(ca.vertcat(value))])

        self.modes = {
            'flies': Mode(
                dynamics=function(ca.vertcat(x[1], u[0] - G)),
                guards={'floor': function(x[0])},
                resets={'floor': self.land} if resets else {},
            ),
            'rests': Mode(
                dynamics=function(ca.vertcat(0, 0)),
                guards={'weight': function(G - u[0])},
                resets={'weight': self.leave} if resets else {},
                projection=ca.Function('rest', [x, p], [ca.DM.zeros(2)]),
            ),
        }

    def land(self, s, u):
        if s.x[1] < -100:
            return s.noted('crash', 'it lands too fast', ends=True)
        mode = 'flies' if self.chatters or u[0] > G else 'rests'
        x = np.array([-1e-6, -1.0]) if self.chatters else np.zeros(2)
        return replace(s, mode=mode, x=x, p=s.p + 1).noted('landing', '')

    def leave(self, s, u):
        assert u[0] >= G - 1e-9
        return replace(s, mode='flies').noted('lift_off', '')


PUSH = (np.array([0.0, 1.0, 1.0, 2.0]), np.array([[0.0], [0.0], [2 * G], [2 * G]]))
FALL = np.sqrt(2 * 0.1 / G)


def test_the_adaptive_engine_goes_through_modes():
    run = simulate(Hopper(), [0.0], [0.1, 0.0], PUSH, 2.0)
    assert [e.name for e in run.events] == ['landing', 'lift_off']
    assert [e.time for e in run.events] == pytest.approx([FALL, 1.0], abs=1e-10)
    assert [next(iter(s.system.modes)) for s in run.segments] == ['flies', 'rests', 'flies']
    assert [s.parameters[0] for s in run.segments] == [0, 1, 1]
    assert run.states[-1] == pytest.approx([G / 2, G])
    assert run.state_at(0.6) == pytest.approx([0, 0])
    assert run.terminal_event is None


def test_the_fixed_step_engine_goes_through_the_same():
    stepper, events = Stepper(Hopper(), [0.0], max_step=0.05), []
    s = stepper.begin([0.1, 0.0])
    assert s.mode == 'flies'
    for k in range(20):
        s = stepper.step(s, [2 * G if k >= 10 else 0.0], 0.1)
        events += s.events
    assert [e.name for e in events] == ['landing', 'lift_off']
    assert [e.time for e in events] == pytest.approx([FALL, 1.0], abs=1e-10)
    assert (s.mode, s.p[0]) == ('flies', 1.0)
    assert s.x == pytest.approx([G / 2, G])


def test_a_transition_may_end_the_motion():
    start = [1.0, -200.0]
    run = simulate(Hopper(), [0.0], start, None, 1.0, t_eval=[0.0, 0.001, 0.9])
    assert run.terminal_event.name == 'crash'
    assert run.times.tolist() == [0.0, 0.001]
    assert run.end == pytest.approx(0.005, abs=1e-5)
    s = Stepper(Hopper(), [0.0]).begin(start)
    end = Stepper(Hopper(), [0.0]).step(s, [0.0], 0.1)
    assert (end.stopped, end.t) == ('crash', pytest.approx(run.end, abs=1e-10))
    assert Stepper(Hopper(), [0.0]).step(end, [0.0], 0.1).t == end.t


@pytest.mark.parametrize('system', [Hopper(resets=False), Hopper()])
def test_a_guard_ends_the_motion_without_reset_or_if_asked_to(system):
    run = simulate(system, [0.0], [0.1, 0.0], None, 1.0, events={'floor': 'stop'})
    assert (run.terminal_event.name, run.end) == ('floor', pytest.approx(FALL))
    if not system.modes['flies'].resets:
        assert simulate(system, [0.0], [0.1, 0.0], None, 1.0).terminal_event.name == 'floor'
        s = Stepper(system, [0.0]).step(Stepper(system, [0.0]).begin([0.1, 0.0]), [0.0], 1.0)
        assert (s.stopped, s.t) == ('floor', pytest.approx(FALL))


def test_a_mode_that_cannot_hold_is_left_at_once():
    """Resting while it is lifted, from the first instant on."""
    run = simulate(Hopper(), [0.0], [0.0, 0.0], [2 * G], 1.0, mode='rests')
    assert [(e.name, e.time) for e in run.events] == [('lift_off', 0.0)]
    assert run.states[-1] == pytest.approx([G / 2, G])


def test_modes_that_change_without_end_are_told():
    with pytest.raises(SimulationError, match='chatters'):
        simulate(Hopper(chatters=True), [0.0], [0.1, 0.0], None, 1.0)
    stepper = Stepper(Hopper(chatters=True), [0.0])
    with pytest.raises(SimulationError, match='chatters'):
        stepper.step(stepper.begin([0.1, 0.0]), [0.0], 1.0)


def test_a_state_with_its_mode_stays_as_it_was():
    stepper = Stepper(Hopper(), [0.0])
    s = MotionState(t=0.5, x=np.array([0.01, 0.0]), mode='flies', p=np.zeros(1))
    one, other = stepper.step(s, [0.0], 0.2), stepper.step(s, [0.0], 0.2)
    assert one.x.tolist() == other.x.tolist()
    assert (s.x.tolist(), s.p.tolist(), s.t) == ([0.01, 0.0], [0.0], 0.5)

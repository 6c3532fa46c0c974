"""A run ends where the hand is commanded away by false states that look true."""

from types import SimpleNamespace

import numpy as np
import pytest
from rolling_controller.law import FunctionLaw, TOUCHING
from rolling_controller.motion_watch import HandBound
from rolling_controller.nodes import controlled_laboratory
from rolling_controller.nodes.control_loop import HELD
from rolling_controller.nodes.controlled_laboratory import (
    CODES,
    ControlledLaboratory,
    ExperimentRun,
)
from rolling_controller.nodes.equipment import LoopEquipment
from rolling_controller.nodes.execution import Execution
from rolling_controller.nodes.machines import braking, ControlledHand, Hand, hand_velocity
from rolling_controller.supervisor import Verdict
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario_model import load_model
from rolling_planner.laboratory.laboratory import Laboratory
from rolling_robotics.experiments import EXPERIMENTS

STATE = Laboratory.of_paper().model()[0].state
BOUND, PERIOD, BRAKE_TIME = 0.1, 1_000_000, 0.1  # m, ns, s
AWAY = np.array([0.0, 10.0, 0.0])  # a law that believes what does not change


KNOWN = np.ones((2, 2, 6, 6))  # covariances that the source declares


def run(control):
    """Return the run, its ends, and what was sent in 0.3 s; the states stay those of the start."""
    sent, ends = [], []
    start = np.array([name.endswith('_w') for name in STATE.names], dtype=float)
    machine = SimpleNamespace(
        measured=SimpleNamespace(state=lambda: (0, start), covariances=KNOWN),
        bound=lambda states: HandBound(STATE, BOUND, states),
        send=lambda u, _stamp: sent.append(u),
        safe=lambda x: braking(x[hand_velocity(STATE)], BRAKE_TIME, None),
        await_acknowledgement=lambda _: None,
        wait=lambda _: None,
    )
    predictor = SimpleNamespace(
        forget=lambda: None, predict=lambda stamp, x, _: (stamp, x), note=lambda *_: None, delay=0
    )

    def judge(_stamp, _x, touching, covariances):
        assert touching
        assert covariances is KNOWN
        return Verdict()

    watch = SimpleNamespace(begin=lambda: None, judge=judge, limited=lambda u: u)
    equipment = LoopEquipment(
        machine=machine,
        predictor=predictor,
        watch=watch,
        start=start,
        values={'feedback_rate': 1.0},
        once=True,
    )
    output = Layout((Entry('u', ('x', 'y', 'z'), ''),))
    law = FunctionLaw(Layout((TOUCHING,)), output, lambda z, *_: (z, control))
    trial = ExperimentRun(
        SimpleNamespace(), equipment, law, 0.0, ends.append, lambda *_: None, 'away'
    )
    k = 0
    while k < 300 and not trial.control.ending:
        trial.control._answer(k * PERIOD, start)
        k += 1
    return trial, ends, sent


def test_the_run_ends_by_what_was_commanded():
    trial, (end,), sent = run(AWAY)
    assert end.code == CODES.STALE_STATE
    assert 'tracking_bound allows 0.1' in end.ended
    assert trial.control.fault in end.ended
    # 10 m/s^2 take the hand 0.1 m in 0.14 s; it brakes from 1.4 m/s, as it is measured at rest
    assert sent[-1] == pytest.approx([0.0, -14.0, 0.0], rel=0.02, abs=1e-9)
    assert len(sent) - HELD - 1 == pytest.approx(np.sqrt(2 * BOUND / AWAY[1]) * 1000, rel=0.1)


def test_a_hand_that_stays_is_not_stopped():
    _, ends, sent = run(np.zeros(3))
    assert not ends
    assert len(sent) == 300


@pytest.mark.parametrize(('limits', 'way'), [(np.full(3, 10.0), 0.25), (None, 0.2)])
def test_the_bound_of_a_hand_knows_how_it_brakes(limits, way):
    """From 2 m/s, in a time constant of 0.1 s: 0.15 m by its limit, and 0.1 m more from 1 m/s."""
    values = {'tracking_bound': BOUND, 'brake_time': 0.1}
    hand = SimpleNamespace(_values=values, _state=STATE, _limits=limits)
    start = np.array([name.endswith('_w') for name in STATE.names], dtype=float)
    moving = start + 2.0 * (np.array(STATE.names) == 'v_WH_H_x')
    bound = Hand.bound(hand, np.array([start, start]))
    assert f'is {way} m' in bound.problem(0.0, moving, start, np.zeros(3))


@pytest.mark.parametrize('named', [False, True])
def test_a_hand_along_plans_is_limited_unless_its_scenario_has_to_be(named):
    """A scenario that has to name all limits is then rejected, as this one would be."""
    values = {'scenario_file': 'ball_on_plate_hard', 'finite_limits': named, 'frame_prefix': ''}
    node = SimpleNamespace(writer=lambda *_: None, polled=lambda *_, **__: None)
    hand = SimpleNamespace(node=node, values={**values, 'brake_time': 0.1})
    model = hand.model = ControlledHand.load(values)
    machine = ControlledHand.machine(hand)
    x = model.start + 7.0 * (np.array(model.system.state.names) == 'v_WH_H_x')
    assert machine.safe(x)[3] == (-70.0 if named else -15.0)
    assert np.isfinite(model.control_limits).all() != named


@pytest.mark.parametrize('experiment', ['damping', 'balance_3d'])
def test_the_hand_of_an_experiment_brakes_within_its_limits(monkeypatch, experiment):
    """Those of its scenario, or of all hands where it names none."""
    monkeypatch.setattr(
        controlled_laboratory, 'SingleGoalServer', lambda *_: SimpleNamespace(destroy=None)
    )
    values = {entry.name: entry.default for entry in ControlledLaboratory.table}
    scenario = EXPERIMENTS[experiment].scenario_file
    node = SimpleNamespace(
        values=values | {'experiment': experiment, 'scenario_file': scenario},
        writer=lambda *_: None,
        polled=lambda *_, **__: None,
        at_cleanup=lambda _: None,
        get_parameter=lambda _: SimpleNamespace(value=True),
        get_logger=lambda: SimpleNamespace(info=lambda _: None, warning=lambda _: None),
    )
    made = ControlledLaboratory(node)
    limits, x = made.subject.limits(load_model(scenario).control_limits), made.subject.start.copy()
    x[hand_velocity(made.subject.system.state)] = 100.0
    assert np.isfinite(limits).all()
    assert made.equipment.machine.safe(x).tolist() == (-limits).tolist()


def test_finite_limits_are_asked_for_before_hardware_is_driven():
    """By a controller of plans and by one of experiments."""
    name, match = 'ball_on_plate_hard', 'ball_on_plate_hard.*a_WH_H has none'
    values = {entry.name: entry.default for entry in ControlledLaboratory.table}
    values |= {'experiment': 'damping', 'scenario_file': name, 'finite_limits': True}
    with pytest.raises(ParameterError, match=match):
        ControlledLaboratory(SimpleNamespace(values=values, writer=lambda *_: None))
    hand = SimpleNamespace(model=ControlledHand.load(values), values=values)
    with pytest.raises(ParameterError, match=match):
        ControlledHand._equipment_of(hand, SimpleNamespace())


def test_an_execution_ends_where_its_hand_goes_too_far():
    """By what was commanded, whatever is measured; up to then it reports how it goes."""
    start = np.array([name.endswith('_w') for name in STATE.names], dtype=float)
    ends, steps = [], []
    execution = SimpleNamespace(
        _tracker=SimpleNamespace(
            step=lambda t, *_: SimpleNamespace(lost='', ended=False, t=t),
            planned=lambda _: start,
        ),
        _equipment=SimpleNamespace(watch=SimpleNamespace(limited=lambda u: 0.5 * u)),
        _bound=HandBound(STATE, BOUND, np.array([start, start])),
        _send_feedback=steps.append,
        control=SimpleNamespace(distrust=ends.append),
    )
    for k in range(300):
        assert Execution._judge(execution, k * 1e-3, start, AWAY) == (0, '', AWAY)
        if ends:
            break
    assert 'as commanded' in ends[0]
    # 5 m/s^2, to which commands are limited, take the hand 0.1 m in 0.2 s
    assert len(steps) == pytest.approx(np.sqrt(2 * BOUND / (0.5 * AWAY[1])) * 1000, rel=0.1)


HOLD = SimpleNamespace(step=lambda *_: (None, np.ones(3)))


@pytest.mark.parametrize(
    ('ended', 'hold', 'wanted'),
    [(False, None, AWAY), (True, None, np.zeros(3)), (True, HOLD, np.ones(3))],
)
def test_after_the_end_of_a_plan_the_command_is_that_of_its_hold_or_safe(ended, hold, wanted):
    """In the settling time states still come, and the law answers them."""
    execution = SimpleNamespace(
        _tracker=SimpleNamespace(step=lambda *_: SimpleNamespace(lost='', ended=ended)),
        _equipment=SimpleNamespace(machine=SimpleNamespace(safe=lambda _: np.zeros(3))),
        _following=SimpleNamespace(hold=hold),
        _bound=None,
        _send_feedback=lambda _: None,
    )
    code, reason, u = Execution._judge(execution, 2.0, np.zeros(3), AWAY)
    assert (code, reason) == (0, '')
    np.testing.assert_array_equal(u, wanted)

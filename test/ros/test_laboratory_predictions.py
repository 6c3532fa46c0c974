"""The predictive law in the laboratory's controller: handed over, shown, left when it fails."""

from functools import partial
from pathlib import Path
import sys
import threading

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Path as PathMessage
import numpy as np
import pytest
from rolling_controller.laboratory import laws
from rolling_controller.motion_watch import HandBound, MotionWatch
from rolling_controller.nodes.controlled_laboratory import ControlledLaboratory
from rolling_controller.nodes.controller_node import ControllerNode
from rolling_controller.predictive import law as predictive_law
from rolling_controller.predictive.law import PredictiveLaw
from rolling_controller.supervisor import Verdict
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario_model import load_model
from rolling_interfaces.action import RunExperiment
from rolling_node_kit.qos import COMMAND, EVENT
from rolling_planner.plan import Plan

sys.path.append(str(Path(__file__).parent))

from fake_states import hand_and_object, PERIOD, Source
from in_process import in_process, LONG
from runs import await_active, Runner

SCENARIO = 'laboratory_flip_up.yaml'
PARAMETERS = {
    'scenario_file': SCENARIO,
    'experiment': 'flip_up',
    'law': 'predictive',
    'rate': 200.0,
    'state_timeout': 10.0,
    'diagnostics_period': 0.05,
    'prediction_horizon': 0.0,  # the drift that is measured is what is answered
}
DRIFT = 0.2  # of the hand [m/s]
BRAKE = -DRIFT / 0.1  # by the default brake_time [m/s^2]


def at_rest(system, start):
    """Return a plan in which nothing moves."""
    times = np.linspace(0.0, 1.0, 3)
    return Plan(
        system='planar',
        model_hash='',
        state_names=tuple(system.state.names),
        control_names=tuple(system.control.names),
        times=times,
        states=np.tile(start, (3, 1)),
        controls=np.full((3, system.control.size), 1e-9),  # which are used for feedback
    )


@pytest.fixture(scope='module')
def resting():
    """Have the object planned to stay where it lies, and a rough region of balance."""
    subject = laws.subject_of('flip_up', load_model(SCENARIO))
    plan = at_rest(subject.system, subject.start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laws, 'experiment_plan', lambda *_: None)
        patch.setattr(laws, 'restricted_plan', lambda *_: plan)
        patch.setattr(laws, 'REGION_SAMPLES', 2)
        # the states of this module stand still, whatever is commanded
        patch.setattr(MotionWatch, 'judge', lambda *_, **__: Verdict())
        patch.setattr(HandBound, 'problem', lambda *_: '')
        yield


@pytest.fixture(scope='module')
def node(domain, resting):
    """The controller in this process, spun in a thread."""
    make = partial(ControllerNode, ControlledLaboratory, 'contact')
    with in_process(domain, make, PARAMETERS) as made:
        yield made


@pytest.fixture
def runner(peer, node):
    """A client, while the object lies still and the hand drifts."""
    _, bodies = hand_and_object(SCENARIO)
    bodies['hand/odometry'] = np.array(bodies['hand/odometry'], dtype=float)
    bodies['hand/odometry'][-3] = DRIFT  # along x
    source = Source(peer, bodies)
    with peer.every(PERIOD, source.tell):
        await_active(peer, 'controller', LONG)
        yield Runner(peer)


def report(peer, accept):
    """Return a report of the controller whose values, by name, are accepted, and these."""
    values = lambda m: {v.key: v.value for v in m.status[0].values}  # noqa: E731
    ours = lambda m: m.status[0].name == 'controller' and accept(values(m))  # noqa: E731
    (found,) = peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=ours)
    return found.status[0], values(found)


def diagnosed(peer, accept):
    return report(peer, accept)[1]


def test_predictions_are_handed_over_and_shown(peer, runner, node):
    handle = runner.begin()
    told = diagnosed(peer, lambda v: int(v.get('predictions', 0)) > 3)
    assert told['predictions failed'] == '0'
    # while a prediction is late, as on a busy machine, the safe command is given; what the law
    # gives holds the hand back once its steps have settled
    held = lambda m: pytest.approx(m.accel.linear.x) != BRAKE and m.accel.linear.x < 0  # noqa: E731
    assert float(told['prediction time [s]']) > 0.0
    (path,) = peer.collect(PathMessage, 'predicted_path', EVENT)
    assert path.header.frame_id == 'world'
    assert len(path.poses) > 10
    peer.collect(AccelStamped, 'hand/accel_command', COMMAND, accept=held)
    assert peer.cancel(handle).law == 'predictive'
    diagnosed(peer, lambda v: v.get('running') == 'False' and 'predictions' not in v)


@pytest.mark.parametrize('how', ['fails', 'is late'])
def test_a_prediction_that_fails_or_is_late_gives_way_to_the_safe_command(
    peer, runner, node, monkeypatch, how
):
    handle, over = runner.begin(), threading.Event()
    diagnosed(peer, lambda v: int(v.get('predictions', 0)) > 3)

    def broken(self, t, x):
        if how == 'is late':
            over.wait(LONG)
        raise ArithmeticError('no solution')

    monkeypatch.setattr(PredictiveLaw, 'predict', broken)
    braked = lambda m: m.accel.linear.x == pytest.approx(BRAKE, abs=1e-9)  # noqa: E731
    peer.collect(AccelStamped, 'hand/accel_command', COMMAND, count=5, accept=braked)
    if how == 'fails':
        status, told = report(peer, lambda v: 'prediction problem' in v)
        assert status.level == DiagnosticStatus.ERROR
        assert 'the safe command is given: ArithmeticError: no solution' in status.message
        assert told['prediction problem'] == 'ArithmeticError: no solution'
        assert int(told['predictions failed']) > 0
    over.set()
    peer.cancel(handle)


def test_without_a_solver_a_run_is_refused_and_the_others_go_on(peer, runner, node, monkeypatch):
    def missing():
        raise ParameterError('predictive control needs daqp')

    monkeypatch.setattr(predictive_law, 'solver', missing)
    ended = runner.run(law='predictive')
    assert ended.error_code == RunExperiment.Result.INFEASIBLE
    assert ended.error_string == 'predictive control needs daqp'
    assert runner.run(law='open_loop', duration=0.05).error_code == RunExperiment.Result.NONE

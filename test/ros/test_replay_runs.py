"""The commands of the laboratory come out bit by bit, by the clock and in simulated time."""

from array import array
import itertools
import json
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from rolling_controller.answers import Answers
from rolling_controller.laboratory import laws as laboratory_laws
from rolling_controller.laboratory.laws import subject_of
from rolling_controller.laboratory.run_log import (
    BEGIN,
    KEPT,
    RESTARTED,
    RunLog,
    SAFE,
    Step,
    steps_in,
)
from rolling_controller.law import FunctionLaw, STATE, TOUCHING
from rolling_controller.motion_watch import HandBound, MotionWatch, Predictor
from rolling_controller.nodes.control_loop import HELD
from rolling_controller.nodes.controlled_laboratory import CODES, ExperimentRun, TABLE
from rolling_controller.nodes.equipment import LoopEquipment
from rolling_controller.nodes.machines import braking, hand_velocity
from rolling_controller.supervisor import Verdict
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.fingerprint import fingerprint
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.hybrid_contact.from_contact_system import ObservedState, planar_hybrid_of
from rolling_dynamics.nodes.measurements import Measurements
from rolling_dynamics.scenario_model import load_model
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.cdr import ACCEL, accel_values, OdometryEncoder, StampedEncoder
from rolling_node_kit.parameters import FINGERPRINT
from rolling_node_kit.periodic_loop import Punctuality
from rolling_robotics.cli import main
from rolling_robotics.experiments import parameters_of
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay import runs as replaying_runs
from rolling_robotics.nodes.replay.runs import replay_runs
from rolling_robotics.recordings.writer import Recording, Topic
from std_msgs.msg import Int64MultiArray, String

EPOCH, PERIOD, STEPS = 10**18, 1_000_000, 160  # ns, ns
UNREAD = 41  # number of the state that is found to be none
TOPICS = {
    'hand/odometry': 'nav_msgs/msg/Odometry',
    'object/odometry': 'nav_msgs/msg/Odometry',
    'hand/accel_command': 'geometry_msgs/msg/AccelStamped',
    'controller/steps': 'std_msgs/msg/Int64MultiArray',
    'controller/settings': 'std_msgs/msg/String',
}


class StandingLoop:
    """A loop that the test turns by hand."""

    def __init__(self, *_args, **_options):
        self.start = self.stop = lambda: None
        self.read_punctuality = Punctuality


class Machine:
    """The hand of a controller; what it sends goes into the recording and to the plant."""

    def __init__(self, subject, model, brake_time, put):
        self.subject, self.measured = subject, Measurements(subject.source)
        self._velocity = hand_velocity(subject.system.state)
        self._limits = subject.limits(model.control_limits)
        self._brake_time, self._put = brake_time, put
        self._encode = StampedEncoder('hand', ACCEL).encode
        self.poll = self.wait = lambda *_: None
        self.await_acknowledgement = lambda _: None
        self.bound = lambda states: HandBound(subject.system.state, 1.0, states)
        self.sent = np.zeros(6)

    def send(self, u, stamp):
        self.sent = self.subject.widened(u)
        self._put('hand/accel_command', self._encode(stamp, accel_values(self.sent.tolist())))

    def safe(self, x):
        return braking(x[self._velocity], self._brake_time, self._limits)


class Rehearsal:
    """An experiment in this process, recorded as its nodes would be."""

    def __init__(self, experiment, folder, *, sim_time):
        given = parameters_of(experiment, 'simulator')
        model = load_model(given['scenario_file'])
        bodies = model.system, model.params
        self.plant = EmulatedObject(
            *bodies,
            model.start,
            hybrid=planar_hybrid_of(*bodies),
            limits=model.control_limits,
        )
        self.subject = subject_of(experiment, model)
        self.prepared = self.subject.prepare()
        self.sim_time, self.random = sim_time, np.random.default_rng(5)
        self.values = {e.name: e.default for e in TABLE} | {
            'scenario_file': given['scenario_file'],
            'experiment': experiment,
            'use_sim_time': sim_time,
            'state_timeout': 1e9,  # the steps of the test take their time
            FINGERPRINT: fingerprint(),
        }
        self.recording = Recording(folder, ('rolling_interfaces',), longest_queue=100_000)
        for name, kind in TOPICS.items():
            self.recording.add(Topic(f'/{name}', kind, latched=False))
        self._arrivals = iter(range(1, 10**6))
        self.machine = Machine(self.subject, model, self.values['brake_time'], self.put)
        self.equipment = LoopEquipment(
            machine=self.machine,
            predictor=(
                predictor := Predictor(
                    self.subject.system,
                    self.subject.params,
                    delay=self.values['command_delay'],
                    horizon=self.values['prediction_horizon'],
                )
            ),
            watch=MotionWatch(
                self.subject.system, predictor, limits=self.subject.limits(model.control_limits)
            ),
            start=self.subject.start,
            values=self.values,
            once=sim_time,
        )
        self.now = EPOCH
        clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=self.now))
        self.node = SimpleNamespace(get_clock=lambda: clock)
        self.encode = {n: OdometryEncoder('world', n).encode for n in ('hand', 'object')}

    def put(self, topic, data):
        self.recording.put(f'/{topic}', next(self._arrivals), data)

    def run(self, law):
        """Run a law over some steps of the plant, with what goes wrong by the clock."""
        self.plant.reset()
        self.plant.release()
        self.stamp = 0
        self.machine.measured.restart()
        values = {**self.values, 'law': law, 'state_timeout': 0.05}
        self.put('controller/settings', serialize_message(String(data=json.dumps(values))))
        log = RunLog(
            lambda n: self.put('controller/steps', serialize_message(Int64MultiArray(data=n)))
        )
        chosen = self.prepared.law(law)
        trial = ExperimentRun(
            self.node, self.equipment, chosen, 0.0, lambda _: None, lambda _x, _u: None, log
        )
        for k in range(STEPS):
            self.measure(dropped=not self.sim_time and k % 13 == 5, unread=k == UNREAD)
            flies = 60 <= k < 90
            trial.control.contact_mode = 'separated' if flies else RollingContact.MODE_ROLLING
            for _ in range(1 if self.sim_time else 1 + (k % 7 == 3)):  # some states twice
                trial.control.tick()
                self.now += int(self.random.integers(0, PERIOD))
        trial.control.end(CODES.CANCELLED, 'asked to stop')

    def measure(self, *, dropped, unread):
        """Report where the bodies are; perhaps the controller does not hear of it, or cannot."""
        stamp = self.now - self.now % PERIOD + PERIOD
        if self.stamp:  # the plant moves with the stamps, as the watch of its motion expects
            self.plant.step(self.machine.sent, (stamp - self.stamp) * 1e-9)
        self.stamp = stamp
        self.now = stamp + int(self.random.integers(100_000, 3_000_000))
        seen = self.plant.observe()
        for name, body in (('hand', seen.hand), ('object', seen.object_)):
            data = bytes(self.encode[name](stamp, body.tolist()))
            self.put(f'{name}/odometry', data)
            if not dropped:
                self.machine.measured.take(data, f'{name}/odometry')
        if unread:
            source, unknown = self.subject.source, np.full(self.subject.start.shape, np.nan)
            read, source.state = source.state, lambda *_: (unknown, 0.0)
            self.machine.measured.state()
            source.state = read


def rehearsed(folder, experiment, laws, *, sim_time=False):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoopEquipment, 'loop', StandingLoop)
        rehearsal = Rehearsal(experiment, folder, sim_time=sim_time)
        for law in laws:
            rehearsal.run(law)
    rehearsal.recording.close()
    assert not rehearsal.recording.fault
    return folder


@pytest.fixture(scope='module')
def damping(tmp_path_factory):
    folder = tmp_path_factory.mktemp('runs') / 'damping'
    return rehearsed(folder, 'damping', ('closed_loop', 'open_loop', 'closed_loop'))


def check(folder, laws):
    with Recorded(folder) as recorded:
        runs = replay_runs(recorded)
        steps = [
            s for _, _, m in recorded.messages(['controller/steps']) for s in steps_in(m.data)
        ]
    assert [run.title.partition(', ')[2] for run in runs] == list(laws)
    for run in runs:
        assert run.equal == run.recorded == len(run.answers) > 0.9 * STEPS
        assert run.difference == 0.0
    assert sum(len(run.answers) for run in runs) == len(steps)
    return steps


def test_every_command_by_the_clock_is_found_bit_by_bit(damping):
    steps = check(damping, ('closed_loop', 'open_loop', 'closed_loop'))
    assert sum(bool(s.flags & BEGIN) for s in steps) == 3
    assert sum(bool(s.flags & RESTARTED) for s in steps) == 3
    assert sum(bool(s.flags & SAFE) for s in steps) == 3
    twice = [a for a, b in itertools.pairwise(steps) if a.stamp == b.stamp]
    assert len(twice) > 20


def test_every_command_of_simulated_time_is_found_bit_by_bit(tmp_path):
    folder = rehearsed(tmp_path / 'bag', 'damping', ('closed_loop',) * 2, sim_time=True)
    steps = check(folder, ('closed_loop',) * 2)
    assert sum(bool(s.flags & SAFE) for s in steps) == 2 * (HELD + 1)
    assert all(s.acts in {s.stamp, 0} for s in steps)


@pytest.mark.slow
@pytest.mark.parametrize(
    ('experiment', 'laws'),
    [
        ('throw_catch', ('closed_loop', 'open_loop')),
        ('flip_up', ('closed_loop', 'replay_balance', 'open_loop')),
    ],
)
def test_planned_experiments_too(tmp_path, experiment, laws):
    check(rehearsed(tmp_path / 'bag', experiment, laws), laws)


@pytest.mark.slow
def test_predictions_of_simulated_time_too(tmp_path, monkeypatch):
    monkeypatch.setattr(laboratory_laws, 'REGION_SAMPLES', 2)  # of a law that is not used
    laws = ('predictive', 'predictive')
    check(rehearsed(tmp_path / 'bag', 'flip_up', laws, sim_time=True), laws)


def test_predictions_by_the_clock_are_not_computed_again(damping, monkeypatch):
    whole = Recorded.settings

    def predicted(self, *given):
        return [{**values, 'law': 'predictive'} for values in whole(self, *given)]

    monkeypatch.setattr(Recorded, 'settings', predicted)
    with Recorded(damping) as recorded, pytest.raises(ParameterError, match='predictive control'):
        replay_runs(recorded)


def test_command_line_tells(damping, capsys):
    assert main(['replay', str(damping)]) == 0
    out = capsys.readouterr().out
    assert 'run 3, closed_loop: ' in out
    assert 'bit by bit, largest difference 0\n' in out
    assert 'not in the recording' not in out


def changed_log(monkeypatch, change):
    """Have the log read otherwise."""
    whole = steps_in
    monkeypatch.setattr(replaying_runs, 'steps_in', lambda data: map(change, whole(data)))


@pytest.mark.parametrize(
    'change',
    [
        lambda s: s._replace(acts=s.acts + 100_000 * (not s.flags & SAFE)),  # predicted further
        lambda s: s._replace(flags=s.flags ^ 2),  # believed to fly while it touches
    ],
)
def test_another_log_gives_other_commands(damping, monkeypatch, change):
    changed_log(monkeypatch, change)
    with Recorded(damping) as recorded:
        runs = replay_runs(recorded)
    assert any(run.equal < len(run.answers) for run in runs)


def test_a_run_that_began_before_the_recording_is_left_out(damping, monkeypatch):
    with Recorded(damping) as recorded:
        steps = [
            s for _, _, m in recorded.messages(['controller/steps']) for s in steps_in(m.data)
        ]
        cut = iter([steps[20:]])
        monkeypatch.setattr(replaying_runs, 'steps_in', lambda _: next(cut, ()))
        complete = recorded.messages

        def without_the_first(names):
            return itertools.islice(complete(names), int(names == ['controller/settings']), None)

        monkeypatch.setattr(recorded, 'messages', without_the_first)
        runs = replay_runs(recorded)
    assert [run.title for run in runs] == ['run 1, open_loop', 'run 2, closed_loop']
    assert all(run.equal == len(run.answers) for run in runs)


def test_what_cannot_be_replayed_is_told(damping, monkeypatch):
    with Recorded(damping) as recorded, monkeypatch.context() as patch:
        changed_log(patch, lambda s: s._replace(flags=s.flags & ~BEGIN))
        with pytest.raises(ParameterError, match='lacks the beginning of a run'):
            replay_runs(recorded)


def test_a_state_that_was_not_recorded_costs_the_rest_of_its_run_alone(
    damping, monkeypatch, capsys
):
    complete = Recorded.raw

    def without_some(self, names):
        lossy = names == ['hand/odometry']
        return (m for k, m in enumerate(complete(self, names)) if not (lossy and k == 50))

    monkeypatch.setattr(Recorded, 'raw', without_some)
    with Recorded(damping) as recorded:
        first, *others = replay_runs(recorded)
    assert (
        0 < first.recorded == first.equal == len(first.answers) - first.lost < len(first.answers)
    )
    assert not first.same
    assert all(run.same for run in others)
    assert main(['replay', str(damping)]) == 1
    assert f'{first.lost} not computed, a state' in capsys.readouterr().out


def test_reading_begins_anew_where_it_did(damping, monkeypatch):
    restarts = []
    monkeypatch.setattr(ObservedState, 'restart', lambda _: restarts.append(1))
    with Recorded(damping) as recorded:
        runs = replay_runs(recorded)
    assert len(restarts) == 2 * len(runs)  # at the start of each, and after what could not be read


def test_a_command_is_predicted_with_those_before_it():
    noted = []
    predictor = SimpleNamespace(
        forget=noted.clear,
        note=lambda at, u: noted.append((at, u)),
        predict=lambda _, x, acts: (acts, x + len(noted)),
    )
    inputs = Layout((Entry(STATE, ('x',), ''), TOUCHING))
    law = FunctionLaw(inputs, Layout(()), lambda z, y, t, _: (z, ca.vertcat(t, y)))
    watch = SimpleNamespace(
        begin=lambda: None, judge=lambda *_, **__: Verdict(), limited=lambda u: u
    )
    answers = Answers(law, predictor, watch)

    def command(stamp, x, acts, *, touching):
        at, x = answers.acting_state(stamp, np.array([x]), acts, touching=touching)
        return at, answers.sent(at, answers.command(at, x, touching=touching))

    at, u = command(1_000, 10.0, 3_000, touching=True)
    assert (at, u.tolist()) == (3_000, [pytest.approx(2e-6), 10.0, 1.0])
    assert command(2_000, 20.0, 5_000, touching=True)[1][1] == 21.0
    assert command(3_000, 30.0, 6_000, touching=False)[0] == 3_000  # as it is
    assert noted[0][1] is u
    assert len(noted) == 3


def test_steps_pass_through_the_log_in_whole_messages():
    messages, steps = [], [Step(0, 5 * k, 2**60 + k) for k in range(2 * KEPT + 3)]
    log = RunLog(messages.append)
    for step in steps:
        log.note(*step)
    log.restarted()
    log.note(SAFE, -1, 0)
    log.flush()
    log.flush()
    assert [len(m) for m in messages] == [3 * KEPT, 3 * KEPT, 12]
    assert all(isinstance(m, array) for m in messages)
    found = [s for m in messages for s in steps_in(m)]
    assert found == [steps[0]._replace(flags=BEGIN), *steps[1:], Step(SAFE | RESTARTED, -1, 0)]
    with pytest.raises(ParameterError, match='damaged'):
        list(steps_in(messages[0][:-1]))

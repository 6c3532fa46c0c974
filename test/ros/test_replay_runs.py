"""The commands of the laboratory come out bit by bit, by the clock and in simulated time."""

from array import array
from pathlib import Path
import sys
import time
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from rolling_controller.answers import Answers
from rolling_controller.laboratory import laws as laboratory_laws
from rolling_controller.laboratory.laws import subject_of
from rolling_controller.law import FunctionLaw, STATE, TOUCHING
from rolling_controller.motion_watch import HandBound, MotionWatch, Predictor
from rolling_controller.nodes.control_loop import HELD
from rolling_controller.nodes.controlled_laboratory import _made, CODES, ExperimentRun, TABLE
from rolling_controller.nodes.equipment import LoopEquipment
from rolling_controller.nodes.machines import braking, hand_velocity
from rolling_controller.nodes.step_log import COLUMNS, KEPT, rows_in, RunLog
from rolling_controller.supervisor import Verdict
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.hybrid_contact.from_contact_system import planar_hybrid_of
from rolling_dynamics.nodes.measurements import Measurements
from rolling_dynamics.scenario_model import load_model
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.cdr import ACCEL, accel_values, OdometryEncoder, StampedEncoder
from rolling_node_kit.periodic_loop import Punctuality
from rolling_robotics.cli import main
from rolling_robotics.experiments import parameters_of
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay import laws as replaying
from rolling_robotics.nodes.replay.laws import replay_laws
from rolling_robotics.recordings.writer import Recording, Topic
from std_msgs.msg import Int64MultiArray

sys.path.append(str(Path(__file__).parent))

from bags import cdr, in_force, log_into
from bags import STEPS as LOGGED

EPOCH, PERIOD, STEPS = 10**18, 1_000_000, 160  # ns, ns
UNREAD = 41  # number of the state that is found to be none
TOPICS = {
    'hand/odometry': 'nav_msgs/msg/Odometry',
    'object/odometry': 'nav_msgs/msg/Odometry',
    'hand/accel_command': 'geometry_msgs/msg/AccelStamped',
    'controller/settings': 'rcl_interfaces/msg/ParameterEvent',
    **LOGGED,
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
        self.pause = 0.0  # in which predictions are made beside the loop [s]
        self.sim_time, self.random = sim_time, np.random.default_rng(5)
        self.values = {e.name: e.default for e in TABLE} | {
            'scenario_file': given['scenario_file'],
            'experiment': experiment,
            'use_sim_time': sim_time,
            'state_timeout': 1e9,  # the steps of the test take their time
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
            begin=log_into(
                self.put, lambda: {**self.values, 'state_timeout': 0.05}, 'controller/settings'
            ),
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
        chosen = _made(self.prepared, law, self.machine.safe, in_loop=self.sim_time)
        trial = ExperimentRun(
            self.node, self.equipment, chosen, 0.0, lambda _: None, lambda _x, _u: None, law
        )
        for k in range(STEPS):
            self.measure(dropped=not self.sim_time and k % 13 == 5, unread=k == UNREAD)
            flies = 60 <= k < 90
            trial.control.contact_mode = 'separated' if flies else RollingContact.MODE_ROLLING
            for _ in range(1 if self.sim_time else 1 + (k % 7 == 3)):  # some states twice
                trial.control.tick()
                time.sleep(self.pause)
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
            rehearsal.pause = 2e-3 * (law == 'predictive')
            rehearsal.run(law)
    rehearsal.recording.close()
    assert not rehearsal.recording.fault
    return folder


@pytest.fixture(scope='module')
def damping(tmp_path_factory):
    folder = tmp_path_factory.mktemp('runs') / 'damping'
    return rehearsed(folder, 'damping', ('closed_loop', 'open_loop', 'closed_loop'))


def logged(recorded):
    """Return the rows of each message of the log."""
    return [rows_in(m) for _, _, m in recorded.messages(['controller/steps'])]


def check(folder, laws):
    """Replay; return all rows of the log as `run, step, before, seconds, nanoseconds, time`."""
    with Recorded(folder) as recorded:
        runs = replay_laws(recorded)
        rows = np.concatenate([part[:, : len(COLUMNS)] for part in logged(recorded)])
    assert [run.title.partition(', ')[2] for run in runs] == list(laws)
    for run in runs:
        assert run.equal == run.recorded == len(run.computed) > 0.85 * STEPS
        assert run.difference == 0.0
    assert sum(len(run.computed) for run in runs) == len(rows)
    return rows


def test_every_command_by_the_clock_is_found_bit_by_bit(damping):
    rows = check(damping, ('closed_loop', 'open_loop', 'closed_loop'))
    assert sum(rows[:, 1] == 0) == 3
    assert not rows[:, 2].any()


def test_every_command_of_simulated_time_is_found_bit_by_bit(tmp_path):
    folder = rehearsed(tmp_path / 'bag', 'damping', ('closed_loop',) * 2, sim_time=True)
    rows = check(folder, ('closed_loop',) * 2)
    assert len(rows) == 2 * (STEPS - HELD)


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
@pytest.mark.parametrize('sim_time', [True, False])
def test_predictions_too(tmp_path, monkeypatch, sim_time):
    """Those by the clock are made in another thread, and used once they are there."""
    monkeypatch.setattr(laboratory_laws, 'REGION_SAMPLES', 2)  # of a law that is not used
    laws = ('predictive', 'predictive')
    check(rehearsed(tmp_path / 'bag', 'flip_up', laws, sim_time=sim_time), laws)


def test_command_line_tells(damping, capsys):
    assert main(['replay', str(damping)]) == 0
    out = capsys.readouterr().out
    assert 'run 3, closed_loop: ' in out
    assert 'bit by bit, largest difference 0\n' in out
    assert 'not in the recording' not in out


def changed_log(monkeypatch, change):
    """Have the rows of the log read otherwise."""
    whole = rows_in
    monkeypatch.setattr(replaying, 'rows_in', lambda message: change(whole(message)))


@pytest.mark.parametrize('column', [len(COLUMNS) + 5, -1])
def test_another_input_or_output_is_found(damping, monkeypatch, column):
    def change(rows):
        rows[:, column] = np.nextafter(rows[:, column], 1e9)
        return rows

    changed_log(monkeypatch, change)
    with Recorded(damping) as recorded:
        runs = replay_laws(recorded)
    assert not runs[0].same


def test_a_run_that_began_before_the_recording_is_left_out(damping, monkeypatch):
    with Recorded(damping) as recorded:
        complete = recorded.messages

        def without_the_first(names):
            late = names == ['controller/steps']
            return (m for k, m in enumerate(complete(names)) if not (late and k == 0))

        monkeypatch.setattr(recorded, 'messages', without_the_first)
        runs = replay_laws(recorded)
    assert [run.title for run in runs] == ['run 1, open_loop', 'run 2, closed_loop']
    assert all(run.same for run in runs)


def test_what_cannot_be_replayed_is_told(damping, monkeypatch):
    with Recorded(damping) as recorded, monkeypatch.context() as patch:
        changed_log(patch, lambda rows: rows + np.eye(1, rows.shape[1], 1))  # no step is the first
        with pytest.raises(ParameterError, match='lacks the beginning of a run'):
            replay_laws(recorded)
    with Recorded(damping) as recorded, monkeypatch.context() as patch:
        changed_log(patch, lambda rows: rows[:, :-1])
        with pytest.raises(ParameterError, match='run 1 is of another law'):
            replay_laws(recorded)
    with Recorded(damping) as recorded, monkeypatch.context() as patch:
        changed_log(patch, lambda rows: rows + 9 * np.eye(1, rows.shape[1]))
        with pytest.raises(ParameterError, match='holds no parameters of run 10'):
            replay_laws(recorded)


def test_an_older_log_of_the_laboratory_is_refused_by_name(tmp_path):
    """Its steps are numbers of states, from which inputs were predicted."""
    recording = Recording(tmp_path / 'bag', ('rolling_interfaces',), longest_queue=10)
    steps = Int64MultiArray(data=array('q', [1, EPOCH, EPOCH]))
    values = {'experiment': 'damping', 'scenario_file': 'laboratory_damping.yaml'}
    for name, kind, message in (
        ('controller/steps', 'std_msgs/msg/Int64MultiArray', steps),
        ('controller/settings', TOPICS['controller/settings'], in_force(values)),
    ):
        recording.add(Topic(f'/{name}', kind, latched=False))
        recording.put(f'/{name}', 1, cdr(message))
    recording.close()
    with (
        Recorded(tmp_path / 'bag') as recorded,
        pytest.raises(ParameterError, match='the log of its controller is of an earlier version'),
    ):
        replay_laws(recorded)


def test_a_step_that_was_not_recorded_costs_the_rest_of_its_run_alone(
    damping, monkeypatch, capsys
):
    monkeypatch.setattr(
        replaying, 'rows_in', lambda m: rows[rows[:, 1] != 50] if (rows := rows_in(m)).size else m
    )
    with Recorded(damping) as recorded:
        runs = replay_laws(recorded)
    for run in runs:
        assert run.recorded == run.equal == 50
        assert run.lost == len(run.computed) - 50 > 0
        assert not run.same
    assert main(['replay', str(damping)]) == 1
    assert f'{runs[0].lost} not computed, a step' in capsys.readouterr().out


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
    inputs = Layout((Entry(STATE, ('x', 'y'), ''), TOUCHING))
    law = FunctionLaw(inputs, Layout((Entry('u', ('u',), ''),)), lambda z, y, *_: (z, y[:1]))
    messages = []
    log, x, at = RunLog(law, 3, messages.append), np.array([0.5, 0.25]), EPOCH + 123_456_789
    log.note(at, 7.0, x, np.array([2.0]), before=True)
    for k in range(2 * KEPT + 1):
        log.note(at + k, 1e-9 * k, np.r_[x, 1.0], np.array([0.1 * k]))
    log.flush()
    log.flush()
    assert [m.layout.dim[0].size for m in messages] == [KEPT, KEPT, 2]
    assert messages[0].layout.dim[1].label.split() == [*COLUMNS, 'x', 'y', 'touching', 'u']
    assert all(isinstance(m.data, array) for m in messages)
    rows = np.concatenate([rows_in(m) for m in messages])
    first = [3, 0, 1, EPOCH // 10**9, 123_456_789, 7.0, 0.5, 0.25, 0.0, 2.0]
    assert rows[0].tolist() == first
    assert rows[-1].tolist() == [
        *(3, 2 * KEPT + 1, 0, EPOCH // 10**9, 123_456_789 + 2 * KEPT, 2e-9 * KEPT),
        *(0.5, 0.25, 1.0, 0.1 * 2 * KEPT),
    ]
    messages[0].data.pop()
    with pytest.raises(ParameterError, match='damaged'):
        rows_in(messages[0])

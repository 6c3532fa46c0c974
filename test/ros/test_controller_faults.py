"""Controllers whose states freeze, lag, run ahead or cannot be used, or whose loop is late."""

from pathlib import Path
import re
import sys
import threading

from deadline import Deadline
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import AccelStamped, TwistStamped
from nav_msgs.msg import Odometry
import pytest
from rclpy.action import ActionClient
from rolling_dynamics.scenario_model import load_robot
from rolling_interfaces.action import ExecutePlan
from rolling_node_kit.conversions import nanoseconds_to_time, time_to_nanoseconds
from rolling_node_kit.qos import COMMAND, EVENT, STREAM_READER, STREAM_WRITER
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

sys.path.append(str(Path(__file__).parent))

from fake_states import hand_and_object, PERIOD, Source, still
from runs import await_active, Runner

CODES = ExecutePlan.Result
TIMEOUT, TOLERANCE = 0.3, 0.5  # state_timeout and stamp_tolerance [s]
SLACK = 1.0  # for a thread that waits for the processor between its state and its command [s]
LONG = 60.0
FOLLOWED = 15.0  # of a plan [s], longer than any fault takes; each second is simulated first
PUSH = 1e-9  # each control of the plan that is followed: it moves nothing
SECOND = 1_000_000_000
SETTINGS = {
    'rate': 200.0,
    'state_timeout': TIMEOUT,
    'stamp_tolerance': TOLERANCE,
    'diagnostics_period': 0.1,
}
LATE = {'overrun_window': 2.0, 'overrun_abort': 0.3, 'state_timeout': 5.0}
DATES = {
    'frozen': 'states keep coming with one old stamp',
    'alternating': 'states come with two old stamps in turn',
    'late': 'stamps lie 1 s behind',
    'slow': 'stamps run at a third of the time',
    'ahead': 'stamps lie 1 s ahead',
}
CONTENTS = {
    'zero_quaternion': 'states come with quaternions of zeros',
    'one_body_missing': 'one of the two bodies is no longer seen',
    'not_finite': 'states come with a NaN',
    'silent': 'no states come',
}
FAULTS = DATES | CONTENTS
FAST = {'frozen', 'one_body_missing', 'silent'}


class Followed:
    """A controller, the source of its states, and the commands that come."""

    def __init__(self, peer, source, plan, commands, process, prefix=''):
        self.peer, self.source, self.plan, self.process = peer, source, plan, process
        self.name = 'the controller of a robot' if source.names else 'the controller of a hand'
        self.client = ActionClient(peer.node, ExecutePlan, f'{prefix}execute_plan')
        kind, topic = commands
        self.last, self.command = 0, ()  # stamp [ns] of the newest that moves; the newest one
        self.said, self._prefix = [], prefix
        self._listening = [
            peer.node.create_subscription(kind, f'{prefix}{topic}', self._note, COMMAND),
            peer.node.create_subscription(DiagnosticArray, '/diagnostics', self._hear, EVENT),
        ]
        self.execute()

    def _note(self, message):
        self.command = numbers_of(message)
        if any(self.command):
            self.last = time_to_nanoseconds(message.header.stamp)

    def _hear(self, message):
        self.said += [s for s in message.status if s.name == f'{self._prefix}controller']

    def complaint(self, text, since=0):
        """Return the first status after a number of them whose message holds a text."""
        found = lambda: [s for s in self.said[since:] if text in s.message]  # noqa: E731
        return self.peer.until(found, LONG)[0]

    def begin(self, plan, on_feedback=None):
        handle = self.peer.send_goal(
            self.client, ExecutePlan.Goal(plan=plan), on_feedback, timeout=LONG
        )
        assert handle.accepted
        return handle

    def result(self, handle):
        return self.peer.result(handle, LONG)

    def execute(self):
        """Execute short plans until one is not stopped for want of states; return its result."""
        end = Deadline(LONG)
        while (result := self.result(self.begin(self.plan(0.1)))).error_code == CODES.STALE_STATE:
            assert end.left > 0.0, f'{result.error_string}\n{self.process.text}'
        return result

    def follow(self):
        """
        Begin to follow a long plan; return its handle once feedback comes.

        A machine that stands still for the time of ``state_timeout`` ends it: it is started again.
        """
        end = Deadline(LONG)
        while True:
            running = threading.Event()
            plan = self.plan(FOLLOWED, PUSH)
            handle = self.begin(plan, lambda _, running=running: running.set())
            result = self.peer.result_or(running, handle, LONG)
            if result is None or result.error_code != CODES.STALE_STATE:
                return handle
            assert end.left > 0.0, result.error_string

    def close(self):
        self.peer.in_turn(self.client.destroy)  # the executor must not be waiting for it
        for listening in self._listening:
            self.peer.in_turn(self.peer.node.destroy_subscription, listening)
        status = self.process.stop()
        assert (status, 'Traceback' in self.process.text) == (0, False), self.process.text


def numbers_of(message):
    if isinstance(message, JointState):
        return tuple(message.effort)
    parts = (message.accel.linear, message.accel.angular)
    return tuple(value for part in parts for value in (part.x, part.y, part.z))


class SimulatedTime(Source):
    """Reports the time too; faults are of the clock."""

    def __init__(self, peer, bodies, prefix):
        super().__init__(peer, bodies, prefix)
        self._clock = peer.node.create_publisher(Clock, '/clock', STREAM_WRITER)
        self._time = SECOND

    def now(self):
        return self._time

    def tell(self):
        if self.fault != 'all_stands':
            self._time += round(PERIOD * 1e9)
        if not self.fault:
            self._clock.publish(Clock(clock=nanoseconds_to_time(self._time)))
        super().tell()


def contact(peer, run_process, make_source=Source, prefix='', **changes):
    model, bodies = hand_and_object('ball_on_plate_hard.yaml')
    source = make_source(peer, bodies, prefix)
    process = run_process(
        'rolling_controller.nodes.controller_node',
        params={
            'scenario_file': 'ball_on_plate_hard.yaml',
            'open_loop': 'true',
            **SETTINGS,
            **changes,
        },
        arguments=('--ros-args', '-r', f'__ns:=/{prefix.rstrip("/")}', '--'),
    ).wait_for('steps per second')
    plan = lambda *given: still('contact', model.system, model.start, *given)  # noqa: E731
    return source, plan, (AccelStamped, 'hand/accel_command'), process


def robot(peer, run_process):
    model = load_robot('spin_rolling_plan.yaml')
    source = Source(peer, {'robot/state': model.start})
    source.names = list(model.system.state.names)
    process = run_process(
        'rolling_controller.nodes.controller_node',
        params={'scenario_file': 'spin_rolling_plan.yaml', 'open_loop': 'true', **SETTINGS},
    ).wait_for('steps per second')
    name = model.system.name
    plan = lambda *given: still(name, model.system, model.start, *given)  # noqa: E731
    return source, plan, (JointState, 'robot/control'), process


@pytest.fixture(scope='module', params=[contact, robot], ids=lambda f: f.__name__)
def followed(request, peer, run_process):
    source, plan, commands, process = request.param(peer, run_process)
    with peer.every(PERIOD, source.tell):
        made = Followed(peer, source, plan, commands, process)
        yield made
        made.close()


@pytest.mark.parametrize(
    'fault', [f if f in FAST else pytest.param(f, marks=pytest.mark.slow) for f in FAULTS]
)
def test_execution_ends_within_the_timeout(followed, fault, fault_row):
    """The commands end so long after the last good state, by their stamps."""
    if fault == 'zero_quaternion' and 'robot/state' in followed.source._out:
        pytest.skip('this robot has no quaternion')
    handle = followed.follow()
    source = followed.source
    told = fault_row(f'{followed.name} executes a plan; {FAULTS[fault]} (timeout {TIMEOUT} s)')
    source.break_down(fault)
    try:
        result = followed.result(handle)
    finally:
        source.recover()
    assert result.error_code == CODES.STALE_STATE
    assert 'state_timeout is 0.3 s' in result.error_string
    if fault == 'one_body_missing':
        topic = 'robot/state' if source.names else 'object/odometry'
        assert f'was late: nothing came on {topic}' in result.error_string
    allowed = TIMEOUT * (1.5 if fault == 'slow' else 1.0)  # its age grows by 2 s in 3 s
    assert set(followed.command) == {0.0}, 'what rests is kept at rest'
    moving = (followed.last - source.told) / SECOND
    assert moving < allowed + SLACK
    told(f'commands ended: {result.error_string}', moving)


@pytest.mark.parametrize(
    'fault', ['late', *(pytest.param(f, marks=pytest.mark.slow) for f in ('ahead', 'not_finite'))]
)
def test_without_usable_states_nothing_begins_and_the_reason_is_told(followed, fault, fault_row):
    source = followed.source
    source.break_down(fault)
    told = fault_row(f'{followed.name} is to begin a plan while {FAULTS[fault]}')
    try:
        result = followed.result(followed.begin(followed.plan(1.0)))
        text = {
            'late': 's behind the clock of the node; stamp_tolerance is 0.5 s',
            'ahead': 's ahead of the clock of the node; stamp_tolerance is 0.5 s',
            'not_finite': 'is not finite',
        }[fault]
        assert result.error_code == CODES.STALE_STATE
        assert text in result.error_string
        told(f'nothing begins: {result.error_string}')
        heard = len(followed.said)
        handle = followed.begin(followed.plan(1.0))
        status = followed.complaint(text, heard)
        assert status.level == DiagnosticStatus.WARN
        followed.result(handle)
    finally:
        source.recover()
    assert followed.execute().error_code == CODES.NONE


def test_too_many_missed_deadlines_end_the_execution(followed, fault_row):
    followed.peer.set_parameters('controller', **LATE)
    handle = followed.follow()
    told = fault_row(f'{followed.name} executes a plan; its process is stopped for 1 s')
    followed.process.stand_still()
    result = followed.result(handle)
    told(f'the execution ended: {result.error_string}')
    followed.peer.set_parameters('controller', overrun_abort=1.0, state_timeout=TIMEOUT)
    assert result.error_code == CODES.INTERNAL
    assert 'overrun_abort is 30%' in result.error_string


@pytest.mark.parametrize('followed', [robot], indirect=True, ids=['robot'])
def test_driving_ends_too(followed, fault_row):
    publisher = followed.peer.node.create_publisher(TwistStamped, 'cmd_vel', COMMAND)
    with followed.peer.every(0.05, lambda: publisher.publish(TwistStamped())):
        followed.peer.collect(JointState, 'robot/control', EVENT, 20)
    told = fault_row(f'{followed.name} follows cmd_vel; {FAULTS["frozen"]}')
    heard = len(followed.said)
    followed.source.break_down('frozen')
    status = followed.complaint('driving ended: the newest state is', heard)
    followed.source.recover()
    assert status.level == DiagnosticStatus.ERROR
    told(status.message)
    followed.peer.node.destroy_publisher(publisher)


@pytest.mark.parametrize(
    'fault', ['clock_stands', pytest.param('all_stands', marks=pytest.mark.slow)]
)
def test_execution_ends_where_simulated_time_stands_still(peer, run_process, fault, fault_row):
    """States go on without the clock, or come again and again as it stands."""
    prefix = f'{fault}/'
    source, plan, commands, process = contact(
        peer, run_process, SimulatedTime, prefix, use_sim_time='true'
    )
    with peer.every(PERIOD, source.tell):
        followed = Followed(peer, source, plan, commands, process, prefix)
        handle = followed.follow()
        states = 'and no states come' if fault == 'all_stands' else 'while states come'
        told = fault_row(f'a plan is executed in simulated time; /clock stops {states}')
        source.break_down(fault)
        result = followed.result(handle)
        told(f'the execution ended: {result.error_string}')
        assert result.error_code == CODES.STALE_STATE
        assert 'the newest state is' in result.error_string
        followed.close()


def test_states_that_repeat_themselves_end_an_execution(peer, run_process, fault_row):
    """With fresh stamps, from a source that declares noise."""
    prefix = 'untrue/'
    source, plan, commands, process = contact(
        peer, run_process, prefix=prefix, noisy_states='true', state_timeout=30.0
    )
    source.noise = 1e-6
    with peer.every(PERIOD, source.tell):
        followed = Followed(peer, source, plan, commands, process, prefix)
        handle = followed.follow()
        told = fault_row('a plan is executed; the state is frozen, with fresh stamps')
        source.break_down('repeated')
        result = followed.result(handle)
        source.recover()
        told(f'the execution ended: {result.error_string}')
        assert result.error_code == CODES.STALE_STATE
        assert 'measured with noise, and 2 samples are equal' in result.error_string
        assert followed.complaint('are not plausible').level == DiagnosticStatus.ERROR
        assert max(map(abs, followed.command)) < 1e-6  # as it was commanded
        followed.close()


@pytest.mark.slow
def test_run_of_the_laboratory_ends_too(peer, run_process, fault_row):
    _, bodies = hand_and_object('laboratory_damping.yaml')
    source = Source(peer, bodies)
    process = run_process(
        'rolling_controller.nodes.controller_node',
        params={'scenario_file': 'laboratory_damping.yaml', 'experiment': 'damping', **SETTINGS},
        arguments=('--ros-args', '-r', '__node:=laboratory'),
    )

    with peer.every(PERIOD, source.tell):
        await_active(peer, 'laboratory', LONG)
        runner = Runner(peer)
        for fault in ('frozen', 'slow', 'zero_quaternion', 'one_body_missing'):
            handle = runner.begin()
            told = fault_row(f'the laboratory runs an experiment; {FAULTS[fault]}')
            source.break_down(fault)
            ended = runner.result(handle)
            told(f'the run ended: {ended.error_string}')
            source.recover()
            assert ended.error_code == CODES.STALE_STATE
            # a busy machine: the source stands still long enough to be found out by its motion
            reasons = 'the newest state is|the measured state does not move as'
            assert re.search(reasons, ended.error_string), fault
            peer.collect(Odometry, 'object/odometry', STREAM_READER, 5)
        peer.set_parameters('laboratory', **LATE)
        handle = runner.begin()
        process.stand_still()
        assert 'overrun_abort is 30%' in runner.result(handle).error_string

"""Real ROS in tests: a private domain for each, nodes as processes, bounded waits."""

import contextlib
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('rolling_interfaces')

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    import rosidl_generator_py  # noqa: F401  its parser uses a deprecated module

from lifecycle_msgs.msg import Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState  # noqa: E402
from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.impl.implementation_singleton import rclpy_implementation  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rolling_dynamics.configuration import find_config  # noqa: E402
from rolling_robotics.bringup import free_domain  # noqa: E402

if str(Path(__file__).parent) not in sys.path:
    sys.path.append(str(Path(__file__).parent))

from deadline import Deadline  # noqa: E402

InvalidHandle = rclpy_implementation.InvalidHandle

# A node that is killed may leave a mutex in shared memory locked; what sends to it, or ends what
# did, then waits for ever (issues 1144 and 5469 of Fast DDS). Nodes in this process use sockets.
PROFILE = 'FASTRTPS_DEFAULT_PROFILES_FILE'
os.environ[PROFILE] = str(find_config('security/loopback.fastdds.xml'))
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'SYSTEM_DEFAULT'
AGAIN = 8.0  # after which a request without an answer is sent again [s]
STANDSTILL = 1.0  # [s]
PATIENCE = 60.0  # for what comes in milliseconds, unless the machine is busy [s]


@pytest.fixture(scope='module')
def domain():
    """A domain of the module's own, on this machine only, also beside other runs of the tests."""
    with free_domain() as found:
        yield found


@pytest.fixture(scope='module')
def ros_environment(domain):
    # nodes find the work of tests, and this checkout whatever was installed
    here = Path(__file__).parent
    found = os.pathsep.join(map(str, (here, here.parents[1])))
    own = {'ROS_DOMAIN_ID': str(domain), 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    inherited = {name: value for name, value in os.environ.items() if name != PROFILE}
    return {**inherited, **own, 'PYTHONPATH': found}


class Peer:
    """A node of the test, spun in a thread; calls wait for at most some seconds."""

    def __init__(self, domain, name='test_peer'):
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node(name, context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self):
        while not self._stop.is_set():
            with contextlib.suppress(InvalidHandle):  # of what was destroyed as it was waited for
                self.executor.spin_once(timeout_sec=0.05)

    def close(self):
        self._stop.set()
        self._thread.join(2)
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    @contextlib.contextmanager
    def every(self, period, call):
        """Call a function again and again, in a thread of its own."""
        stop = threading.Event()

        def work():
            while not stop.wait(period):
                call()

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(5)

    def wait(self, future, timeout=PATIENCE):
        done, end = threading.Event(), Deadline(timeout)
        future.add_done_callback(lambda _: done.set())
        while not done.wait(max(end.left, 0.0)):
            assert end.left > 0.0, f'no answer {end}'
        return future.result()

    def in_turn(self, call, *args, timeout=PATIENCE):
        """
        Return what a call returns that is made in the spinning thread.

        An action client notes what it asked for after it has asked; an answer that another thread
        takes in between is lost.
        """
        return self.wait(self.executor.create_task(call, *args), timeout)

    def answered(self, send, *args, timeout=PATIENCE, done=None):
        """
        Return the answer to a request, which is sent again while none comes.

        A server that knows the request of a client and not yet where its answers go drops the
        answer. Once somebody else sets ``done``, nothing is waited for: None.
        """
        done, answers = done or threading.Event(), []

        def take(future):
            answers.append(future.result())
            done.set()

        end = Deadline(timeout)
        while (left := end.left) > 0.0:
            self.in_turn(send, *args, timeout=timeout).add_done_callback(take)
            if done.wait(min(AGAIN, left)):
                return answers[0] if answers else None
        raise AssertionError(f'no answer {end}')

    def send_goal(self, client, goal, on_feedback=None, timeout=PATIENCE):
        """Return the handle of a goal that was answered."""
        self.until(client.server_is_ready, timeout, 'an action server')
        return self.answered(client.send_goal_async, goal, on_feedback, timeout=timeout)

    def result(self, handle, timeout=PATIENCE):
        """Return the result of an accepted goal, once it has one."""
        return self.answered(handle.get_result_async, timeout=timeout).result

    def result_or(self, done, handle, timeout=PATIENCE):
        """Return the result of a goal, or None once an event is set before there is one."""
        answer = self.answered(handle.get_result_async, timeout=timeout, done=done)
        return answer and answer.result

    def cancel(self, handle, timeout=PATIENCE):
        """Cancel a goal, wait for the answer, and return the result of the goal."""
        self.answered(handle.cancel_goal_async, timeout=timeout)
        return self.result(handle, timeout)

    def cancelled(self, client, goal, timeout=PATIENCE):
        """Cancel a goal, another where that came after its end, and return the result."""
        end = Deadline(timeout)
        while True:
            result = self.cancel(self.send_goal(client, goal, timeout=timeout), timeout)
            if result.error_code != result.NONE or end.left < 0.0:
                return result

    def until(self, condition, timeout=PATIENCE, what='it'):
        """Wait until a condition holds, and return its value."""
        end = Deadline(timeout)
        while not (value := condition()):
            assert end.left > 0.0, f'{what} did not come about {end}'
            self._stop.wait(0.01)
        return value

    def call(self, kind, name, request, timeout=PATIENCE):
        client = self.node.create_client(kind, name)
        try:
            self.until(client.service_is_ready, timeout, f'service {name}')
            return self.answered(client.call_async, request, timeout=timeout)
        finally:
            self.node.destroy_client(client)

    def transit(self, node, *transitions, timeout=PATIENCE):
        """
        Ask a node for transitions, each once; return which succeeded.

        A second request for the same one would fail. The answers find their way once that to
        another request has come, for what is not a transition.
        """
        client = self.node.create_client(ChangeState, f'{node}/change_state')
        self.until(client.service_is_ready, timeout, f'service of {node}')
        first, *requests = (
            ChangeState.Request(transition=Transition(id=number))
            for number in (Transition.TRANSITION_CREATE, *transitions)
        )
        try:
            assert not self.answered(client.call_async, first, timeout=timeout).success
            return [
                self.wait(self.in_turn(client.call_async, request), timeout).success
                for request in requests
            ]
        finally:
            self.node.destroy_client(client)

    def ask_parameters(self, node, **values):
        """Ask a node to take parameters; return what became of each."""
        request = SetParameters.Request(
            parameters=[Parameter(k, value=v).to_parameter_msg() for k, v in values.items()]
        )
        return self.call(SetParameters, f'{node}/set_parameters', request).results

    def set_parameters(self, node, **values):
        """Set parameters of a node."""
        results = self.ask_parameters(node, **values)
        assert all(r.successful for r in results), results

    def collect(self, kind, topic, qos, count=1, timeout=PATIENCE, accept=lambda _: True):
        """Return the next messages that are accepted."""
        found, done, end = [], threading.Event(), Deadline(timeout)

        def take(message):
            if accept(message):
                found.append(message)
            if len(found) >= count:
                done.set()

        subscription = self.node.create_subscription(kind, topic, take, qos)
        try:
            while not done.wait(max(end.left, 0.0)):
                assert end.left > 0.0, f'{len(found)} of {count} messages on {topic} {end}'
        finally:
            self.node.destroy_subscription(subscription)
        return found[:count]


@pytest.fixture(scope='module')
def peer(domain):
    made = Peer(domain)
    yield made
    made.close()


class Process:
    """A node as a process of its own; its output is kept."""

    def __init__(self, module, *, params=None, environment=None, arguments=()):
        self._command = [sys.executable, '-m', module, *arguments, '--ros-args']
        self._params, self._environment = params or {}, dict(environment or os.environ)
        self.sent = []
        self._start()

    def _start(self):
        params = (('-p', f'{name}:={value}') for name, value in self._params.items())
        self.popen = subprocess.Popen(
            [*self._command, *(part for pair in params for part in pair)],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.popen.stdout:
            self.lines.append(line.rstrip())

    @property
    def text(self):
        return '\n'.join(self.lines)

    def wait_for(self, text, timeout=PATIENCE):
        """Wait until the process has printed a text."""
        end = Deadline(timeout)
        while text not in self.text:
            assert end.left > 0.0, f'{text!r} not printed {end}:\n{self.text}'
            assert self.popen.poll() is None or text in self.text, f'it ended:\n{self.text}'
            self._reader.join(0.01)
        return self

    def stand_still(self):
        """Stop as in a debugger or on a loaded machine, and go on."""
        self.popen.send_signal(signal.SIGSTOP)
        time.sleep(STANDSTILL)
        self.popen.send_signal(signal.SIGCONT)

    def stop(self, *numbers, timeout=PATIENCE):
        """Send signals; return the exit status."""
        for number in numbers or (signal.SIGINT,):
            self.sent.append(number)
            self.popen.send_signal(number)
        status = self.popen.wait(timeout)
        self._close()
        return status

    def start_again(self, **params):
        """Kill the process and start another in its place, with some parameters changed."""
        self.kill()
        self._params = {**self._params, **params}
        self._start()

    def kill(self):
        if self.popen.poll() is None:
            self.sent.append(signal.SIGKILL)
            self.popen.kill()
            self.popen.wait(PATIENCE)
        self._close()
        status = self.popen.returncode
        assert status >= 0 or -status in self.sent, f'crashed, {status}:\n{self.text}'

    def _close(self):
        self._reader.join(2)
        if not self._reader.is_alive():  # else a child has the pipe, and may stand
            self.popen.stdout.close()


@pytest.fixture(scope='module')
def run_process(ros_environment):
    """Start node processes; each ends with the test, or with the module whose fixture asked."""
    made = []

    def run(module, **options):
        made.append(Process(module, environment=ros_environment, **options))
        return made[-1]

    run.made = made
    yield run
    end_since(made, 0)


def end_since(made, count):
    """End the processes from a number on; the newest first."""
    with contextlib.ExitStack() as stack:
        for process in made[count:]:
            stack.callback(process.kill)
        del made[count:]


@pytest.fixture(autouse=True)
def _own_processes(request):
    """End what a test started, also where it failed: on the domain of its module are others."""
    if 'run_process' not in request.fixturenames:
        yield
        return
    made = request.getfixturevalue('run_process').made
    count = len(made)
    yield
    end_since(made, count)

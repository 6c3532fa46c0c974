"""The end of a node's process."""

import os
from pathlib import Path
import subprocess
import sys
import threading

import pytest
from rolling_node_kit import process


class Executor:
    def add_node(self, node):
        self.node = node

    def spin_once(self, timeout_sec):
        pass

    def shutdown(self, timeout_sec):
        pass


class Node:
    destroyed = False

    def __init__(self, answer):
        self.answer = answer

    def release(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def get_logger(self):
        return self

    def error(self, text, **_):
        self.told = text

    def destroy_node(self):
        self.destroyed = True


@pytest.mark.parametrize(
    ('answer', 'destroyed'),
    [(None, True), (True, True), (False, False), (RuntimeError('the loop still runs'), False)],
)
def test_node_is_destroyed_only_after_everything_was_given_back(answer, destroyed):
    """A thread of its own that did not end in time may be in the midst of a call."""
    node, request = Node(answer), process.StopRequest()
    request.set()
    process._spin_and_stop(node, Executor(), request)
    assert node.destroyed == destroyed
    if isinstance(answer, Exception):
        assert 'the loop still runs' in node.told


def test_a_callback_that_fails_is_reported_and_survived(monkeypatch):
    """As that of /clock does for a stamp before zero."""
    node, stop, turns = Node(None), threading.Event(), []

    class Failing(Executor):
        def spin_once(self, timeout_sec):
            turns.append(timeout_sec)
            if len(turns) == 3:
                stop.set()
            raise ValueError('Seconds value must\nnot be negative')

    monkeypatch.setattr(process.rclpy, 'ok', lambda: True)
    process.spin_until(Failing(), stop, node)
    assert len(turns) == 3
    assert node.told.startswith('a callback failed: ')
    assert node.told.endswith('ValueError: Seconds value must not be negative')


TWICE = """
import os, signal, sys
from rclpy.node import Node
from rolling_node_kit.process import run_node

def interrupt(kill=os.kill, pid=os.getpid(), number=getattr(signal, sys.argv[1])):
    kill(pid, number)

class Again:
    def __del__(self, interrupt=interrupt):
        interrupt()  # the interpreter has taken its handlers away by now

class Probe(Node):
    start = make_safe = release = lambda self: interrupt()

again = Again()
sys.exit(run_node(lambda: Probe('probe')))
"""


LATE = """
import atexit, os, signal, sys, threading
from rclpy.node import Node
from rolling_node_kit.polled_subscription import PolledSubscription
from rolling_node_kit.process import run_node
from rolling_node_kit.qos import EVENT
from std_msgs.msg import Empty

class Probe(Node):
    def start(self):
        for k in range(3):
            reader = PolledSubscription(self, Empty, f'topic_{k}', EVENT, overridable_qos=False)
            threading.Thread(target=self.wait, args=[reader], daemon=True).start()
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))

    def wait(self, reader):
        while True:
            reader.wait(0.001)

    def release(self):
        return False  # its threads did not end in time

atexit.register(print, 'at exit')
sys.exit(run_node(lambda: Probe('probe')))
"""


def run_program(text, *arguments):
    return subprocess.run(
        [sys.executable, '-c', text, *arguments],
        cwd=Path(__file__).parents[2],
        env={**os.environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize('name', ['SIGINT', 'SIGTERM'])
def test_one_more_signal_during_the_end_changes_nothing(name):
    """While it stops, and when the interpreter goes down."""
    done = run_program(TWICE, name)
    assert (done.returncode, done.stderr) == (0, '')


def test_threads_that_are_still_in_the_middleware_do_not_abort_the_end():
    """As on a machine so busy that a loop does not end in time."""
    done = run_program(LATE, 'SIGINT')
    assert (done.returncode, done.stdout) == (0, 'at exit\n')

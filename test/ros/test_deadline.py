"""What tests of nodes wait by."""

import os
import signal
import subprocess
import sys

import deadline
from deadline import Deadline, kept
import pytest


@pytest.fixture
def clock(monkeypatch):
    """Return a list of the time and of what threads waited, which a test moves."""
    now = [0.0, {}]
    monkeypatch.setattr(deadline.time, 'monotonic', lambda: now[0])
    monkeypatch.setattr(deadline, 'kept', lambda: dict(now[1]))
    return now


def test_a_deadline_passes_later_by_what_one_thread_had_no_processor_for(clock):
    clock[1] = {'spinning': 5.0, 'listening': 7.0}
    limit = Deadline(60.0)
    clock[:] = 59.0, {'spinning': 5.0, 'listening': 7.0}
    assert limit.left == 1.0
    clock[:] = 61.0, {'spinning': 5.0, 'listening': 7.0}
    assert limit.left == -1.0
    clock[:] = 61.0, {'spinning': 9.0, 'listening': 8.0, 'new': 3.0}
    assert limit.left == 3.0
    assert str(limit) == 'after 60 s, and 4.0 s without a processor'
    clock[:] = 65.0, {'listening': 8.0}  # a thread that ended counts no more
    assert limit.left == -4.0


def test_threads_of_what_was_started_count_too():
    child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)
    try:
        assert all(wait >= 0.0 for wait in kept().values())
        assert any(pid == child.pid for pid, _ in kept())
    finally:
        child.communicate(b'\n')
    assert not any(pid == child.pid for pid, _ in kept())


def test_a_process_ends_though_what_it_started_stands_still(run_process):
    """As a worker of the planner that was stopped does, whose node is killed."""
    process = run_process('last_child').wait_for('.')
    try:
        process.kill()
    finally:
        os.kill(int(process.text.partition(': ')[2].rstrip('.')), signal.SIGKILL)
    process._reader.join(60)
    assert not process._reader.is_alive()
    process.popen.stdout.close()


def test_a_process_that_has_ended_waits_no_more(monkeypatch):
    """Its parent lists it as a child, and it is gone before it is looked at."""
    child = subprocess.Popen([sys.executable, '-c', ''])
    child.wait(60)
    monkeypatch.setattr(deadline.os, 'getpid', lambda: child.pid)
    assert kept() == {}

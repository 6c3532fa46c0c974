"""A solve in its own process: progress, cancelling, crashes and the end."""

import os
from pathlib import Path
import queue
import signal

import pytest
from rolling_dynamics.errors import CancelledError, RollingError
import rolling_planner
from rolling_planner.workers.worker import Interruption, perform
from rolling_planner.workers.worker_pool import WorkerPool

HERE = str(Path(__file__).parent)


@pytest.fixture
def pool(monkeypatch):
    monkeypatch.setenv('PYTHONPATH', HERE)
    made = WorkerPool('fake_work:work')
    assert made.wait_ready(60)
    yield made
    made.close()


def run(pool, job, wait=60.0):
    progress, ended = [], queue.Queue()
    pool.begin(job, progress.append, ended.put)
    return progress, ended.get(timeout=wait)


def test_a_worker_imports_the_package_that_started_it(pool):
    environment = Path(f'/proc/{pool.pids[0]}/environ').read_bytes().decode().split('\0')
    (paths,) = (entry.partition('=')[2] for entry in environment if entry.startswith('PYTHONPATH'))
    first, _, rest = paths.partition(os.pathsep)
    assert Path(first) == Path(rolling_planner.__file__).parents[1]
    assert rest == HERE


def test_progress_comes_before_the_value(pool):
    progress, outcome = run(pool, {'kind': 'steps', 'n': 3, 'pause': 0.0})
    assert outcome.kind == 'done'
    assert outcome.value['value'] == 3
    assert [p['iteration'] for p in progress] == [0, 1, 2]


def test_two_jobs_run_in_one_process(pool):
    pids = {run(pool, {'kind': 'steps', 'n': 1, 'pause': 0.0})[1].value['pid'] for _ in 'ab'}
    assert len(pids) == 1


def test_error_of_the_user_comes_back_as_text(pool):
    outcome = run(pool, {'kind': 'hopeless'})[1]
    assert (outcome.kind, outcome.error) == ('failed', 'PlanningError')
    assert outcome.text.startswith('normal_force cannot be met')


def test_fault_leaves_the_worker_usable(pool):
    assert run(pool, {'kind': 'broken'})[1].kind == 'fault'
    assert run(pool, {'kind': 'steps', 'n': 1, 'pause': 0.0})[1].kind == 'done'


def test_crash_is_reported_and_the_spare_takes_over(pool):
    outcome = run(pool, {'kind': 'crash'})[1]
    assert outcome.kind == 'fault'
    assert 'status 7' in outcome.text
    assert run(pool, {'kind': 'steps', 'n': 1, 'pause': 0.0})[1].kind == 'done'


@pytest.mark.parametrize('kind', ['steps', 'slow', 'deaf'])
def test_cancel_is_answered_and_the_next_job_is_done(pool, kind):
    """It is, whether the work polls, is interrupted in its midst, or hears nothing at all."""
    started, ended = queue.Queue(), queue.Queue()
    pool.begin({'kind': kind, 'n': 10_000, 'pause': 0.005}, started.put, ended.put)
    started.get(timeout=60)
    pids = pool.pids
    pool.cancel()
    assert ended.get(timeout=60).kind == 'cancelled'
    outcome = run(pool, {'kind': 'steps', 'n': 1, 'pause': 0.0})[1]
    assert outcome.kind == 'done'
    assert set(pool.pids) == set(pids)  # nothing was killed to answer


def test_deaf_work_is_killed_in_the_end(pool):
    started, ended = queue.Queue(), queue.Queue()
    pool.begin({'kind': 'deaf'}, started.put, ended.put)
    started.get(timeout=60)
    pids = pool.pids
    for pid in pids:  # and nobody can wait for a third worker to start
        pool.cancel()
        assert ended.get(timeout=60).kind == 'cancelled'
        if pid == pids[0]:
            pool.begin({'kind': 'deaf'}, started.put, ended.put)
            started.get(timeout=60)
    outcome = run(pool, {'kind': 'steps', 'n': 1, 'pause': 0.0})[1]
    assert outcome.kind == 'done'
    assert outcome.value['pid'] not in pids


@pytest.mark.parametrize('long', [False, True])
def test_a_stopped_worker_is_killed_when_the_time_is_over(pool, long):
    """Also where it was stopped before it read the job, which fills its pipe."""
    stopped, content = pool.pids[0], {'kind': 'steps', 'n': 10_000, 'pause': 0.005}
    started, ended = queue.Queue(), queue.Queue()
    if long:
        content['filler'] = bytes(10_000_000)
        pool.begin(content, started.put, ended.put, 1.0)
        os.kill(stopped, signal.SIGSTOP)
    else:
        pool.begin(content, started.put, ended.put, 1.0)
        started.get(timeout=60)
        os.kill(stopped, signal.SIGSTOP)
    outcome = ended.get(timeout=60)
    assert (outcome.kind, outcome.error) == ('failed', 'PlanningTimeoutError')
    assert 'did not answer within 1 s and was killed' in outcome.text
    outcome = run(pool, {'kind': 'steps', 'n': 1, 'pause': 0.0})[1]
    assert outcome.kind == 'done'
    assert outcome.value['pid'] != stopped


def test_workers_that_were_stopped_get_no_job(pool):
    """Those that take their place do."""
    stopped = pool.pids
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
    outcome = run(pool, {'kind': 'steps', 'n': 1, 'pause': 0.0})[1]
    assert outcome.kind == 'done'
    assert outcome.value['pid'] not in stopped


def test_workers_that_cannot_start_are_a_fault(monkeypatch):
    monkeypatch.setenv('PYTHONPATH', HERE)
    pool = WorkerPool('fake_work:no_such_function')
    try:
        outcome = run(pool, {'kind': 'steps'})[1]
        assert outcome.kind == 'fault'
        assert 'ended with status 1' in outcome.text
    finally:
        pool.close()


@pytest.fixture
def interruption():
    handler = signal.getsignal(signal.SIGUSR1)
    yield Interruption()
    signal.signal(signal.SIGUSR1, handler)


def test_a_job_cancelled_before_it_began_is_not_begun(interruption):
    interruption.cancel(1)
    outcome = perform(lambda *_: {}, {}, 1, lambda _: True, interruption)
    assert outcome.kind == 'cancelled'
    assert perform(lambda *_: {}, {}, 2, lambda _: True, interruption).kind == 'done'


def test_what_libraries_make_of_an_interruption_is_a_cancelled_job(interruption):
    def swallows(*_):
        try:
            interruption.cancel(1)
        except CancelledError:
            raise ZeroDivisionError from None

    assert perform(swallows, {}, 1, lambda _: True, interruption).kind == 'cancelled'


def test_a_message_is_sent_whole(interruption):
    sent = []

    def work(*_):
        with interruption.deferred():
            interruption.cancel(1)
            sent.append('whole')
        return {}

    assert perform(work, {}, 1, lambda _: True, interruption).kind == 'done'
    assert sent == ['whole']


def test_a_second_job_is_refused_while_one_is_at_work(pool):
    ended = queue.Queue()
    pool.begin({'kind': 'deaf'}, print, ended.put)
    with pytest.raises(RollingError, match='busy'):
        pool.begin({'kind': 'deaf'}, print, print)
    pool.cancel()
    ended.get(timeout=60)


def test_worker_imports_no_ros(pool):
    assert run(pool, {'kind': 'modules'})[1].value['ros'] == []


def test_worker_ignores_sigint(pool):
    assert run(pool, {'kind': 'interrupted'})[1].value['value'] == 'alive'


def test_close_ends_every_process_even_at_work(monkeypatch):
    monkeypatch.setenv('PYTHONPATH', HERE)
    pool = WorkerPool('fake_work:work')
    assert pool.wait_ready(60)
    ended = queue.Queue()
    pool.begin({'kind': 'deaf'}, print, ended.put)
    pids = pool.pids
    pool.close()
    ended.get(timeout=60)
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

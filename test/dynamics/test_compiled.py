"""
Machine code and virtual machine agree bit by bit, and the cache heals whatever happens to it.

A library that is damaged and loaded all the same ends this process: the tests of the cache fail by
a crash, not by an assertion.
"""

import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics import compiled as store
from rolling_dynamics.compiled import (
    cache_folder,
    compiled,
    compiler,
    FastFunction,
    jobs,
    library,
    policy,
    source,
)
from rolling_dynamics.errors import ParameterError

needs_compiler = pytest.mark.skipif(compiler() is None, reason='no C compiler')
LONG = 60.0  # for what another process does [s]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return an empty cache folder; functions are compiled at once."""
    monkeypatch.setenv('ROLLING_CACHE_DIR', str(tmp_path / 'cache'))
    monkeypatch.setenv('ROLLING_COMPILE', 'now')
    return tmp_path / 'cache'


@pytest.fixture
def behind(cache, monkeypatch):
    """Return an empty cache folder; functions are compiled by another process."""
    monkeypatch.setenv('ROLLING_COMPILE', 'behind')
    return cache


def function(k=1.0, name='trial'):
    x, y = ca.SX.sym('x', 2), ca.SX.sym('y')
    return ca.Function(name, [x, y], [ca.vertcat(ca.sin(k * x), x[0] * y)])


def long_function(name='lengthy'):
    """Return a function of several blocks with two outputs and every kind of operation."""
    x, y = ca.SX.sym('x', 5), ca.SX.sym('y', 3)
    z, other = x, y
    for k in range(150):
        z = ca.vertcat(ca.sin(z[1:]) + z[0] * y[k % 3], ca.if_else(z[0] > k, z[1], ca.sqrt(k + 1)))
        z = ca.fmax(z, -k) / (1 + ca.norm_2(z)) - ca.atan2(z[0], 2 + z[1] ** 2)
        other = other * ca.cos(z[:3]) + ca.fmin(ca.exp(-(other**2)), z[2:])
    return ca.Function(name, [x, y], [z, ca.vertcat(z * z[0], other)])


def is_machine_code(f):
    return 'External' in f.class_name()


def started(pattern, end=LONG):
    """Wait until a file of the cache is there, and return it."""
    deadline = time.monotonic() + end
    while not (found := list(cache_folder().glob(pattern))):
        assert time.monotonic() < deadline, f'no {pattern}'
        time.sleep(0.01)
    return found[0]


def a_compiler(folder, script):
    """Return a compiler that is a shell script; "$@" is how it was called."""
    path = folder / 'compiler'
    path.write_text(f'#!/bin/sh\n{script}\n')
    path.chmod(0o700)
    return str(path)


# -- the same bits ------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize('make', [function, pytest.param(long_function, marks=pytest.mark.slow)])
def test_same_bits(cache, make):
    f = make()
    (g,) = compiled(f)
    assert is_machine_code(g)
    rng = np.random.default_rng(0)
    for _ in range(20):
        given = [rng.normal(size=f.size1_in(k)) for k in range(f.n_in())]
        for a, b in zip(f.call(given), g.call(given), strict=True):
            np.testing.assert_array_equal(np.array(a), np.array(b))


@pytest.mark.slow
@needs_compiler
def test_machine_code_is_not_compiled_again(cache):
    first = compiled(function())
    assert is_machine_code(first[0])
    assert compiled(*first) == first


@needs_compiler
@pytest.mark.slow
def test_long_function_is_divided_and_takes_missing_arguments(cache):
    f = long_function()
    lines = f.n_instructions()
    assert lines > 3 * source.BLOCK
    text = source.c_source([f])
    assert text.count('noinline') == -(-lines // source.BLOCK)
    (g,) = compiled(f)
    buffer, call = g.buffer()  # nothing is given, only the first output is asked for
    out = np.ones(5)
    buffer.set_res(0, memoryview(out.data))
    call()
    np.testing.assert_array_equal(out, np.array(f(0, 0)[0]).ravel())


@needs_compiler
def test_functions_of_matrices_keep_their_own_form(cache):
    x = ca.MX.sym('x', 4, 4)
    f = ca.Function('solved', [x], [ca.solve(x @ x.T + ca.DM.eye(4), ca.DM.ones(4)), x.T @ x])
    (g,) = compiled(f)
    x = np.random.default_rng(1).normal(size=(4, 4))
    assert is_machine_code(g)
    np.testing.assert_array_equal(np.array(f(x)[1]), np.array(g(x)[1]))
    np.testing.assert_allclose(np.array(f(x)[0]), np.array(g(x)[0]), rtol=1e-14)


# -- the cache ----------------------------------------------------------------------------------


@needs_compiler
def test_the_cache_goes_by_content(cache, monkeypatch):
    compiled(function(1.0))
    compiled(function(2.0))
    assert len(list(cache.glob('*.so'))) == 2
    monkeypatch.setattr(library, 'run_compiler', lambda *_: pytest.fail('compiled again'))
    compiled(function(1.0))


def test_the_cache_goes_by_the_kind_of_processor(cache, monkeypatch):
    compiled(function(1.0))
    monkeypatch.setattr(library.platform, 'machine', lambda: 'another')
    compiled(function(1.0))
    assert len(list(cache.glob('*.so'))) == 2


DAMAGES = {
    'half of it': lambda path: os.truncate(path, path.stat().st_size // 2),
    'zeros': lambda path: path.write_bytes(b'\0' * path.stat().st_size),
    'one bit changed': lambda path: path.write_bytes(flipped(path.read_bytes())),
    'an empty file': lambda path: path.write_bytes(b''),
    'a foreign file': lambda path: path.write_text('no library'),
    'nothing': lambda path: path.unlink(),
    'a folder': lambda path: (path.unlink(), path.mkdir())[0],
    'a link': lambda path: (path.unlink(), path.symlink_to('/dev/zero'))[0],
}


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@needs_compiler
@pytest.mark.parametrize('suffix', ['.so', '.json'])
@pytest.mark.parametrize('damage', DAMAGES)
def test_damaged_library_is_built_anew(cache, damage, suffix, fault_row):
    f = function()
    compiled(f)
    (path,) = cache.glob(f'*{suffix}')
    DAMAGES[damage](path)
    kind = 'library' if suffix == '.so' else 'digest of a library'
    told = fault_row(f'cache: {damage}, in place of a {kind}')
    (g,) = compiled(f)
    told('built again' if is_machine_code(g) else 'evaluated without machine code')
    if damage == 'a folder':  # cannot be replaced by a file: evaluated all the same
        assert not is_machine_code(g)
    else:
        assert is_machine_code(g)
    np.testing.assert_array_equal(np.array(f([1, 2], 3)), np.array(g([1, 2], 3)))


@needs_compiler
def test_library_that_lacks_a_function_is_built_anew(cache):
    """The digest is right, and the content is another one all the same."""
    compiled(function(name='other'))
    (other,), f = cache.glob('other*.so'), function()
    compiled(f)
    (path,), (seal,) = cache.glob('trial*.so'), cache.glob('trial*.json')
    other.replace(path)
    next(cache.glob('other*.json')).replace(seal)
    (g,) = compiled(f)
    assert is_machine_code(g)
    assert np.array(g([1, 2], 3)) == pytest.approx(np.array(f([1, 2], 3)))


@needs_compiler
@pytest.mark.parametrize('what', ['folder', 'library', 'seal'])
def test_what_others_may_write_is_refused(cache, caplog, what, fault_row):
    f = function()
    compiled(f)
    paths = {
        'folder': cache,
        'library': next(cache.glob('*.so')),
        'seal': next(cache.glob('*.json')),
    }
    paths[what].chmod(0o777)
    told = fault_row(f'{"digest" if what == "seal" else what} of the cache: others may write it')
    (g,) = compiled(f)
    told('not loaded; reported; ' + ('built again' if is_machine_code(g) else 'no machine code'))
    assert 'chmod go-w' in caplog.text
    if what == 'folder':
        assert not is_machine_code(g)
    else:  # built again, by this user alone
        assert is_machine_code(g)
        assert not paths[what].stat().st_mode & 0o022


@needs_compiler
def test_compiler_that_does_not_end_is_ended(cache, monkeypatch, tmp_path, caplog, fault_row):
    monkeypatch.setenv('CC', a_compiler(tmp_path, 'sleep 1000 & echo $! > "$0.pid"; wait'))
    monkeypatch.setattr(library, 'TIME_LIMIT', 0.3)
    f = function()
    told = fault_row('a compiler that does not end; its time limit is set to 0.3 s')
    assert compiled(f) == (f,)
    told('ended with its children; evaluated without machine code')
    assert 'did not finish within 0.3 s' in caplog.text
    child = int((tmp_path / 'compiler.pid').read_text())
    deadline = time.monotonic() + LONG
    while Path(f'/proc/{child}/stat').exists() and _state(child) != 'Z':
        assert time.monotonic() < deadline, 'a child of the compiler lives on'
    monkeypatch.setattr(library, 'run_compiler', lambda *_: pytest.fail('tried again at once'))
    assert compiled(f) == (f,)
    monkeypatch.setattr(library, 'FAILURE_KEPT', 0.0)
    monkeypatch.setattr(library, 'run_compiler', lambda *_: 'tried again')
    compiled(f)
    assert 'tried again' in caplog.text


def _state(process):
    return Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[0]


@needs_compiler
def test_compiler_that_fails_is_told(cache, monkeypatch, tmp_path, caplog):
    monkeypatch.setenv('CC', a_compiler(tmp_path, 'echo "no disk left" >&2; exit 1'))
    f = function()
    assert compiled(f) == (f,)
    assert 'failed: no disk left' in caplog.text
    assert not list(cache.glob('building_*'))


@needs_compiler
def test_leftovers_of_killed_compilers_are_swept(cache, fault_row):
    ended = subprocess.run(['true'], check=False)  # noqa: S607  a process that is no more
    assert ended.returncode == 0
    with subprocess.Popen(['true']) as process:  # noqa: S607
        gone = process.pid
    compiled(function())
    dead, alive = cache / f'building_{gone}_x', cache / f'building_{os.getpid()}_y'
    for folder in (dead, alive):
        folder.mkdir()
        (folder / 'code.c').write_text('')
    told = fault_row('the folder of a compiler that was killed lies in the cache')
    compiled(function(2.0))
    told('swept with the next compilation')
    assert not dead.exists()
    assert alive.exists()


@needs_compiler
def test_unused_libraries_are_removed(cache):
    compiled(function(1.0))
    (old,) = cache.glob('*.json')
    os.utime(old, (0, 0))
    compiled(function(2.0))
    assert not old.exists()
    assert len(list(cache.glob('*.so'))) == 1


@needs_compiler
def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    blocked = tmp_path / 'file'
    blocked.write_text('')
    monkeypatch.setenv('ROLLING_CACHE_DIR', str(blocked))
    for mode in ('now', 'behind'):
        monkeypatch.setenv('ROLLING_COMPILE', mode)
        f = function()
        assert compiled(f) == (f,)
    assert cache_folder() == blocked


def test_never(cache, monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'never')
    f = function()
    assert compiled(f) == (f,)
    assert not cache.exists()
    monkeypatch.setenv('ROLLING_COMPILE', 'sometimes')
    with pytest.raises(ParameterError, match="'sometimes'; it may be now, behind or never"):
        compiled(f)


# -- behind -------------------------------------------------------------------------------------


@needs_compiler
def test_compiled_behind(behind):
    f = function()
    assert compiled(f) == (f,)  # at once
    fast = FastFunction(f)
    before = fast([0.1, 0.2], 3.0)
    evaluate = fast.call
    assert store.wait(LONG)
    assert not store.pending()
    assert is_machine_code(store.newest(f))
    assert not is_machine_code(fast.function)
    store.renew()
    assert is_machine_code(fast.function)
    np.testing.assert_array_equal(fast([0.1, 0.2], 3.0), before)
    fast.inputs[0][:] = 0
    evaluate()  # who holds the call of before may still use it
    assert fast.output[0] == 0
    (g,) = compiled(f)
    assert is_machine_code(g)
    deadline = time.monotonic() + LONG
    while not {p.suffix for p in behind.iterdir()} <= {'.so', '.json', ''}:
        assert time.monotonic() < deadline, 'the job is still there'
        time.sleep(0.01)


@needs_compiler
def test_short_command_ends_and_its_code_is_compiled(behind):
    script = (
        'import casadi as ca; from rolling_dynamics.compiled import compiled; x = ca.SX.sym("x")\n'
        'compiled(ca.Function("brief", [x], [ca.sin(x)]))'
    )
    subprocess.run([sys.executable, '-c', script], check=True)
    started('brief*.json')


@needs_compiler
def test_one_compiler_at_a_time(behind, monkeypatch, tmp_path):
    real = compiler()
    log = tmp_path / 'log'
    script = f'echo begin >> {log}; {real} "$@"; status=$?; echo end >> {log}; exit $status'
    monkeypatch.setenv('CC', a_compiler(tmp_path, script))
    for k in range(4):
        compiled(function(k + 0.5))
    assert store.wait(LONG)
    assert log.read_text().split() == ['begin', 'end'] * 4


@needs_compiler
def test_job_of_a_killed_compiler_is_taken_up(behind, monkeypatch, tmp_path, fault_row):
    gate = tmp_path / 'gate'
    script = f'while [ ! -e {gate} ]; do sleep 0.05; done; {compiler()} "$@"'
    monkeypatch.setenv('CC', a_compiler(tmp_path, script))
    f = function()
    compiled(f)
    folder = started('building_*')
    started('building_*/code.c')
    told = fault_row('the process that compiles is killed')
    os.kill(int(folder.name.split('_')[1]), signal.SIGKILL)
    gate.touch()
    deadline = time.monotonic() + LONG
    while not is_machine_code(store.newest(f)) or list(behind.glob('*.job')):
        assert time.monotonic() < deadline
        jobs.start()
        time.sleep(0.05)
    told('the next process takes its job up')


@needs_compiler
def test_damaged_jobs_are_dropped(behind):
    behind.mkdir(mode=0o700)
    bad = [behind / f'bad_{k}.job' for k in range(4)]
    contents = '', '{}', 'no json', json.dumps({'name': 'x', 'compiler': 3})
    for job, content in zip(bad, contents, strict=True):
        job.write_text(content)
    f = function()
    compiled(f)
    assert store.wait(LONG)
    assert is_machine_code(store.newest(f))
    while any(job.exists() for job in bad):  # at the latest the timeout of tests ends this
        time.sleep(0.01)


FATAL = """
import os, signal
import casadi as ca
from rolling_dynamics.compiled import jobs
ca.Function.deserialize = staticmethod(lambda _: os.kill(os.getpid(), signal.SIGKILL))
jobs.work()
"""


def worked():
    """Return how a process that compiles ends if it is killed by every function it reads."""
    return subprocess.run([sys.executable, '-c', FATAL], check=False, timeout=LONG).returncode


@needs_compiler
def test_job_with_one_letter_changed_is_not_read(behind, monkeypatch, fault_row):
    """CasADi loops for ever over some of them, or ends the process."""
    monkeypatch.setattr(jobs, 'start', lambda: None)
    f = function()
    compiled(f)
    (job,) = behind.glob('*.job')
    content = job.read_text()
    middle = content.index('"functions"') + 1000
    other = 'a' if content[middle] != 'a' else 'b'
    job.write_text(content[:middle] + other + content[middle + 1 :])
    told = fault_row('one letter of a job is changed')
    assert worked() == 0
    told('the job is dropped, and nobody waits for it')
    assert not list(behind.glob('*.job'))
    assert store.wait(LONG)
    assert not is_machine_code(store.newest(f))


@needs_compiler
def test_job_that_ends_the_process_comes_last_and_is_given_up(behind, monkeypatch, fault_row):
    monkeypatch.setattr(jobs, 'start', lambda: None)
    told = fault_row('a job ends the process that compiles')
    f = function()
    compiled(f)
    (fatal,) = behind.glob('*.job')
    larger = source.c_source([function(name='other')]) + '//' + 9999 * '-'
    good = library.Library('good', compiler(), policy.USUAL)
    assert jobs.ask_for(good, (), larger)
    assert worked() == -signal.SIGKILL
    assert not good.sound
    assert worked() == -signal.SIGKILL
    assert good.sound
    assert [worked() for _ in range(jobs.MOST_ATTEMPTS - 1)] == [-signal.SIGKILL, 0]
    told(f'others are compiled; it is given up after {jobs.MOST_ATTEMPTS} attempts')
    assert [path.read_text() for path in behind.glob('*.failed')] == [
        'the process that compiles it ended 3 times'
    ]
    assert not fatal.exists()
    assert not list(behind.glob('*.attempts'))
    assert store.wait(LONG)


# -- fast functions -----------------------------------------------------------------------------


def test_fast_function():
    fast = FastFunction(function())
    out = fast([0.1, 0.2], 3.0)
    assert out == pytest.approx([np.sin(0.1), np.sin(0.2), 0.3])
    fast.inputs[0][:], fast.inputs[1][0] = [0.3, 0.4], 1.0
    assert fast.evaluate() == pytest.approx([np.sin(0.3), np.sin(0.4), 0.3])
    assert out[2] == pytest.approx(0.3)
    x = ca.SX.sym('x', 2)
    with pytest.raises(ValueError, match='dense output'):
        FastFunction(ca.Function('sparse', [x], [ca.diag(x)]))

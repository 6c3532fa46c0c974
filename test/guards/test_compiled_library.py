"""Machine code is loaded if it was written whole, is unchanged, and nobody else may write it."""

import hashlib
import json
import os
from pathlib import Path
import platform
import stat
import time

import casadi as ca
import pytest
from rolling_dynamics.compiled import compiler, forget_failures, library
from rolling_dynamics.compiled.library import FORMAT, Library, run_compiler, sweep
from rolling_dynamics.compiled.policy import LOOPS, USUAL
from rolling_dynamics.compiled.source import c_source

pytestmark = pytest.mark.skipif(compiler() is None, reason='no C compiler')
NAME, DAY = 'doubled', 86400.0


def script(path, text):
    """Return a compiler that is a shell script; $7 is the source, $9 the library."""
    path.write_text(f'#!/bin/sh\n{text}\n')
    path.chmod(0o700)
    return str(path)


@pytest.fixture(scope='module')
def machine_code(tmp_path_factory):
    """Return a library that doubles, from a real compiler."""
    folder, x = tmp_path_factory.mktemp('real'), ca.SX.sym('x')
    (folder / 'code.c').write_text(c_source([ca.Function(NAME, [x], [2 * x])]))
    options = [*USUAL.flags, str(folder / 'code.c'), '-o', str(folder / 'code.so'), '-lm']
    assert run_compiler([compiler(), *options], 60.0) == ''
    return folder / 'code.so'


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv('ROLLING_CACHE_DIR', str(tmp_path / 'above' / 'cache'))
    return tmp_path / 'above' / 'cache'


@pytest.fixture
def made(cache, machine_code, tmp_path):
    """Return a library that was built by copying the one above."""
    copies = script(tmp_path / 'cc', f'echo "$@" > {tmp_path}/args; cp {machine_code} "$9"')
    out = Library.of(NAME, 'content', copies, USUAL)
    assert out.build('int x;') is True
    return out


def test_its_name_follows_from_content_compiler_and_target(tmp_path):
    cc, other = script(tmp_path / 'cc', ''), script(tmp_path / 'other', '')
    found = Library.of(NAME, 'content', cc, USUAL)
    machine = f'{platform.machine()} {os.path.realpath(cc)}'
    made_by = f'{FORMAT} {ca.__version__} {USUAL.flags} {machine} content'
    assert found.name == f'{NAME}_{hashlib.sha256(made_by.encode()).hexdigest()[:24]}'
    assert (found.compiler, found.target) == (cc, USUAL)
    (tmp_path / 'link').symlink_to(cc)
    assert Library.of(NAME, 'content', str(tmp_path / 'link'), USUAL).name == found.name
    others = [('content', other, USUAL), ('content', cc, LOOPS), ('contents', cc, USUAL)]
    assert len({found.name, *(Library.of(NAME, *given).name for given in others)}) == 4


def test_it_is_built_whole_and_sealed(made, cache, machine_code, tmp_path):
    assert made.file == cache / f'{made.name}.so'
    data = made.file.read_bytes()
    assert data == machine_code.read_bytes()
    sealed = {'size': len(data), 'sha256': hashlib.sha256(data).hexdigest()}
    assert json.loads(made.seal.read_text()) == sealed
    assert made.seal == cache / f'{made.name}.json'
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (cache, made.file, made.seal)]
    assert modes == [0o700, 0o700, 0o600]
    assert {path.name for path in cache.iterdir()} == {made.file.name, made.seal.name}
    *flags, source, o, built, libm = (tmp_path / 'args').read_text().split()
    assert (flags, o, libm) == (list(USUAL.flags), '-o', '-lm')
    assert source.startswith(f'{cache}/building_{os.getpid()}_')
    assert (source.rpartition('/')[2], built.rpartition('/')[2]) == ('code.c', 'code.so')
    assert made.sound is True
    (doubled,) = made.load([NAME])
    assert float(doubled(3.0)) == 6.0


def test_without_files_there_is_nothing_to_load(cache):
    assert Library(NAME, 'cc', USUAL).load([NAME]) is None
    assert not Library(NAME, 'cc', USUAL).failed


@pytest.mark.parametrize(
    'seal',
    ['', '[]', '3', '{}', '{"size": 1}', 'SIZE', 'DIGEST', '{"size": SIZE}', None],
)
def test_a_seal_that_does_not_fit_counts_as_none(made, seal):
    right = json.loads(made.seal.read_text())
    if seal is None:
        made.seal.unlink()
    elif seal == 'SIZE':
        made.seal.write_text(json.dumps(right | {'size': right['size'] + 1}))
    elif seal == 'DIGEST':
        made.seal.write_text(json.dumps(right | {'sha256': right['sha256'][::-1]}))
    else:
        made.seal.write_text(seal.replace('SIZE', str(right['size'])))
    assert made.sound is False
    assert made.load([NAME]) is None


@pytest.mark.parametrize('where', [0, 100, -1])
def test_one_byte_changed_is_seen_also_after_it_was_loaded(made, where):
    assert made.sound
    data = bytearray(made.file.read_bytes())
    data[where] ^= 1
    made.file.write_bytes(data)
    assert made.sound is False
    assert made.build('again')
    assert made.sound


@pytest.mark.parametrize('which', ['folder', 'file', 'seal'])
@pytest.mark.parametrize('mode', [0o020, 0o002])
def test_what_others_may_write_is_told_once_and_not_loaded(made, cache, caplog, which, mode):
    path = cache if which == 'folder' else getattr(made, which)
    path.chmod(path.stat().st_mode | mode)
    for _ in range(2):
        assert made.sound is False
    (record,) = caplog.records
    assert record.getMessage() == (
        f'compiled code is not used: others may write {path}; remove that permission '
        '(chmod go-w), or set ROLLING_CACHE_DIR to another folder'
    )
    if which == 'folder':
        assert made.usable_folder() is False
        assert made.build('int x;') is False
        assert not made.failed
    else:
        assert made.build('int x;') is True
        assert made.sound


@pytest.mark.parametrize('which', ['file', 'seal'])
def test_links_are_not_followed(made, tmp_path, which):
    path = getattr(made, which)
    path.rename(tmp_path / 'elsewhere')
    path.symlink_to(tmp_path / 'elsewhere')
    assert made.sound is False


def test_a_library_that_lacks_the_function_is_removed(made, caplog):
    assert made.load(['another']) is None
    (record,) = caplog.records
    assert record.getMessage().startswith(f'{made.file} cannot be loaded and is built again: ')
    assert 'another' in record.getMessage()
    assert not made.file.exists()
    assert not made.seal.exists()
    assert made.load([NAME]) is None


def test_what_is_in_use_is_marked_once_a_day(made):
    for age, marked in ((0.9 * DAY, False), (1.1 * DAY, True)):
        then = time.time() - age
        os.utime(made.seal, (then, then))
        assert made.sound
        assert (made.seal.stat().st_mtime > then + 1) == marked


# -- what cannot be built -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ('text', 'trouble'),
    [
        ('echo "no disk left" >&2; echo more >&2; exit 1', 'cc failed: no disk left'),
        ('exit 3', 'cc failed: 3'),
        (f'printf "{500 * "x"}" >&2; exit 1', f'cc failed: {300 * "x"}'),
    ],
)
def test_a_compiler_that_fails_is_told_and_not_asked_again(cache, tmp_path, caplog, text, trouble):
    failing = Library(NAME, script(tmp_path / 'cc', text), USUAL)
    assert failing.build('int x;') is False
    assert failing.failed
    assert failing.failure.read_text() == f'{tmp_path}/{trouble}'
    (record,) = caplog.records
    assert record.getMessage() == f'{NAME} is not compiled: {tmp_path}/{trouble}'
    assert [path.name for path in cache.iterdir()] == [f'{NAME}.failed']
    for age, failed in ((3500.0, True), (3700.0, False)):
        then = time.time() - age
        os.utime(failing.failure, (then, then))
        assert failing.failed is failed
    forget_failures()
    assert not failing.failure.exists()


def test_a_success_takes_the_failure_back(made):
    made.give_up('no disk left')
    assert made.failed
    assert made.build('int x;')
    assert not made.failure.exists()


def test_a_compiler_that_cannot_be_run_or_does_not_end_is_told(tmp_path):
    absent = str(tmp_path / 'absent')
    assert run_compiler([absent], 1.0).startswith(f'{absent} cannot be run: [Errno 2] ')
    slow = script(tmp_path / 'cc', 'sleep 1000 & echo $! > "$0.pid"; wait')
    assert run_compiler([slow], 0.5) == f'{slow} did not finish within 0.5 s'
    child = (tmp_path / 'cc.pid').read_text().strip()
    end = time.monotonic() + 60
    while _runs(child):
        assert time.monotonic() < end, 'a child of the compiler lives on'


def _runs(process):
    try:
        return Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def test_a_folder_that_cannot_be_used_is_no_place(tmp_path, monkeypatch):
    (tmp_path / 'file').write_text('')
    for place in (tmp_path / 'file', tmp_path / 'file' / 'below'):
        monkeypatch.setenv('ROLLING_CACHE_DIR', str(place))
        assert Library(NAME, 'cc', USUAL).usable_folder() is False
        assert Library(NAME, 'cc', USUAL).build('int x;') is False


def test_what_cannot_be_put_in_its_place_is_told(made, caplog):
    made.file.unlink()
    made.file.mkdir()
    assert made.build('int x;') is False
    (record,) = caplog.records
    assert record.getMessage().startswith(f'{made.name} is not compiled: [Errno ')


def test_without_a_folder_nothing_is_noted_or_swept(cache):
    Library(NAME, 'cc', USUAL).give_up('no disk left')
    sweep()
    forget_failures()
    assert not cache.exists()


def test_a_compiler_has_its_time(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(library, 'TIME_LIMIT', 0.2)
    slow = Library(NAME, script(tmp_path / 'cc', 'sleep 3'), USUAL)
    assert slow.build('int x;') is False
    assert slow.failure.read_text().endswith('did not finish within 0.2 s')


def test_what_compilers_left_behind_is_swept(made, cache, monkeypatch):
    ends = {1001: ProcessLookupError, 1002: PermissionError, 1003: None}

    def kill(process, signal):
        assert signal == 0
        if ends[process]:
            raise ends[process]

    monkeypatch.setattr(library.os, 'kill', kill)
    left = [cache / f'building_{who}_x' for who in (1001, 'nobody', 1002, 1003)]
    for folder in left:
        folder.mkdir()
        (folder / 'code.c').write_text('')
    sweep()
    assert [folder.exists() for folder in left] == [False, False, True, True]


def test_what_nobody_has_loaded_for_long_is_swept(made, cache):
    alone = cache / 'alone.json'  # its library is gone
    alone.write_text('{}')
    for age, kept in ((89 * DAY, True), (91 * DAY, False)):
        then = time.time() - age
        for seal in (alone, made.seal):
            os.utime(seal, (then, then))
        sweep()
        assert (made.seal.exists(), made.file.exists(), alone.exists()) == (kept, kept, kept)

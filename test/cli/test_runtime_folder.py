"""Locks lie in a folder of the user's own, and no link there is followed."""

import os
from pathlib import Path
import tempfile

import pytest
from rolling_dynamics.errors import RollingError
from rolling_robotics import bringup
from rolling_robotics.bringup import free_domain, open_runtime_folder

NEVER = 'precious'


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Have the folder for temporary files, which all users share, be an empty one."""
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.delenv('XDG_RUNTIME_DIR', raising=False)
    return tmp_path


def name_of(folder):
    return os.readlink(f'/proc/self/fd/{folder}')  # noqa: PTH115


def test_own_folder_is_closed_to_others(temporary):
    folder = open_runtime_folder()
    assert name_of(folder) == str(temporary / f'rolling_robotics-{os.geteuid()}')
    assert os.fstat(folder).st_mode & 0o777 == 0o700
    os.close(folder)


def test_runtime_folder_of_the_user_is_preferred(temporary, monkeypatch):
    given = temporary / 'run'
    given.mkdir(mode=0o700)
    monkeypatch.setenv('XDG_RUNTIME_DIR', str(given))
    folder = open_runtime_folder()
    assert name_of(folder) == str(given / 'rolling_robotics')
    os.close(folder)
    given.chmod(0o777)  # as of somebody who sets it to a folder that all may write
    folder = open_runtime_folder()
    assert name_of(folder) == str(temporary / f'rolling_robotics-{os.geteuid()}')
    os.close(folder)


@pytest.mark.parametrize('kind', ['link', 'file', 'open to others'])
def test_folder_that_somebody_else_laid_is_refused(temporary, kind, fault_row):
    path = temporary / f'rolling_robotics-{os.geteuid()}'
    if kind == 'link':
        (temporary / 'theirs').mkdir(mode=0o700)
        path.symlink_to(temporary / 'theirs')
    elif kind == 'file':
        path.write_text(NEVER)
    else:
        path.mkdir()
        path.chmod(0o777)
    told = fault_row(f'the folder of the locks in /tmp is a {kind} that somebody else laid')
    with pytest.raises(RollingError, match='XDG_RUNTIME_DIR'), free_domain():
        pass
    told('refused; XDG_RUNTIME_DIR is asked for')


def test_folder_of_another_user_is_refused(temporary, monkeypatch):
    os.close(open_runtime_folder())
    mine = os.geteuid()
    (temporary / f'rolling_robotics-{mine}').rename(temporary / f'rolling_robotics-{mine + 1}')
    monkeypatch.setattr(os, 'geteuid', lambda: mine + 1)
    with pytest.raises(RollingError, match=f'belongs to user {mine}'):
        open_runtime_folder()


def test_links_at_the_lock_files_are_not_followed(temporary, monkeypatch, fault_row):
    """As somebody would lay them who knows the names; the file at their ends stays as it is."""
    monkeypatch.setattr(bringup, '_is_free', lambda _domain: True)
    precious = temporary / 'precious'
    precious.write_text(NEVER)
    own = temporary / f'rolling_robotics-{os.geteuid()}'
    own.mkdir(mode=0o700)
    names = [
        f'{where}domain_{k}.lock' for k in range(102) for where in (f'{own}/', 'rolling_robotics_')
    ]
    for name in names:
        Path(temporary, name).symlink_to(precious)
    told = fault_row('symbolic links lie at the lock files')
    with pytest.raises(bringup.BringupError, match='in use'), free_domain():
        pass
    assert precious.read_text() == NEVER
    told('not followed: every domain counts as in use, and what they point to is as it was')
    Path(own, 'domain_7.lock').unlink()
    with free_domain() as domain:
        assert domain == 7
    os.mkfifo(own / 'domain_8.fifo')
    Path(own, 'domain_7.lock').unlink()
    (own / 'domain_8.fifo').rename(own / 'domain_7.lock')
    with pytest.raises(bringup.BringupError), free_domain():
        pass


def test_a_domain_is_given_once(temporary, monkeypatch):
    monkeypatch.setattr(bringup, '_is_free', lambda _domain: True)
    with free_domain() as one, free_domain() as other:
        assert one != other
    with free_domain() as again:
        assert again == one

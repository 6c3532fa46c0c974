"""Which files are read: regular ones, not larger than stated; the text says what it is instead."""

import os
from pathlib import Path

import pytest
from rolling_dynamics.configuration import open_regular, read_regular
from rolling_dynamics.errors import ParameterError


def test_a_file_is_read_up_to_its_greatest_size(tmp_path):
    path = tmp_path / 'given'
    path.write_bytes(b'12345')
    assert read_regular(path, 5) == b'12345'
    with open_regular(path) as file:
        assert file.read() == b'12345'
        assert not os.get_inheritable(file.fileno())
    with pytest.raises(ParameterError) as refused:
        read_regular(path, 4)
    assert str(refused.value) == f'{path}: cannot be read: it has 5 bytes; at most 4 are read'


def test_a_file_that_grows_while_it_is_read_is_refused():
    """As those of /proc do, which have no size."""
    path = '/proc/self/status'
    with pytest.raises(ParameterError) as refused:
        read_regular(path, 10)
    assert str(refused.value) == f'{path}: grew beyond 10 bytes while it was read'


def open_files():
    return len(list(Path('/proc/self/fd').iterdir()))


@pytest.mark.parametrize('kind', ['folder', 'pipe', 'device', 'nothing', 'no name'])
@pytest.mark.timeout(20)  # a pipe without a writer would wait for ever
def test_what_is_no_regular_file_is_not_read(tmp_path, kind):
    path, reason = tmp_path / 'given', 'is not a regular file'
    if kind == 'folder':
        path.mkdir()
        reason = 'is a folder'
    elif kind == 'pipe':
        os.mkfifo(path)
    elif kind == 'device':
        path = '/dev/zero'
    before = open_files()
    wanted = f'{path}: cannot be read: it {reason}'
    if kind == 'nothing':
        wanted = f'{path}: cannot be read: No such file or directory'
    elif kind == 'no name':
        path, wanted = 'a\0b', 'a\0b: cannot be read: embedded null byte'
    with pytest.raises(ParameterError) as refused:
        read_regular(path, 100)
    assert str(refused.value) == wanted
    assert open_files() == before


def test_what_cannot_be_read_after_it_was_opened_is_refused(tmp_path, monkeypatch):
    path = tmp_path / 'given'
    path.write_bytes(b'1')

    class Broken:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            os.close(self.handle)

        def read(self, count):
            assert count == 101  # one more than may be there, however much comes
            raise OSError(5, 'Input/output error')

    def opened(handle, mode):
        assert mode == 'rb'
        broken = Broken()
        broken.handle = handle
        return broken

    monkeypatch.setattr(os, 'fdopen', opened)
    with pytest.raises(ParameterError) as refused:
        read_regular(path, 100)
    assert str(refused.value) == f'{path}: cannot be read: Input/output error'

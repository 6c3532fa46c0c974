"""A damaged cache of compiled code: what is not as it was written is never loaded."""

import itertools
import json
import shutil

import casadi as ca
from damage import damaged_bytes, damaged_document, often
from hypothesis import given
from hypothesis import strategies as st
import pytest
from rolling_dynamics.compiled import compiler
from rolling_dynamics.compiled.library import Library
from rolling_dynamics.compiled.policy import USUAL
from rolling_dynamics.compiled.source import c_source

pytestmark = pytest.mark.skipif(compiler() is None, reason='no C compiler')
NAME = 'doubled'


def a_library(content='one'):
    return Library.of(NAME, content, compiler(), USUAL)


@pytest.fixture(scope='module')
def built(tmp_path_factory):
    """Return what a compiler wrote: the bytes of a library, and of the seal beside it."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp('built')
        folder.chmod(0o700)
        patch.setenv('ROLLING_CACHE_DIR', str(folder))
        x = ca.SX.sym('x')
        library = a_library()
        assert library.build(c_source([ca.Function(NAME, [x], [2 * x])]))
        (loaded,) = library.load([NAME])
        assert float(loaded(3.0)) == 6.0
        return {'library': library.file.read_bytes(), 'seal': library.seal.read_bytes()}


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    """Return a function that makes an empty cache folder and has it used."""
    numbers, root = itertools.count(), tmp_path_factory.mktemp('damaged')
    with pytest.MonkeyPatch.context() as patch:

        def made():
            for folder in root.iterdir():
                shutil.rmtree(folder)
            folder = root / str(next(numbers))
            folder.mkdir(mode=0o700)
            patch.setenv('ROLLING_CACHE_DIR', str(folder))

        yield made


def check_damaged(data, built, place):
    """Damage one of the files; load what is left."""
    place()
    files = dict(built)
    which = data.draw(st.sampled_from(sorted(files)))
    whole = data.draw(st.booleans())
    if which == 'seal' and whole:
        files[which] = data.draw(damaged_document(json.loads(files[which])))
    else:
        files[which] = data.draw(damaged_bytes(files[which]))
    library = a_library()
    library.file.write_bytes(files['library'])
    library.seal.write_bytes(files['seal'])
    mode = data.draw(st.sampled_from([0o600, 0o400, 0o620, 0o602]))
    getattr(library, 'file' if which == 'library' else 'seal').chmod(mode)
    loaded = library.load([NAME])
    if files['library'] != built['library'] or mode in (0o620, 0o602):
        assert loaded is None
    elif loaded is not None:
        sealed, given_seal = json.loads(built['seal']), json.loads(files['seal'])
        assert {key: given_seal[key] for key in sealed} == sealed
        assert float(loaded[0](3.0)) == 6.0
    elif files['seal'] == built['seal']:
        pytest.fail('nothing is damaged, and it is not loaded')


@given(data=st.data())
@often(200)
def test_damaged_cache_is_not_loaded(data, built, place):
    check_damaged(data, built, place)


@pytest.mark.slow
@given(data=st.data())
@often(10_000)
def test_much_damaged_cache_is_not_loaded(data, built, place):
    check_damaged(data, built, place)


def test_a_library_of_another_content_is_not_loaded(built, place):
    """Its name follows from its content, the compiler and the target."""
    place()
    library, other = a_library(), a_library('another')
    assert library.name != other.name
    library.file.write_bytes(built['library'])
    library.seal.write_bytes(built['seal'])
    for path in (library.file, library.seal):
        path.chmod(0o600)
    assert library.load([NAME]) is not None
    assert other.load([NAME]) is None


@pytest.mark.parametrize('which', ['file', 'seal'])
def test_a_link_in_the_cache_is_not_followed(built, place, tmp_path, which):
    place()
    library = a_library()
    library.file.write_bytes(built['library'])
    library.seal.write_bytes(built['seal'])
    path = getattr(library, which)
    path.rename(tmp_path / 'elsewhere')
    path.symlink_to(tmp_path / 'elsewhere')
    assert library.load([NAME]) is None

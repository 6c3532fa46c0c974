"""Layouts pack and unpack, and name what is wrong."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest
from rolling_dynamics.contract.rolling_system import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError

LAYOUT = Layout(
    (quaternion_entry('q_WH'), vector_entry('p_WH', 'm', 'W'), Entry('psi', ('psi',), 'rad')),
    defaults={'psi': (0.5,)},
)
finite = st.floats(-1e6, 1e6)


@given(arrays(float, 8, elements=finite))
def test_round_trip(x):
    assert np.all(LAYOUT.pack(**LAYOUT.unpack(x)) == x)


def test_names_sizes_and_slices():
    assert LAYOUT.size == 8
    assert LAYOUT.names[:5] == ['q_WH_w', 'q_WH_x', 'q_WH_y', 'q_WH_z', 'p_WH_x']
    assert LAYOUT.slice('p_WH') == slice(4, 7)
    assert 'psi' in LAYOUT
    assert 'nothing' not in LAYOUT
    assert LAYOUT.entry('p_WH').unit == 'm'


def test_many_vectors_at_once_are_views():
    x = np.arange(24.0).reshape(3, 8)
    parts = LAYOUT.unpack(x)
    assert parts['p_WH'].shape == (3, 3)
    parts['psi'][:] = 0
    assert np.all(x[:, 7] == 0)


def test_defaults():
    assert LAYOUT.pack(q_WH=[1, 0, 0, 0], p_WH=[0, 0, 0])[7] == 0.5


@pytest.mark.parametrize(
    ('values', 'text'),
    [
        ({'q_WH': [1, 0, 0, 0]}, 'p_WH is missing'),
        ({'q_WH': [1, 0, 0], 'p_WH': [0] * 3}, 'q_WH takes 4 numbers, got 3'),
        ({'q_WH': [1, 0, 0, np.nan], 'p_WH': [0] * 3}, 'q_WH must be finite'),
        ({'q_WH': [1, 0, 0, 0], 'p_HW': [0] * 3}, r"no entry 'p_HW'; did you mean 'p_WH'\? there"),
    ],
)
def test_what_cannot_be_packed(values, text):
    with pytest.raises(ParameterError, match=text):
        LAYOUT.pack(**values)


def test_wrong_vectors_and_layouts():
    with pytest.raises(ParameterError, match='8 numbers is needed'):
        LAYOUT.unpack(np.zeros(7))
    with pytest.raises(ParameterError, match='named twice'):
        Layout((vector_entry('p', 'm'), vector_entry('p', 'm')))
    with pytest.raises(ParameterError, match='named twice'):
        Layout((Entry('a', ('x',), ''), Entry('b', ('x',), '')))
    with pytest.raises(ParameterError, match='kind must be one of'):
        Entry('a', ('x',), '', kind='number')
    with pytest.raises(ParameterError, match='4 components'):
        Entry('a', ('x',), '', kind='quaternion')

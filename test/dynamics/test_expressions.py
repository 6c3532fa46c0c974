"""Formulas are parsed, never executed."""

from contextlib import suppress

import casadi as ca
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from rolling_dynamics.errors import ExpressionError
from rolling_dynamics.expressions import parse_expression


def value(text, **at):
    symbols = {name: ca.SX.sym(name) for name in at}
    f = ca.Function('f', list(symbols.values()), [parse_expression(text, symbols)])
    return float(f.call(list(at.values()))[0])


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('1 + 2*3', 7),
        ('2^3^2', 512),
        ('-2**2', -4),
        ('+3', 3),
        ('pi', np.pi),
        ('tau/2', np.pi),
        ('e', np.e),
        ('sin(pi/6)', 0.5),
        ('atan2(1, 2)', np.arctan2(1, 2)),
        ('min(2, max(1, 3))', 2),
        ('abs(-1.5)', 1.5),
        ('where(1 < 2, 3, 4)', 3),
        ('where(1 >= 2, 3, 4)', 4),
        ('sqrt(exp(log(4)))', 2),
        (2.5, 2.5),
        (3, 3),
    ],
)
def test_values(text, expected):
    assert value(text) == pytest.approx(expected)


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_names(x, y):
    assert value('x*y + x', x=x, y=y) == pytest.approx(x * y + x)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'not a formula'),
        ('1 +', 'not a formula'),
        ('z', "uses 'z'; names that may be used: x"),
        ('foo(1)', "calls 'foo'"),
        ('sin(1, 2)', 'takes 1 argument'),
        ('sin()', 'takes 1 argument'),
        ('x.real', 'other than arithmetic'),
        ('x[0]', 'other than arithmetic'),
        ('[1, 2]', 'other than arithmetic'),
        ('lambda: 1', 'other than arithmetic'),
        ('(1).__class__', 'other than arithmetic'),
        ('__import__("os").system("true")', 'other than arithmetic'),
        ('1 < x < 2', 'other than arithmetic'),
        ('"text"', 'other than arithmetic'),
        ('x if x else 1', 'other than arithmetic'),
        ('True', 'other than arithmetic'),
        ('1j', 'other than arithmetic'),
        ('sin(x=1)', 'other than arithmetic'),
        ('(' * 300 + 'x' + ')' * 300, 'not a formula'),
        ('x' * 5000, 'at most'),
        (float('nan'), 'finite'),
        (float('inf'), 'finite'),
        (True, 'a number or a formula'),
        (None, 'a number or a formula'),
        ([1], 'a number or a formula'),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(ExpressionError, match=message):
        parse_expression(text, {'x': ca.SX.sym('x')})


@given(st.text(max_size=40))
def test_any_text_gives_a_formula_or_a_clear_refusal(text):
    with suppress(ExpressionError):
        parse_expression(text, {'x': ca.SX.sym('x')})

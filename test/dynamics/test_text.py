"""Text from outside: one line, printable, and not longer than stated."""

from hypothesis import example, given
from hypothesis import strategies as st
import pytest
from rolling_dynamics.errors import LONGEST, LONGEST_NAME, ParameterError, printable, quoted


@given(st.text(max_size=2 * LONGEST), st.integers(10, 2 * LONGEST))
@example('\x1b]0;owned\x07\n\u202e\ud800\u2028', 500)
def test_what_is_shown_is_printable_and_short(text, longest):
    shown = printable(text, longest)
    assert shown.isprintable()
    assert len(shown) == min(len(text), longest)
    kept = longest - 3 if len(text) > longest else len(text)
    for given_, seen in zip(text[:kept], shown[:kept], strict=True):
        assert seen == given_ if given_.isprintable() else seen in ' ?'


def test_what_is_cut_says_so():
    assert printable('x' * 1000, 20) == 'x' * 17 + '...'
    assert quoted('y' * 10**6) == repr('y' * (LONGEST_NAME - 3) + '...')


def test_console_writes_no_escape_sequences(capsys):
    from rolling_robotics.console import say

    say('first \x1b[31mred\nsecond ' + 'z' * 10**6)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == 'rolling: first ?[31mred'
    assert len(lines) == 2
    assert len(lines[1]) < 2100


@pytest.mark.parametrize('name', ['\x1b[2J' + 'n' * 10**5, 'two\nlines'])
def test_unknown_names_of_a_goal_are_cut(name):
    pytest.importorskip('rclpy')
    from rolling_planner.nodes.conversions import named_values, whole_entries

    for call in (
        lambda: whole_entries('goal', {name: 0.0}, []),
        lambda: named_values('goal', [name, name], [0.0, 0.0]),
        lambda: named_values('goal', [name], [float('nan')]),
    ):
        with pytest.raises(ParameterError) as failure:
            call()
        assert str(failure.value).isprintable()
        assert len(str(failure.value)) < 300

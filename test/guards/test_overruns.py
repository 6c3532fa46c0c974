"""The fraction of missed deadlines in a window that moves along, and when it is too great."""

import pytest
from rolling_node_kit.overruns import Overruns

PERIOD = 0.01
THRESHOLDS = {
    'overrun_window': 1.0,
    'overrun_warn': 0.1,
    'overrun_error': 0.5,
    'overrun_abort': 1.0,
}


def test_fraction_is_of_all_deadlines_in_the_window():
    overruns = Overruns(THRESHOLDS)
    for k in range(21):
        overruns.note(5.0 + k * PERIOD, 1)
    assert overruns.fraction(5.21, PERIOD) == pytest.approx(0.21)
    assert overruns.fraction(5.21, PERIOD, pending=30) == pytest.approx(0.51)
    assert overruns.fraction(6.105, PERIOD) == pytest.approx(0.10)  # 11 lie before the window
    assert overruns.fraction(7.0, PERIOD) == 0.0
    overruns.note(8.0, 500)
    assert overruns.fraction(8.0, PERIOD) == 1.0
    assert overruns.fraction(8.0, PERIOD, pending=500) == 1.0
    overruns.forget()
    assert overruns.fraction(8.0, PERIOD) == 0.0
    overruns.note(8.5, 25)
    assert overruns.fraction(8.5, PERIOD) == pytest.approx(0.25)


def test_a_miss_counts_as_long_as_the_window_reaches_back_to_it():
    overruns = Overruns(THRESHOLDS | {'overrun_window': 2.0})
    overruns.note(8.0, 50)
    overruns.note(9.0, 25)
    assert overruns.fraction(10.0, PERIOD) == pytest.approx(0.375)
    assert overruns.fraction(10.0 + 1e-9, PERIOD) == pytest.approx(0.125)
    assert overruns.fraction(11.5, PERIOD) == 0.0
    assert overruns.fraction(11.5, PERIOD) == 0.0  # counted off once
    overruns.note(20.0, 3)
    overruns.note(30.0, 5)  # what is noted later drops what lies before, too
    assert overruns.fraction(30.0, PERIOD) == pytest.approx(0.025)


@pytest.mark.parametrize(('fraction', 'told'), [(0.1, False), (0.11, True)])
def test_threshold_is_exceeded_above_it(fraction, told):
    text = Overruns(THRESHOLDS).exceeds('warn', fraction)
    wanted = '11% of the deadlines in 1 s were missed; overrun_warn is 10%'
    assert text == (wanted if told else '')


def test_a_threshold_of_one_is_never_exceeded():
    assert Overruns(THRESHOLDS).exceeds('abort', 1.0) == ''

"""A live scene without topics or a browser: what it remembers, and what its panel chooses."""

import numpy as np
import pytest

pytest.importorskip('viser')

from rolling_robotics.viewer.history import History, JOINED, Snapshot
from rolling_robotics.viewer.live_panel import LivePanel
from rolling_robotics.viewer.live_trace import LiveCurve, LiveTrace, PIECE
import viser

SPAN, PERIOD = 2.0, 0.1


def snapshot(time, **changes):
    """Return an instant at which the ball is as many metres along x as the clock has seconds."""
    given = {
        'poses': {'ball': (time, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)},
        'force': (0.0, 0.0, 10 * time),
        'values': {'height': (0.0, 100 * time)},
    }
    return Snapshot(time=time, **{**given, **changes})


def history_of(steps, span=SPAN):
    history = History(span)
    for k in range(steps):
        history.add(snapshot(k * PERIOD))
    return history


def by_hand(handle, value):
    """Set a control as a person does."""
    handle._impl.value = value
    for call in handle._impl.update_cb:
        call(viser.GuiEvent(client=object(), client_id=0, target=handle))


def test_no_more_than_the_last_seconds_are_kept():
    history = history_of(1000)
    assert len(history) == round(SPAN / PERIOD) + 1
    assert (history.begin, history.end) == (pytest.approx(97.9), pytest.approx(99.9))
    times, values = history.curve('height')
    assert values == pytest.approx(100 * times)
    assert len(history.curve('nothing')[0]) == 0


def test_an_instant_between_two_is_mixed_but_not_across_a_pause():
    history = history_of(11)
    middle = history.at(0.73)
    assert middle.poses['ball'][0] == middle.time == pytest.approx(0.73)
    assert middle.force == pytest.approx((0, 0, 7.3))
    assert history.at(-5.0) is history.at(0.0)
    assert history.at(5.0).time == 1.0
    history.add(snapshot(1.0 + 2 * JOINED))
    assert history.at(1.0 + JOINED).time == 1.0


def test_what_came_later_is_not_seen_before():
    history = History(SPAN)
    history.add(snapshot(0.0, force=None))
    history.add(snapshot(0.1, poses={**snapshot(0.1).poses, 'new': (0, 0, 0, 1, 0, 0, 0)}))
    assert set(history.at(0.05).poses) == {'ball'}
    assert history.at(0.05).force is None
    assert set(history.at(0.1).poses) == {'ball', 'new'}


def test_live_is_the_newest_and_the_slider_goes_back_and_holds(server):
    history = history_of(11)
    panel = LivePanel(server, history)
    assert panel.is_live
    assert panel.playing.disabled
    assert panel.speed.disabled
    assert panel.advance(0.1).time == 1.0
    by_hand(panel.slider, -0.4)
    assert not panel.is_live
    assert not panel.playing.disabled
    assert panel.advance(0.1).time == pytest.approx(0.6)
    assert panel.advance(0.1).time == pytest.approx(0.6)  # held
    by_hand(panel.slider, -SPAN)  # further than anything that was seen
    assert panel.advance(0.1).time == 0.0
    by_hand(panel.live, True)
    assert panel.slider.value == 0.0
    assert panel.advance(0.1).time == 1.0


def test_pause_holds_the_newest(server):
    panel = LivePanel(server, history_of(11))
    by_hand(panel.live, False)
    assert panel.advance(0.5).time == 1.0
    assert panel.slider.value == 0.0


def test_play_goes_through_it_at_its_speed_and_begins_again(server):
    panel = LivePanel(server, history_of(11), speed=0.5)
    by_hand(panel.slider, -0.8)
    by_hand(panel.playing, True)
    assert panel.advance(0.4).time == pytest.approx(0.4)
    assert panel.slider.value == pytest.approx(-0.6)
    assert panel.advance(1.0).time == pytest.approx(0.9)
    assert panel.advance(1.0).time == 0.0  # the oldest
    by_hand(panel.live, True)
    assert not panel.playing.value
    assert panel.advance(1.0).time == 1.0


def test_trace_is_forgotten_behind_hidden_when_gone_back_and_lifted_over_a_pause(server):
    server.scene.add_frame('/bodies/ball', show_axes=False)
    trace = LiveTrace(server, 'ball', (0, 0, 0), 0.01, span=SPAN)
    for k in range(20 * PIECE):
        trace.add(k / 30, (float(k), 0.0, 0.0))
    kept = trace.length
    assert (kept - 1) * (PIECE - 1) / 30 < SPAN <= kept * (PIECE - 1) / 30
    trace.show(20 * PIECE / 30 - SPAN / 2)
    assert 0 < trace.length < kept
    trace.show(np.inf)
    assert trace.length == kept
    trace.lift()
    for k in range(1000, 1000 + PIECE):
        trace.add(k / 30, (float(k), 0.0, 0.0))
    ends = np.asarray(trace._pieces[-1][0].points)
    assert ends[0, 0, 0] == 1000
    assert np.ptp(ends, axis=1)[:, 0] == pytest.approx(1)  # no jump from the point before


def test_curve_ends_at_the_newest_and_marks_what_is_shown(server):
    history = history_of(21)
    curve = LiveCurve(server, history, 'height', limit=50.0)
    times, values, limit, mark = curve.data(history.end)
    assert (times[0], times[-1]) == (-SPAN, 0.0)
    assert values == pytest.approx(100 * (times + 2.0))
    assert set(limit) == {50.0}
    assert set(mark) == {0.0}
    curve.show(0.5)
    times, *_, mark = curve._plot.data
    (marked,) = times[mark > 0]
    assert marked == pytest.approx(0.5 - 2.0, abs=0.02)

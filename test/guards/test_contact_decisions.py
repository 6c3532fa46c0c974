"""What follows an event at a contact: cone, lift-off, Painleve, impact, spin, and odd states."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import JammingError, ParameterError
from rolling_dynamics.point_contact import transitions
from stated_contact import at, contact, landing, pressed, U, values

SLOW = transitions.START * transitions.CREEP
TURNS = transitions.START * transitions.SPIN_CREEP


def event(state):
    return state.events[-1].name if state.events else ''


# -- a state that is given ----------------------------------------------------------------------


def begin(x=None, p=None, **given):
    x = np.zeros(7) if x is None else np.array(x, dtype=float)
    return contact(**given).begin(values() if p is None else p, x, U, 3.0)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('where', [0, 3, 6])
def test_a_state_that_is_not_finite_is_refused(bad, where):
    x = np.zeros(7)
    x[where] = bad
    with pytest.raises(ParameterError, match=r'^x takes 7 finite numbers, got shape \(7,\)$'):
        begin(x)


def test_parameters_and_states_of_another_size_or_not_finite_are_refused():
    with pytest.raises(ParameterError, match=r'^x takes 7 finite numbers, got shape \(6,\)$'):
        begin(np.zeros(6))
    with pytest.raises(ParameterError, match=r'^p takes 4 finite numbers, got shape \(1,\)$'):
        begin(p=[1.0])
    with pytest.raises(ParameterError, match=r'^p takes 4 finite numbers, got shape \(4,\)$'):
        begin(p=[1.0, 1.0, math.nan, 0.0])


@pytest.mark.parametrize(
    ('gap', 'mode'),
    [(1.0, 'separated'), (1.01e-6, 'separated'), (1e-6, 'rolling'), (-1e-6, 'rolling')],
)
def test_a_state_within_a_micrometre_touches(gap, mode):
    out = begin([gap, 0, 0, 0, 0, 0, 0])
    assert out.mode == mode
    assert out.t == 3.0
    assert out.events == ()


def test_bodies_that_overlap_are_refused():
    with pytest.raises(ParameterError) as refused:
        begin([-1.25e-3, 0, 0, 0, 0, 0, 0])
    assert str(refused.value) == (
        'the object overlaps the plate by 0.00125 m; place it on the plate or above'
    )


def test_a_body_that_goes_up_is_not_held():
    assert begin([0, 0, 0, 2e-9, 0, 0, 0]).mode == 'separated'
    assert begin([0, 0, 0, 1e-9, 0, 0, 0]).mode == 'rolling'


def test_a_body_that_comes_down_lands():
    out = begin([0, 0, 0, -2e-9, 0, 0, 0], lands=landing((0, 0, 0)))
    assert (out.mode, event(out)) == ('rolling', 'landing')
    assert out.events[-1].text == 'inelastic impact of 5 N s, the contact sticks'


def test_a_state_begins_without_a_direction_of_spin():
    out = begin([1.0, 0, 0, 0, 0, 0, 5.0], p=values(mu_spin=0.1, spin_direction=1.0))
    assert out.p[3] == 0.0


# -- the friction cone ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('wrench', 'rolls'),
    [
        (pressed(4.999, 10), True),
        (pressed(5.0, 10), True),
        (pressed(-4.0, 10, across=3.0), True),
        (pressed(5.001, 10), False),
        (pressed(-4.0, 10, across=3.001), False),
    ],
)
def test_a_contact_that_has_stopped_rolls_if_its_force_lies_in_the_cone(wrench, rolls):
    decide = contact()
    decide.system.wrenches['rolling'] = wrench
    out = decide.after('slip', at('slipping', v=(1e-9, 0, 0)), U)
    if rolls:
        assert (out.mode, event(out)) == ('rolling', 'stick')
        assert out.x[1] == 0.0
        assert out.ended is None
    else:
        assert (out.mode, event(out)) == ('slipping', 'slip')
        assert np.linalg.norm(out.x[1:3]) == pytest.approx(SLOW)
        assert out.x[1] * wrench[3] < 0  # slip is against the force of the plate


@pytest.mark.parametrize('normal', [0.0, -1.0])
def test_a_force_that_pulls_does_not_hold_a_contact(normal):
    """Without tangential force it would lie in the cone of any coefficient but for its sign."""
    decide = contact(lift=1.0)
    decide.system.wrenches['rolling'] = pressed(0.0, normal)
    out = decide.after('slip', at('slipping', mu=0.0), U)
    assert (out.mode, event(out)) == ('separated', 'lift_off')


def test_rolling_whose_friction_guard_fell_is_not_asked_again():
    """Whatever rounding says of its force, the contact slips."""
    decide = contact()
    decide.system.wrenches['rolling'] = pressed(4.999999, 10)
    for guard in ('friction', 'normal_force'):
        out = decide.after(guard, at('rolling'), U)
        assert (out.mode, event(out)) == ('slipping', 'slip')
    assert decide.after('slip', at('rolling'), U).mode == 'rolling'


@pytest.mark.parametrize(
    ('lift', 'mode'), [(1.0, 'separated'), (-1e-5, 'separated'), (-1.1e-5, 'slipping')]
)
def test_a_normal_force_that_vanishes_lifts_off_unless_the_bodies_would_meet(lift, mode):
    decide = contact(lift=lift)
    decide.system.wrenches['rolling'] = pressed(1.0, 0.5)
    out = decide.after('normal_force', at('rolling'), U)
    assert out.mode == mode


def test_perfect_friction_without_force_has_no_continuation():
    decide = contact(lift=-1.0)
    decide.system.wrenches['rolling'] = pressed(1.0, 1e-9)
    out = decide.after('friction', at('rolling'), U)
    assert (out.stopped, event(out)) == ('detached', 'detached')
    assert 'perfect friction has no continuation' in out.ended.text
    decide.system.wrenches['rolling'] = pressed(1.0, 1e-7)
    assert decide.after('friction', at('rolling'), U).mode == 'slipping'


def test_slip_that_begins_without_a_normal_force_flies_or_ends():
    for lift, ends in ((0.0, ''), (-1e-3, 'detached')):
        decide = contact(onset_force=0.0, lift=lift)
        decide.system.wrenches['rolling'] = pressed(9.0, 10)
        out = decide.after('friction', at('rolling'), U)
        assert out.stopped == ends
        assert out.mode == ('rolling' if ends else 'separated')


def test_a_contact_that_is_not_to_slide_ends_where_it_slips():
    decide = contact(slides=False)
    decide.system.wrenches['rolling'] = pressed(9.0, 10)
    out = decide.after('friction', at('rolling'), U)
    assert (out.stopped, out.ended.text) == ('friction', 'the contact begins to slip')
    out = decide.after('gap', at('separated', v=(1.0, 0, 0)), U)
    assert (out.stopped, out.ended.text) == ('friction', 'the contact slips')


# -- Painleve ------------------------------------------------------------------------------------


@pytest.mark.parametrize(('margin', 'ends'), [(1e-9, ''), (0.0, 'painleve'), (-1.0, 'painleve')])
@pytest.mark.parametrize('guard', ['slip', 'normal_force', 'spin'])
def test_sliding_whose_force_friction_does_not_determine_ends(margin, ends, guard):
    for mode in ('slipping', 'pure_slipping'):
        out = contact(margin=margin).after(guard, at(mode, v=(1.0, 0, 0)), U)
        assert out.stopped == ends
        assert not ends or 'Painleve' in out.ended.text


@pytest.mark.parametrize(('margin', 'ends'), [(1e-9, ''), (0.0, 'painleve'), (-1.0, 'painleve')])
def test_slip_that_would_begin_undetermined_ends(margin, ends):
    decide = contact(margin=margin)
    decide.system.wrenches['rolling'] = pressed(9.0, 10)
    out = decide.after('friction', at('rolling'), U)
    assert out.stopped == ends
    out = decide.after('gap', at('separated', v=(1.0, 0, 0)), U)  # sliding, as it touches
    assert out.stopped == ends


@pytest.mark.parametrize(('guard', 'text'), [('painleve', 'Painleve'), ('foot', 'closest point')])
def test_guards_that_end_the_motion(guard, text):
    for mode in ('rolling', 'slipping', 'separated'):
        out = contact().after(guard, at(mode), U)
        assert out.stopped == guard
        assert text in out.ended.text


# -- leaving -------------------------------------------------------------------------------------


def test_over_the_edge_and_beside():
    out = contact().after('edge', at('rolling', spin_direction=1.0), U)
    assert (out.mode, event(out), out.stopped, out.p[3]) == ('off_hand', 'edge', '', 0.0)
    assert out.events[-1].text == 'the contact runs over the edge of the plate'
    out = contact(over=False).after('gap', at('separated', v=(0, 0, -1.0)), U)
    assert (out.mode, event(out), out.stopped) == ('off_hand', 'missed', '')
    assert out.events[-1].text == 'the object passes beside the plate'


def test_sliding_without_a_normal_force_lifts_off():
    for mode in ('slipping', 'pure_slipping'):
        out = contact().after('normal_force', at(mode, v=(1.0, 0, 0), spin_direction=-1.0), U)
        assert (out.mode, event(out), out.p[3]) == ('separated', 'lift_off', 0.0)
        assert out.events[-1].text == ('the normal force vanishes and the object leaves the plate')


def test_sliding_that_is_lifted_at_once():
    decide = contact()
    for normal, mode in ((1e-6, 'slipping'), (0.0, 'separated'), (-1.0, 'separated')):
        decide.system.wrenches['slipping'] = pressed(0.0, normal)
        assert decide.after('gap', at('separated', v=(1.0, 0, 0)), U).mode == mode


# -- landing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('v', 'mode'),
    [
        ((0, 0, 1e-9), 'rolling'),
        ((0, 0, -1e-9), 'rolling'),
        ((SLOW * 0.99, 0, 0), 'rolling'),
        ((SLOW * 1.01, 0, 0), 'slipping'),
        ((0, SLOW * 1.01, 0), 'slipping'),
    ],
)
def test_a_touch_without_speed_is_no_impact(v, mode):
    out = contact(lands=ValueError('an impact')).after('gap', at('separated', v=v), U)
    assert out.mode == mode
    assert out.events == ()


@pytest.mark.parametrize(
    ('left', 'sticks', 'mode', 'text'),
    [
        ((0, 0, 0), True, 'rolling', 'inelastic impact of 5 N s, the contact sticks'),
        ((0.5, 0, 0), False, 'slipping', 'inelastic impact of 5 N s, the contact slips'),
        ((0.5, 0, 1e-9), False, 'slipping', 'inelastic impact of 5 N s, the contact slips'),
        ((0.5, 0, 2e-9), False, 'separated', 'impact of 5 N s, the object rebounds'),
    ],
)
def test_an_impact_sticks_slips_or_rebounds(left, sticks, mode, text):
    decide = contact(lands=landing(left, sticks=sticks))
    out = decide.after('gap', at('separated', v=(1.0, 0, -2e-9), spin_direction=1.0), U)
    assert out.mode == mode
    assert [(e.name, e.text) for e in out.events] == [('landing', text)]
    assert out.x[1] == left[0]
    assert out.p[3] == 0.0


def test_an_impact_that_jams_ends_with_its_reason():
    decide = contact(lands=JammingError('it jams'))
    out = decide.after('gap', at('separated', v=(0, 0, -1.0)), U)
    assert (out.stopped, out.ended.text) == ('jammed', 'it jams')


# -- spin ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('twist', 'mode', 'spin'),
    [(0.5, 'pure_rolling', 0.0), (-1.0, 'pure_rolling', 0.0), (1.001, 'rolling', -1.0)],
)
def test_spin_that_stops_is_held_if_friction_can(twist, mode, spin):
    decide = contact()
    decide.system.wrenches['pure_rolling'] = pressed(0, 10, twist)
    out = decide.after('spin', at('rolling', mu_spin=0.1, spin_direction=1.0), U)
    assert out.mode == mode
    assert event(out) == ('spin' if spin else 'spin_stop')
    assert out.x[6] == pytest.approx(spin * TURNS)
    assert out.p[3] == spin


def test_spin_that_friction_no_longer_holds_begins_against_it():
    decide = contact()
    for twist in (1.0, -1.0):  # held, by rounding; but its guard fell
        decide.system.wrenches['pure_rolling'] = pressed(0, 10, twist)
        out = decide.after('spin', at('pure_rolling', mu_spin=0.1), U)
        assert (out.mode, event(out)) == ('rolling', 'spin')
        assert out.events[-1].text == 'the contact begins to spin'
        assert out.x[6] == pytest.approx(-twist * TURNS)
        assert out.p[3] == -twist


def test_held_spin_outside_the_cone_slips():
    decide = contact()
    decide.system.wrenches['pure_rolling'] = decide.system.wrenches['rolling'] = pressed(9, 10)
    out = decide.after('spin', at('rolling', mu_spin=0.1, spin_direction=1.0), U)
    assert out.mode == 'pure_slipping'
    assert out.events[0].name == 'slip'


@pytest.mark.parametrize(
    ('twist', 'mode'), [(0.5, 'pure_slipping'), (1.0, 'pure_slipping'), (1.001, 'slipping')]
)
def test_sliding_holds_spin_that_stops_if_friction_can(twist, mode):
    decide = contact()
    decide.system.wrenches['pure_slipping'] = pressed(4, 10, twist)
    x = {'v': (1.0, 0.5, 0), 'mu_spin': 0.1}
    out = decide.after('spin', at('slipping', spin_direction=1.0, **x), U)
    assert (out.mode, event(out)) == (mode, 'spin_stop' if mode[0] == 'p' else 'spin')
    assert out.x[1:3] == pytest.approx([1.0, 0.5])
    assert out.p[3] == (0.0 if mode[0] == 'p' else -1.0)
    out = decide.after('spin', at('pure_slipping', **x), U)
    assert (out.mode, event(out)) == ('slipping', 'spin')


@pytest.mark.parametrize(('spin', 'direction'), [(0.3, 1.0), (-0.3, -1.0)])
def test_friction_opposes_the_spin_that_there_is(spin, direction):
    out = contact().after('slip', at('slipping', spin=spin, mu_spin=0.1), U)
    assert (out.mode, out.p[3]) == ('rolling', direction)
    out = contact().after('gap', at('separated', v=(1.0, 0, 0), spin=spin, mu_spin=0.1), U)
    assert (out.mode, out.p[3]) == ('slipping', direction)
    out = contact().after('slip', at('slipping', spin=spin, mu_spin=0.0, spin_direction=1.0), U)
    assert (out.mode, out.p[3]) == ('rolling', 0.0)


@pytest.mark.parametrize(('share', 'mode'), [(0.49, 'pure_rolling'), (0.51, 'rolling')])
def test_spin_that_is_hardly_there_may_be_held(share, mode):
    out = contact().after('slip', at('slipping', spin=share * TURNS, mu_spin=0.1), U)
    assert out.mode == mode


def test_each_guard_of_a_mode_leads_to_its_decision():
    decide = contact()
    resets = decide.resets({'edge': None, 'normal_force': None})
    assert list(resets) == ['edge', 'normal_force']
    assert resets['edge'](at('rolling'), U).mode == 'off_hand'
    assert resets['normal_force'](at('slipping'), U).mode == 'separated'

"""What follows an event at a contact: cone, lift-off, Painleve, impact, spin, and odd states."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from rolling_dynamics.errors import JammingError, ParameterError
from rolling_dynamics.point_contact import transitions
from rolling_dynamics.point_contact.point_contact import PointContact
from stated_contact import (
    at,
    contact,
    contact_velocity,
    landing,
    pressed,
    spin_of,
    state,
    U,
    values,
)

SLOW = transitions.START * transitions.CREEP
TURNS = transitions.START * transitions.SPIN_CREEP


def event(out):
    return out.events[-1].name if out.events else ''


def text(out):
    return out.events[-1].text


def slip(out):
    """Return the velocity of the contact point [m/s]."""
    return contact_velocity(out.x)


# -- a state that is given ----------------------------------------------------------------------


def begin(x=None, p=None, **given):
    x = state() if x is None else np.array(x, dtype=float)
    return contact(**given).begin(values() if p is None else p, x, U, 3.0)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('where', [0, 3, 6])
def test_a_state_that_is_not_finite_is_refused(bad, where):
    x = state()
    x[where] = bad
    with pytest.raises(ParameterError, match=r'^x takes 9 finite numbers, got shape \(9,\)$'):
        begin(x)


def test_parameters_and_states_of_another_size_or_not_finite_are_refused():
    with pytest.raises(ParameterError, match=r'^x takes 9 finite numbers, got shape \(6,\)$'):
        begin(np.zeros(6))
    with pytest.raises(ParameterError, match=r'^p takes 4 finite numbers, got shape \(1,\)$'):
        begin(p=[1.0])
    with pytest.raises(ParameterError, match=r'^p takes 4 finite numbers, got shape \(4,\)$'):
        begin(p=[1.0, 1.0, math.nan, 0.0])


def test_lists_of_whole_numbers_are_states():
    out = contact(lands=landing((0.5, 0, 0), sticks=False)).begin(
        [1, 1, 0, 0], [0, -1, 0, 0, 0, 0, 0, 1, 0], [1, 2, 3, 4, 5, 6], 3.0
    )
    assert (out.mode, event(out)) == ('slipping', 'landing')


def test_time_begins_at_zero_if_it_is_not_given():
    assert contact().begin(values(), state(gap=1.0), U).t == 0.0


@pytest.mark.parametrize(
    ('gap', 'mode'),
    [(1.0, 'separated'), (1.01e-6, 'separated'), (1e-6, 'rolling'), (-1e-6, 'rolling')],
)
def test_a_state_within_a_micrometre_touches(gap, mode):
    out = begin(state(gap, n=(2, 0)))
    assert out.mode == mode
    assert out.t == 3.0
    assert out.events == ()
    assert out.x[7:].tolist() == [1.0, 0.0]  # on the constraints of its mode


def test_bodies_that_overlap_are_refused():
    with pytest.raises(ParameterError) as refused:
        begin(state(-1.25e-3))
    assert str(refused.value) == (
        'the object overlaps the plate by 0.00125 m; place it on the plate or above'
    )


def test_a_body_that_goes_up_is_not_held():
    assert begin(state(v=(0, 0, 2e-9))).mode == 'separated'
    assert begin(state(v=(0, 0, 1e-9))).mode == 'rolling'


def test_a_body_that_comes_down_lands():
    out = begin(state(v=(0, 0, -2e-9)), lands=landing((0, 0, 0)))
    assert (out.mode, event(out)) == ('rolling', 'landing')
    assert text(out) == 'inelastic impact of 5 N s, the contact sticks'


def test_a_state_begins_without_a_direction_of_spin():
    out = begin(state(gap=1.0, w=(0, 0, 5.0)), p=values(mu_spin=0.1, spin_direction=1.0))
    assert out.p[3] == 0.0


# -- the friction cone ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('wrench', 'rolls'),
    [
        (pressed(4.999, 10), True),
        (pressed(5.0, 10), True),
        (pressed(-4.0, 10, across=3.0), True),
        (pressed(0.2, 0.5), True),
        (pressed(5.001, 10), False),
        (pressed(-4.0, 10, across=3.001), False),
    ],
)
def test_a_contact_that_has_stopped_rolls_if_its_force_lies_in_the_cone(wrench, rolls):
    decide = contact()
    decide.system.wrenches['rolling'] = wrench
    out = decide.after('slip', at('slipping', v=(1e-9, 0, 0), w=(0.3, 0.4)), U)
    assert out.ended is None
    if rolls:
        assert (out.mode, event(out), text(out)) == ('rolling', 'stick', 'slip has come to rest')
        assert slip(out).tolist() == [0, 0, 0]
    else:  # slip is against the force of the plate
        assert (out.mode, event(out)) == ('slipping', 'slip')
        assert text(out) == 'the contact begins to slip'
        along = wrench[3:5] / np.linalg.norm(wrench[3:5])
        assert slip(out) == pytest.approx([*(-SLOW * along), 0.0], rel=1e-6, abs=1e-15)


def test_a_force_on_the_cone_to_rounding_lies_in_it():
    decide = contact()
    for force, mode in ((transitions.NOISE, 'rolling'), (1.01 * transitions.NOISE, 'slipping')):
        decide.system.wrenches['rolling'] = pressed(force, 10)
        assert decide.after('slip', at('slipping', mu=0.0), U).mode == mode


@pytest.mark.parametrize('force', [9.0, -9.0])
def test_in_a_plane_slip_begins_along_the_first_axis(force):
    decide = contact(planar=True)
    decide.system.wrenches['rolling'] = pressed(force, 10)
    start = at('rolling', w=(0.3, 0.4))
    out = decide.after('friction', start, U)
    assert out.mode == 'slipping'
    grown = out.x[1:4] - start.x[1:4]
    assert grown == pytest.approx([-math.copysign(SLOW, force), 0, 0], rel=1e-6, abs=1e-15)


def test_slip_that_only_just_grows_takes_the_direction_against_the_force():
    """Without friction from its normal force every direction would do as well."""
    for force, across in ((3.0, -4.0), (-3.0, 4.0)):
        decide = contact(onset_force=0.5, planar=False)
        decide.system.wrenches['rolling'] = pressed(force, 0.5, across=across)
        out = decide.after('friction', at('rolling'), U)
        assert (out.mode, out.ended) == ('slipping', None)
        assert slip(out)[:2] == pytest.approx(SLOW * np.array([-force, -across]) / 5)


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
    for wrench in (pressed(1.0, 1e-9), pressed(0.0, 1e-9, across=1.0), pressed(1.0, 1e-8)):
        decide.system.wrenches['rolling'] = wrench
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
        assert not ends or 'perfect friction has no continuation' in out.ended.text


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
    assert not ends or 'Painleve' in out.ended.text
    out = decide.after('gap', at('separated', v=(1.0, 0, 0)), U)  # sliding, as it touches
    assert out.stopped == ends
    assert not ends or 'Painleve' in out.ended.text


@pytest.mark.parametrize(('guard', 'why'), [('painleve', 'Painleve'), ('foot', 'closest point')])
def test_guards_that_end_the_motion(guard, why):
    for mode in ('rolling', 'slipping', 'separated'):
        out = contact().after(guard, at(mode), U)
        assert out.stopped == guard
        assert why in out.ended.text


# -- leaving -------------------------------------------------------------------------------------


def test_over_the_edge_and_beside():
    out = contact().after('edge', at('rolling', spin_direction=1.0), U)
    assert (out.mode, event(out), out.stopped, out.p[3]) == ('off_hand', 'edge', '', 0.0)
    assert text(out) == 'the contact runs over the edge of the plate'
    out = contact(over=False).after('gap', at('separated', v=(0, 0, -1.0)), U)
    assert (out.mode, event(out), out.stopped) == ('off_hand', 'missed', '')
    assert text(out) == 'the object passes beside the plate'


def test_sliding_without_a_normal_force_lifts_off():
    for mode in ('slipping', 'pure_slipping'):
        out = contact().after('normal_force', at(mode, v=(1.0, 0, 0), spin_direction=-1.0), U)
        assert (out.mode, event(out), out.p[3]) == ('separated', 'lift_off', 0.0)
        assert text(out) == ('the normal force vanishes and the object leaves the plate')


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
        ((SLOW, 0, 0), 'rolling'),
        ((SLOW * 1.01, 0, 0), 'slipping'),
        ((0, SLOW * 1.01, 0), 'slipping'),
        ((1.0, 0, 1e-9), 'slipping'),
    ],
)
def test_a_touch_without_speed_is_no_impact(v, mode):
    out = contact(lands=ValueError('an impact')).after('gap', at('separated', v=v), U)
    assert out.mode == mode
    assert out.events == ()
    assert slip(out)[2] == 0.0


@pytest.mark.parametrize(
    ('left', 'sticks', 'mode', 'said'),
    [
        ((0, 0, 0), True, 'rolling', 'inelastic impact of 5 N s, the contact sticks'),
        ((0.5, 0, 0), False, 'slipping', 'inelastic impact of 5 N s, the contact slips'),
        ((0.5, 0, 1e-9), False, 'slipping', 'inelastic impact of 5 N s, the contact slips'),
        ((0.5, 0, 2e-9), False, 'separated', 'impact of 5 N s, the object rebounds'),
    ],
)
def test_an_impact_sticks_slips_or_rebounds(left, sticks, mode, said):
    decide = contact(lands=landing(left, sticks=sticks))
    out = decide.after('gap', at('separated', v=(1.0, 0, -2e-9), spin_direction=1.0), U)
    assert out.mode == mode
    assert [(e.name, e.text) for e in out.events] == [('landing', said)]
    assert slip(out)[0] == left[0]
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
    """Its guard has fallen: what rounding has left of it is nothing."""
    decide = contact()
    decide.system.wrenches['pure_rolling'] = pressed(-2, 10, twist)
    for left in (0.0, 0.4 * TURNS, 0.7 * TURNS):
        given = at('rolling', w=(0.3, 0.4), spin=left, mu_spin=0.1, spin_direction=1.0)
        out = decide.after('spin', given, U)
        assert out.mode == mode
        assert event(out) == ('spin' if spin else 'spin_stop')
        assert spin_of(out.x) == pytest.approx(spin * TURNS)
        assert slip(out).tolist() == [0, 0, 0]
        assert out.p[3] == spin
        turned = out.x - given.x
        turned[4:7] -= (spin_of(out.x) - left) * np.eye(3)[0]  # the normal is the first axis
        assert turned == pytest.approx(np.zeros(9), abs=1e-15)  # and nothing else has changed


def test_spin_that_friction_no_longer_holds_begins_against_it():
    decide = contact()
    for twist in (1.0, -1.0):  # held, by rounding; but its guard fell
        decide.system.wrenches['pure_rolling'] = pressed(0, 10, twist)
        out = decide.after('spin', at('pure_rolling', mu_spin=0.1), U)
        assert (out.mode, event(out)) == ('rolling', 'spin')
        assert text(out) == 'the contact begins to spin'
        assert spin_of(out.x) == pytest.approx(-twist * TURNS)
        assert out.p[3] == -twist


def test_spin_that_begins_may_slip_too():
    """Held it would be in the cone, but what held it does no longer."""
    decide = contact()
    decide.system.wrenches['pure_rolling'] = pressed(4, 10, 1.0)
    decide.system.wrenches['rolling'] = pressed(9, 10)
    out = decide.after('spin', at('pure_rolling', mu_spin=0.1), U)
    assert [e.name for e in out.events] == ['slip', 'spin_stop']
    assert out.mode == 'pure_slipping'


def test_held_spin_outside_the_cone_slips():
    decide = contact()
    decide.system.wrenches['pure_rolling'] = decide.system.wrenches['rolling'] = pressed(9, 10)
    out = decide.after('spin', at('rolling', mu_spin=0.1, spin_direction=1.0), U)
    assert out.mode == 'pure_slipping'
    assert out.events[0].name == 'slip'


@pytest.mark.parametrize(
    ('twist', 'mode', 'spin'),
    [
        (0.5, 'pure_slipping', 0.0),
        (1.0, 'pure_slipping', 0.0),
        (1.001, 'slipping', -1.0),
        (-1.001, 'slipping', 1.0),
    ],
)
def test_sliding_holds_spin_that_stops_if_friction_can(twist, mode, spin):
    decide = contact()
    decide.system.wrenches['pure_slipping'] = pressed(4, 10, twist)
    given = {'v': (1.0, 0.5, 0), 'w': (0.3, 0.4), 'mu_spin': 0.1}
    for left in (0.0, 0.4 * TURNS, 0.7 * TURNS):
        out = decide.after('spin', at('slipping', spin=left, spin_direction=1.0, **given), U)
        assert (out.mode, event(out)) == (mode, 'spin' if spin else 'spin_stop')
        assert text(out) == ('the contact begins to spin' if spin else 'spin has come to rest')
        assert slip(out) == pytest.approx([1.0, 0.5, 0.0])
        assert spin_of(out.x) == pytest.approx(spin * TURNS)
        assert out.p[3] == spin
    out = decide.after('spin', at('pure_slipping', **given), U)
    assert (out.mode, event(out)) == ('slipping', 'spin')


@pytest.mark.parametrize(('spin', 'direction'), [(0.3, 1.0), (-0.3, -1.0), (0.6 * TURNS, 1.0)])
def test_friction_opposes_the_spin_that_there_is(spin, direction):
    out = contact().after('slip', at('slipping', spin=spin, mu_spin=0.1), U)
    assert (out.mode, out.p[3]) == ('rolling', direction)
    out = contact().after('gap', at('separated', v=(1.0, 0, 0), spin=spin, mu_spin=0.1), U)
    assert (out.mode, out.p[3]) == ('slipping', direction)
    out = contact().after('slip', at('slipping', spin=spin, mu_spin=0.0, spin_direction=1.0), U)
    assert (out.mode, out.p[3]) == ('rolling', 0.0)


@pytest.mark.parametrize(
    ('share', 'mode'), [(0.49, 'pure_rolling'), (0.5, 'pure_rolling'), (0.51, 'rolling')]
)
def test_spin_that_is_hardly_there_may_be_held(share, mode):
    out = contact().after('slip', at('slipping', spin=share * TURNS, mu_spin=0.1), U)
    assert out.mode == mode
    assert spin_of(out.x) == (0.0 if mode[0] == 'p' else share * TURNS)


def test_spin_that_is_hardly_there_gives_way_to_the_one_that_begins():
    decide = contact()
    decide.system.wrenches['pure_rolling'] = pressed(0, 10, 1.001)
    out = decide.after('slip', at('slipping', spin=0.4 * TURNS, mu_spin=0.1), U)
    assert (out.mode, out.p[3]) == ('rolling', -1.0)
    assert spin_of(out.x) == pytest.approx(-TURNS)


def held_without_direction(x, u, t, p):
    """Return a force that slips without a direction of spin, and pulls with one."""
    return pressed(9, 10 if p[3] == 0 else -1)


@pytest.mark.parametrize('share', [0.0, 0.4, 0.5])
def test_what_may_be_held_has_no_direction_of_spin(share):
    decide = contact(lift=1.0)
    decide.system.wrenches['pure_rolling'] = pressed(9, 10)
    decide.system.wrenches['rolling'] = held_without_direction
    decide.system.wrenches['pure_slipping'] = held_without_direction
    decide.system.slip_onset = lambda *_: (np.ones(2), 10.0, 1.0)
    out = decide.after('slip', at('slipping', spin=share * TURNS, mu_spin=0.1), U)
    assert (out.mode, spin_of(out.x)) == ('pure_slipping', 0.0)
    out = decide.after('spin', at('rolling', mu_spin=0.1, spin_direction=1.0), U)
    assert out.mode == 'pure_slipping'


def test_sliding_that_is_held_is_judged_without_a_direction_of_spin():
    decide = contact(lands=landing((1.0, 0, 0), sticks=False))
    decide.system.wrenches['pure_slipping'] = lambda _, __, ___, p: pressed(4, 10, 9 * p[3])
    out = decide.after('gap', at('separated', v=(1.0, 0, -1), mu_spin=0.1, spin_direction=1.0), U)
    assert (out.mode, out.p[3]) == ('pure_slipping', 0.0)


def test_a_held_mode_without_constraints_of_its_own_keeps_to_those_of_its_like():
    decide = contact()
    for mode in ('pure_rolling', 'pure_slipping'):
        decide.system.modes[mode].projection = None
    out = decide.after('spin', at('rolling', v=(0.2, 0, 0.1), mu_spin=0.1), U)
    assert (out.mode, slip(out).tolist()) == ('pure_rolling', [0, 0, 0])
    out = decide.after('spin', at('slipping', v=(0.2, 0, 0.1), mu_spin=0.1), U)
    assert (out.mode, slip(out).tolist()) == ('pure_slipping', [0.2, 0, 0])


def test_each_guard_of_a_mode_leads_to_its_decision():
    decide = contact()
    system = SimpleNamespace(transitions=decide)
    resets = PointContact.resets(system, ['edge', 'normal_force'])
    assert list(resets) == ['edge', 'normal_force']
    assert resets['edge'](at('rolling'), U).mode == 'off_hand'
    assert resets['normal_force'](at('slipping'), U).mode == 'separated'

"""What follows an event at a contact: cone, lift-off, Painleve, impact, rest, and odd states."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import JammingError, ParameterError
from rolling_dynamics.mechanism.hybrid import START
from rolling_dynamics.mechanism.transitions import CREEP, NOISE
from stated_contact import at, contact_velocity, state, StatedContact, U, values

SLOW = START * CREEP


def contact(force=None, **given):
    """Return a contact; force: that which rolling needs [N]."""
    out = StatedContact(**given)
    if force is not None:
        out.forces['rolling'] = out.forces['resting'] = np.array(force, dtype=float)
    return out


def after(decide, guard, s):
    """Return what follows a guard that has fallen."""
    return decide.follows(0)[guard](s, U)


def event(out):
    return out.events[-1].name if out.events else ''


def text(out):
    return out.events[-1].text


def slip(out):
    """Return the velocity of the contact point [m/s]."""
    return contact_velocity(out.x)


# -- a state that is given ----------------------------------------------------------------------


def begin(x=None, decide=None, **given):
    x = state() if x is None else np.array(x, dtype=float)
    return (decide or contact()).begin(values(**given), x, U, 3.0)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('where', [0, 3, 6])
def test_a_state_that_is_not_finite_is_refused(bad, where):
    x = state()
    x[where] = bad
    with pytest.raises(ParameterError, match=r'^x takes 7 finite numbers, got shape \(7,\)$'):
        begin(x)


def test_parameters_and_states_of_another_size_or_not_finite_are_refused():
    with pytest.raises(ParameterError, match=r'^x takes 7 finite numbers, got shape \(6,\)$'):
        begin(np.zeros(6))
    for p in ([1.0], [1.0, 1.0, math.nan]):
        with pytest.raises(ParameterError, match=rf'^p takes 3 finite .* \({len(p)},\)$'):
            contact().begin(p, state(), U, 3.0)


def test_lists_of_whole_numbers_are_states():
    out = contact().begin([0, 0, 0], [0, -1, 1, 0, 0, 0, 1], [1, 2, 3, 4, 5, 6], 3.0)
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
    assert out.x[5:].tolist() == [1.0, 0.0]  # on the constraints of its mode


def test_bodies_that_overlap_are_refused():
    with pytest.raises(ParameterError) as refused:
        begin(state(-1.25e-3))
    assert str(refused.value) == (
        'the bodies overlap by 0.00125 m; place one on the other or above'
    )
    assert begin(state(-1.25e-3), contact(soft=True)).mode == 'rolling'


def test_a_body_that_goes_up_is_not_held():
    assert begin(state(v=(0, 0, 2e-9))).mode == 'separated'
    assert begin(state(v=(0, 0, 1e-9))).mode == 'rolling'


def test_a_body_that_comes_down_lands():
    out = begin(state(v=(0, 0, -2e-9)))
    assert (out.mode, event(out)) == ('rolling', 'landing')
    assert text(out) == 'impact of 2e-09 N s at the ball, which sticks'
    assert begin(state(v=(0, 0, -1e-9))).events == ()
    assert begin(state(v=(0, 0, -1.0)), contact(soft=True)).events == ()


@pytest.mark.parametrize(('speed', 'mode'), [(0.99, 'rolling'), (1.01, 'slipping')])
def test_a_state_slips_above_the_creep(speed, mode):
    for way in ((1, 0), (0.6, -0.8)):
        assert begin(state(v=[*(speed * CREEP * np.array(way)), 0])).mode == mode


@pytest.mark.parametrize(
    ('turning', 'torque', 'mode'),
    [(0.99, 0.5, 'resting'), (1.01, 0.5, 'rolling'), (0.5, 1.01, 'rolling')],
)
def test_a_contact_with_resistance_rests_where_it_hardly_turns_and_is_held(turning, torque, mode):
    x = state(turning=turning * CREEP)
    assert begin(x, contact(resisted=(0,), torque=torque)).mode == mode
    assert begin(x).mode == 'rolling'


def test_a_state_that_friction_cannot_hold_slips_or_flies():
    assert begin(decide=contact((9, 0, 10))).mode == 'slipping'
    assert begin(decide=contact((0, 0, -1), lift=1.0)).mode == 'separated'
    assert begin(decide=contact((9, 0, 10), resisted=(0,))).mode == 'slipping'


@pytest.mark.parametrize(('margin', 'ends'), [(1e-9, ''), (0.0, 'painleve'), (-1.0, 'painleve')])
def test_a_state_that_slips_undetermined_ends(margin, ends):
    out = begin(state(v=(1.0, 0, 0)), contact(margin=margin))
    assert (out.mode, out.stopped) == ('slipping', ends)


# -- the friction cone ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('force', 'rolls'),
    [
        ((4.999, 0, 10), True),
        ((5.0, 0, 10), True),
        ((-4.0, 3.0, 10), True),
        ((0.2, 0, 0.5), True),
        ((5.001, 0, 10), False),
        ((-4.0, 3.001, 10), False),
    ],
)
def test_a_contact_that_has_stopped_rolls_if_its_force_lies_in_the_cone(force, rolls):
    out = after(contact(force), 'stick', at('slipping', v=(1e-9, 0, 0), turning=0.3))
    assert out.ended is None
    assert out.x[4] == 0.3
    if rolls:
        assert (out.mode, event(out), text(out)) == ('rolling', 'stick', 'the ball rolls')
        assert slip(out).tolist() == [0, 0, 0]
    else:  # slip is against the force of the plate
        assert (out.mode, event(out)) == ('slipping', 'slip')
        assert text(out) == 'the ball begins to slip'
        along = np.array(force[:2]) / np.linalg.norm(force[:2])
        assert slip(out) == pytest.approx([*(-SLOW * along), 0.0], rel=1e-6, abs=1e-15)


def test_a_force_on_the_cone_to_rounding_lies_in_it():
    for force, mode in ((NOISE, 'rolling'), (1.01 * NOISE, 'slipping')):
        assert after(contact((force, 0, 10)), 'stick', at('slipping', mu=0.0)).mode == mode


@pytest.mark.parametrize('force', [9.0, -9.0])
def test_in_a_plane_slip_begins_along_the_first_axis(force):
    out = after(contact((force, 0, 10), planar=True), 'friction', at('rolling'))
    assert out.mode == 'slipping'
    assert slip(out) == pytest.approx([-math.copysign(SLOW, force), 0, 0], rel=1e-6, abs=1e-15)


def test_in_a_plane_slip_begins_the_way_in_which_it_grows():
    """Friction that pushes harder than what it is against turns the first guess round."""
    decide = contact((9, 0, 10), planar=True)
    decide._onset = lambda *_: (np.array([5.0, 0.0]), 10.0, 1.0)
    assert slip(after(decide, 'friction', at('rolling')))[0] > 0


def test_slip_that_only_just_grows_takes_the_direction_against_the_force():
    """Without friction from its normal force every direction would do as well."""
    for force, across in ((3.0, -4.0), (-3.0, 4.0)):
        for searched in (True, False):
            decide = contact((force, across, 0.5), onset_force=0.5, searched=searched)
            out = after(decide, 'friction', at('rolling'))
            assert (out.mode, out.ended) == ('slipping', None)
            assert slip(out)[:2] == pytest.approx(SLOW * np.array([-force, -across]) / 5)


@pytest.mark.parametrize('normal', [0.0, -1.0])
def test_a_force_that_pulls_does_not_hold_a_contact(normal):
    """Without tangential force it would lie in the cone of any coefficient but for its sign."""
    out = after(contact((0, 0, normal), lift=1.0), 'stick', at('slipping', mu=0.0))
    assert (out.mode, event(out)) == ('separated', 'lift_off')
    held = contact((0, 0, normal), lift=1.0, parting=())
    assert after(held, 'stick', at('slipping', mu=0.0)).mode == 'rolling'


def test_rolling_whose_friction_guard_fell_is_not_asked_again():
    """Whatever rounding says of its force, the contact slips."""
    decide = contact((4.999999, 0, 10))
    for guard in ('friction', 'normal_force'):
        out = after(decide, guard, at('rolling'))
        assert (out.mode, event(out)) == ('slipping', 'slip')


@pytest.mark.parametrize(
    ('lift', 'mode'), [(1.0, 'separated'), (-1e-5, 'separated'), (-1.1e-5, 'slipping')]
)
def test_a_normal_force_that_vanishes_lifts_off_unless_the_bodies_would_meet(lift, mode):
    for given in ('rolling', 'resting'):
        out = after(contact((1.0, 0, 0.5), lift=lift), 'normal_force', at(given))
        assert out.mode == mode
    soft = contact((1.0, 0, 0.5), lift=lift, soft=True)
    assert after(soft, 'normal_force', at('rolling')).mode == 'separated'


def test_perfect_friction_without_force_has_no_continuation():
    for force in ((1.0, 0, 1e-9), (0, 1.0, 1e-9), (1.0, 0, 1e-8)):
        out = after(contact(force, lift=-1.0), 'friction', at('rolling'))
        assert (out.stopped, event(out)) == ('detached', 'detached')
        assert 'perfect friction has no continuation' in out.ended.text
    out = after(contact((1.0, 0, 1e-7), lift=-1.0), 'friction', at('rolling'))
    assert out.mode == 'slipping'


def test_a_contact_that_is_not_to_slide_ends_where_it_slips():
    out = after(contact((9, 0, 10), slides=False), 'friction', at('rolling'))
    assert (out.stopped, out.ended.text) == ('friction', 'the ball begins to slip')
    out = after(contact(slides=False), 'gap', at('separated', v=(1.0, 0, -1.0)))
    assert (out.stopped, out.ended.text) == ('friction', 'the ball slips')
    assert begin(state(v=(1.0, 0, 0)), contact(slides=False)).stopped == 'friction'


def test_where_coulombs_law_does_not_determine_the_force_the_motion_ends():
    out = after(contact(), 'painleve', at('slipping', v=(1.0, 0, 0)))
    assert out.stopped == 'painleve'
    assert 'Painleve' in out.ended.text


def test_a_contact_that_does_not_part_has_no_guards_for_that():
    assert {'normal_force', 'gap'} <= set(contact().follows(0))
    assert not {'normal_force', 'gap'} & set(contact(parting=()).follows(0))


# -- leaving and landing -------------------------------------------------------------------------


@pytest.mark.parametrize(('lift', 'ends'), [(0.0, ''), (-1e-3, 'detached')])
def test_sliding_without_a_normal_force_lifts_off(lift, ends):
    out = after(contact(lift=lift), 'normal_force', at('slipping', v=(1.0, 0, 0)))
    assert (event(out), out.stopped) == ('detached' if ends else 'lift_off', ends)
    assert out.mode == ('slipping' if ends else 'separated')
    assert ends or text(out) == 'the ball parts'


@pytest.mark.parametrize(
    ('v', 'mode'),
    [
        ((0, 0, 1e-9), 'rolling'),
        ((0, 0, -1e-9), 'rolling'),
        ((CREEP * 0.99, 0, 0), 'rolling'),
        ((CREEP * 1.01, 0, 0), 'slipping'),
        ((0, CREEP * 1.01, 0), 'slipping'),
        ((1.0, 0, 1e-9), 'slipping'),
    ],
)
def test_a_touch_without_speed_is_no_impact(v, mode):
    out = after(contact(), 'gap', at('separated', v=v))
    assert out.mode == mode
    assert out.events == ()


@pytest.mark.parametrize(
    ('slips', 'back', 'left', 'mode', 'said'),
    [  # W is 1/kg in all ways: friction takes mu_kinetic times what the normal takes, at most all
        (0.3, 0.0, (0, 0, 0), 'rolling', 'which sticks'),
        (0.5, 0.0, (0.1, 0, 0), 'slipping', 'which slips'),
        (0.5, 0.25, (0, 0, 0.5), 'separated', 'which rebounds'),
        (1.0, 0.25, (0.4, 0, 0.5), 'separated', 'which rebounds'),
    ],
)
def test_an_impact_sticks_slips_or_rebounds(slips, back, left, mode, said):
    given = at('separated', v=(slips, 0, -1.0), turning=0.2, restitution=back)
    out = after(contact(), 'gap', given)
    assert out.mode == mode
    assert slip(out) == pytest.approx(left, abs=1e-8)
    P = np.hypot(slips - left[0], 1 + left[2])
    assert [(e.name, e.text) for e in out.events] == [
        ('landing', f'impact of {P:.6g} N s at the ball, {said}')
    ]
    assert out.x[4] == 0.2
    assert (out.x[0] > 0) == (mode == 'separated')


def test_an_impact_that_jams_ends_with_its_reason(monkeypatch):
    def jam(*_):
        raise JammingError('it jams')

    monkeypatch.setattr('rolling_dynamics.mechanism.transitions.impact', jam)
    out = after(contact(), 'gap', at('separated', v=(0, 0, -1.0)))
    assert (out.stopped, out.ended.text) == ('jammed', 'it jams')


def test_a_contact_that_gives_way_closes_without_an_impact():
    out = after(contact(soft=True), 'gap', at('separated', v=(1.0, 0, -1.0)))
    assert (out.mode, event(out), text(out)) == ('slipping', 'landing', 'the ball closes')
    assert slip(out).tolist() == [1.0, 0, -1.0]


def test_an_impact_that_needs_more_than_what_rolls_can_give_ends():
    for P, mu, ends in (((0.4, 0.3, 1.0), 0.5, ''), ((0.4, 0.31, 1.0), 0.5, 'jammed')):
        decide = contact()
        decide.holding = lambda *_, P=P, mu=mu: {'joint': (np.array(P), mu)}
        assert after(decide, 'gap', at('separated', v=(0, 0, -1.0))).stopped == ends
    decide.holding = lambda *_: {'joint': (np.array([0, 0, -1e-8]), 0.5)}
    out = after(decide, 'gap', at('separated', v=(0, 0, -1.0)))
    assert 'the joint, which neither slips nor parts' in out.ended.text


# -- rest ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(('torque', 'mode'), [(0.99, 'resting'), (1.01, 'rolling')])
def test_turning_that_stops_rests_if_the_resistance_holds_it(torque, mode):
    out = after(contact(torque=torque), 'rest', at('rolling', turning=1e-9))
    assert (out.mode, event(out)) == (mode, 'rest' if mode == 'resting' else 'turn')
    assert out.x[4] == (0.0 if mode == 'resting' else -SLOW)
    assert text(out) == f'the ball {"comes to rest" if mode == "resting" else "begins to roll"}'


def test_a_contact_that_rests_turns_against_what_held_it():
    for torque in (0.9, -0.9):
        out = after(contact(torque=torque), 'turn', at('resting'))
        assert (out.mode, event(out)) == ('rolling', 'turn')
        assert out.x[4] == pytest.approx(-math.copysign(SLOW, torque))

"""Gaits: the corrected formulas, inversion, limits, and swings replayed on the full model."""

from dataclasses import replace
import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.gaits import (
    all_roots,
    choose_gait,
    GaitLimits,
    gaits_for_speed,
    greatest_change,
    planar_motion,
    speed_change,
    swing_angle,
    swing_extremes,
)
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters, scales_of
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing, swing_for
from rolling_dynamics.pendulum_sphere.system import PendulumSphere
from rolling_dynamics.simulation import simulate

SI = paper_parameters()
SCALES = scales_of(SI)
PAPER = SCALES.parameters_to_dimensionless(SI)
SYSTEM = PendulumSphere()
IGNORE = {'normal_force': 'record', 'friction': 'record'}


def test_dimensionless_parameters_are_those_of_the_paper():
    assert pytest.approx(1) == PAPER.pendulum_mass
    assert PAPER.gravity == pytest.approx(1)
    axial = PAPER.pendulum_inertia + PAPER.pendulum_excess
    assert axial == pytest.approx(PAPER.pendulum_length)  # follows from the unit of time


def test_motion_is_the_same_in_si_and_in_the_units_of_the_paper():
    alpha, T = 0.9, 4.0
    si = speed_change(SI, alpha, SCALES.to_si('time', T))
    assert si / SCALES.unit('velocity') == pytest.approx(
        float(speed_change(PAPER, alpha, T)), rel=1e-13
    )
    a, b = swing_extremes(SI, alpha, SCALES.to_si('time', T)), swing_extremes(PAPER, alpha, T)
    assert a.torque / SCALES.unit('torque') == pytest.approx(float(b.torque))
    assert a.friction == pytest.approx(float(b.friction))


def test_example_1_amplitude_and_example_2_speed():
    amplitude = choose_gait(PAPER, 0.5, 5.0, GaitLimits(friction=10))
    assert round(amplitude, 2) == 0.83
    assert round(0.5 / math.tan(math.radians(40)), 1) == 0.6
    change = float(speed_change(PAPER, amplitude, 5.0))
    turn = math.atan2(change, 0.5 / math.tan(math.radians(40)))
    assert turn == pytest.approx(math.radians(40), rel=1e-12)


def test_printed_equation_12_would_need_another_amplitude():
    """Erratum: with the printed signs the swing of 0.83 does not give 0.5."""
    th, w, acc = swing_angle((np.arange(200) + 0.5) / 200 * 5, 0.83, 5.0)
    R, c = PAPER.shell_radius, PAPER.coupling
    printed = (
        R
        * (
            acc * (c * np.cos(th) - PAPER.i0)
            + c * w**2 * np.sin(th)
            - PAPER.pendulum_length * np.sin(th)
        )
        / (PAPER.I0 - c * np.cos(th))
    )
    assert abs(printed.mean() * 5 - 0.5) > 0.5
    assert float(speed_change(PAPER, 0.83, 5.0)) == pytest.approx(0.5, abs=0.005)


def test_corrected_equation_12_agrees_with_the_full_model():
    rng = np.random.default_rng(0)
    swing = SpatialSwing(params=SI, direction=0.7, amplitude=1.3, period=0.6)
    t = rng.uniform(0, 0.6, 40)
    table, planar = swing.at(t), planar_motion(SI, swing_angle(t, 1.3, 0.6))
    s = np.array([math.cos(0.7), math.sin(0.7)])
    np.testing.assert_allclose(table.acceleration, np.outer(planar.acceleration, s), atol=1e-11)
    np.testing.assert_allclose(table.force[:, 2], planar.normal_force, atol=1e-11)
    np.testing.assert_allclose(table.force[:, :2], np.outer(planar.friction, s), atol=1e-11)
    across = np.array([s[1], -s[0], 0])
    np.testing.assert_allclose(table.torque, np.outer(planar.torque, across), atol=1e-11)


def test_speed_change_is_odd_and_its_quadrature_converged():
    alpha = np.linspace(0.1, 6, 30)
    for T in (1.0, 5.0):
        np.testing.assert_allclose(speed_change(PAPER, -alpha, T), -speed_change(PAPER, alpha, T))
        t = np.linspace(0, T, 20001)
        a = planar_motion(PAPER, swing_angle(t, 2.9, T)).acceleration
        assert float(speed_change(PAPER, 2.9, T)) == pytest.approx(np.trapezoid(a, t), abs=1e-8)


@pytest.mark.parametrize('period', [0.7, 1.0, 2.0, 5.0, 9.0])
def test_inversion_finds_every_root(period):
    alpha = np.linspace(-2 * np.pi, 2 * np.pi, 40001)
    curve = speed_change(PAPER, alpha, period)
    for change in (0.03, 0.2, 0.5, 0.7, -0.4):
        crossings = np.flatnonzero(np.diff(np.sign(curve - change)))
        gaits = gaits_for_speed(PAPER, change, period)
        assert len(gaits) == len(crossings)
        for g in gaits:
            got = float(speed_change(PAPER, g, period))
            assert got == pytest.approx(change, abs=1e-12)
        assert [abs(g) for g in gaits] == sorted(abs(g) for g in gaits)


def test_two_amplitudes_at_least_belong_to_a_change_of_speed():
    assert len(gaits_for_speed(PAPER, 0.5, 5.0)) >= 2
    assert len(gaits_for_speed(PAPER, 0.5, 1.0)) >= 2


def test_roots_of_a_known_function():
    found = all_roots(lambda x: np.sin(5 * x), -3.0, 3.0)
    np.testing.assert_allclose(found, np.pi / 5 * np.arange(-4, 5), atol=1e-12)
    assert all_roots(lambda x: x**2 + 0.1, -3.0, 3.0) == []
    np.testing.assert_allclose(all_roots(lambda x: (x - 1) * (x - 1.01), 0, 3), [1, 1.01])


def test_normal_force_vanishes_where_the_errata_say():
    alpha = np.linspace(0.01, 1, 991)
    first = alpha[np.argmax(swing_extremes(PAPER, alpha, 1.0).normal_force < 0)]
    assert first == pytest.approx(0.64, abs=0.005)


def test_growth_for_short_periods_is_cut_by_the_limits():
    limits = GaitLimits(friction=0.5)
    free = np.abs(speed_change(PAPER, np.linspace(0, np.pi, 200), 0.5)).max()
    assert free > 1.0
    assert greatest_change(PAPER, 0.5, limits) < 0.01


def test_limits_are_respected_and_told():
    amplitude = choose_gait(PAPER, 0.3, 5.0, GaitLimits(friction=0.5, torque=0.2))
    x = swing_extremes(PAPER, amplitude, 5.0)
    assert x.torque <= 0.2
    assert x.friction <= 0.5
    with pytest.raises(ParameterError, match=r'at most .* is possible, and this change'):
        choose_gait(PAPER, 3.0, 5.0)
    with pytest.raises(ParameterError, match='loses the contact, slips, or needs more torque'):
        choose_gait(PAPER, 0.3, 1.0, GaitLimits(friction=0.3))


def test_period_that_the_refusal_names_works():
    with pytest.raises(ParameterError) as e:
        choose_gait(SI, 0.7, 0.3)
    period = float(str(e.value).split('period of ')[-1].split(' s')[0])
    amplitude = choose_gait(SI, 0.7, period)
    assert float(speed_change(SI, amplitude, period)) == pytest.approx(0.7, abs=1e-12)


def replay(swing, velocity):
    """Return the state after the swing's torque alone, open loop, on the full model."""
    params = swing.params
    x0 = SYSTEM.rolling_state(params, velocity=velocity)
    run = simulate(
        SYSTEM,
        SYSTEM.pack_parameters(params),
        x0,
        lambda t: swing.at(t).torque[0],
        swing.period,
        rtol=1e-11,
        atol=1e-13,
        events=IGNORE,
    )
    return x0, run.states[-1]


@pytest.mark.parametrize(
    ('velocity', 'change', 'slope'),
    [
        ([0.0, 0.0], [0.5, 0.0], 0.0),
        ([0.6, 0.0], [0.0, 0.5], 0.0),
        ([0.4, -0.2], [-0.3, 0.35], 0.0),
        ([0.4, 0.1], [-0.4, -0.1], 0.0),
        ([0.3, 0.2], [-0.2, 0.4], 0.06),
    ],
    ids=['start', 'across', 'oblique', 'stop', 'oblique on a slope'],
)
def test_torque_replayed_open_loop_changes_the_velocity_as_planned(velocity, change, slope):
    params = SI.on_slope(slope, 0.9)
    swing = swing_for(params, change, 0.9)
    x0, x = replay(swing, velocity)
    R, s = params.shell_radius, SYSTEM.state
    Omega = x[s.slice('w_WS_W')]
    end = R * np.array([Omega[1], -Omega[0]])
    np.testing.assert_allclose(end, np.add(velocity, change), atol=2e-9)
    np.testing.assert_allclose(x[s.slice('w_WP_W')], 0, atol=2e-8)
    n0, n = (-_turn(v[s.slice('q_WP')]) for v in (x0, x))
    np.testing.assert_allclose(n, n0, atol=2e-9)
    moved = x[s.slice('contact')] - x0[s.slice('contact')]
    np.testing.assert_allclose(moved, 0.9 * (np.array(velocity) + end) / 2, atol=2e-9)


def _turn(q):
    w, x, y, z = q
    return np.array([2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z])


@pytest.mark.parametrize('direction', np.linspace(-3, 3, 7))
def test_proposition_1_velocity_changes_along_the_swing(direction):
    for T in (0.4, 0.9):
        swing = SpatialSwing(params=SI, direction=direction, amplitude=0.7, period=T)
        s = np.array([math.cos(direction), math.sin(direction)])
        t = np.linspace(0, T, 31)
        a = swing.at(t).acceleration
        np.testing.assert_allclose(a @ [-s[1], s[0]], 0, atol=1e-12)
        Q = swing.at(t).torque
        np.testing.assert_allclose(Q @ [*s, 0], 0, atol=1e-12)
        np.testing.assert_allclose(Q[:, 2], 0, atol=1e-12)


def test_half_displacement_is_the_integral():
    swing = SpatialSwing(params=SI, direction=0.3, amplitude=0.7, period=0.9)
    t = np.linspace(0, 0.45, 4001)
    a = swing.at(t).acceleration
    expected = np.trapezoid((0.45 - t)[:, None] * a, t, axis=0)
    np.testing.assert_allclose(swing.half_displacement, expected, atol=1e-7)


def test_bad_input_is_refused_with_what_would_work():
    with pytest.raises(ParameterError, match=r'does not fit.*less than 0\.15 m'):
        replace(SI, pendulum_length=0.2)
    with pytest.raises(ParameterError, match=r'thin shell.*at most'):
        replace(SI, shell_inertia=1.0)
    with pytest.raises(ParameterError, match='a thin disk'):
        replace(SI, pendulum_excess=2 * SI.pendulum_inertia)
    with pytest.raises(ParameterError, match=r'no equilibrium.*at most 13\.'):
        SpatialSwing(params=SI.on_slope(0.4), direction=0, amplitude=0.1, period=1).at(0)

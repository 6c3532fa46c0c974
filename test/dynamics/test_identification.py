"""Identification of any system: parameters within their intervals, derivatives, bad logs."""

from dataclasses import replace
from functools import cached_property
import json
import re

import casadi as ca
from matplotlib.figure import Figure
import numpy as np
import pytest
from rolling_dynamics import load_scenario, simulate
from rolling_dynamics.contract.rolling_system import Entry, Layout, Mode, WrittenSystem
from rolling_dynamics.driven import driven, Servo
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.identification.identify import identify, jackknife
from rolling_dynamics.identification.log import Log, moving, read_log, read_mapping, stretches
from rolling_dynamics.identification.shooting import projected, Shooting, windows_of
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.control import Control
from rolling_robotics.cli import main
from scipy.integrate import solve_ivp

BOUNDS = {'arm': (0.1, 1.0), 'damping': (0.0, 1.0)}
TRUE = {'arm': 0.4, 'damping': 0.15}
DURATION, RATE = 12.0, 50.0
LAG, DELAY, ADDED = 0.08, 0.07, 0.3  # s, s, N m


class Trough(WrittenSystem):
    """A ball that rolls in a round trough, as a pendulum; a torque drives it, air resists."""

    name = 'trough'
    state = Layout(
        (Entry('angle', ('angle',), 'rad', kind='angle'), Entry('rate', ('rate',), 'rad/s'))
    )
    control = Layout((Entry('torque', ('torque',), 'N m'),))
    parameters = Layout((Entry('arm', ('arm',), 'm'), Entry('damping', ('damping',), 'N m s')))

    @cached_property
    def modes(self):
        s = self.symbols
        angle, rate, arm, damping = s.x[0], s.x[1], s.p[0], s.p[1]
        turning = (s.u - damping * rate - 9.81 * arm * ca.sin(angle)) / arm**2
        return {'rolling': Mode(dynamics=self.function('rates', ca.vertcat(rate, turning)))}


def scenario():
    """Return the ball in its trough; its parameters are wrong."""
    system = Trough()
    x, t = ca.SX.sym('x', 2), ca.SX.sym('t')
    drive = ca.Function('drive', [x, t], [2 * ca.sin(3 * t) * ca.cos(t)])
    return Scenario(
        name='trough',
        system=system,
        p=system.parameters.pack(arm=0.6, damping=0.3),
        x0=np.zeros(2),
        control=Control(drive, system.control),
        duration=DURATION,
        output_times=np.array([0.0, DURATION]),
        events={},
        control_limits=np.array([np.inf]),
    )


def swung(seed=0, noise=0.005):
    """Return times and angles by Newton's equation, integrated by SciPy."""

    def rates(t, x):
        torque = 2 * np.sin(3 * t) * np.cos(t)
        turned = torque - TRUE['damping'] * x[1] - 9.81 * TRUE['arm'] * np.sin(x[0])
        return [x[1], turned / TRUE['arm'] ** 2]

    times = np.arange(0, DURATION, 1 / RATE)
    run = solve_ivp(rates, (0, DURATION), [0.3, 0.0], 'DOP853', times, rtol=1e-10, atol=1e-12)
    noises = noise * np.random.default_rng(seed).standard_normal((times.size, 1))
    return times, run.y[:1].T + noises


def log_of(times, angles, names=('angle',)):
    lines = np.arange(times.size) + 2
    return Log(times=times, lines=lines, names=names, measured=angles, controls=None)


def followed(noise=0.0):
    """Return the ball in a trough that a lagging motor drives, and a log that is 70 ms late."""
    system = driven(
        Trough(),
        Servo(
            control='torque',
            command=Entry('asked', ('asked',), 'N m'),
            state=(Entry('motor', ('motor',), 'N m'),),
            parameters=(Entry('motor_lag', ('motor_lag',), 's'),),
            law=lambda v: (
                v.state['motor'],
                (v.command - v.state['motor']) / v.params['motor_lag'],
            ),
            follows=('motor',),
        ),
    )
    given = Scenario(
        name='trough',
        system=system,
        p=np.array([0.5, 0.2, 0.1]),
        x0=np.zeros(3),
        control=Control(
            None, system.control, samples=(np.array([0.0, DURATION]), np.zeros((2, 1))), states=3
        ),
        duration=DURATION,
        output_times=np.array([0.0, DURATION]),
        events={},
        control_limits=np.array([np.inf]),
    )
    rng = np.random.default_rng(4)
    times = np.arange(0, DURATION, 1 / RATE)
    asked = np.repeat(rng.uniform(-2, 2, times.size // 15 + 1), 15)[: times.size]

    def rates(t, x):
        last = np.searchsorted(times + DELAY, t, side='right') - 1
        torque = x[2] - TRUE['damping'] * x[1] - 9.81 * TRUE['arm'] * np.sin(x[0])
        return [x[1], torque / TRUE['arm'] ** 2, (asked[max(last, 0)] + ADDED - x[2]) / LAG]

    run = solve_ivp(
        rates, (0, DURATION), [0.3, 0.0, 0.0], 'RK45', times, rtol=1e-8, atol=1e-10, max_step=5e-3
    )
    noises = noise * rng.standard_normal((times.size, 1))
    log = log_of(times, run.y[:1].T + noises)
    return given, replace(log, controls=asked[:, None])


@pytest.mark.slow
def test_dead_time_and_bias_of_what_servos_follow_are_found():
    """Beside parameters of system and servo, whose motion begins once and not in each window."""
    given, log = followed(noise=0.003)
    bounds = BOUNDS | {'motor_lag': (0.02, 0.5), 'dead_time': (0.0, 0.3), 'asked': (-1.0, 1.0)}
    true = TRUE | {'motor_lag': LAG, 'dead_time': DELAY, 'asked': ADDED}
    found = identify(given, log, bounds, 1.0)
    assert found.complete
    for name, value in true.items():
        estimate = found.estimates[name]
        assert abs(estimate.value - value) < 1.5 * estimate.half_width, name
        assert estimate.half_width < 0.15 * abs(value), name
    assert found.estimates['dead_time'].unit == 's'
    assert found.errors['angle'].residual == pytest.approx(0.003, rel=0.15)


def test_derivatives_by_dead_time_and_bias_are_those_of_differences():
    given, log = followed()
    fitted = np.array([0, 2, 3, 4])  # arm, lag, dead time, what is added
    shooting = Shooting(given.system, 'rolling', given.p, fitted, ['angle'], log=log)
    window = windows_of(log, 1.0, 1)[3]
    x, z = np.array([0.2, -0.4, 9.0]), np.array([0.5, 0.06, 0.053, 0.1])
    shot = shooting.shot(window, x, z)
    assert shot.by_start.shape[1] == 2, 'the motor has no start of its own'
    for k in range(4):
        h = 1e-6 * np.eye(4)[k]
        slope = (
            shooting.shot(window, x, z + h).residuals - shooting.shot(window, x, z - h).residuals
        ) / 2e-6
        assert shot.by_parameters[:, k] == pytest.approx(slope, abs=1e-4 * abs(slope).max())


def test_derivatives_by_what_a_window_lacks_are_those_of_differences():
    given, log = followed()
    shooting = Shooting(
        given.system, 'rolling', given.p, np.array([0]), ['angle'], log=log, lacking={'rate': 0.5}
    )
    window = windows_of(log, 1.0, 1)[3]
    start, z = np.array([0.2, -0.4, 9.0, 0.3]), np.array([0.5])
    shot = shooting.shot(window, start, z)
    assert shot.residuals[-1] == pytest.approx(0.6)
    h = np.array([0, 0, 0, 0.5e-5])
    slope = (
        shooting.shot(window, start + h, z).residuals
        - shooting.shot(window, start - h, z).residuals
    ) / 2e-5
    assert shot.by_start[:, -1] == pytest.approx(slope, abs=1e-5)


@pytest.mark.slow
def test_what_a_window_lacks_is_not_taken_for_noise():
    """Of a torque that nobody knows of: the interval is a fifth as wide, or less."""
    given, log = followed(noise=0.003)
    given = replace(given, p=np.array([0.5, TRUE['damping'], LAG]))
    bounds = {'arm': BOUNDS['arm'], 'dead_time': (0.0, 0.3)}
    noisy, arm = (
        identify(given, log, bounds, 0.5, 0.0, lacking).estimates['arm']
        for lacking in (None, {'rate': 2.0})
    )
    assert abs(arm.value - TRUE['arm']) < 1.5 * arm.half_width
    assert arm.half_width < 0.2 * noisy.half_width


def test_no_window_has_a_rest():
    """A ball that rests for a second has windows before and after, down to some rows."""
    times = np.arange(0, 4, 0.02)
    way = np.where(times < 1, times, np.where(times < 2, 1.0, times - 1))
    log = moving(log_of(times, way[:, None]), ['angle'], 0.5)
    windows = windows_of(log, 0.5, 1)
    assert all(w.times[-1] < 1.01 or w.times[0] > 1.99 for w in windows)
    assert sum(w.times[-1] - w.times[0] for w in windows) == pytest.approx(2.9, abs=0.1)
    lost = way.copy()
    lost[25] = np.nan
    again = windows_of(moving(log_of(times, lost[:, None]), ['angle'], 0.5), 0.5, 1)
    assert not any(w.first <= 25 <= w.last for w in again)


def test_an_interval_has_the_true_number_of_another_derivation():
    """And the model predicts ten times as well as the last velocity held."""
    found = identify(scenario(), log_of(*swung()), BOUNDS, 1.0)
    assert found.complete
    assert (found.windows, found.held_out) == (8, 3)
    for name, value in TRUE.items():
        estimate = found.estimates[name]
        assert abs(estimate.value - value) < estimate.half_width < 0.1 * value
    errors = found.errors['angle']
    assert errors.residual == pytest.approx(0.005, rel=0.15)
    assert errors.predicted < 0.02 < 10 * errors.predicted < errors.baseline


def test_a_machine_is_fitted_in_the_mode_of_its_start(tmp_path):
    """A ball rolls on the floor towards a wall; in its first mode it touches both."""
    s = load_scenario('ball_and_wall')
    times, rng = np.arange(191) * 1e-3, np.random.default_rng(0)
    motion = simulate(
        s.system, s.p, s.x0, s.control, times[-1], t_eval=times, mode='separated_ball_2'
    )
    rows = motion.states + 1e-4 * rng.standard_normal(motion.states.shape)
    header = ','.join(['time', *s.system.state.names])
    np.savetxt(
        tmp_path / 'log.csv',
        np.column_stack([times, rows]),
        delimiter=',',
        header=header,
        comments='',
    )
    log = read_log(tmp_path / 'log.csv', s.system, None)
    found = identify(s, log, {'ball_radius': (0.03, 0.08)}, 0.02).estimates['ball_radius']
    assert found.value == pytest.approx(0.05, abs=1e-4)
    assert found.half_width < 1e-4


@pytest.mark.slow  # 40 fits, some 30 s
def test_intervals_have_the_true_numbers_as_often_as_they_say():
    """95 % of 80 are 76; fewer than 70 would happen by chance once in 500 times."""
    inside = 0
    for seed in range(40):
        found = identify(scenario(), log_of(*swung(seed)), BOUNDS, 1.0)
        for name, value in TRUE.items():
            inside += abs(found.estimates[name].value - value) < found.estimates[name].half_width
    assert inside >= 70


def test_derivatives_are_those_of_differences():
    given, log = scenario(), log_of(*swung())
    window = windows_of(log, 0.5, 1)[0]
    law = given.control.function
    shooting = Shooting(given.system, 'rolling', given.p, np.array([0, 1]), ['angle'], law)
    x, z = np.array([0.2, -0.4]), np.array([0.5, 0.2])
    shot = shooting.shot(window, x, z)
    for k in range(2):
        h = 1e-6 * np.eye(2)[k]
        start = (
            shooting.shot(window, x + h, z).residuals - shooting.shot(window, x - h, z).residuals
        )
        value = (
            shooting.shot(window, x, z + h).residuals - shooting.shot(window, x, z - h).residuals
        )
        np.testing.assert_allclose(shot.by_start[:, k], start / 2e-6, atol=1e-7)
        np.testing.assert_allclose(shot.by_parameters[:, k], value / 2e-6, atol=1e-7)
    assert np.abs(shot.by_start.T @ projected(shot)).max() < 1e-12


def test_what_only_a_product_tells_cannot_be_told_apart():
    """Arm and damping of a pendulum that hardly moves its arm: only their ratio is reported."""
    J = np.column_stack([np.ones(200), np.ones(200)])
    r = 1e-3 * np.random.default_rng(0).standard_normal(200)
    covariance = jackknife(J, r, np.repeat(np.arange(10), 20), np.eye(2))
    assert covariance[0, 1] / covariance[0, 0] == pytest.approx(-1, abs=1e-3)
    assert covariance[0, 0] == pytest.approx(0.5, rel=0.01)  # the bounds' width remains


def test_noise_determines_nothing():
    times, angles = swung()
    angles = np.random.default_rng(1).standard_normal(angles.shape)
    found = identify(scenario(), log_of(times, angles), BOUNDS, 1.0)
    assert not found.explains
    assert not found.complete


HEADER = 'time,angle,torque\n'
ROWS = ['0.00,0.1,0', '0.02,0.2,0', '0.04,0.3,0']


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('angle,torque\n0,1\n', "no column 'time'; name it so, or map it"),
        ('time,torque\n0,1\n', 'nothing of the state; at least one of angle, rate is needed'),
        (HEADER + '0,0.1,0\n0.02,x,0\n', "line 3: angle must be a number .*, got 'x'"),
        (HEADER + '0,0.1,0\n0.02,,0\n0.04,0.3,\n', "line 4: torque must be .*, got ''"),
        (HEADER + '0,0.1,0\n0.02,0.2,0\n0.01,0.3,0\n', 'line 4: time runs back from 0.02'),
        (HEADER + '0,0.1,0\n0.02,0.1,0\n', 'lines 2 to 3: angle is 0.1 in all rows: a constant'),
        ('time\rangle,torque\n0,1\n', 'cannot be read as CSV: new-line character'),
        (HEADER, 'the file: angle is empty: a constant signal determines nothing'),
    ],
)
def test_a_bad_log_is_named_by_its_line(tmp_path, text, expected):
    path = tmp_path / 'log.csv'
    path.write_text(text)
    with pytest.raises(ParameterError, match=rf'^{re.escape(str(path))}: .*{expected}'):
        read_log(path, scenario().system, None)


def test_columns_are_mapped_by_name_or_number_with_scale_and_offset(tmp_path):
    path, columns = tmp_path / 'log.csv', tmp_path / 'columns.yaml'
    path.write_text('7000,90\n7020,180\n7020,180\n7040,\n7060,0\n')
    columns.write_text(
        'time: {column: 1, scale: 0.001}\nangle: {column: 2, scale: 0.1, offset: -1}'
    )
    log = read_log(path, scenario().system, read_mapping(columns))
    np.testing.assert_allclose(log.times, [0, 0.02, 0.04, 0.06])
    np.testing.assert_allclose(log.measured[:, 0], [8, 17, np.nan, -1])
    assert log.repeated == 1
    assert log.controls is None
    columns.write_text('time: {column: 1, scale: 0}')
    with pytest.raises(ParameterError, match=r'time: the name or number of a column is needed'):
        read_mapping(columns)


def test_no_window_spans_a_gap():
    times, angles = swung()
    keep = (times < 3.0) | (times > 3.5)
    log = log_of(times[keep], angles[keep])
    assert len(stretches(log)) == 2
    windows = windows_of(log, 1.0, 1)
    assert all(np.ptp(w.times) == pytest.approx(1.0) for w in windows)
    assert {w.first for w in windows} == {0, 50, 150, *range(150, 525, 50)} - {100}
    longest = r'log: lines \d+ to \d+: [\d.]+ s, the longest part without a gap or rest, has no '
    with pytest.raises(ParameterError, match=longest + 'window of 30 s'):
        windows_of(log, 30.0, 1)
    apart = r'log: lines \d+ to \d+: the rows are 20 s apart, more than a --window of 1 s'
    with pytest.raises(ParameterError, match=apart):
        windows_of(log_of(1000 * times, angles), 1.0, 1)


def test_units_by_which_no_motion_is_finite_are_named(tmp_path, capsys):
    """The fit begins inside its bounds, where the motion is not finite either."""
    times = np.arange(0, 8, 0.02)
    rows = np.column_stack([times, 2e10 * np.sin(2 * times)])
    path = tmp_path / 'log.csv'
    np.savetxt(path, rows, delimiter=',', header='time,w_WS_W_y', comments='')
    wanted = ['--scenario', 'pendulum_start', '--fit', 'rolling_damping=0:0.1']
    assert main(['identify', str(path), *wanted]) == 2
    printed = capsys.readouterr().err
    assert f'{path}: lines 52 to 102: the motion from the measured start is not finite' in printed
    assert 'check units and signs of the columns' in printed


@pytest.mark.parametrize(
    ('bounds', 'expected'),
    [
        ({}, 'no parameter is uncertain'),
        ({'arn': (0, 1)}, "uncertain: no parameter 'arn'; did you mean 'arm'"),
        ({'arm': (0.1, 0.5)}, 'bounds low < high around its value 0.6 are needed'),
    ],
)
def test_bad_bounds_are_named(bounds, expected):
    with pytest.raises(ParameterError, match=expected):
        identify(scenario(), log_of(*swung()), bounds, 1.0)


@pytest.fixture
def motion(tmp_path):
    """Return the log of a driven sphere whose floor resists, measured at its contact point."""
    given = load_scenario('pendulum_torque')
    p = given.p.copy()
    p[given.system.parameters.index('rolling_damping')] = 0.02
    times = np.arange(0, 3, 0.02)
    run = simulate(given.system, p, given.x0, given.control, 3.0, t_eval=times)
    noise = 1e-4 * np.random.default_rng(0).standard_normal((times.size, 2))
    path = tmp_path / 'motion.csv'
    rows = np.column_stack([times, np.array(run.states)[:, :2] + noise])
    np.savetxt(path, rows, delimiter=',', header='time,contact_x,contact_y', comments='')
    return path


def test_the_command_prints_and_writes_what_it_found(motion, capsys, monkeypatch):
    drawn, saved = [], Figure.savefig
    monkeypatch.setattr(Figure, 'savefig', lambda f, *a, **k: (drawn.append(f), saved(f, *a, **k)))
    out, figure = motion.with_name('found.json'), motion.with_name('found.png')
    options = [
        '--scenario',
        'pendulum_torque',
        '--fit',
        'rolling_damping=0:0.1',
        '--window',
        '0.5',
    ]
    assert (
        main(['identify', str(motion), *options, '--json', str(out), '--figure', str(figure)]) == 0
    )
    found = json.loads(out.read_text())
    estimate = found['parameters']['rolling_damping']
    assert abs(estimate['value'] - 0.02) < estimate['half_width'] < 0.005
    assert figure.stat().st_size > 10_000
    ((over, against, *_),) = (f.axes for f in drawn)
    assert over.get_ylabel() == 'residual of contact_x [m]'
    assert against.get_xlabel() == 'contact_x [m]'
    assert not drawn[0].legends  # an empty box says nothing
    printed = capsys.readouterr().out
    assert re.search(r'rolling_damping +0.0\d+ \+- 0.00\d+ +N m s\n', printed)
    assert 'windows fitted' in printed


@pytest.mark.parametrize(
    ('options', 'expected'),
    [
        ([], r'mark some by the entry `uncertain` of the scenario, or by --fit NAME=LOW:HIGH'),
    ],
)
def test_the_command_names_what_is_wrong(motion, capsys, options, expected):
    assert main(['identify', str(motion), '--scenario', 'pendulum_torque', *options]) == 2
    assert re.search(expected, capsys.readouterr().err)


def test_a_scenario_marks_what_is_uncertain():
    raw = dict(load_scenario('pendulum_torque').raw)
    assert load_scenario({**raw, 'uncertain': {'mu': [0.1, 1]}}).raw['uncertain'] == {
        'mu': [0.1, 1]
    }
    with pytest.raises(ScenarioError, match=r'uncertain\.mu'):
        load_scenario({**raw, 'uncertain': {'mu': [0.1]}})

"""Laws as C: the same bits as the law here, beside a law that knows nothing of CasADi."""

from dataclasses import replace
import math
from pathlib import Path
import re
import shutil
import subprocess

import casadi as ca
import numpy as np
import pytest
from rolling_controller.ball_balancer import protocol
from rolling_controller.ball_balancer.estimator import RigModel
from rolling_controller.ball_balancer.laws import EXPORTED, LAWS, LQR_SCALES, TILT
from rolling_controller.ball_balancer.predictive import AxisProgram, predictive_law
from rolling_controller.ball_balancer.predictive import FRAMES as AHEAD
from rolling_controller.ball_balancer.predictive_c import predictive_as_c
from rolling_controller.ball_balancer.rig import run_rig
from rolling_controller.export import c, compiled_law, cost
from rolling_controller.export.c import as_c
from rolling_controller.export.compiled_law import CompiledLaw
from rolling_controller.export.cost import deepest
from rolling_controller.law import replay
from rolling_controller.step_law import StepLaw
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.faults import check
from scipy.linalg import expm, solve_discrete_are

COMPILER = shutil.which('gcc')
needs_compiler = pytest.mark.skipif(COMPILER is None, reason='there is no gcc here')
WARNINGS = [
    '-std=c99',
    '-pedantic',
    '-Wall',
    '-Wextra',
    '-Werror',
    '-Wdouble-promotion',
    '-ffp-contract=off',
]
SANITIZED = ['-fsanitize=undefined,address,float-divide-by-zero', '-fno-sanitize-recover=all']
FRAMES = round(60 * 29.7)
MAIN = """
#include <fenv.h>
#include <stdio.h>
#include "LAW.h"
int main(void) {
  LAW_state state;
  LAW_REAL_ in[4], out[N];
  double row[4];
  int k;
  LAW_start(&state);
  while (fread(row, sizeof(double), 4, stdin) == 4) {
    for (k = 0; k < 4; ++k) in[k] = (LAW_REAL_)row[k];
    feclearexcept(FE_ALL_EXCEPT);
    LAW_step(&state, in, in + 2, out);
    if (fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW)) return 3;
    for (k = 0; k < N; ++k) {
      double wide = (double)out[k];
      fwrite(&wide, sizeof(double), 1, stdout);
    }
  }
  return 0;
}
"""


@pytest.fixture(scope='module')
def rig():
    return RigModel.of(check(BallBalancerFile, load_scenario('ball_balancer').raw, ''))


@pytest.fixture(scope='module')
def inputs():
    """A minute of a ball that wanders, with lost frames, values that are none, and set points."""
    rng = np.random.default_rng(5)
    t = np.arange(FRAMES) / 29.7
    rows = np.column_stack(
        [0.05 * np.sin(2 * t), 0.04 * np.cos(3 * t), 0.04 * np.sign(np.sin(t)), 0 * t]
    )
    rows[:, :2] += 4e-5 * rng.normal(size=(FRAMES, 2))
    rows[rng.random(FRAMES) < 0.05, 0] = np.nan
    rows[600:640, 1] = np.inf  # lost for longer than the law is patient
    rows[900, 0], rows[901, 1], rows[902, 3] = 1e300, -11.0, np.nan
    return rows


@needs_compiler
def test_an_exported_law_runs_here_from_its_c(rig, inputs, monkeypatch):
    law = EXPORTED['pid'](rig)
    compiled = CompiledLaw(source=as_c(law))
    expected = replay(law, inputs[580:])[0]
    assert np.array_equal(replay(compiled, inputs[580:])[0], expected)
    start = compiled.start()
    moved, _ = compiled.step(start, (0.03, 0, 0, 0), 0.0)
    assert not np.array_equal(moved, start)
    assert np.array_equal(start, compiled.start()), 'a step leaves the memory it takes'
    broken = replace(compiled.source, source='none')
    with pytest.raises(ParameterError, match=r'pid\.c .*failed: .*error'):
        replace(compiled, source=broken).start()
    monkeypatch.setenv('PATH', '')
    with pytest.raises(ParameterError, match='there is no `cc`'):
        replace(compiled).start()


def run_c(source, inputs, folder, *options, real='double'):
    source.write(folder)
    outputs = 2 if source.name in LAWS else 6
    main = (
        MAIN.replace('LAW_REAL_', real).replace('LAW', source.name).replace('[N]', f'[{outputs}]')
    )
    (folder / 'main.c').write_text(main.replace('< N;', f'< {outputs};'))
    define = f'-D{source.name.upper()}_REAL={real}'
    command = [
        COMPILER,
        *WARNINGS,
        *options,
        define,
        f'{source.name}.c',
        'main.c',
        '-o',
        'law',
        '-lm',
    ]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(
        [folder / 'law'], input=inputs.tobytes(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout).reshape(-1, outputs)


@needs_compiler
@pytest.mark.parametrize(
    'name', [n if n == 'pid' else pytest.param(n, marks=pytest.mark.slow) for n in EXPORTED]
)
def test_c_gives_the_same_bits_in_double(name, rig, inputs, tmp_path):
    law = EXPORTED[name](rig)
    source = as_c(law)
    expected = replay(law, inputs)[0]
    for k, options in enumerate((SANITIZED, ['-O2'])):
        (tmp_path / str(k)).mkdir()
        found = run_c(source, inputs, tmp_path / str(k), *options)
        assert np.isfinite(found).all()
        assert np.array_equal(found.view(np.uint64), expected.view(np.uint64))
    if name in LAWS:
        assert (found[611:640] == 0).all(), 'level while the ball is lost'
        assert abs(found).max() <= rig.reach
        assert abs(found[:600]).max() > 20


@needs_compiler
def test_the_estimator_in_float_keeps_to_what_is_stated(rig, inputs, tmp_path):
    """Less than 0.1 mm while the ball is seen, as stated in docs/ball_balancer.md."""
    law, driven = EXPORTED['estimator'](rig), inputs * [1, 1, 2500, 2500]
    expected = replay(law, driven)[0]
    found = run_c(as_c(law), driven, tmp_path, '-O2', real='float')
    off = np.delete(abs(found - expected), np.s_[600:640], axis=0).max(axis=0)
    assert off[:2].max() < 1e-4, 'place [m]'
    assert off[2:4].max() < 3e-3, 'rate [m/s]'
    assert off[4:].max() < 1.5, 'offset [counts]'


@needs_compiler
@pytest.mark.parametrize(
    'name', [n if n == 'pid' else pytest.param(n, marks=pytest.mark.slow) for n in LAWS]
)
def test_a_step_in_float_differs_by_a_count(name, rig, inputs):
    """
    At most, from the same state, and in few of the frames of a minute.

    Beyond a step a law amplifies a count where the ball does not answer it, as here.
    """
    double, single = in_both_types(name, rig)
    off, z = [], double.start()
    for row in inputs:
        _, wanted = single.step(z, row, 0.0)
        z, exact = double.step(z, row, 0.0)
        off.append(abs(wanted - exact).max())
    assert max(off) <= 1
    assert np.count_nonzero(off) < 0.005 * FRAMES


@needs_compiler
@pytest.mark.slow
def test_the_predictive_law_in_float_drives_the_rig():
    """Its ball stays near the one that the same C in double drives; the worst are moments."""
    file = check(BallBalancerFile, load_scenario('ball_balancer').raw, '')
    laws = in_both_types('predictive', RigModel.of(file))
    double, single = (run_rig(file, law, protocol.jumps, 60.0) for law in laws)
    off = np.hypot(*(single.states - double.states)[:, :2].T)
    assert off.max() < 12e-3
    assert np.median(off) < 1e-3
    assert (
        max(j.end_error for j in protocol.judged(single.times, single.states[:, :2]))
        < protocol.WITHIN
    )


def in_both_types(name, rig):
    """Return a law as C in double and in float."""
    if name == 'predictive':
        pytest.importorskip('daqp')
    law = LAWS[name](rig)
    source = predictive_as_c(law) if name == 'predictive' else as_c(law)
    double = CompiledLaw(source=source)
    return double, replace(double, real='float')


@needs_compiler
@pytest.mark.parametrize('real', ['double', 'float'])
@pytest.mark.parametrize(
    'name',
    [n if n == 'pid' else pytest.param(n, marks=pytest.mark.slow) for n in (*LAWS, 'estimator')],
)
def test_no_input_raises_a_flag(name, real, rig, tmp_path):
    """No invalid operation, division by zero or overflow; outputs stay within their limits."""
    rng = np.random.default_rng(8)
    law = LAWS.get(name, EXPORTED.get(name))(rig)
    edges = [
        np.nan,
        -np.nan,
        np.inf,
        -np.inf,
        1e300,
        -1e38,
        5e-324,
        -1e-40,
        0.0,
        -0.0,
        9.99,
        -10.0,
    ]
    rows = rng.choice([*edges, *rng.normal(0, 0.05, 12), *rng.normal(0, 3, 4)], size=(1500, 4))
    rows[500:1000] = rng.choice([-9.99, -0.05, 0.05, 9.99], size=(500, 4))  # seen, but anywhere
    rows[1000:] = rng.normal(0, 0.05, size=(500, 4))
    source = predictive_as_c(law) if name == 'predictive' else as_c(law)
    found = run_c(source, rows, tmp_path, '-O1', *SANITIZED, real=real)
    assert np.isfinite(found).all()
    if name != 'estimator':
        assert abs(found).max() <= rig.reach


@needs_compiler
def test_the_cost_is_that_of_the_deepest_calls(rig, monkeypatch):
    calls = [('a', 'b'), ('a', 'c'), ('c', 'd'), ('b', 'outside'), ('e', 'd')]
    sizes = {'a': 100, 'b': 30, 'c': 20, 'd': 16, 'e': 110}
    graph = [
        f'node: {{ title: "{n}" label: "{n}\\nlaw.c:1:2\\n{k} bytes (static)" }}'
        for n, k in sizes.items()
    ]
    graph += [
        f'edge: {{ sourcename: "{a}" targetname: "{b}" label: "law.c:3:4" }}' for a, b in calls
    ]
    assert deepest('\n'.join(graph)) == 136
    source = as_c(EXPORTED['pid'](rig))
    monkeypatch.setattr(cost, 'COMPILERS', ('cc',))
    said = re.match(
        r'(\d+) bytes of flash and (\d+) of stack in float', cost.compiled_cost(source)
    )
    assert 1e3 < int(said[1]) < 1e4
    assert 0 < int(said[2]) < 8 * source.work + 200  # and registers that are kept
    assert cost.compiled_cost(replace(source, source='none')) == 'not known: cc failed'
    monkeypatch.setenv('PATH', '')
    assert cost.compiled_cost(source) == 'not known: there is no C compiler here'


@needs_compiler
@pytest.mark.slow
def test_the_predictive_law_in_c_does_what_the_law_here_does(rig, inputs, tmp_path):
    """With another solver. Commands are whole counts: none differs."""
    pytest.importorskip('daqp')
    law = predictive_law(rig)
    expected = replay(law, inputs)[0]
    found = run_c(predictive_as_c(law), inputs, tmp_path, '-O1', *SANITIZED)
    assert abs(found - expected).max() <= 1e-6 * rig.reach
    assert (found[611:640] == 0).all(), 'level while the ball is lost'
    assert abs(found).max() == rig.reach
    assert np.ptp(found[:600], axis=0).min() > 100


PROBLEMS = """
#include <stdio.h>
#include "predictive.c"
int main(void) {
  REAL asked[8], value[ROWS], low[ROWS], high[ROWS], tilt;
  while (fread(asked, sizeof(REAL), 8, stdin) == 8) {
    problem(asked, value, low, high);
    tilt = planned(asked);
    fwrite(value, sizeof(REAL), ROWS, stdout);
    fwrite(low, sizeof(REAL), ROWS, stdout);
    fwrite(high, sizeof(REAL), ROWS, stdout);
    fwrite(&tilt, sizeof(REAL), 1, stdout);
  }
  return 0;
}
"""


@needs_compiler
def test_the_programs_in_c_are_those_of_the_law_here(rig, tmp_path):
    """Data to 1e-12 of their size, and the tilt that is planned to 1e-6 of the reach."""
    pytest.importorskip('daqp')
    rng, program = np.random.default_rng(2), AxisProgram(rig)
    size = [0.05, 0.2, 0.6 * rig.reach, 0.6 * rig.speed, 0.05, 15.0, 10.0, 10.0]
    asked = rng.normal(size=(60, 8)) * size
    predictive_as_c(predictive_law(rig)).write(tmp_path)
    (tmp_path / 'main.c').write_text(PROBLEMS)
    command = [COMPILER, *WARNINGS, '-O1', 'main.c', '-o', 'problems']
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(
        [tmp_path / 'problems'], input=asked.tobytes(), capture_output=True, check=True
    )
    found = np.frombuffer(done.stdout).reshape(len(asked), -1)
    L = np.linalg.cholesky(program.H)
    rows = np.linalg.solve(L, np.vstack([np.eye(AHEAD), program.limited]).T).T
    scale = np.linalg.norm(rows, axis=1)
    from_values, limited = np.linalg.pinv(rows / scale[:, None]), 0
    for row, out in zip(asked, found, strict=True):
        _, f, low, high = program.problem(row[:4], *row[4:])
        value, ends = out[: len(rows)], out[len(rows) : -1]
        y = from_values @ value
        assert abs(L @ y + f).max() < 1e-12 * abs(f).max()
        assert abs(rows @ y / scale - value).max() < 1e-12 * abs(value).max()
        expected = np.concatenate([low, high]) / np.tile(scale, 2)
        assert abs(ends - expected).max() < 1e-12 * abs(expected).max()
        limited += bool((rows @ y > high).any() or (rows @ y < low).any())
        planned = program.plan(row[:4], *row[4:])[0, 2]
        assert out[-1] == pytest.approx(planned, abs=1e-6 * rig.reach)
    assert limited > 40, 'most of these programs meet a limit'


# What the sketch needs of a board: lines of the standard input come every 34 ms, "-" does not.
ARDUINO = """
#include <stdio.h>
#include <string.h>
static unsigned long now;
static unsigned long millis() { return now; }
static char waiting[256];
static size_t taken;
static struct {
  void begin(long) {}
  int available() { return (int)(strlen(waiting) - taken); }
  int read() { return waiting[taken++]; }
} Serial;
struct Servo {
  int pin;
  void attach(int to) { pin = to; }
  void writeMicroseconds(int pulse) { printf("%d %d\\n", pin, pulse); }
};
void setup();
void loop();
int main() {
  setup();
  for (now = 1; !feof(stdin); ++now) {
    if (now % 34 == 0 && fgets(waiting, sizeof waiting, stdin)) {
      taken = strcmp(waiting, "-\\n") ? 0 : strlen(waiting);
    }
    loop();
  }
}
"""
SKETCH = Path(__file__).parents[2] / 'examples/ball_balancer_board/ball_balancer_board.ino'


@needs_compiler
@pytest.mark.skipif(shutil.which('g++') is None, reason='there is no g++ here')
def test_the_sketch_for_a_board_drives_its_servos(rig, inputs, tmp_path):
    law, rows = EXPORTED['lqr'](rig), inputs[:60].copy()
    rows[20, :2] = rows[25:40, :2] = np.nan
    as_c(law).write(tmp_path)
    (tmp_path / 'Servo.h').write_text('')
    (tmp_path / 'Arduino.h').write_text(ARDUINO)
    subprocess.run([COMPILER, *WARNINGS, '-c', 'lqr.c'], cwd=tmp_path, check=True)
    command = ['g++', '-Wall', '-Wextra', '-Werror', '-fsanitize=undefined,address', '-I.']
    command += ['-include', 'Arduino.h', '-x', 'c++', str(SKETCH), '-x', 'none', 'lqr.o']
    subprocess.run([*command, '-o', 'sketch'], cwd=tmp_path, check=True)
    lines = [' '.join(map(repr, row)) for row in rows.tolist()]
    rows[20, 2:], rows[25:35, 2:], rows[35:40, 2:] = rows[19, 2:], rows[24, 2:], np.nan
    lines[20], lines[25:35] = '-', ['-'] * 10
    lines[35:40] = ['nonsense', '1 ' * 60, '', '-', '-']
    text = '\n'.join([*lines, ''])
    done = subprocess.run(
        [tmp_path / 'sketch'], input=text, capture_output=True, text=True, check=True
    )
    said = np.array([line.split() for line in done.stdout.splitlines()], dtype=int)
    assert said[:2, 0].tolist() == [9, 10]
    assert np.array_equal(said[:, 1].reshape(-1, 2), 1500 + 2 * replay(law, rows)[0])
    assert (said[2 * 36 : 2 * 40, 1] == 1500).all(), 'level while the ball is lost'


class Oracle:
    """The regulator with its filter in matrices, by the book, one axis at a time."""

    def __init__(self, rig):
        self.rig, T, g = rig, rig.period, rig.gain
        A = np.array([[1, T, g * T**2 / 2], [0, 1, g * T], [0, 0, 1]])
        kick = np.array([[T**2 / 2], [T], [0]])
        Q = kick @ kick.T * 0.15**2 / T
        Q[2, 2] = 40.0**2 * T
        C = np.array([[1.0, 0, 0]])
        P = np.eye(3)
        for _ in range(2000):  # the filter's own recursion, until it stands still
            K = P @ C.T / (C @ P @ C.T + rig.noise**2)
            P = A @ (P - K @ C @ P) @ A.T + Q
        self.K = K[:, 0]
        lag = np.sqrt(TILT / rig.acceleration)
        F = np.array([[0, 1, 0, 0], [0, 0, g, 0], [0, 0, -1 / lag, 1 / lag], [0, 0, 0, 0]])
        E = expm(F * T)
        A, B = E[:3, :3], E[:3, 3:]
        P = solve_discrete_are(A, B, np.diag(1 / np.square(LQR_SCALES)), [[1 / TILT**2]])
        self.gain = np.linalg.solve([[1 / TILT**2]] + B.T @ P @ B, B.T @ P @ A)[0]
        self.servo, self.ball, self.sent = np.zeros(2), np.zeros(3), [0.0, 0.0, 0.0]
        self.followed = 0

    def flow(self, servo, ball, command, duration):
        r = self.rig
        n = int(np.ceil(duration / 3e-3))
        h = duration / n
        for _ in range(n):
            angle, rate = servo
            way = command - angle - rate * abs(rate) / 2 / r.acceleration - rate / r.stiffness
            inner = 4 * r.stiffness
            a = np.clip(
                inner * way / (abs(rate) / r.acceleration + 1 / r.stiffness),
                inner * (-r.speed - rate),
                inner * (r.speed - rate),
            )
            rate = rate + h * np.clip(a, -r.acceleration, r.acceleration)
            new = angle + h * rate
            pull = r.gain * ((angle + new) / 2 + ball[2])
            carried = r.lever * (new - angle)
            ball = ball + np.array([h * ball[1] + h * h / 2 * pull - carried, h * pull, 0])
            servo = np.array([new, rate])
        return servo, ball

    def step(self, y, seen, goal):
        T, rest = self.rig.period, self.rig.latency - self.rig.period
        servo, ball = self.servo, self.ball
        for command, duration in ((self.sent[2], rest), (self.sent[1], T - rest)):
            servo, ball = self.flow(servo, ball, command, duration)
        if seen and self.followed:
            ball = ball + self.K * (y - ball[0])
        elif seen:
            ball = np.array([y, 0.0, ball[2]])
        self.followed = 10 if seen else max(0, self.followed - 1)
        if not self.followed:
            ball[1] = 0.0
        self.servo, self.ball = servo, ball
        for command, duration in ((self.sent[1], rest), (self.sent[0], T)):
            servo, ball = self.flow(servo, ball, command, duration)
        k = self.gain
        level = ball[0] + self.rig.lever * (servo[0] + ball[2])
        wanted = -ball[2] - k @ [level - goal, ball[1], servo[0] + ball[2]]
        command = np.floor(np.clip(wanted, -self.rig.reach, self.rig.reach) + 0.5)
        command = command if self.followed else 0.0
        self.sent = [command, *self.sent[:2]]
        return command


@pytest.mark.parametrize('frames', [150, pytest.param(FRAMES, marks=pytest.mark.slow)])
def test_the_law_is_that_of_an_independent_oracle(rig, inputs, frames):
    axes = [Oracle(rig), Oracle(rig)]
    expected, inputs = [], inputs[:frames]
    for row in inputs:
        seen = bool((abs(row[:2]) < 10).all())
        goal = row[2:] if (abs(row[2:]) < 10).all() else np.zeros(2)
        expected.append([axis.step(row[k], seen, goal[k]) for k, axis in enumerate(axes)])
    assert np.array_equal(replay(LAWS['lqr'](rig), inputs)[0], expected)


Y, R = ca.SX.sym('y'), ca.SX.sym('r')


def law_of(output):
    """Return a law that does not change its state, with an output of what is measured and set."""
    one = Layout((Entry('v', ('v',), 'm'),))
    z, seen = ca.SX.sym('z'), ca.SX.sym('seen')
    return StepLaw(
        name='bad',
        text='',
        period=0.01,
        state=one,
        measurement=one,
        set_point=Layout((Entry('wanted', ('wanted',), 'm'),)),
        output=one,
        function=ca.Function('bad', [z, Y, seen, R], [z, output]),
        limits=(1.0, 1.0),
    )


def test_a_law_that_needs_a_library_is_refused():
    with pytest.raises(ParameterError, match='in a library'):
        as_c(law_of(ca.sin(Y)))


@pytest.mark.skipif(shutil.which('cc') is None, reason='no C compiler')
@pytest.mark.parametrize(('real', 'tolerance'), [('double', 1e-15), ('float', 1e-6)])
def test_a_law_of_a_machine_takes_sines_and_divides_by_what_may_vanish(real, tolerance):
    """The quotient is then zero, not infinite: a branch that is not taken has none to hand on."""
    output = ca.sin(Y) / R + ca.cos(Y) + ca.atan2(Y, R)
    law = CompiledLaw(source=as_c(law_of(output), library=True), real=real)
    for y, r in ((0.3, 0.7), (-0.6, 0.2), (0.3, 0.0)):
        expected = (math.sin(y) / r if r else 0.0) + math.cos(y) + math.atan2(y, r)
        _, found = law.step(law.start(), [y, r], 0.0)
        assert found[0] == pytest.approx(expected, abs=4 * tolerance)


POSITIVE = {
    'a number': ca.SX(2.0),
    'a sum': ca.fabs(Y) + R**2 + 0.5,
    'a product': (ca.fabs(Y) + 2.0) * (ca.fabs(R) + 0.5),
    'a root': ca.sqrt(ca.fabs(Y) + 4.0),
    'the greater one': ca.fmax(Y, 0.25),
}
MAY_VANISH = {
    'what is measured': R,
    'a magnitude': ca.fabs(R),
    'a square': R**2,
    'a difference': ca.fabs(Y) - 1.0,
    'a sum with what is measured': Y + 1.0,
    'a product with what is measured': (ca.fabs(Y) + 2.0) * R,
    'a product of negative ones': ca.fmax(Y, -2.0) * ca.fmax(R, -3.0),
    'a product with a magnitude': ca.fabs(Y) * (ca.fabs(R) + 0.5),
    'a quotient': ca.fabs(Y) / (ca.fabs(R) + 0.5),
    'the greater one': ca.fmax(Y, 0.0),
    'the smaller one': ca.fmin(Y, 0.25),
    'one of two': ca.if_else(R > 0, ca.fabs(Y) + 1.0, 0.0),
    'a root': ca.sqrt(ca.fmax(Y, -4.0)),
}


@pytest.mark.parametrize('below', POSITIVE.values(), ids=POSITIVE)
def test_a_law_divides_by_what_is_positive(below):
    assert as_c(law_of(Y / below)).name == 'bad'


@pytest.mark.parametrize('below', MAY_VANISH.values(), ids=MAY_VANISH)
def test_a_law_does_not_divide_by_what_may_vanish(below):
    with pytest.raises(ParameterError, match="law 'bad' divides by what may vanish"):
        as_c(law_of(Y / below))


def test_source_says_what_a_step_takes_and_is_written_into_any_folder(tmp_path):
    source = as_c(law_of(ca.fabs(Y) * R + 0.5))
    assert source.operations == 3
    header, code = source.write(tmp_path / 'some' / 'where')
    assert (header.name, code.name) == ('bad.h', 'bad.c')
    assert (header.read_text(), code.read_text()) == (source.header, source.source)


@pytest.mark.parametrize('value', [0.0, -3.0, 1e9 - 1, 1e9, 0.1, -2.5e-300])
def test_constants_are_written_exactly(value):
    """Small whole numbers as such, others by all their bits."""
    text = c.number(value)
    assert (
        float.fromhex(text.removeprefix('(REAL)')) == value
        if 'x' in text
        else float(text) == value
    )
    assert ('x' in text) == (value not in (0.0, -3.0, 1e9 - 1))


@needs_compiler
@pytest.mark.parametrize(('real', 'kind'), [('double', np.float64), ('float', np.float32)])
def test_a_compiled_law_keeps_its_numbers_in_its_type(real, kind):
    law = CompiledLaw(source=as_c(law_of(Y / 3 + R)), real=real)
    z = law.start()
    assert (z.dtype, z.size) == (kind, law.law.state.size)
    z, out = law.step(z, [0.5, 0.25], 0.0)
    assert z.dtype == kind
    assert out.dtype == float
    assert out.tolist() == [kind(kind(0.5) / kind(3) + kind(0.25))]


def test_a_law_is_not_compiled_without_a_compiler(monkeypatch):
    monkeypatch.setattr(compiled_law.shutil, 'which', lambda _: None)
    law = CompiledLaw(source=as_c(law_of(Y + R)))
    with pytest.raises(ParameterError, match=r'^an exported law needs a C compiler'):
        law.start()


@needs_compiler
def test_what_a_compiler_says_is_reported(monkeypatch):
    monkeypatch.setattr(compiled_law, 'OPTIONS', ('-fno-such-option',))
    law = CompiledLaw(source=as_c(law_of(Y + R)))
    with pytest.raises(ParameterError, match=r'^`.*cc -fno-such-option .*` failed: [^b]'):
        law.start()

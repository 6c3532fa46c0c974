"""
Whatever stands in a scenario, `rolling check` and `rolling simulate` end with one clear answer.

One entry of a good scenario is replaced, taken out or renamed, at random. `check` ends with status
0 or 2; what it refuses `simulate` refuses too, and what it calls good runs, to its end (0) or to
where the run itself stops it (1).
"""

import copy
from functools import cache
from pathlib import Path

from hypothesis import example, given, HealthCheck, settings
from hypothesis import strategies as st
import pytest
from rolling_dynamics.errors import CancelledError
from rolling_robotics import console
from rolling_robotics.cli import main
from rolling_robotics.console import Progress
import yaml

REPORTS = 4  # of a run, after which it is stopped as by Ctrl-C: it may be right and long
STOPPED = 130
TEXTS = (Path(__file__).parent / 'fuzzed.yaml').read_text()
SHIPPED = Path(__file__).parents[2] / 'config' / 'scenarios'
MACHINES = ('omni_cart', 'two_fingertips')  # from parts, as they are shipped
GONE, RENAMED = object(), object()


@cache
def bases():
    """Return the good scenarios by name."""
    machines = {name: (SHIPPED / f'{name}.yaml').read_text() for name in MACHINES}
    return yaml.safe_load(TEXTS) | {n: yaml.safe_load(text) for n, text in machines.items()}


def paths(value, path=()):
    """Yield the path of each entry."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from paths(inner, (*path, key))


def changed(document, path, value):
    """Return a document with another value at a path."""
    document = copy.deepcopy(document)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[path[-1]]
    elif value is RENAMED and isinstance(inner, dict):
        inner[f'{path[-1]}_'] = inner.pop(path[-1])
    else:
        inner[path[-1]] = None if value is RENAMED else value
    return document


def nested(depth):
    """Return a list in a list and so on."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


NUMBERS = (
    *(0, -1, 1, 3.0, 0.5, -0.0, 10**400, 2**63, 1e12, 1e13, 1e6, 1e9, 1e154, 1e300, -1e300),
    *(1e-300, -1e-300, 5e-324, 1e-12, 1e-9, 1e-6, float('nan'), float('inf'), float('-inf')),
)
WORDS = (
    *('', ' ', 'nan', 'inf', '1/0', '0/0', '1/t', '1/(t - 0.01)', 'log(-1)', 'sqrt(-1)', '(((('),
    *('t', 'u', 'v', 'theta', 'x', 'nx', 'exp(1e9)', '10**400', '1e400', 'where(t, 1, 0)', '1//2'),
    *(
        'solid',
        '*',
        '$x',
        '$',
        '100 mm',
        '\0',
        '\u2028',
        '-' * 3000 + '1',
        '1' * 5000,
        '1_0',
        '1j',
    ),
)
CONTAINERS = (
    *([], [[]], [1], [1, 2], [0, 0, 0], [1e300] * 3, ['1/0'] * 3, [None], [1, '((((']),
    *({}, {'kind': 'plane'}, {'times': [], 'values': []}, {'from': 1, 'to': 2, 'count': 3.0}),
    *(nested(3), nested(40), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
)
odd = st.sampled_from((GONE, RENAMED, None, True, False, *NUMBERS, *WORDS, *CONTAINERS))
# What parsers trip over; the tables of Unicode that any letter asks for take a second to make.
LETTERS = '0179eE.+-*/()[]{}$#&!|>%@`"\',:? _abtuvxyz\t\n\r\0\x07\x1b\x85\u2028\ufeff\u202eé€𝜃'
anything = (
    odd
    | st.floats(allow_subnormal=True)
    | st.integers()
    | st.text(LETTERS, max_size=6)
    | st.lists(st.floats() | st.integers(-3, 3), max_size=4)
)
ENTRIES = [(name, path) for name in sorted(bases()) for path in paths(bases()[name])]
fuzzed = st.tuples(st.sampled_from(ENTRIES), odd | anything).map(lambda c: (*c[0], c[1]))


@pytest.fixture
def short_runs(monkeypatch):
    """Evaluate as it stands, which needs no compiler, and stop a run that takes many steps."""
    monkeypatch.setenv('ROLLING_COMPILE', 'never')
    reports = [0]
    begin = Progress.__init__

    def start(shown, title):
        reports[0] = 0
        begin(shown, title)

    def say(_, __, share=None):
        reports[0] += share is not None
        if reports[0] > REPORTS:
            raise CancelledError

    monkeypatch.setattr(Progress, '__init__', start)
    monkeypatch.setattr(Progress, 'say', say)
    monkeypatch.setattr(console, 'PATIENCE', 3600)  # nothing is shown of work that goes on


def answer(arguments, capsys):
    """Run the command; return its status, after what it says has been judged."""
    capsys.readouterr()
    status = main([str(a) for a in arguments])
    said = capsys.readouterr()
    lines = said.err.splitlines()
    assert 'Traceback' not in said.err
    assert 'fault of the program' not in said.err, said.err
    if status in (0, STOPPED):
        return status
    assert status in (1, 2), said.err
    assert 1 <= len(lines) <= 9
    assert all(line.startswith('rolling: ') and len(line) < 1000 for line in lines)
    return status


def judge(changes, folder, capsys):
    """Run both commands on a changed scenario and hold their answers against each other."""
    name, path, value = changes
    file = folder / 'scenario.yaml'

    def check(document):
        file.write_text(yaml.safe_dump(document, sort_keys=False))
        return answer(['check', file], capsys)

    document = changed(bases()[name], path, value)
    checked = check(document)
    assert checked in (0, 2)
    beside = {'plan', 'sweep'} & document.keys()  # what a simulation does not read
    if beside and checked:
        checked = check({k: v for k, v in document.items() if k not in beside})
    run = answer(['simulate', file, '--out', folder / 'result.json'], capsys)
    assert (run == 2) == (checked == 2), 'check and simulate disagree'


BOTH = pytest.mark.usefixtures('short_runs')
QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]


@BOTH
@pytest.mark.parametrize('name', sorted(bases()))
def test_what_is_changed_was_good(name, tmp_path, capsys):
    file = tmp_path / 'scenario.yaml'
    file.write_text(yaml.safe_dump(bases()[name]))
    assert answer(['check', file], capsys) == 0
    assert answer(['simulate', file, '--out', tmp_path / 'result.json'], capsys) == 0


@BOTH
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(fuzzed)
@example(('plate', ('sweep', 'samples', 'count'), 3.0))
@example(('plate', ('sweep', 'vary', '$m'), ['((((', 1]))
@example(('plate', ('hand_motion', 'acceleration', 'a_WH_H', 0), '1/t'))
@example(('bowl', ('object', 'surface', 'support'), 'R'))
@example(('surface', ('inputs', 'virtual_surface', 'gamma_s'), '0/0'))
@example(('turned', ('inputs', 'angular_velocity', 1), -1e264))
@example(('pose', ('object', 'inertia'), 1e-300))
@example(('ball', ('force', 0), 10**400))
@example(('plate', ('plan', 'goal', 'contact_h', 1), 10**400))
@example(('plate', ('sweep', 'samples', 'count'), 10**400))
@example(('plate', ('object', 'mass'), -(10**400)))
@example(('disk', ('tolerances', 'absolute'), 1e-300))
@example(('ball', ('masses', 5, 'trajectory', 0), -1e248))
@example(('ball', ('masses', 3, 'rail', 'position', 0), 1e300))
@example(('ball', ('masses', 3, 'rail', 'position'), [1e300] * 3))
@example(('bowl', ('object', 'surface', 'dimensions', 'R'), 1e-129))
@example(('omni_cart', ('machine', 'joints', 'wheel_1', 'parent'), GONE))
@example(('two_fingertips', ('initial',), GONE))
@example(('two_fingertips', ('initial', 'p_left', 1), 1e300))
def test_every_change_has_one_clear_answer(tmp_path, capsys, changes):
    judge(changes, tmp_path, capsys)


@BOTH
@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(fuzzed)
def test_ten_thousand_changes_have_one_clear_answer(tmp_path, capsys, changes):
    judge(changes, tmp_path, capsys)

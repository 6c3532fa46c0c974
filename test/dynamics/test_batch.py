"""Batches of every system: against `simulate`, bit by bit in every arrangement, and events."""

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics import simulate
from rolling_dynamics.batch import BatchSimulator, simulator
from rolling_dynamics.batch.vector_source import vector_source
from rolling_dynamics.compiled import cache_folder, compiler
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import plugins
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.simulation.compiled_solver import closed_loop
from rolling_robotics.named_system import named_system
from scipy.integrate import DOP853

SYSTEMS = sorted(name for name, plugin in plugins().items() if plugin.example)
CORNERS = {'ball_balancer', 'labyrinth'}  # equations with corners: limits of servos
ENDED = {'labyrinth': {'wall': 'stop'}}  # each bounce multiplies what differs
LANES = 13  # not a multiple of any vector
needs_compiler = pytest.mark.skipif(compiler() is None, reason='no C compiler')


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    if compiler() is not None:
        monkeypatch.setenv('ROLLING_COMPILE', 'now')


def random_lanes(name, size=LANES):
    """Return a system, and states, parameters and controls near those of its example."""
    system, p, x = named_system(name)[:3]
    rng = np.random.default_rng(len(name))
    scale = 0.02 * np.concatenate([np.full(e.size, e.scale) for e in system.tangent.entries])
    moves = scale[:, None] * rng.normal(size=(scale.size, size))
    x = np.array(system.retract.map(size)(np.tile(x, (size, 1)).T, moves)).T
    p = p * rng.uniform(0.98, 1.02, (size, p.size))
    u = 0.5 * rng.normal(size=(size, system.control.size))
    return system, x, p, u


def simulated(*lane, **options):
    """Return what `simulate` gives, by the virtual machine: its bits are the same, and at once."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv('ROLLING_COMPILE', 'never')
        return simulate(*lane, **options)


def finished(system, x, p, u, duration=0.1, dt=0.05, **options):
    """Return a batch that went on for a time."""
    batch = BatchSimulator(system, len(x), dt, **options)
    batch.reset(states=x, parameters=p)
    for _ in range(round(duration / dt)):
        batch.step(u)
    return batch


@pytest.mark.parametrize('name', sorted({*SYSTEMS} - CORNERS))
def test_fixed_steps_come_to_simulate_with_order_4(name):
    system, x, p, u = random_lanes(name, 3)
    guards = list(next(iter(system.modes.values())).guards)
    unwatched = dict.fromkeys(guards, 'ignore')
    truth = np.array(
        [
            simulated(system, *lane, 0.2, events=unwatched).states[-1]
            for lane in zip(p, x, u, strict=True)
        ]
    )
    max_step, error = 0.1, 1.0
    while error > 1e-6 and max_step > 1e-3:  # some are quicker than others
        max_step /= 2
        batch = finished(system, x, p, u, 0.2, 0.1, max_step=max_step, events=unwatched)
        assert batch.running.all(), batch.stopped
        error = np.abs(batch.states - truth).max()
    half = finished(system, x, p, u, 0.2, 0.1, max_step=max_step / 2, events=unwatched)
    assert 3.4 < np.log2(error / np.abs(half.states - truth).max()) < 4.9


@needs_compiler
@pytest.mark.parametrize('name', SYSTEMS)
@pytest.mark.parametrize(
    'kind', ['RK4', pytest.param('RK4 float32', marks=pytest.mark.slow), 'DOP853']
)
def test_same_bits_whatever_the_size_the_place_and_the_threads(name, kind, monkeypatch):
    monkeypatch.setattr(simulator, 'LEAST', 16)  # so that threads share even these few
    system, x, p, u = random_lanes(name, 3 * LANES)
    time = 0.1 if name in CORNERS else 0.6  # it changes modes all the time
    kind = dict(zip(('method', 'dtype'), kind.split(), strict=False))
    order = np.random.default_rng(0).permutation(3 * LANES)
    first = finished(system, x, p, 3 * u, time, time / 2, threads=1, **kind)
    assert first.compiled
    again = finished(
        system,
        *(np.tile(a[order], (2, 1)) for a in (x, p, 3 * u)),
        duration=time,
        dt=time / 2,
        threads=2,
        **kind,
    )
    np.testing.assert_array_equal(again.times, np.tile(first.times[order], 2))
    np.testing.assert_array_equal(again.states, np.tile(first.states[order], (2, 1)))
    for k in (0, 7, 38):
        alone = finished(system, x[[k]], p[[k]], 3 * u[[k]], time, time / 2, **kind)
        np.testing.assert_array_equal(alone.states[0], first.states[k])


@needs_compiler
@pytest.mark.parametrize('name', SYSTEMS)
@pytest.mark.parametrize('method', ['RK4', 'DOP853'])
def test_without_a_compiler_the_same_motion(name, method, monkeypatch):
    lanes = random_lanes(name)
    fast = finished(*lanes, method=method)
    monkeypatch.setenv('ROLLING_COMPILE', 'never')
    slow = finished(*lanes, method=method)
    assert fast.compiled
    assert not slow.compiled
    slack = 1e-9 if name in CORNERS else 1e-10  # rounding moves the steps across a corner
    np.testing.assert_allclose(fast.states, slow.states, rtol=slack, atol=1e-13)
    np.testing.assert_array_equal(fast.stopped, slow.stopped)


@needs_compiler
@pytest.mark.parametrize(
    ('size', 'pushes'), [(LANES, (1, 2)), pytest.param(1000, (1,), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize('name', SYSTEMS)
def test_steps_of_order_8_are_those_of_simulate(name, size, pushes):
    """Also where a guard ends the motion, most of them on the way; relative to the largest."""
    run = simulated if size == LANES else simulate  # worth machine code
    # a step across a corner errs by more than 1,000 tolerances in some (the test below)
    slack, far = (1e-9, 1 + 0.02 * size) if name in CORNERS else (1e-10, 0)
    (system, x, p, u), events = random_lanes(name, size), ENDED.get(name, {})
    for push in pushes:
        batch = finished(system, x, p, push * u, 2.0, 2.0, method='DOP853', events=events)
        apart = np.empty(size)
        for k in range(size):
            truth = run(system, p[k], x[k], push * u[k], 2.0, events=events)
            end = truth.events[-1] if truth.events else None
            assert batch.stopped[k] == (end.name if end else '')
            assert batch.times[k] == pytest.approx(end.time if end else 2.0, abs=1e-9)
            final = truth.states[-1]
            apart[k] = abs(batch.states[k] - final).max() / abs(final).max()
        assert (apart >= slack).sum() <= far
        assert apart.max() < 1e-6


def test_a_step_across_a_corner_is_accepted_with_a_greater_error_by_chance():
    """Of accepted steps of order 8, half in a hundred err by more than 1,000 tolerances."""
    nodes = np.append(DOP853.C[: DOP853.n_stages], 1.0)
    corner = np.linspace(0.0, 1.0, 20001)[1:-1]  # a rate that rises from there on
    rates = np.maximum(nodes[:, None] - corner, 0.0)
    error = (1.0 - corner) ** 2 / 2.0 - DOP853.B @ rates[:-1]
    fifth, third = DOP853.E5 @ rates, DOP853.E3 @ rates
    tolerated = fifth**2 / np.hypot(fifth, 0.1 * third)
    above = [(abs(error) > times * tolerated).mean() for times in (1, 1e3, 1e4)]
    np.testing.assert_allclose(above, [0.71, 0.0044, 0.0014], rtol=0.05)


@pytest.mark.slow  # waits for the compiler: six modes
@needs_compiler
def test_lanes_go_through_the_modes_of_contact():
    """A plate tosses a ball: it slips, sticks, leaves the plate; masses of it differ."""
    scenario = load_scenario('ball_tossed_by_plate')
    system, steps, size = scenario.system, 20, 3
    controls = 3 * np.random.default_rng(1).normal(size=(steps, system.control.size))
    p = np.tile(scenario.p, (size, 1))
    p[:, system.parameters.index('mass')] *= np.linspace(1, 1.05, size)[:, None]
    batch = BatchSimulator(system, size, 0.05, method='DOP853')
    batch.reset(states=scenario.x0, parameters=p)
    motion = batch.rollout(controls, steps)
    times = np.linspace(0, 0.05 * steps, steps + 1)
    held = np.repeat(times, 2)[1:-1], np.repeat(controls, 2, axis=0)
    went_through = set()
    for k in range(size):
        truth = simulated(system, p[k], scenario.x0, held, times[-1], t_eval=times)
        went_through |= {event.name for event in truth.events}
        assert batch.running[k]
        begins = np.isin(times, [e.time for e in truth.events])  # slip, by some 1e-6 m/s at once
        for rows, atol in ((begins, 3e-6), (~begins, 1e-7)):
            there, here = motion.states[rows, k], truth.states[rows]
            np.testing.assert_allclose(there, here, rtol=1e-7, atol=atol)
    assert {'slip', 'stick'} <= went_through


@pytest.mark.parametrize(
    'compile_', ['never', pytest.param('now', marks=[pytest.mark.slow, needs_compiler])]
)
def test_fixed_steps_go_through_slip_as_those_of_the_stepper(compile_, monkeypatch):
    """Balls land on a plate, slide and begin to roll; they spin each at its own rate."""
    monkeypatch.setenv('ROLLING_COMPILE', compile_)
    scenario = load_scenario('ball_tossed_by_plate')
    system, p, size = scenario.system, scenario.p, 3
    x = np.tile(scenario.x0, (size, 1))
    spin = system.state.slice('w_HO_H')
    x[:, spin] *= np.linspace(0.5, 1, size)[:, None]
    u = np.zeros(system.control.size)
    batch = BatchSimulator(system, size, 0.05)
    batch.reset(states=x, parameters=p)
    stepper = Stepper(system, p)
    truth = [stepper.begin(x[k], u) for k in range(size)]
    names = set()
    for _ in range(6):
        batch.step(u)
        truth = [stepper.step(s, u, 0.05) for s in truth]
        names |= {e.name for s in truth for e in s.events}
        assert batch.modes.tolist() == [s.mode for s in truth]
        assert abs(batch.states - np.array([s.x for s in truth])).max() < 1e-6
    assert {'landing', 'stick'} <= names
    assert {s.mode for s in truth} == {'rolling'}


@needs_compiler
def test_a_reset_forgets_how_often_modes_changed():
    """A ball leaves a wall and hits it in each of many episodes, the clock starting again."""
    system, p, x = named_system('labyrinth')[:3]
    batch = BatchSimulator(system, 1, 0.01)
    batch._batch.changes[:], batch._batch.changed[:] = 40, 5.0  # of an episode before
    batch.reset(states=x, parameters=p)
    assert batch._batch.changes[0] == 0
    assert batch._batch.changed[0] < 0


@pytest.mark.parametrize('name', SYSTEMS)
def test_events_are_those_of_simulate_within_a_nanosecond(name):
    system, x, p, u = random_lanes(name)
    ends = ENDED.get(name, {})
    batch = finished(system, x, p, 2 * u, 2.0, 0.5, max_step=2.5e-4, events=ends)
    slack = 1e-7 if name in CORNERS else 1e-9
    for k in range(LANES):
        events = simulated(system, p[k], x[k], 2 * u[k], 2.0, events=ends).events
        assert batch.stopped[k] == (events[-1].name if events else '')
        assert batch.times[k] == pytest.approx(events[-1].time if events else 2.0, abs=slack)


def falling():
    """Return a ball on a plate, and a control under which the plate falls away."""
    system, p, x = named_system('contact')[:3]
    u = np.zeros(system.control.size)
    u[system.control.index('a_WH_H_z')] = -12.0  # more than gravity takes
    return system, p, x, u


@pytest.mark.parametrize('threads', [1, 2])
@pytest.mark.parametrize('compile_', ['now', 'never'])
def test_an_event_stops_its_lane_and_no_other(compile_, threads, monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', compile_)
    system, p, x, down = falling()
    batch = BatchSimulator(system, 2 * LANES, 0.01, threads=threads)
    u = np.zeros((2 * LANES, system.control.size))
    u[[3, 17]] = down
    batch.reset(states=x, parameters=p, times=np.arange(2.0 * LANES))
    batch.step(u)
    assert np.flatnonzero(~batch.running).tolist() == [3, 17]
    assert batch.stopped[3] in ('normal_force', 'friction')
    assert batch.times[17] == 17.0
    before = batch.states.copy()
    batch.step(u)
    np.testing.assert_array_equal(batch.states[[3, 17]], before[[3, 17]])
    assert batch.times[4] == pytest.approx(4.02)
    batch.reset(np.arange(2 * LANES) == 3, states=x)
    assert batch.running[3]
    assert not batch.running[17]
    np.testing.assert_array_equal(batch.states[4], batch.states[5])


@needs_compiler
def test_a_damaged_library_is_built_anew(monkeypatch, tmp_path):
    monkeypatch.setenv('ROLLING_CACHE_DIR', str(tmp_path / 'cache'))
    lanes = random_lanes('spin_rolling_sphere')
    whole = finished(*lanes).states
    (file,) = cache_folder().glob('batch_*.so')
    file.unlink()  # this process has the old one mapped
    file.write_bytes(b'no library')
    again = finished(*lanes)
    assert again.compiled
    np.testing.assert_array_equal(again.states, whole)


@needs_compiler
def test_a_rollout_is_the_steps_one_after_the_other(monkeypatch):
    monkeypatch.setattr(simulator, 'LEAST', 16)
    size = 3 * LANES
    system, x, p, u = random_lanes('point_mass_disk', size)
    controls = u[None] * np.linspace(0, 1, 6)[:, None, None]
    batch = BatchSimulator(system, size, 0.02, threads=2)
    batch.reset(states=x, parameters=p)
    motion = batch.rollout(controls, 6)
    assert motion.states.shape == (7, size, system.state.size)
    by_policy = BatchSimulator(system, size, 0.02, threads=1)
    by_policy.reset(states=x, parameters=p)
    seen = []

    def policy(states, times):
        seen.append(times.copy())
        return controls[len(seen) - 1]

    np.testing.assert_array_equal(by_policy.rollout(policy, 6).states, motion.states)
    np.testing.assert_array_equal(np.array(seen), motion.times[:-1])


def test_a_law_in_the_loop_is_that_of_simulate(monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'never')
    system, x, p, u = random_lanes('point_mass_disk', 2)
    state, t = ca.SX.sym('x', system.state.size), ca.SX.sym('t')
    law = ca.Function(
        'law', [state, t], [0.1 * ca.cos(9 * t) * u[0] - 0.01 * state[: system.control.size]]
    )
    batch = finished(closed_loop(system, law), x, p, 9 * u, 0.1, 0.1, method='DOP853')
    assert batch.running.all()
    for k in range(2):
        truth = simulated(system, p[k], x[k], law, 0.1).states[-1]
        assert abs(batch.states[k] - truth).max() < 1e-10 * abs(truth).max()


@needs_compiler
def test_a_lane_whose_state_would_not_be_finite_stops_before():
    system, x, p, u = random_lanes('point_mass_disk')
    batch = BatchSimulator(
        system, LANES, 0.02, events={'friction': 'ignore', 'normal_force': 'ignore'}
    )
    batch.reset(states=x, parameters=p)
    batch.states[5] = 1e200
    batch.step(u)
    assert batch.stopped[5] == 'not_finite'
    assert np.isfinite(batch.states).all()
    assert batch.running.sum() == LANES - 1


def test_each_lane_starts_in_the_mode_that_its_state_is_in(monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'never')
    system, x, p, u = random_lanes('ball_balancer', 6)
    x[:, 2:] = 0.0  # a level plate holds a ball at rest
    x[1::2, system.state.slice('ball_rate')] = 0.1
    together = BatchSimulator(system, 6, 0.01, method='DOP853')
    together.reset(states=np.roll(x, 1, axis=0), parameters=p)
    together.reset(np.arange(6) != 3, states=x)
    stuck = together.modes == 'stuck'
    assert stuck.tolist() == [True, False, True, True, True, False]
    x[3] = together.states[3]
    together.step(u)
    for k in range(6):
        alone = finished(system, x[[k]], p[[k]], u[[k]], 0.01, 0.01, method='DOP853')
        np.testing.assert_array_equal(together.states[k], alone.states[0])
        assert together.modes[k] == alone.modes[0]


PARAMETERS = named_system('point_mass_disk').p
NOT_NUMBERS = np.full((4, 11), np.nan)
BAD = [
    (lambda b: b.reset(states=np.zeros(3), parameters=PARAMETERS), 'states takes shape .*11'),
    (lambda b: b.reset(states=NOT_NUMBERS, parameters=PARAMETERS), r'states must .* at \[0, 0\]'),
    (lambda b: b.reset(np.ones(4)), 'mask takes 4 truth values, got float64'),
    (lambda b: b.reset(), 'never started need states and parameters'),
    (lambda b: b.step(np.zeros(3)), r'u takes shape \(4,\) or \(4, 4\)'),
    (lambda b: b.rollout(np.zeros((3, 4)), 5), 'needed for 5 steps, got 3'),
    (lambda b: b.rollout(np.zeros(4), 0), 'steps must be a positive number'),
]


@pytest.mark.parametrize(('misuse', 'text'), BAD)
def test_misuse_is_told(misuse, text):
    batch = BatchSimulator(named_system('point_mass_disk').system, 4, 0.01)
    with pytest.raises(ParameterError, match=text):
        misuse(batch)


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        ({'size': 0}, 'size must be a positive number of trajectories'),
        ({'dt': -1.0}, 'dt must be positive'),
        ({'max_step': np.nan}, 'max_step must be positive'),
        ({'dtype': 'int8'}, 'dtype must be one of'),
        ({'threads': 0}, 'threads must be at least 1'),
        ({'mode': 'roling'}, 'mode: none .*rolling'),
        ({'method': 'Euler'}, 'method must be one of .*DOP853'),
        ({'method': 'DOP853', 'dtype': 'float32'}, 'DOP853 needs dtype float64'),
        ({'events': {'frictoin': 'stop'}}, 'events: no guard .*friction'),
    ],
)
def test_options_out_of_range_are_told(options, text):
    with pytest.raises(ParameterError, match=text):
        BatchSimulator(named_system('point_mass_disk').system, **{'size': 4, 'dt': 0.1, **options})


def test_divisions_by_one_denominator_take_one_reciprocal():
    a, b, c = (ca.SX.sym(n) for n in 'abc')
    shared = '\n'.join(vector_source(ca.Function('f', [a, b, c], [a / c + b / c])))
    assert shared.count('/') == 1
    assert 'one/' in shared
    apart = '\n'.join(vector_source(ca.Function('f', [a, b, c], [a / c + b / (a + c)])))
    assert apart.count('/') == 2
    assert 'one/' not in apart

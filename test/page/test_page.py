"""The page of a scenario moves as Stepper and Emulation do: side by side, in Node."""

from __future__ import annotations

from dataclasses import replace
import json
import math
from pathlib import Path
import shutil
import subprocess

import casadi as ca
import numpy as np
import pytest
from rolling_controller import run_lockstep
from rolling_controller.export.machine_laws import hold_law, law_source
from rolling_controller.lockstep import run_emulated
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism.impact import Friction, impact
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.simulation.emulation import Emulation
from rolling_dynamics.simulation.sensing import SensorStream
from rolling_robotics.page.modes import contacts_of, drawn_forces
from rolling_robotics.page.page import page_data, script
from rolling_robotics.page.sliders import sliders_of
from rolling_robotics.page.webassembly import webassembly
import yaml

NODE = shutil.which('node')
RUN = """
const data = require('./data.json'), untils = require('./times.json'), steps = untils.length;
const motion = new Motion(data), rig = new Rig(motion), events = [];
(data.tuned || []).forEach((v, k) => { rig.gains[k] = v; });
let before;
const go = k => { rig.advance(untils[k - 1]); return [...rig.r.s.x]; };
for (let k = 1; k <= steps && !rig.r.s.ended; ++k) {
  if (k === steps - 9) before = rig.keep();
  const x = go(k);
  events.push(...rig.r.s.events.map(e => [e.name, e.t]));
}
const {s} = rig.r;
const out = {x: [...s.x], t: s.t, mode: s.mode, ended: s.ended, events, u: [...rig.r.u]};
if (before && !s.ended) {
  rig.recall(before);
  for (let k = steps - 9; k <= steps; ++k) go(k);
  out.again = [...rig.r.s.x];
}
console.log(JSON.stringify(out));
"""


RESTS = """
system: machine
description: A ball lands, slips, rolls, and comes to rest by its rolling resistance.
machine:
  bodies:
    ball: {kind: ball, radius: 0.05, mass: 0.3}
  joints:
    ball: {kind: free}
  contacts:
    floor: {body: ball, mu: 0.3, mu_kinetic: 0.2, resistance: 2e-3}
initial: {p_ball: [0, 0, 0.06], v_ball: [0.4, 0.1, 0], w_ball: [0, -20, 3]}
duration: 1
"""


@pytest.fixture(autouse=True)
def _tools() -> None:
    pytest.importorskip('ziglang', reason='the compiler of Zig is not installed')
    if NODE is None:
        pytest.skip('node is not installed: nothing here runs WebAssembly')


def in_node(data: dict, times, folder: Path) -> dict:
    (folder / 'data.json').write_text(json.dumps(data))
    (folder / 'times.json').write_text(json.dumps(list(times)))
    (folder / 'run.js').write_text(script() + RUN)
    done = subprocess.run(
        [NODE, 'run.js'], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def here(scenario, steps: int):
    """Return the state with its mode after the same steps by Stepper, and the events."""
    stepper = Stepper(scenario.system, scenario.p, mode=scenario.mode, through_modes=True)
    control, s, events = FastFunction(scenario.control.function), None, []
    s = stepper.start(scenario.x0, control(scenario.x0, 0.0))
    for k in range(steps):
        s = stepper.step(s, control(s.x, s.t), (k + 1) * 1e-3 - s.t)
        events += [(e.name, e.time) for e in s.events]
        if s.ended is not None:
            break
    return s, events


def quiet(scenario, **changed):
    """Return a scenario whose sensors have no noise: page and NumPy draw it otherwise."""
    sensors = [replace(s, covariance=0 * s.covariance, **changed) for s in scenario.sensors]
    return replace(scenario, sensors=tuple(sensors))


def emulated(scenario, source, frames: int) -> np.ndarray:
    """Return the state when a law has answered so many measurements, by Emulation."""
    sensors, law = scenario.sensors, source.law
    rig = Emulation(scenario.system, scenario.p, sensors, scenario.actuators)

    def control(output):
        return np.array(source.control(output, scenario.p)).ravel()

    rig.restart(scenario.x0, control(np.zeros(law.output.size)))
    goal, delay = np.zeros(law.set_point.size), sensors[0].delay
    run_emulated(
        rig,
        law,
        lambda m: np.concatenate([m.value[: law.measurement.size], goal]),
        (frames + 0.5) * law.period,
        control,
        delay,
    )
    return rig.state.x


@pytest.mark.parametrize(
    ('law', 'exposure'),
    [
        ('lqr', 0.0123),
        *(pytest.param(n, 0.0, marks=pytest.mark.slow) for n in ('lqr', 'pid', 'predictive')),
    ],
)
def test_law_answers_sensors_through_actuators_as_in_the_emulation(
    law: str, exposure: float, tmp_path: Path
):
    """Camera, exported C with other gains, and late servos move the ball as Emulation does."""
    scenario = quiet(load_scenario('ball_balancer'), exposure=exposure)
    source, frames = law_source(scenario, law), 45
    tuned = tuple(np.round(np.array(source.law.tuned) * 0.8, 6).tolist())
    source = replace(source, law=replace(source.law, tuned=tuned))
    # looked at when the emulation is: a dead band makes steps of other lengths end elsewhere
    times = [k * source.law.period + scenario.sensors[0].delay for k in range(frames + 1)]
    found, x = (
        in_node({**page_data(scenario, law), 'tuned': tuned}, times, tmp_path),
        emulated(scenario, source, frames),
    )
    assert found['ended'] == ''
    assert np.abs(np.array(found['x']) - x).max() < 1e-9
    assert found['again'] == found['x']


FAULTS = {'loss': 0.2, 'blackout': 0.3, 'hidden': 0.1, 'swap': 0.15, 'outlier': 0.1}
SEEN = """
const motion = new Motion(require('./data.json')), rig = new Rig(motion), values = [];
for (let k = 0; k < 4000; ++k) { rig.measure(0); values.push([...rig.r.coming.at(-1).value]); }
console.log(JSON.stringify(values));
"""


def fractions(values: np.ndarray) -> dict[str, float]:
    """Return how often measurements of (1, 1, 1, 2, 2, 2) are missing, exchanged and in error."""
    gone = np.isnan(values)
    blind = gone.all(axis=1)
    whole = values[~gone.any(axis=1)]
    away = np.linalg.norm(np.sort(whole, axis=1) - [1, 1, 1, 2, 2, 2], axis=1)
    return {
        'blind': blind.mean(),
        'turns': np.mean(np.diff(blind)),
        'missing': gone[:, 0].mean(),
        'exchanged': np.mean(whole[away == 0][:, 0] == 2),
        'outliers': np.mean(away > 0),
    }


def test_sensors_are_disturbed_as_here(tmp_path: Path):
    """Blackouts, entries that are missing, exchanged and in error are as often as in Python."""
    scenario = load_scenario('ball_balancer')
    points = Layout(tuple(Entry(n, tuple(f'{n}_{a}' for a in 'xyz'), 'm') for n in 'ab'))
    changed = {'output': points, 'measure': lambda _: ca.DM([1, 1, 1, 2, 2, 2]), 'rate': 30.0}
    faults = FAULTS | {'outlier_size': 9.0, 'message': 'points'}
    sensor = replace(scenario.sensors[0], covariance=np.zeros((6, 6)), **changed, **faults)
    data = page_data(replace(scenario, sensors=(sensor,)), 'lqr')
    (tmp_path / 'data.json').write_text(json.dumps(data))
    (tmp_path / 'run.js').write_text(script() + SEEN)
    done = subprocess.run([NODE, 'run.js'], cwd=tmp_path, capture_output=True, check=True)
    found = fractions(np.array(json.loads(done.stdout), dtype=float))
    stream = SensorStream(sensor, 0)
    values = [stream.take([0.0], [np.array([1.0, 1, 1, 2, 2, 2])]).value for _ in range(4000)]
    here = fractions(np.array(values))
    assert all(v > 0.01 for v in here.values())
    assert found == pytest.approx(here, abs=0.05)


def test_hold_answers_the_state_as_in_lockstep(tmp_path: Path):
    """The exported hold in the page answers the state as run_lockstep has it."""
    scenario = load_scenario('point_mass_ball')
    law = hold_law(scenario)
    law = replace(law, tuned=tuple(1.1 * k for k in law.tuned))
    data = {**page_data(scenario, 'hold'), 'tuned': law.tuned}
    found = in_node(data, [k * 1e-3 for k in range(1, 501)], tmp_path)

    class OfState:
        """The law with a set point of zero, as one of the state alone."""

        inputs = Layout((Entry('state', tuple(law.measurement.names), ''),))
        output, period, opaque, start = law.output, law.period, law.opaque, law.start

        def step(self, memory, inputs, t):
            return law.step(memory, np.concatenate([inputs, np.zeros(law.set_point.size)]), t)

    limits, rate = scenario.control_limits, 1 / law.period
    run = run_lockstep(
        scenario.system, scenario.p, scenario.x0, OfState(), 0.5, rate=rate, limits=limits
    )
    assert np.abs(np.array(found['x']) - run.states[-1]).max() < 1e-9


def test_what_has_no_c_is_named():
    """An equation that calls back into Python is refused by name, before anything is compiled."""

    class Table(ca.Callback):
        def __init__(self):
            ca.Callback.__init__(self)
            self.construct('table', {'enable_fd': True})

        def eval(self, arg):
            return [arg[0]]

    table, x = Table(), ca.MX.sym('x')
    with pytest.raises(ParameterError, match=r'friction.*calls back into Python.*no C'):
        webassembly({'friction': ca.Function('f', [x], [table(x) + 1])})


def test_functions_of_mathematics_are_those_of_here(tmp_path: Path):
    """Each that CasADi writes as one of math.h gives the value that it has in this process."""
    x, y = ca.SX.sym('x'), ca.SX.sym('y')
    at_most_1 = [ca.asin(x), ca.acos(x), ca.atanh(x), ca.log1p(x), ca.expm1(x)]
    rest = [f(x) for f in (ca.sin, ca.tan, ca.exp, ca.atan, ca.sinh, ca.cosh, ca.tanh, ca.asinh)]
    rest += [ca.acosh(1 + y), ca.log(y), ca.atan2(x, y), ca.hypot(x, y), y**x, ca.fmod(y, x)]
    f = ca.Function('f', [x, y], [ca.vertcat(*at_most_1, *rest)])
    module, _ = webassembly({'f': f})
    (tmp_path / 'f.wasm').write_bytes(module)
    values = [(0.7, 2.5), (-0.3, 1e-3), (1e-9, 40.0), (-0.99, 7.0)]
    run = f"""
const {{exports: e}} = new WebAssembly.Instance(new WebAssembly.Module(
  require('fs').readFileSync('f.wasm')), {{}});
const at = (where, n) => new Float64Array(e.memory.buffer, where, n);
console.log(JSON.stringify({json.dumps(values)}.map(v =>
  (at(e.in_f(), 2).set(v), e.run_f(), [...at(e.out_f(), {f.numel_out(0)})]))));
"""
    done = subprocess.run([NODE, '-e', run], cwd=tmp_path, capture_output=True, check=True)
    expected = [np.array(f(*v)).ravel() for v in values]
    np.testing.assert_allclose(json.loads(done.stdout), expected, rtol=4e-15, atol=0)


def test_parameters_beyond_bounds_are_refused_in_the_words_of_the_scenario():
    """Bounds and sentences are those of the entry from which a parameter comes."""
    sliders = {s['name']: s for s in sliders_of(load_scenario('spinning_plate')) if s}
    mu = sliders['mu']
    assert (mu['entry'], mu['least'], mu['from']) == ('friction.mu', 0, 0.25)
    assert mu['says'][0].format(-1) == 'friction.mu: must be at least 0, got -1'


GROOVE = """
system: contact
description: A ball falls into a groove, rocks between its walls and rolls along.
object: {surface: {kind: sphere, radius: 0.1}, mass: 0.1, inertia: 4.0e-4}
hand:
  surface: {kind: expression, position: [u, v, 'sqrt(1e-6 + u^2)']}
  edges: {u: [-1, 1], v: [-9, 9]}
friction: {mu: 0.6, mu_kinetic: 0.5}
hybrid: {restitution: 0}
initial:
  object: {position: [-0.1, 0, 0.26], velocity: [0.1, 0.2, 0]}
duration: 1
"""

SLIDES = """
system: machine
duration: 1
machine:
  bodies: {ball: {kind: ball, radius: 0.05, mass: 0.3}}
  joints: {ball: {kind: free}}
  contacts:
    floor: {body: ball, mu: 0.1, mu_kinetic: 0.08, stiffness: 5.0e+4, damping: 20,
            side_stiffness: 3.0e+3, side_damping: 6}
initial: {p_ball: [0, 0, 0.051], v_ball: [0.3, 0.1, 0], w_ball: [0, 2, 0]}
"""


# Of + - * / and roots only: the same bits. With library functions those of Zig stand for glibc's.
@pytest.mark.parametrize(
    ('name', 'steps', 'tolerance'),
    [
        ('spinning_plate', 1000, 0.0),
        pytest.param('pendulum_slope', 1000, 1e-12, marks=pytest.mark.slow),
        pytest.param('ball_balancer', 1000, 1e-12, marks=pytest.mark.slow),
        pytest.param('labyrinth', 1000, 1e-12, marks=pytest.mark.slow),
        pytest.param('point_mass_hop', 950, 1e-9, marks=pytest.mark.slow),
        ('ball_tossed_by_plate', 900, 1e-9),
        pytest.param('ball_and_wall', 1000, 1e-9, marks=pytest.mark.slow),
        pytest.param('mecanum_wheel', 200, 1e-9, marks=pytest.mark.slow),
        pytest.param('groove', 600, 1e-9, marks=pytest.mark.slow),
        pytest.param('rests', 1200, 1e-9, marks=pytest.mark.slow),
        pytest.param('slides', 200, 1e-9, marks=pytest.mark.slow),
    ],
)
def test_motion_is_that_of_stepper(name: str, steps: int, tolerance: float, tmp_path: Path):
    """The page ends where Stepper does, by the same events, and goes back and forth alike."""
    texts = {'rests': RESTS, 'slides': SLIDES, 'groove': GROOVE}
    for own, text in texts.items():
        (tmp_path / f'{own}.yaml').write_text(text)
    scenario = load_scenario(tmp_path / f'{name}.yaml' if name in texts else name)
    scenario = replace(scenario, events={})
    times = [k * 1e-3 for k in range(1, steps + 1)]
    found, (s, events) = in_node(page_data(scenario), times, tmp_path), here(scenario, steps)
    assert [e[0] for e in found['events']] == [e[0] for e in events]
    assert np.allclose([e[1] for e in found['events']], [e[1] for e in events], rtol=0, atol=1e-9)
    assert (found['mode'], found['ended']) == (s.mode, s.stopped)
    assert np.abs(np.array(found['x']) - s.x).max() <= tolerance
    assert found.get('again', found['x']) == found['x']


STARTS = {  # machines by what is said of their starts
    'impact_order': """
  bodies: {ball: {kind: ball, radius: 0.05, mass: 0.3}}
  joints: {ball: {kind: free}}
  contacts:
    floor: {body: ball, mu: 0.2, mu_kinetic: 0.2}
    wall: {body: ball, normal: [-1, 0, 0], mu: 0.2, mu_kinetic: 0.2}
initial: {p_ball: [-0.06, 0, 0.05]}
state: {p_ball: [-0.05, 0, 0.05], v_ball: [1, 0, 0], w_ball: [0, -30, 0]}
""",
    # it only touches the wall, which rounding pushes
    'lift_off': """
  bodies: {ball: {kind: ball, radius: 0.05, mass: 0.3}}
  joints: {ball: {kind: free}}
  contacts:
    floor: {body: ball, mu: 0.2, mu_kinetic: 0.2}
    wall: {body: ball, normal: [-1, 0, 0], mu: 0.2, mu_kinetic: 0.2}
initial: {p_ball: [-0.05, 0, 0.05]}
state: {}
""",
    'painleve': """
  bodies: {egg: {kind: ellipsoid, radii: [0.01, 0.01, 0.5], mass: 0.3}}
  joints: {egg: {kind: free}}
  contacts: {floor: {body: egg, mu: 2, mu_kinetic: 2}}
initial: {p_egg: [0, 0, HEIGHT], q_egg: [cos(0.3), 0, sin(0.3), 0]}
state: {v_egg: [-1, 0, 0]}
""".replace('HEIGHT', f'{math.hypot(0.5 * math.cos(0.6), 0.01 * math.sin(0.6)):.17g}'),
    # the hinge holds the contact too: what an impulse moves is a singular matrix
    'landing': """
  bodies:
    arm: {kind: solid, mass: 0.3, inertia: [1e-3, 1e-3, 1e-4]}
    ball: {kind: ball, radius: 0.05, mass: 0.3}
  joints:
    arm: {kind: revolute, axis: [0, 1, 0], place: [0, 0, 0.15]}
    ball: {kind: revolute, parent: arm, axis: [1, 0, 0], place: [0.2, 0, 0]}
  contacts: {floor: {body: ball, mu: 0.9, mu_kinetic: 0.8}}
initial: {arm: pi/6}
state: {arm_rate: 2, ball_rate: 3}
""",
}


@pytest.mark.parametrize(
    'said', [pytest.param(s, marks=() if s == 'landing' else pytest.mark.slow) for s in STARTS]
)
def test_a_start_is_that_of_stepper(said: str, tmp_path: Path):
    """A page that begins anywhere meets, slips and ends as here, in the same words."""
    given = yaml.safe_load(f'system: machine\nduration: 1\nmachine:{STARTS[said]}')
    changed, scenario = given.pop('state'), load_scenario(given)
    x, state = scenario.x0.copy(), scenario.system.state
    for name, value in changed.items():
        x[state.slice(name)] = value
    s = scenario.system.begin(scenario.p, x, np.zeros(0))
    assert said in [e.name for e in s.events]
    run = f"""
const motion = new Motion({json.dumps(page_data(scenario))}), x = {x.tolist()};
const s = motion.contact.begin({{...motion.first, x: Float64Array.from(x)}}, new Float64Array(0));
console.log(JSON.stringify({{...s, x: [...s.x]}}));
"""
    (tmp_path / 'run.js').write_text(script() + run)
    done = subprocess.run([NODE, 'run.js'], cwd=tmp_path, capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert [(e['name'], e['why']) for e in found['events']] == [(e.name, e.text) for e in s.events]
    assert (found['mode'], found['ended']) == (s.mode, s.stopped)
    np.testing.assert_allclose(found['x'], s.x, rtol=0, atol=1e-10)


def test_impacts_whose_impulses_are_not_determined_are_those_of_here(tmp_path: Path):
    """Of two planes that are nearly one, where iterations do not end."""
    _, data = contacts_of(load_scenario('ball_and_wall').system)
    m, r = 0.3, 0.05
    diagonal = np.diag([1 / m] * 3 + [1 / (0.4 * m * r * r)] * 3)
    given, expected = [], []
    for angle in (1e-2, 1e-3, 1e-4, 1e-6):
        rows = [
            np.concatenate([d, np.cross([-r * s, 0, -r * c], d)])
            for c, s in ((math.cos(angle), -math.sin(angle)), (math.cos(angle), math.sin(angle)))
            for d in ([c, 0, -s], [0, 1, 0], [s, 0, c])
        ]
        W, v = (
            np.array(rows) @ diagonal @ np.array(rows).T,
            rows @ np.array([0.01, 0.2, -0.5, 0, 0, 0]),
        )
        given.append([W.tolist(), v.tolist()])
        expected.append(impact(W, v, [Friction(0.6, 0.5, 0.0)] * 2).impulse.ravel())
    run = f"""
const c = {json.dumps(data, default=str)};
const mu = [[0.6, 0.5, 0], [0.6, 0.5, 0]];
console.log(JSON.stringify({json.dumps(given)}.map(([W, v]) => impact(W, v, mu, c).P)));
"""
    (tmp_path / 'run.js').write_text(script() + run)
    done = subprocess.run([NODE, 'run.js'], cwd=tmp_path, capture_output=True, check=True)
    np.testing.assert_allclose(json.loads(done.stdout), expected, rtol=0, atol=1e-10)


def forces_drawn(system, mode, x, p):
    """Return the sum of the forces that are drawn, and the force of the mode's wrench, in W."""
    u, (forces, frames, names) = np.zeros(system.control.size), drawn_forces(system, mode)
    forces = np.reshape(np.array(forces(x, u, 0, p)), (3, -1), 'F')
    X = np.array(frames(x, p)[1])
    R = [X[:3, 4 * k : 4 * k + 3] for k in range(len(names))]
    wrench = np.array(system.modes[mode].wrench(x, u, 0, p)).ravel()
    return sum(R[k] @ forces[:, k] for k in range(len(names))), R[0] @ wrench[3:], names


@pytest.mark.parametrize('name', ['bicycle', 'ball_in_groove', 'mecanum_wheel', 'ball_balancer'])
def test_forces_of_contacts_add_up_to_the_wrench_of_the_mode(name: str):
    """What is drawn at each contact is, in W, what the wrench says of all of them."""
    s = load_scenario(name)
    for mode in list(s.system.modes)[:2]:
        drawn, wanted, _ = forces_drawn(s.system, mode, s.x0, s.p)
        assert wanted == pytest.approx(drawn, abs=1e-9)


@pytest.mark.slow
def test_a_hand_that_is_touched_twice_shows_both_forces():
    scenario = load_scenario(yaml.safe_load(GROOVE))
    s, _ = here(scenario, 700)
    drawn, wanted, names = forces_drawn(scenario.system, s.mode, s.x, scenario.p)
    assert len(names) == 2
    assert s.mode == 'rolling_rolling'
    assert wanted == pytest.approx(drawn, abs=1e-9)

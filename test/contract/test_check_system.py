"""The conformance check: what is shipped passes, and each check finds what it is there for."""

from dataclasses import replace
from pathlib import Path
from pkgutil import iter_modules
import re

import casadi as ca
import numpy as np
import pytest
from rolling_controller.testing import ALL_CHECKS
from rolling_dynamics import ContactSystem, Ellipsoid, Plane, Sphere
from rolling_dynamics.contract import Layout, Mode, RegulatorWeights, vector_entry
from rolling_dynamics.contract.instruments import Actuator, Sensor
from rolling_dynamics.errors import ConformanceError
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.hybrid_contact.from_contact_system import in_plane
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.document import read_document
from rolling_dynamics.testing import check_system, CHECKS, inspect_system, motion
from rolling_planner.laboratory.laboratory import Laboratory, UPRIGHT
from rolling_robotics import plugins

SYMBOLS_OF_WHEEL = [ca.SX.sym(n, k) for n, k in (('x', 2), ('u', 1), ('t', 1), ('p', 5))]
SCENARIO_FILES = Path(__file__).parents[2] / 'config' / 'scenarios'
SCENARIOS = [
    'spinning_plate',
    'ball_on_plate_hard',
    'ellipsoid_in_dish',
    'curved_hand',
    'point_mass_ball',
    'point_mass_disk',
    'pendulum_start',
    'pendulum_slope',
    'spin_rolling_pure',
    'spin_rolling_ball',
    'ball_tossed_by_plate',
    'point_mass_hop',
    'ball_balancer',
    'labyrinth',
    'point_mass_wind',
    'point_mass_s_path',
    'bicycle',
    'hamster_ball',
]


class Broken:
    """A system, the ball on a plate, with some of its attributes replaced."""

    def __init__(self, of=None, **replaced):
        self.__dict__.update(replaced, of=of or BALL)

    def __getattr__(self, name):
        return getattr(self.of, name)


@pytest.mark.parametrize('name', SCENARIOS)
def test_shipped_systems_pass(name):
    scenario = load_scenario(SCENARIO_FILES / f'{name}.yaml')
    outcomes = check_system(scenario.system, scenario.p, scenario.x0, duration=0.2)
    assert [o.name for o in outcomes] == list(CHECKS)


def test_a_given_force_counts_by_newton_and_euler(monkeypatch):
    raw = load_scenario('point_mass_wind').raw
    blown = load_scenario({**raw, 'masses': raw['masses'][:2]})  # without the one on a trajectory
    check = {'newton-euler': CHECKS['newton-euler']}
    given = blown.system, blown.p, blown.x0
    assert check_system(*given, checks=check)[0].verdict == 'passed'
    calm = blown.system.function('calm', ca.SX.zeros(6))
    monkeypatch.setitem(vars(blown.system), 'applied_wrench', calm)
    with pytest.raises(ConformanceError, match='force along x of W: the motion needs'):
        check_system(*given, checks=check)


def test_every_shipped_system_is_among_them():
    kinds = {read_document(SCENARIO_FILES / f'{name}.yaml')['system'] for name in SCENARIOS}
    assert kinds == {module.name for module in iter_modules(plugins.__path__)}


@pytest.mark.parametrize('planar', [True, False], ids=['planar', 'spatial'])
def test_an_ellipsoid_on_the_laboratory_plate_passes(planar):
    if planar:
        laboratory = Laboratory.of_paper()
        system, p = laboratory.model()
        x = laboratory.rest(UPRIGHT)
    else:
        system = ContactSystem(
            Ellipsoid(0.05, 0.06, 0.08),
            Plane(),
            friction='pure_rolling',
            representation='coordinates',
        )
        p = system.pack_parameters(mass=0.3, inertia=[3e-4, 4e-4, 5e-4], mu_spin=0.01)
        x = system.state.pack(
            q_WH=[1, 0, 0, 0],
            p_WH=np.zeros(3),
            contact_o=[0.4, 0.3],
            contact_h=[0, 0],
            psi=0.2,
            w_WH_H=np.zeros(3),
            v_WH_H=np.zeros(3),
            w_HO_Ch=[0.1, -0.2, 0.0],
        )
    check_system(system, p, x, duration=0.2)


@pytest.mark.slow
@pytest.mark.parametrize('planar', [True, False], ids=['planar', 'spatial'])
def test_a_ball_that_may_slide_and_fly_passes(planar, monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'now')
    system = HybridContactSystem(Sphere(0.03))
    p = system.pack_parameters(mass=0.05, inertia=0.4 * 0.05 * 0.03**2, mu=0.9)
    rest = {
        e.name: [1.0, 0, 0, 0] if e.kind == 'quaternion' else np.zeros(e.size)
        for e in system.state.entries
    }
    rest['p_HO_H'][-1] = 0.03
    for height, spins in ((0.03, 0.0), (0.04, 3.0)):  # rolling, and in flight
        rest['p_HO_H'][-1] = height
        rest['w_HO_H'][:] = spins
        part, q, x = system, p, system.state.pack(**rest)
        if planar:
            part = in_plane(system, p)
            q, x = part.take_parameters(p), x[part.state_index]
        assert part.begin(q, x, np.zeros(part.control.size)).mode == (
            'separated' if spins else 'rolling'
        )
        outcomes = check_system(part, q, x, duration=0.02)
        assert [o.name for o in outcomes if o.verdict != 'passed'] == [
            'instruments'
        ]  # it has none


@pytest.mark.parametrize(
    'name',
    [
        'ball_on_plate_hard',
        'point_mass_disk',
        'pendulum_start',
        'spin_rolling_ball',
        pytest.param('ball_balancer', marks=pytest.mark.slow),
    ],
)
def test_shipped_systems_are_planned_and_regulated(name):
    scenario = load_scenario(SCENARIO_FILES / f'{name}.yaml')
    higher = {n: ALL_CHECKS[n] for n in ('planning', 'regulation')}
    outcomes = check_system(scenario.system, scenario.p, scenario.x0, checks=higher)
    assert {o.verdict for o in outcomes} == {'passed'}


@pytest.mark.parametrize(
    ('name', 'replaced', 'text'),
    [
        (
            'planning',
            {'envelope': {'normal_force': ca.Function('n', SYMBOLS_OF_WHEEL, [-1])}},
            'a plan is expected, found: ',
        ),
        (
            'regulation',
            {'default_weights': RegulatorWeights(tracking={}, terminal={}, control=1.0)},
            'a gain is expected, found none: no weight is positive',
        ),
    ],
)
def test_a_wheel_that_cannot_be_driven_fails(wheel, name, replaced, text):
    system = Broken(of=wheel['wheel'], **replaced)
    with pytest.raises(ConformanceError, match=f'^{name}: {text}'):
        check_system(system, wheel['params'], [0, 0.1], checks={name: ALL_CHECKS[name]})


def test_the_wheel_of_the_documentation_passes(wheel, monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'now')
    given = wheel['wheel'], wheel['params'], [0.0, 0.1], [0.1]
    outcomes = check_system(*given, checks=ALL_CHECKS)
    skipped = {o.name for o in outcomes if o.verdict == 'skipped'}
    assert skipped == {'newton-euler', 'invariants', 'instruments'}


BALL = ContactSystem(Sphere(0.03), Plane())
P = BALL.pack_parameters(mass=0.05, inertia=0.4 * 0.05 * 0.03**2, mu=0.9)
X = BALL.state.pack(
    q_WH=[1, 0, 0, 0],
    p_WH=np.zeros(3),
    q_HO=[1, 0, 0, 0],
    contact_h=[0, 0],
    w_WH_H=np.zeros(3),
    v_WH_H=np.zeros(3),
    w_HO_H=[0.3, 0.1, 0.2],
)
SYMBOLS = [ca.SX.sym(n, k) for n, k in (('x', 22), ('u', 6), ('t', 1), ('p', P.size))]
PAIR = [ca.SX.sym('x', 22), ca.SX.sym('d', 20)]


def function(value, symbols=SYMBOLS):
    return ca.Function('f', symbols, [ca.densify(value)])


def with_mode(**replaced):
    own = BALL.mode
    given = {'dynamics': own.dynamics, 'wrench': own.wrench, 'guards': own.guards} | replaced
    return Broken(modes={'rolling': Mode(**given)})


def turned_dynamics():
    """Return a motion in which the attitude of the object loses its norm."""
    x, u, t, p = SYMBOLS
    rate = BALL.mode.dynamics(x, u, t, p)
    rate[7:11] = rate[7:11] + 0.1 * x[7:11]
    return function(rate)


def staircase():
    """Return the motion of a state in steps, whose derivative is zero."""
    x, u, t, p = SYMBOLS
    return function(BALL.mode.dynamics(ca.floor(1e6 * x) / 1e6, u, t, p))


def stiff_retraction():
    """Return a retraction whose derivative at zero is not a number."""
    x, d = PAIR
    return function(BALL.retract(x, d) + 1e-300 * ca.sqrt(ca.sumsqr(d)) * ca.SX.ones(22), PAIR)


def in_grams():
    """Return the layout of p with a wrong unit of the mass."""
    entries = [replace(e, unit='m') if e.name == 'mass' else e for e in BALL.parameters.entries]
    return Layout(tuple(entries), BALL.parameters.defaults)


def doubled(f):
    return function(2 * f(*SYMBOLS))


def squared_guards():
    return {'squared': function((SYMBOLS[0][14] - 0.5) ** 2)}


def leaving():
    """Return a projection from which the motion departs."""
    x, p = SYMBOLS[0], SYMBOLS[3]
    held = ca.vertcat(x[:11], x[11:13] * 0, x[13:])
    return ca.Function('projection', [x, p], [held])


BREAKS = {
    'contract': (lambda: Broken(independent_variable='place'), 'one of'),
    'shapes': (lambda: with_mode(wrench=function(SYMBOLS[0][:3])), 'numbers are expected'),
    'finite': (lambda: with_mode(wrench=function(ca.SX.ones(6) / 0)), 'finite numbers'),
    'capabilities': (lambda: Broken(rest_goal=lambda _: {'w_HO': np.zeros(3)}), 'did you mean'),
    'derivatives': (lambda: with_mode(dynamics=staircase()), 'differences give'),
    'tangent space': (
        lambda: Broken(retract=function(BALL.retract(PAIR[0], 1.1 * PAIR[1]), PAIR)),
        r'difference\(retract\(x, d\), x\) = d is expected',
    ),
    'unit norms': (lambda: with_mode(dynamics=turned_dynamics()), 'a constant norm is expected'),
    'linearisation': (lambda: Broken(retract=stiff_retraction()), 'the linearisation is'),
    'units': (lambda: Broken(parameters=in_grams()), 'a unit of a layout is wrong'),
    'newton-euler': (
        lambda: with_mode(wrench=doubled(BALL.mode.wrench)),
        'force along z of W: the motion needs',
    ),
    'guards': (lambda: with_mode(guards=squared_guards()), 'it only touches it'),
    'simulation': (lambda: Broken(projection=leaving()), 'constraints is expected'),
    'invariants': (
        lambda: Broken(invariants={'energy': function(SYMBOLS[0][11])}),
        'energy: constant 0 is expected, it drifts',
    ),
}


@pytest.mark.parametrize('name', BREAKS)
def test_a_broken_system_fails_the_check(name):
    make, text = BREAKS[name]
    system = make()
    with pytest.raises(ConformanceError, match=f'^{name}: .*{text}') as raised:
        check_system(system, P, X, duration=0.1, checks={name: CHECKS[name]})
    assert '\n' not in str(raised.value)


def test_machine_code_that_differs_fails_the_check(monkeypatch):
    monkeypatch.setattr(motion, 'compiled', lambda f: (function(1.0001 * f(*SYMBOLS)),))
    monkeypatch.setattr(motion, 'compiles', lambda: True)
    with pytest.raises(ConformanceError, match='machine code is expected to give'):
        check_system(BALL, P, X, checks={'machine code': CHECKS['machine code']})


def test_every_check_has_a_broken_system():
    assert {*BREAKS, 'machine code', 'instruments'} == set(CHECKS)


HOP = load_scenario('point_mass_hop')  # rolls, slides and flies
DRIVES = Actuator(
    name='drives',
    control=HOP.system.control.entries[0].name,
    joints=tuple(HOP.system.control.entries[0].components),
    limits=np.ones(HOP.system.control.entries[0].size),
)


def push_meter(measure):
    """Return a sensor of the force at the contact."""
    return Sensor(
        name='meter',
        output=Layout((vector_entry('force', 'N'),)),
        measure=measure,
        covariance=np.eye(3),
        rate=100.0,
        message='wrench',
        topic='meter',
    )


@pytest.mark.parametrize(
    ('measure', 'text'),
    [
        (lambda at: at.wrench[3:], ''),
        (lambda at: at.wrench[3:] / at.wrench[5], "mode 'separated'.* the measurement is not fin"),
        (lambda at: at.wrench[:2], 'meter.* its layout has 3 numbers, its output 2'),
    ],
)
def test_sensors_are_checked_in_every_mode(measure, text):
    given = {'checks': {'instruments': CHECKS['instruments']}, 'sensors': [push_meter(measure)]}
    (outcome,) = inspect_system(HOP.system, HOP.p, HOP.x0, actuators=[DRIVES], **given)
    assert outcome.verdict == ('failed' if text else 'passed')
    assert re.search(text, outcome.text)


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({'limits': np.zeros(1)}, 'limits takes 1 positive numbers'),
        ({'joints': ('a', 'b')}, 'joints takes 1 names'),
        ({'limits': np.full(1, 0.1)}, r'at most \[0.1\] is expected, found the control \[0.2\]'),
    ],
)
def test_actuators_are_checked(changes, text):
    given = {'checks': {'instruments': CHECKS['instruments']}}
    with pytest.raises(ConformanceError, match=f"instruments: actuator 'drives'.*{text}"):
        check_system(
            HOP.system, HOP.p, HOP.x0, [0.2], actuators=[replace(DRIVES, **changes)], **given
        )


def test_an_unsound_form_leaves_out_the_rest_and_no_traceback():
    outcomes = inspect_system(Broken(independent_variable='place'), P, X)
    assert outcomes[0].verdict == 'failed'
    assert {(o.verdict, o.text) for o in outcomes[1:]} == {('skipped', 'contract failed')}
    lost = inspect_system(Broken(pose=None), P, X)
    assert lost[0].text == 'pose: a Function is expected, found NoneType'


def test_what_a_check_raises_is_a_line():
    system = Broken(state_bounds=lambda _: 1 / 0)
    (outcome,) = inspect_system(system, P, X, checks={'capabilities': CHECKS['capabilities']})
    assert outcome.text == 'it ended with ZeroDivisionError: division by zero'

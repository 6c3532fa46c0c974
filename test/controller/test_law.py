"""The protocol of laws: steps are pure, their outputs the caller's own, their inputs by name."""

import ast
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.testing import assert_array_equal
import pytest
import rolling_controller
from rolling_controller import FunctionLaw, OpenLoop, StateFeedback, TimeVaryingLqr
from rolling_controller.balance.hand_over import balancing_since, HandOver
from rolling_controller.balance.hold import Hold
from rolling_controller.gait_following.gait_follower import GaitFollower, VelocityStick
from rolling_controller.law import (
    as_function,
    check_inputs,
    COMMANDED,
    gathered,
    replay,
    STATE,
    state_inputs,
)
from rolling_controller.learned_law import LearnedLaw, LearnedPolicy
from rolling_controller.mass_driven_velocity import MassDrivenVelocity
from rolling_controller.robot_laws.steering import Steered
from rolling_dynamics import load_scenario
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters
from rolling_dynamics.pendulum_sphere.system import PendulumSphere
from rolling_planner.gait_planner.plan_gaits import plan_gaits
from rolling_planner.gait_planner.problem import GaitProblem, Waypoint
from rolling_planner.plan import Plan

POLICY = {
    'format': 1,
    'period': 0.02,
    'observations': [{'of': {'u_h': 2.0}}],
    'layers': [{'weights': [[1.0]], 'bias': [0.4]}],
    'actions': {'alpha_WH_H_y': 5.0},
}
HARD, DISK = load_scenario('ball_on_plate_hard'), load_scenario('point_mass_disk_straight')
SPHERE = paper_parameters()


def planned(system, x, times=(0.0, 0.25, 0.5)):
    """Return a rest with a small control, as a plan."""
    controls = np.full((3, system.control.size), 1e-3)
    states = np.tile(x, (3, 1))
    return Plan.of(system, times=np.array(times), states=states, controls=controls)


def laws():
    system, x = HARD.system, HARD.x0
    plan = planned(system, x)
    along = TimeVaryingLqr(system, HARD.p, plan)
    yield 'regulator along a plan', along
    yield 'open loop', OpenLoop(system, plan)
    yield 'function', StateFeedback(system, lambda t, x, _: t + x[:6])
    learned = LearnedLaw(system, HARD.p, plan, LearnedPolicy.model_validate(POLICY))
    yield 'learned', learned
    hold = Hold(DISK.system, DISK.p, DISK.x0)
    yield 'hold', hold
    yield 'balance', HandOver(OpenLoop(DISK.system, planned(DISK.system, DISK.x0)), hold)
    stick = VelocityStick(SPHERE)
    yield 'stick', Steered(stick, 0.3, np.full(3, np.inf))
    gaits = plan_gaits(
        GaitProblem(params=SPHERE, start=(0, 0), waypoints=[Waypoint(position=(0.5, 0.1))])
    )
    yield 'gaits', GaitFollower(gaits)
    masses = MassDrivenVelocity(DISK.system, DISK.p)
    yield 'masses', Steered(masses, 0.0, DISK.control_limits, turns=False)


LAWS = dict(laws())


@pytest.fixture(params=list(LAWS))
def law(request):
    return LAWS[request.param]


def inputs_of(law):
    """Return inputs of five steps, and their times [s]: motion near where it rests."""
    rng = np.random.default_rng(5)
    starts = (HARD.x0, DISK.x0, PendulumSphere().rolling_state(SPHERE))
    size = law.inputs.slice(STATE).stop
    (x,) = (start for start in starts if start.size == size)
    rows = np.zeros((5, law.inputs.size))
    rows[:, :size] = x + 1e-3 * rng.normal(size=(5, size))
    rows[:, size:] = 0.1
    return rows, 4e-3 * np.arange(1.0, 6.0)


def test_a_step_leaves_its_memory_and_gives_an_output_of_its_own(law):
    """Steps from one memory repeat bit by bit, whatever other steps came between."""
    rows, times = inputs_of(law)
    first, _ = law.step(law.start(), rows[0], 0.0)
    memory, outputs = first, []
    for row, t in zip(rows, times, strict=True):
        memory, output = law.step(memory, row, t)
        outputs.append(output)
    again, memory = [], first
    for row, t in zip(rows, times, strict=True):
        memory, output = law.step(memory, row, t)
        assert output.shape == (law.output.size,)
        assert not any(np.shares_memory(output, other) for other in outputs)
        again.append(output)
    assert_array_equal(again, outputs)
    _, output = law.step(first, rows[0], times[0])
    assert_array_equal(output, outputs[0])
    output += 1.0
    assert_array_equal(law.step(first, rows[0], times[0])[1], outputs[0])


def test_a_law_names_its_layouts(law):
    assert isinstance(law.inputs, Layout)
    assert isinstance(law.output, Layout)
    assert law.inputs.entries[0].name == STATE
    assert isinstance(law.opaque, str)
    assert law.period is None


def test_a_law_that_is_not_opaque_is_one_function_of_vectors(law):
    rows, times = inputs_of(law)
    if law.opaque:
        with pytest.raises(ParameterError, match='not a function of vectors: '):
            as_function(law)
        return
    one, memory = as_function(law), law.start()
    z, n = one.memory, one.memory.size
    for row, t in zip(rows, times, strict=True):
        memory, output = law.step(memory, row, t)
        out = np.array(one.function(z, row, t, one.given(t))).ravel()
        z = out[:n]
        np.testing.assert_allclose(out[n:], output, rtol=1e-12, atol=1e-13)


REASONS = ('pursuit', 'a learned network', 'a quadratic program')
ROOT = Path(rolling_controller.__file__).parents[1]


def law_classes():
    """Yield name and reasons of each class of the suite that steps as a law does."""
    for path in sorted(ROOT.glob('rolling_*/**/*.py')):
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            steps = isinstance(node, ast.ClassDef) and any(
                isinstance(f, ast.FunctionDef)
                and f.name == 'step'
                and [a.arg for a in f.args.args] == ['self', 'memory', 'inputs', 't']
                for f in node.body
            )
            if steps:
                assigned = [a for a in ast.walk(node) if isinstance(a, ast.Assign)]
                named = [a for a in assigned if ast.unparse(a.targets[0]).endswith('opaque')]
                values = (a.value for a in named if isinstance(a.value, ast.Constant))
                yield node.name, [v.value for v in values if v.value]


def test_every_law_is_a_function_but_for_three_reasons():
    found = dict(law_classes())
    assert {'FunctionLaw', 'Around', 'TimeVaryingLqr', 'SensorFilter', 'MeasuredLaw'} <= set(found)
    opaque = {name: reasons for name, reasons in found.items() if reasons}
    assert opaque.pop('StateFeedback') == ['a function of Python']  # of a user's alone
    assert set(opaque) == {
        'GaitFollower', 'LabyrinthLaw', 'LearnedLaw', 'PredictiveLaw', 'PredictiveRigLaw',
        'Pursuit', 'VelocityStick',
    }  # fmt: skip
    assert all(text.startswith(REASONS) for reasons in opaque.values() for text in reasons)


def test_a_function_of_python_is_a_law_that_is_opaque():
    system, x = HARD.system, np.asarray(HARD.x0)
    law = StateFeedback(system, lambda t, x: [t * x[0] + k for k in range(system.control.size)])
    memory, u = law.step(law.start(), x, 2.0)
    assert_array_equal(u, 2 * x[0] + np.arange(system.control.size))
    assert law.step(memory, x, 2.0)[1] is not u
    with pytest.raises(ParameterError, match='a function of Python'):
        as_function(law)


def test_a_casadi_function_of_inputs_and_time_is_a_law():
    n, output = HARD.system.state.size, Layout((Entry('u', ('a', 'b'), ''),))
    y, t, k = ca.SX.sym('y', n), ca.SX.sym('t'), ca.SX.sym('k', 2)
    function = ca.Function('f', [y, t, k], [t * k * y[0]])
    law = FunctionLaw(state_inputs(HARD.system), output, function, [3, 4])
    x = np.arange(1.0, 1 + n)
    assert_array_equal(law.step(law.start(), x, 2.0)[1], [6, 8])
    assert as_function(law).memory.size == 0


def test_recorded_inputs_are_replayed(law):
    rows, times = inputs_of(law)
    outputs = replay(law, rows, times)[0]
    assert outputs.shape == (5, law.output.size)
    assert_array_equal(replay(law, rows, times)[0], outputs)


def test_inputs_are_gathered_by_name():
    entry = Entry('inertia', ('factor',), '')
    inputs = Layout((*state_inputs(HARD.system, COMMANDED).entries, entry), {'inertia': (1.0,)})
    x, velocity = HARD.x0, np.array([1.0, 2.0, 3.0])
    given = gathered(inputs, {'velocity': velocity, STATE: x})
    assert_array_equal(given, [*x, 1.0, 2.0, 3.0, 1.0])
    assert gathered(state_inputs(HARD.system), {STATE: x}) is x


def test_a_law_that_takes_what_is_not_there_is_refused():
    law = Steered(VelocityStick(SPHERE), 0.0, np.ones(3))
    check_inputs(law, (STATE, 'velocity'))
    with pytest.raises(ParameterError, match=r'takes the inputs velocity, .* there are state'):
        check_inputs(law, (STATE,))


def test_balance_takes_over_where_the_plan_ends():
    law = LAWS['balance']
    late = HandOver(law.along, law.regulator, latest=0.2)
    x = DISK.x0 + 1e-3
    before, u = late.step(late.start(), x, 0.1)
    assert balancing_since(late, before) is None
    assert_array_equal(u, law.along.step(None, x, 0.1)[1])
    after, u = late.step(before, x, 0.2)
    assert balancing_since(late, after) == 0.2
    assert_array_equal(u, law.regulator.step(None, x, 0.2)[1])
    assert balancing_since(late, late.step(after, x, 0.3)[0]) == 0.2
    assert balancing_since(late.along, None) is None

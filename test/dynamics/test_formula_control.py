"""A control given as a casadi.Function moves a system as the same control in Python does."""

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters
from rolling_dynamics.pendulum_sphere.system import PendulumSphere
from rolling_dynamics.simulation import simulate
from rolling_dynamics.simulation.compiled_solver import CompiledSolver
from rolling_dynamics.simulation.control import Formula
from rolling_dynamics.simulation.dormand_prince import INSTANTS
from scipy.integrate import DOP853

SYSTEM, PARAMS = PendulumSphere(), paper_parameters()
P = SYSTEM.pack_parameters(PARAMS)
X0 = SYSTEM.rolling_state(PARAMS, velocity=[0.3, 0.1], spin=0.4, pendulum=[0.3, 0.2, -1.0])
x, t = ca.SX.sym('x', SYSTEM.state.size), ca.SX.sym('t')
OF_TIME = ca.vertcat(0.1 * ca.sin(3 * t), ca.if_else(t < 0.7, 0.05, -0.05), 0.01 * t)
OF_STATE = OF_TIME - 0.02 * x[SYSTEM.state.slice('w_WP_W')]


def law(expression):
    return ca.Function('law', [x, t], [expression])


def motion(control, events=()):
    return simulate(SYSTEM, P, X0, control, 2.0, events=events, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize('expression', [OF_TIME, OF_STATE], ids=['of time', 'of state'])
def test_formula_agrees_with_a_python_function(expression):
    function = law(expression)
    fast = motion(function)
    slow = motion(lambda t, x: np.array(function(x, t)).ravel())
    assert fast.states[-1] == pytest.approx(slow.states[-1], abs=1e-8)
    assert [e.name for e in fast.events] == [e.name for e in slow.events]
    for a, b in zip(fast.events, slow.events, strict=True):
        assert a.time == pytest.approx(b.time, abs=1e-8)
    expected = [
        np.array(function(y, s)).ravel() for y, s in zip(fast.states, fast.times, strict=True)
    ]
    assert fast.controls == pytest.approx(np.array(expected), abs=1e-15)


def test_formula_takes_the_compiled_way(monkeypatch):
    """The integrator in Python is not asked; one of the two kinds closes the loop."""
    seen = []
    advance = CompiledSolver.advance

    def counted(self, more=0):
        kept = advance(self, more)
        seen.append(kept + 1)
        return kept

    monkeypatch.setattr(CompiledSolver, 'advance', counted)
    assert motion(law(OF_TIME)).steps == sum(seen) > 10
    size = SYSTEM.state.size
    assert not Formula(law(OF_TIME), size, 3).closes_loop
    assert Formula(law(OF_STATE), size, 3).closes_loop


def test_known_jumps_are_borders_of_steps():
    """Called with its jump, the integrator need not look for it; the motion is the same."""
    formula = Formula(law(OF_TIME), SYSTEM.state.size, 3, borders=[0.7])
    told, sought = motion(formula), motion(law(OF_TIME))
    assert 0.7 in told.times
    assert told.steps < sought.steps - 10
    assert told.states[-1] == pytest.approx(sought.states[-1], abs=1e-8)


def test_guards_see_the_control_within_a_step():
    """A torque so short that no end of a step shows it: the friction it asks for is an event."""
    at, width = 1.0, 0.02
    kick = ca.vertcat(0, 2.0 * ca.exp(-(((t - at) / width) ** 2)), 0)
    run = motion(law(kick), events={'friction': 'record', 'normal_force': 'record'})
    first = next(e for e in run.events if e.name == 'friction')
    assert at - 3 * width < first.time < at
    margin = SYSTEM.mode.guards['friction']
    u = np.array(law(kick)(first.state, first.time)).ravel()
    assert float(margin(first.state, u, first.time, P)) == pytest.approx(0, abs=1e-7)


def test_controls_of_a_step_stand_at_its_instants():
    formula = Formula(law(OF_TIME), SYSTEM.state.size, 3)
    times = 0.5 + 0.4 * INSTANTS
    values = formula.over(times).reshape(-1, 3)
    assert values == pytest.approx(np.array([formula(s) for s in times]), abs=1e-15)


def test_instants_are_those_of_the_method():
    stages, extra = DOP853.C[1:], DOP853.C_EXTRA
    known = np.concatenate([stages, [1.0], extra])
    assert INSTANTS[: known.size] == pytest.approx(known, rel=1e-15, abs=0)


def test_function_of_other_sizes_is_refused():
    bad = ca.Function('bad', [x, t], [OF_TIME[:2]])
    with pytest.raises(ParameterError, match=r'3 numbers'):
        motion(bad)
    with pytest.raises(ParameterError, match=r'function \(x, t\)'):
        motion(ca.Function('bad', [t, x], [OF_TIME]))

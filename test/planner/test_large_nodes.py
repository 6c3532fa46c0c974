"""Derivatives of large nodes and steps, which are loops over directions, beside those in full."""

import casadi as ca
import numpy as np
import pytest
from rolling_controller import nominal
from rolling_dynamics.scenario import load_scenario
from rolling_planner.problem.scenario import read_problem
from rolling_planner.transcription import formulation, transcription


@pytest.mark.parametrize('name', ['balance_ellipsoid', 'point_mass_s_path'])
def test_a_linear_step_by_direction_is_that_in_full(name, monkeypatch):
    s = load_scenario(name)
    system, rng, steps = s.system, np.random.default_rng(0), []
    for least in (1e99, 0):
        monkeypatch.setattr(nominal, 'LARGE', least)
        steps.append(nominal._linear_step(system))
    x, x_next = (system.retract(s.x0, 0.1 * rng.normal(size=system.tangent.size)) for _ in '12')
    u0, u1 = rng.normal(size=(2, system.control.size))
    found, wanted = (np.array(f(x, x_next, u0, u1, 0.3, 0.01, s.p)) for f in reversed(steps))
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert steps[1].n_instructions() < 200  # a loop, not a sum of directions


def test_derivatives_of_a_node_by_direction_are_those_in_full(monkeypatch):
    functions = []

    def both(*symbols):
        for least in (1e99, 0):
            monkeypatch.setattr(transcription, 'LARGE', least)
            functions.append(transcription.node_functions(*symbols))
        return functions[0]

    monkeypatch.setattr(formulation, 'node_functions', both)
    formulation.formulate(read_problem(load_scenario('two_wheeler')))
    full, looped = functions
    rng = np.random.default_rng(0)
    at = [rng.normal(size=full.value.numel_in(k)) for k in range(2)]
    weight = rng.normal(size=full.n_values)
    for name, given in (('jacobian', at), ('hessian', [*at, weight])):
        found, wanted = (
            np.array(ca.DM(getattr(f, f'{name}_sparsity'), getattr(f, name)(*given)))
            for f in (looped, full)
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-9 * np.abs(wanted).max())

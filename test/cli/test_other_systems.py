"""Results and figures of a system of which neither knows anything."""

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters
from rolling_dynamics.pendulum_sphere.system import PendulumSphere
from rolling_dynamics.scenario import Control, Scenario
from rolling_robotics.files import read_result, write_json
from rolling_robotics.plot import draw, FIGURES
from rolling_robotics.result import simulate_scenario, simulation_result, violations


@pytest.fixture(scope='module')
def result(tmp_path_factory):
    params, system = paper_parameters(), PendulumSphere()
    x, t = ca.SX.sym('x', system.state.size), ca.SX.sym('t')
    torque = ca.repmat(0.01 * ca.sin(t), system.control.size, 1)
    scenario = Scenario(
        name='other',
        system=system,
        p=system.pack_parameters(params),
        x0=system.rolling_state(params, velocity=[0.3, 0.1]),
        control=Control(ca.Function('torque', [x, t], [torque]), system.control),
        duration=1.0,
        output_times=np.linspace(0, 1, 51),
        events={},
        control_limits=np.full(system.control.size, np.inf),
        raw={'system': system.name},
    )
    path = tmp_path_factory.mktemp('other') / 'result.json'
    written = simulation_result(scenario, simulate_scenario(scenario))
    assert violations(written) == []
    write_json(path, written)
    return read_result(path)


def test_state_control_and_poses_are_there(result):
    system, arrays = PendulumSphere(), result['arrays']
    names = [e.name for e in (*system.state.entries, *system.control.entries)]
    for name in [*names, *(f'{body}_position' for body in system.pose.name_out())]:
        assert np.isfinite(np.array(arrays[name]['values'], dtype=float)).all()
    drawn = {name: arrays[name]['unit'] for name in ('time', 'f_contact', 'energy')}
    assert drawn == {'time': 's', 'f_contact': 'N', 'energy': 'J'}


@pytest.mark.parametrize(
    'name',
    [pytest.param(n, marks=pytest.mark.slow) if n in ('contact', 'phase') else n for n in FIGURES],
)
def test_figures_that_apply_are_drawn(result, tmp_path, name):
    path = tmp_path / f'{name}.png'
    applies = name in ('states', 'world', 'energy', 'contact', 'phase')
    assert draw(name, result, path) == path.exists() == applies

"""`rolling plan`: the goal is reached in the simulation that the file holds."""

import json

import numpy as np
import pytest
from rolling_planner import Plan
import yaml


@pytest.mark.parametrize(
    ('name', 'tolerance'), [('straight', 0.1), pytest.param('hard', 1e-3, marks=pytest.mark.slow)]
)
def test_plan(rolling, tmp_path, scenarios, name, tolerance):
    out = tmp_path / 'plan.json'
    ended = rolling('plan', scenarios / f'ball_on_plate_{name}.yaml', '--out', out)
    assert ended.status == 0
    assert 'goal reached' in ended.out
    result = json.loads(out.read_text())
    assert result['reached'] is True
    assert result['goal_error'] <= tolerance
    a = {k: np.array(v['values'], dtype=float) for k, v in result['arrays'].items()}
    assert a['contact_h'][-1] == pytest.approx([0, -0.033], abs=tolerance)
    q = a['q_HO'][-1]
    assert abs(q @ [np.sqrt(0.5), np.sqrt(0.5), 0, 0]) == pytest.approx(1, abs=tolerance)
    assert np.abs(a['alpha_WH_H']).max() <= 50 * (1 + 1e-6)
    assert np.abs(a['alpha_WH_H'][:, 2]).max() == 0
    assert np.abs(a['a_WH_H']).max() == 0
    plan = Plan.from_dict(result['plan'])
    assert plan.times[-1] == 2
    if name == 'hard':  # the other figures are those of a simulation
        figures = rolling('plot', out, '--only', 'plan', '--out', tmp_path)
        assert (figures.status, figures.out) == (0, f'{tmp_path / "plan_plan.png"}\n')


def test_a_goal_that_cannot_be_met(rolling, tmp_path, scenarios):
    document = yaml.safe_load((scenarios / 'ball_on_plate_straight.yaml').read_text())
    document |= {'limits': {'alpha_WH_H': 0.01}}
    document['plan'] |= {'refinements': 0, 'segments': 10, 'iterations': 30}
    path, out = tmp_path / 'scenario.yaml', tmp_path / 'plan.json'
    path.write_text(yaml.safe_dump(document))
    ended = rolling('plan', path, '--out', out)
    assert ended.status == 1
    said = [line for line in ended.err.splitlines() if not line.startswith('planning ')]
    assert said
    assert all(line.startswith('rolling: ') for line in said)
    assert 'goal' in ended.err
    assert not out.exists()

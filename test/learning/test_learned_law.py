"""A learned policy as a law: what it does in its environment, read from a file, along a plan."""

import json

import numpy as np
import pytest
from rolling_controller import run_lockstep
from rolling_controller.design import follow, Wanted
from rolling_controller.learned_law import LearnedLaw, LearnedPolicy
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario_model import load_model
from rolling_planner import Plan
from rolling_robotics.learning import TASKS
from rolling_robotics.learning.environments import Episodes

NET = {
    'format': 1,
    'period': 0.02,
    'observations': [{'of': {'u_h': 2.0, 'w_WH_H_x': -1.0}}, {'of': {'v_h': 1.0}, 'most': 0.01}],
    'layers': [
        {'weights': [[1.0, 2.0], [-1.0, 0.5], [3.0, 0.0]], 'bias': [0.1, 0.0, -0.2]},
        {'weights': [[1.0, -1.0, 2.0]], 'bias': [0.4]},
    ],
    'actions': {'alpha_WH_H_y': 5.0},
}


@pytest.fixture(scope='module')
def model():
    return load_model('ball_on_plate_hard.yaml')


@pytest.fixture(scope='module')
def rest(model):
    """A plan in which the ball rests at (50, -20) mm."""
    system, x = model.system, model.start.copy()
    x[system.state.slice('contact_h')] = 0.05, -0.02
    return Plan(
        system=system.name,
        model_hash=system.model_hash,
        state_names=system.state.names,
        control_names=system.control.names,
        times=np.array([0.0, 0.5]),
        states=np.tile(x, (2, 1)),
        controls=np.zeros((2, system.control.size)),
    )


def written(folder, policy):
    file = folder / 'policy.json'
    file.write_text(json.dumps(policy))
    return file


def test_network_is_evaluated_layer_by_layer(model, rest, tmp_path):
    law = LearnedLaw(model.system, model.params, rest, LearnedPolicy.read(written(tmp_path, NET)))
    x, layout = rest.states[0].copy(), model.system.state
    x[layout.index('u_h')] += 0.03
    x[layout.index('v_h')] += 0.5  # cut to 0.01
    x[layout.index('w_WH_H_x')] = 0.02
    a, b = 2 * 0.03 - 0.02, 0.01
    hidden = np.tanh([a + 2 * b + 0.1, -a + 0.5 * b, 3 * a - 0.2])
    assert law.action(0.1, x) == pytest.approx(hidden @ [1.0, -1.0, 2.0] + 0.4, abs=1e-12)
    memory, u = law.step(law.start(), x, 0.1)
    assert u[model.system.control.names.index('alpha_WH_H_y')] == pytest.approx(
        5.0 * law.action(0.1, x)[0]
    )
    assert np.count_nonzero(u) == 1
    np.testing.assert_array_equal(law.step(memory, rest.states[0], 0.119)[1], u)  # for 20 ms
    assert abs(law.step(memory, rest.states[0], 0.1201)[1] - u).max() > 0.01


@pytest.mark.parametrize(('bias', 'action'), [(9.0, 1.0), (-9.0, -1.0)])
def test_an_action_stays_within_one(model, rest, tmp_path, bias, action):
    """The scale of a control is its greatest magnitude, whatever the network says."""
    last = {**NET['layers'][1], 'bias': [bias]}
    policy = LearnedPolicy.read(written(tmp_path, NET | {'layers': [NET['layers'][0], last]}))
    law = LearnedLaw(model.system, model.params, rest, policy)
    assert law.action(0.0, rest.states[0]).tolist() == [action]
    _, u = law.step(law.start(), rest.states[0], 0.0)
    assert u[model.system.control.names.index('alpha_WH_H_y')] == 5.0 * action


def test_exported_policy_acts_as_in_its_environment(example, model, rest, tmp_path):
    """To first order in the slope of the plate."""
    policy = LearnedPolicy.read(written(tmp_path, example.law_of(example.by_hand())))
    law = LearnedLaw(model.system, model.params, rest, policy)
    episodes = Episodes(TASKS['BallOnPlate-v0'](), 6)
    rngs = [np.random.default_rng(k) for k in range(6)]
    seen = episodes.begin(np.ones(6, bool), rngs)
    for _ in range(5):
        batch, actions = episodes.batch, 0.3 * np.tanh(seen.astype(float) @ example.by_hand().T)
        seen, _ = episodes.step(actions, rngs, np.ones(6, bool))
    for k in range(6):
        x, wanted = batch.states[k].copy(), example.by_hand() @ seen[k].astype(float)
        shift = batch.goals[k, :2] - [0.05, -0.02]
        x[model.system.state.slice('contact_h')] -= shift
        np.testing.assert_allclose(law.action(0.0, x), np.clip(wanted, -1, 1), atol=5e-3)


def test_policy_leads_a_ball_back_to_its_plan(example, model, rest, tmp_path):
    file = str(written(tmp_path, example.law_of(example.by_hand())))
    following = follow(Wanted(model, rest, {'law': 'learned', 'policy_file': file}))
    assert following.holds
    start = rest.states[0].copy()
    place = model.system.state.slice('contact_h')
    start[place] += 0.05, 0.03
    motion = run_lockstep(model.system, model.params, start, following.law, 4.0, rate=250.0)
    assert np.linalg.norm(motion.states[-1, place] - rest.states[0, place]) < 1e-3


@pytest.mark.parametrize(
    ('change', 'text'),
    [
        ({'format': 2}, 'format: Input should be 1'),
        ({'period': 0}, 'period: .*greater than 0'),
        ({'layers': NET['layers'][:1]}, 'gives 3 numbers for 1 actions'),
        ({'layers': NET['layers'][1:]}, r'layers.0: rows of 2 weights .* rows of \[3\]'),
        ({'actions': {'alpha': 1.0}}, "no control 'alpha'"),
        ({'observations': [{'of': {'u_hh': 1.0}}] * 2}, "tangent scalar 'u_hh'.*u_h"),
        ({'gain': 1.0}, 'gain: Extra inputs'),
    ],
)
def test_what_is_wrong_with_a_file_is_told(change, text, model, rest, tmp_path):
    file = written(tmp_path, NET | change)
    with pytest.raises(ParameterError, match=text):
        follow(Wanted(model, rest, {'law': 'learned', 'policy_file': str(file)}))


def test_a_missing_file_is_told(model, rest, tmp_path):
    with pytest.raises(ParameterError, match='needs policy_file'):
        follow(Wanted(model, rest, {'law': 'learned'}))
    missing = str(tmp_path / 'none.json')
    with pytest.raises(ParameterError, match=r'none\.json: cannot be read'):
        follow(Wanted(model, rest, {'law': 'learned', 'policy_file': missing}))

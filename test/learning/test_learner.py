"""The learner of the examples: it learns, and what is judged is what was learned."""

import gymnasium
import numpy as np
import pytest


def test_gains_by_hand_are_better_than_nothing(example):
    env = gymnasium.make_vec(example.NAME, 8, **example.OPTIONS)
    policies = np.repeat([example.by_hand(), np.zeros((2, 10))], 4, axis=0)
    earned = example.returns(env, policies, [5, 6, 7, 8] * 2)
    assert earned[:4].min() > 150
    assert earned[4:].mean() < 80


@pytest.mark.slow
def test_learned_policy_is_as_good_as_one_by_hand(example):
    env = gymnasium.make_vec(example.NAME, 100, **example.OPTIONS)
    policies = np.repeat([example.learn(40), example.by_hand()], 50, axis=0)
    earned = example.returns(env, policies, [10**6 + k for k in range(50)] * 2)
    assert earned[:50].mean() > 0.95 * earned[50:].mean()

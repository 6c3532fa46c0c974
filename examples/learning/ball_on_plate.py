"""
A linear policy for the ball on a plate, found by CMA-ES in a minute.

``python examples/learning/ball_on_plate.py`` needs `pip install rolling_robotics[learning]`.
All candidates of a generation are tried at once, on the same episodes: masses and inertias 10 %
off, observations late and noisy. The policy is written to a file, and judged on episodes that
were never trained on, beside doing nothing and gains that were chosen by hand. The file is a law
of the controller (`law: learned`, `policy_file`): what it sees are deviations from a plan then.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import time
from typing import Any

import cma
import gymnasium
import numpy as np
from numpy.typing import NDArray
from rolling_robotics.learning import TASKS

Array = NDArray[np.float64]
NAME = 'rolling_robotics.learning:rolling/BallOnPlate-v0'
OPTIONS = {
    'randomise': {'mass': 0.1, 'inertia': 0.1},
    'noise': {'m': 2e-4, 'm/s': 5e-3},
    'delay': 1,
}
EPISODES, CANDIDATES, STEPS = 8, 16, 250
SCALE = np.array([10.0] * 2 + [5.0] * 2 + [10.0] * 2 + [1.0] * 2)  # of the first gains
BY_HAND = {'place': 3.6, 'velocity': 2.1, 'slope': 6.0, 'turning': 1.4}


def gains(numbers: Array) -> Array:
    """Return the policy's matrix, shape (2, 10), of its 16 numbers; the target rests."""
    return np.hstack([np.reshape(numbers, (2, 8)) * SCALE, np.zeros((2, 2))])


def returns(env: gymnasium.vector.VectorEnv, matrices: Array, seeds: list[int]) -> Array:
    """Return what the policies, shape (environments, 2, 10), earn in one episode."""
    seen, _ = env.reset(seed=seeds)
    total, going = np.zeros(env.num_envs), np.ones(env.num_envs, bool)
    for _ in range(STEPS):
        actions = np.einsum('kij,kj->ki', matrices, seen.astype(float))
        seen, reward, failed, _, _ = env.step(np.clip(actions, -1, 1))
        total += going * reward
        going &= ~failed
    return total


def learn(generations: int) -> Array:
    """Return the best policy of the last generation's mean."""
    env = gymnasium.make_vec(NAME, EPISODES * CANDIDATES, **OPTIONS)
    search = cma.CMAEvolutionStrategy(
        np.zeros(16), 0.3, {'popsize': CANDIDATES, 'seed': 1, 'verbose': -9}
    )
    for generation in range(generations):
        asked = search.ask()
        matrices = np.repeat([gains(numbers) for numbers in asked], EPISODES, axis=0)
        seeds = [1000 * generation + k for k in range(EPISODES)] * CANDIDATES
        earned = returns(env, matrices, seeds).reshape(CANDIDATES, EPISODES).mean(axis=1)
        search.tell(asked, (-earned).tolist())
        if generation % 10 == 9:
            print(f'generation {generation + 1}: {earned.mean():.1f} of {STEPS}')
    return gains(search.result.xfavorite)


def by_hand() -> Array:
    """Return gains chosen by hand: the slope leans against place and velocity."""
    g = BY_HAND
    across = [g['place'], g['velocity'], g['slope']]
    return np.array(
        [
            [0, across[0], 0, across[1], 0, across[2], -g['turning'], 0, 0, 0],
            [-across[0], 0, -across[1], 0, -across[2], 0, 0, -g['turning'], 0, 0],
        ]
    )


def law_of(matrix: Array) -> dict[str, Any]:
    """Return a policy as the controller's law `learned` reads it, see docs/learning.md."""
    task = TASKS['BallOnPlate-v0']()
    p, layout = task.scenario.p, task.scenario.system.parameters
    radius = float(p[layout.slice('object_surface')][0])
    seen = [
        *({'u_h': 1.0}, {'v_h': 1.0}),
        *({'w_HO_H_y': radius}, {'w_HO_H_x': -radius}),
        *({'d_WH_y': 1.0}, {'d_WH_x': -1.0}),  # the normal, to first order
        *({'w_WH_H_x': 1.0}, {'w_WH_H_y': 1.0}),
    ]
    most = np.repeat([o.most for o in task.observed], [o.size for o in task.observed])
    return {
        'format': 1,
        'period': task.dt,
        'observations': [
            {'of': of, 'most': m} for of, m in zip(seen, most.tolist(), strict=False)
        ],
        'layers': [{'weights': matrix[:, : len(seen)].tolist(), 'bias': [0.0, 0.0]}],
        'actions': dict(task.actions),
    }


def main() -> None:
    """Learn a policy, write it, and judge it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--generations', type=int, default=40, help='(default: 40)')
    parser.add_argument('--out', type=Path, default=Path('policy.json'))
    args = parser.parse_args()
    started = time.process_time()
    policy = learn(args.generations)
    print(f'learned in {time.process_time() - started:.0f} CPU s')
    args.out.write_text(json.dumps(law_of(policy), indent=1))
    env = gymnasium.make_vec(NAME, 200, **OPTIONS)
    for name, matrix in (('nothing', 0 * policy), ('by hand', by_hand()), ('learned', policy)):
        earned = returns(env, np.repeat([matrix], 200, axis=0), [10**6 + k for k in range(200)])
        print(f'{name:8} {earned.mean():6.1f} of {STEPS}, worst {earned.min():.1f}')


if __name__ == '__main__':
    main()

"""How much of the limits of its joints an arm used, by what was recorded of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.configuration import find_config
from rolling_hw_interface.arm_chain import Chain
from rolling_robotics.calibration_report import chain_from, read_parameters
from rolling_robotics.experiments import find_experiment
from rolling_robotics.recordings.recorded_topics import read_joints, RecordedJoints
from rolling_robotics.trials.report import say


def joint_use(chain: Chain, joints: RecordedJoints) -> dict[str, NDArray[np.float64]]:
    """
    Return the maximum use of each limit, 1 where it is met, without unit; shape (joints,) each.

    Of an angle it is the distance from the middle of its range.
    """
    middle, half = (chain.high + chain.low) / 2, (chain.high - chain.low) / 2
    shares = {
        'angle': (joints.position - middle) / half,
        'rate': joints.velocity / chain.speed,
        'torque': joints.effort / chain.torque,
    }
    return {name: np.nanmax(np.abs(share), axis=0) for name, share in shares.items()}


def limits_kept(recording: Path, experiment: str) -> bool:
    """Return whether the joints of a recording kept their limits, and print how much they used."""
    given = read_parameters(find_config(find_experiment(experiment).params_file))
    chain = chain_from(given)
    names = chain.joint_names
    used = joint_use(chain, read_joints(recording, 'robot_joint_states', names))
    worst = {name: int(np.argmax(share)) for name, share in used.items()}
    told = (f'{used[n][k]:.2f} of its {n} ({names[k]})' for n, k in worst.items())
    say(f'limits of the joints, at most: {", ".join(told)}')
    return bool(max(share.max() for share in used.values()) <= 1)

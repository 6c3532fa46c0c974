"""
The learned policy on the nodes, beside the linear regulator and predictive control.

``python examples/learning/through_ros.py policy.json`` has the planner plan the motion of `rolling
demo ball_on_plate` once. Then plant and controller, in lockstep on simulated time, carry it out
three times from a start that is off: with each law, chosen by the controller's parameters.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from rolling_robotics.demo.run import draw, performed
from rolling_robotics.experiments import find_experiment
from rolling_robotics.trials.trial import outcomes, report


def main() -> None:
    """Run the nodes, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('policy', type=Path, help='what ball_on_plate.py wrote')
    parser.add_argument('--out', type=Path, default=Path('build', 'learned'), help='folder')
    args = parser.parse_args()
    learned = {'law': 'learned', 'policy_file': str(args.policy.resolve())}
    laws = {
        'linear_regulator': {'law': 'lqr'},
        'predictive_control': {'law': 'predictive'},
        'learned_policy': learned,
    }
    demo = replace(
        find_experiment('ball_on_plate').load_demo(),
        law='linear_regulator',
        compared={'predictive_control': 0.0, 'learned_policy': 0.0},
        settings=laws,
    )
    args.out.mkdir(parents=True, exist_ok=True)
    trials = demo.all_trials()
    records, _ = performed(demo, trials, args.out, use_sim_time=True)
    draw(demo, records, args.out / 'learned_laws.png')
    raise SystemExit(report(trials, outcomes(trials, records), demo.law))


if __name__ == '__main__':
    main()

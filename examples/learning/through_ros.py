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

from rolling_robotics.demo.record import Record
from rolling_robotics.demo.report import ending_text
from rolling_robotics.demo.run import performed
from rolling_robotics.experiments import find_experiment


def draw(record: Record, file: Path) -> None:
    """Draw paths over the plate, and errors over time."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use('Agg')
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (path, error) = plt.subplots(1, 2, figsize=(10, 4.2), layout='constrained')
    path.plot(*(1e3 * record.places(record.plan.states)).T, 'k--', label='planned')
    for label, (_, places) in record.samples('contact/coordinates').items():
        path.plot(*(1e3 * places[:, 2:4]).T, label=label)
    path.set(xlabel='$u_h$ [mm]', ylabel='$v_h$ [mm]', title='contact point on the plate')
    path.set_aspect('equal', adjustable='datalim')
    for label, run in record.runs.items():
        error.semilogy(run.times, run.errors, label=label)
    error.set(xlabel='time [s]', ylabel='norm (m, rad, m/s, rad/s)', title='state error')
    for axes in (path, error):
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
    figure.savefig(file, dpi=110)


def main() -> None:
    """Run the nodes, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('policy', type=Path, help='what ball_on_plate.py wrote')
    parser.add_argument('--out', type=Path, default=Path('build', 'learned'), help='folder')
    args = parser.parse_args()
    learned = {'law': 'learned', 'policy_file': str(args.policy.resolve())}
    laws = {'linear regulator': 'lqr', 'predictive control': 'predictive'}
    runs = {label: {'law': law} for label, law in laws.items()} | {'learned policy': learned}
    demo = replace(find_experiment('ball_on_plate').load_demo(), runs=runs)
    args.out.mkdir(parents=True, exist_ok=True)
    record, _ = performed(demo, args.out, use_sim_time=True)
    if record is None:
        raise SystemExit(1)
    for label, run in record.runs.items():
        print(f'{label:20} {ending_text(run)}, {1e3 * record.miss(label):.2f} mm')
    draw(record, args.out / 'learned_laws.png')


if __name__ == '__main__':
    main()

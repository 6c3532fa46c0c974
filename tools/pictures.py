"""
Make the pictures of README and docs with the project's own command.

    .venv/bin/python tools/pictures.py [NAME ...]

Each picture is a scenario that is simulated or planned, and a drawing of the result; they go to
`docs/images`. Those named after a demonstration are written by it: `make demo`, and
`rolling demo flip_up --trials 4`; a tutorial's by its commands; the labyrinth's by
`python -m evidence.benchmarks labyrinth`; 'reality_residuals.png' is drawn by
`rolling reproduce reality --figures`; `beside_mujoco.png` is the first page of the gallery, in
a browser. `docs/_static/preview.png` is `preview.svg` there, drawn by a browser at 1200 by 630.
"""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SMALL = '--no-strips --width 420'
ABOVE = '--azimuth -80 --elevation 50'
MOVING = '--no-strips --no-legend --width 240 --rate 6'
PICTURES = {  # file: command, scenario, options of the drawing
    'rolling.gif': ('plan', 'ball_on_plate_hard', '--rate 15 --speed 0.7 --width 440'),
    'contact.png': ('plan', 'ball_on_plate_hard', f'{SMALL} --at 1.2'),
    'point_mass_ball.png': ('plan', 'point_mass_s_path', f'{SMALL} --at 6.2 --elevation 35'),
    'point_mass_disk.png': ('simulate', 'point_mass_disk', f'{SMALL} --at 12 --elevation 15'),
    'pendulum_sphere.png': ('plan', 'pendulum_course', f'{SMALL} --at 9 --elevation 40'),
    'spin_rolling_sphere.png': ('simulate', 'spin_rolling_ball', f'{SMALL} --at 3.2'),
    'ball_balancer.png': ('simulate', 'ball_balancer', f'{SMALL} --at 3.5'),
    'labyrinth_board.png': ('plan', 'labyrinth', f'{SMALL} --at 6 {ABOVE}'),
    'labyrinth_side.png': ('plan', 'labyrinth', f'{SMALL} --at 6 --azimuth 20 --elevation 35'),
    'point_mass_hop.png': (
        'simulate',
        'point_mass_hop',
        '--width 520 --at 0.45 --elevation 15 --azimuth -75',
    ),
    'moving_dish.gif': ('simulate', 'ellipsoid_in_dish', f'{MOVING} --elevation 35'),
    'moving_ball.gif': ('plan', 'point_mass_s_path', f'{MOVING} --speed 2.5 --elevation 35'),
    'moving_disk.gif': ('simulate', 'point_mass_disk', f'{MOVING} --speed 5 --elevation 15'),
    'moving_pendulum.gif': ('plan', 'pendulum_course', f'{MOVING} --speed 2.5 --elevation 40'),
    'moving_sphere.gif': ('simulate', 'spin_rolling_ball', MOVING),
    'moving_labyrinth.gif': ('plan', 'labyrinth', f'{MOVING} --speed 3 {ABOVE}'),
    'moving_two_wheeler.gif': ('plan', 'two_wheeler', f'{MOVING} --elevation 20'),
    'moving_fingertips.gif': ('simulate', 'three_fingertips', f'{MOVING} --elevation 25'),
    'moving_hamster.gif': ('simulate', 'hamster_ball', f'{MOVING} --elevation 25'),
    'dish.png': ('simulate', 'ellipsoid_in_dish', f'{SMALL} --at 2.4 --elevation 35'),
}


def commands(name: str, folder: Path) -> list[list[str]]:
    """Return the commands that make a picture; results are kept in a folder."""
    kind, scenario, options = PICTURES[name]
    result = folder / f'{kind}_{scenario}.json'
    source = ROOT / 'config' / 'scenarios' / f'{scenario}.yaml'
    rolling = [sys.executable, '-m', 'rolling_robotics.cli']
    draw = [*rolling, 'animate', str(result), '--out', str(ROOT / 'docs' / 'images' / name)]
    make = [*rolling, kind, str(source), '--out', str(result)]
    return [*([] if result.exists() else [make]), [*draw, *options.split()]]


def reality(path: Path) -> None:
    """Draw the spin of a rattleback, and the tilts of three tippe tops, over time."""
    from evidence.reality.published import CLASSES, rattleback, tippe_top  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(8.2, 2.9), dpi=110, layout='constrained')
    stone, tops = figure.subplots(1, 2)
    _, times, spin = rattleback()
    stone.plot(times, spin, color='#0073b2')
    stone.axhline(0, color='grey', linewidth=0.6)
    stone.set(title='spin of a rattleback [rad/s]', xlabel='time [s]')
    for ratio, colour in zip(CLASSES, ('#0073b2', '#d65e00', '#008059'), strict=True):
        tilts = tippe_top(ratio, count=301)
        tops.plot(np.linspace(0, 6, len(tilts)), tilts, color=colour, label=f'inertia {ratio:g}')
    tops.axhline(np.pi, color='grey', linewidth=0.6)
    tops.set(title='tilt of tippe tops [rad]', xlabel='time [s]')
    tops.legend(frameon=False, loc=(0.62, 0.22))
    figure.savefig(path)


def predictive(path: Path) -> None:
    """Draw a pushed ball under the regulator and the predictive law: its path, and friction."""
    from evidence.benchmarks import predictive as pushed  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415
    from rolling_controller import run_lockstep, TimeVaryingLqr  # noqa: PLC0415
    from rolling_controller.law import Law  # noqa: PLC0415

    system = pushed.SYSTEM
    chance = pushed.drawn(np.random.default_rng(3007))
    problem, plan = pushed.planned(chance.problem)
    push = chance.push * pushed.PUSHED / pushed.STEP
    figure = Figure(figsize=(8.2, 3.2), dpi=110, layout='constrained')
    top, friction = figure.subplots(1, 2, width_ratios=(1, 1.5))
    where = system.state.slice('contact_h')
    top.plot(*plan.states[:, where].T, color='grey', linestyle='--', label='plan')
    friction.axhline(0, color='grey', linewidth=0.6)
    friction.axvline(chance.pushed_at, color='grey', linestyle=':', label='push')
    margin = next(iter(system.modes.values())).guards['friction']
    laws: dict[str, Law[Any]] = {
        'linear regulator': TimeVaryingLqr(system, problem.p, plan, control_limits=pushed.LIMIT),
        'predictive law': pushed.predictive_law(problem, plan),
    }
    for colour, (name, law) in zip(('#d65e00', '#0073b2'), laws.items(), strict=True):
        run = run_lockstep(
            system, chance.plant, chance.start, law, 3.5, pushes=[(chance.pushed_at, push)]
        )
        states, controls, times = run.states, run.controls, run.times
        top.plot(*states[:, where].T, color=colour, label=name)
        values = [
            float(margin(x, u, t, chance.plant))
            for x, u, t in zip(states[: len(controls)], controls, times, strict=False)
        ]
        friction.plot(times[: len(values)], values, color=colour)
    top.set(title='contact on the plate [m]', aspect='equal')
    figure.legend(frameon=False, loc='outside lower center', ncols=4)
    friction.set(title='margin of friction [weights]', xlabel='time [s]')
    figure.savefig(path)


DRAWN = {'reality.png': reality, 'predictive.png': predictive}


def main() -> None:
    """Make the pictures that are named, or all."""
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or [*PICTURES, *DRAWN]:
            if name in DRAWN:
                DRAWN[name](ROOT / 'docs' / 'images' / name)
                continue
            for command in commands(name, Path(folder)):
                subprocess.run(command, check=True)


if __name__ == '__main__':
    main()

"""
Compile what a scenario evaluates, so that its next runs are fast.

Simulate a scenario, plan it if it has a section `plan`, and wait until everything that was
evaluated is compiled. The other commands do not wait: what they evaluate is compiled in the
background, also after they have ended, and later runs use it.

The environment variable ROLLING_COMPILE chooses: `behind` (default), `now` (before anything is
evaluated) or `never`. Machine code is kept in ROLLING_CACHE_DIR (default:
~/.cache/rolling_robotics).

example:
  rolling compile ball_on_plate_hard
"""

from __future__ import annotations

from argparse import Namespace

from rolling_dynamics.errors import ParameterError
from rolling_robotics.commands.arguments import add_scenario
from rolling_robotics.console import Progress, say

LONGEST = 3600.0  # s


add_arguments = add_scenario


def run(args: Namespace) -> int:
    """Compile."""
    from rolling_dynamics.compiled import (
        cache_folder,
        compiles,
        forget_failures,
        pending,
        wait,
    )
    from rolling_dynamics.scenario import load_scenario
    from rolling_planner.planners.planner import planner_of
    from rolling_robotics.result import simulate_scenario

    if not compiles():
        raise ParameterError(
            'there is no C compiler, or ROLLING_COMPILE is "never"; install gcc or clang, or name '
            'one by the environment variable CC'
        )
    scenario = load_scenario(args.scenario)
    forget_failures()
    with Progress(f'simulating {scenario.name}') as progress:
        simulate_scenario(scenario, progress)
    if 'plan' in scenario.raw:
        with Progress(f'planning {scenario.name}'):
            planner_of(scenario.system.name).plan(scenario, lambda _: True)
    total = max(len(pending()), 1)
    with Progress(f'compiling {scenario.name}') as progress:

        def show() -> bool:
            names = pending()
            left = len(names)
            progress.say(f'{left} to go: {", ".join(names)}', max(0.0, 1 - left / total))
            return False

        done = wait(LONGEST, show)
    if not done:
        say(f'not everything was compiled within {LONGEST:g} s')
        return 1
    print(f'compiled; kept in {cache_folder()}')
    return 0

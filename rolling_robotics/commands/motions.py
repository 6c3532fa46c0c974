"""Motions of a scenario: simulate, plan, and compile what these evaluate."""

from __future__ import annotations

from argparse import Namespace

from rolling_dynamics.errors import ParameterError
from rolling_robotics.commands.arguments import add_scenario, add_scenario_and_result
from rolling_robotics.console import InterruptFlag, Progress, say

declare_simulate = add_scenario_and_result


def run_simulate(args: Namespace) -> int:
    """
    Simulate a scenario and write the result as JSON.

    Simulate a scenario and write states in both representations, poses, contact wrench, margins,
    energy and events as named arrays with units.

    Exit status 1 means that the contact left its envelope (slip, lift-off, edge of the hand, a
    hole in the board) or that the hand's motion exceeds its limits. The file is written all the
    same.

    example:
      rolling simulate spinning_plate --out plate.json
      rolling plot plate.json
    """
    from rolling_dynamics.plugin import role_of
    from rolling_dynamics.scenario import load_scenario
    from rolling_robotics.files import checked_output, say_written, write_json
    from rolling_robotics.result import (
        simulate_scenario,
        simulation_result,
        summary,
        violations,
    )

    out = checked_output(args.out, '.json')
    scenario = load_scenario(args.scenario)
    with Progress(f'simulating {scenario.name}') as progress:
        reported = role_of(scenario.system.name, 'report') is not None
        trajectory = simulate_scenario(scenario, progress, dense=reported)
        progress.say('writing')
        result = simulation_result(scenario, trajectory)
        write_json(out, result)
    say_written(out, summary(result))
    broken = violations(result)
    if broken:
        say('\n'.join(broken))
    return 1 if broken else 0


declare_plan = add_scenario_and_result


def run_plan(args: Namespace) -> int:
    """
    Plan the motion that a scenario asks for and write it as JSON.

    Plan a motion of the hand that brings the object to the goal in the scenario's `plan` section,
    simulate it, and write the plan with named arrays as `rolling simulate` does.

    Exit status 1 means that no plan was found; the text names what could not be met.

    example:
      rolling plan ball_on_plate_hard --out plan.json
      rolling plot plan.json
    """
    from rolling_dynamics.scenario import load_scenario
    from rolling_planner import Iteration
    from rolling_planner.planners.planner import planner_of
    from rolling_robotics.files import checked_output, say_written, write_json
    from rolling_robotics.result import plan_result, plan_summary

    out = checked_output(args.out, '.json')
    scenario = load_scenario(args.scenario)
    planner = planner_of(scenario.system.name)
    with Progress(f'planning {scenario.name}') as progress, InterruptFlag() as interrupt:

        def on_iteration(i: Iteration) -> bool:
            progress.say(i.line)
            return not interrupt.raised

        planned = planner.plan(scenario, on_iteration)
        progress.say('simulating the plan')
        result = plan_result(planned)
        write_json(out, result)
    say_written(out, plan_summary(result, planner.lines))
    if not result['reached']:
        say(
            f'goal: the error {result["goal_error"]:.3g} exceeds the tolerance '
            f'{planned.tolerance:g}, or the plan was not driven to its end'
        )
        return 1
    return 0


LONGEST = 3600.0  # s


declare_compile = add_scenario


def run_compile(args: Namespace) -> int:
    """
    Compile the functions of a scenario, so that its next runs are fast.

    Simulate a scenario, plan it if it has a section `plan`, and wait until all functions used are
    compiled. The other commands do not wait: their functions are compiled in the background, also
    after the command has ended, for use by later runs.

    The environment variable ROLLING_COMPILE selects the time: `behind` (default), `now` (before
    anything is evaluated) or `never`. Machine code is kept in ROLLING_CACHE_DIR (default:
    ~/.cache/rolling_robotics).

    example:
      rolling compile ball_on_plate_hard
    """
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

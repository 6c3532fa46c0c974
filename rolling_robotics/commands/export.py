"""Controllers in C and pages: machines and controllers that run without this suite."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from rolling_dynamics.extras import need
from rolling_robotics.commands import Add
from rolling_robotics.console import Progress


def declare_export(add: Add) -> None:
    """Declare the options."""
    add('controller', 'CONTROLLER', 'its name, such as lqr')
    add('--scenario', 'FILE', 'scenario file or example', default='ball_balancer')
    add('--language', None, 'language', choices=['c'], default='c')
    add('--out', 'FOLDER', 'folder to write to', Path, default=Path())


def run_export(args: Namespace) -> int:
    """
    Write a controller as C for a microcontroller.

    Write a controller in discrete time as C99: one header and one source, without allocation, the
    state in a struct, and a function for one step. Those of any machine take sines from the
    library of C (`-lm`), others no library. It prints the maximum number of operations of a step,
    its stack and, with a C compiler, the size of its code. Any machine with an equilibrium near
    its start has the controllers `hold`, `drive` if it has a position on the floor, `follow` along
    the plan of its scenario, and `measured`, the hold by the sensors of its scenario. Controllers
    along a plan are exported by the name that the parameter `law` takes, such as `lqr`, and those
    of experiments, such as `flip_up_closed_loop`: they contain a table of the plan, a row per
    step. An opaque controller is rejected.

    example:
      rolling export lqr --scenario ball_balancer --language c --out firmware
      rolling export hold --scenario my_robot.yaml
      rolling export flip_up_closed_loop --scenario laboratory_flip_up
    """
    from rolling_controller.export.cost import compiled_cost
    from rolling_controller.export.machine_laws import law_source
    from rolling_dynamics.scenario import load_scenario
    from rolling_robotics.files import checked_folder

    folder = checked_folder(args.out)
    scenario = load_scenario(args.scenario)
    with Progress(f'writing {args.controller}'):
        source = law_source(scenario, args.controller)
    print(*source.write(folder), sep='\n')
    print(f'  operations a step   {source.operations} at most')
    print(f'  state               {8 * source.law.state.size} bytes in double')
    print(f'  stack               {8 * source.work} bytes of numbers in double')
    print(f'  code                {compiled_cost(source)}')
    return 0


def declare_page(add: Add) -> None:
    """Declare the options."""
    add('scenario', 'SCENARIO', 'scenario file or example')
    add('--law', 'LAW', 'controller of `rolling export` to run', default='')
    add('--out', 'PAGE.html', 'page to write', Path, required=True)


def run_page(args: Namespace) -> int:
    """
    Write a scenario as a page that simulates in a browser.

    Write one HTML file that simulates a scenario in a browser, without a server, a network or this
    suite: the same steps and modes as here, as WebAssembly, under the control of the scenario or a
    controller, with its sensors and actuators. Time runs, pauses and goes back; parameters are
    sliders; the body can be dragged and pushed. Needs the compiler of Zig:
    `pip install 'rolling_robotics[page]'`.

    example:
      rolling page spinning_plate --out page.html
      rolling page ball_balancer --law lqr --out balancer.html
    """
    from rolling_dynamics.scenario import load_scenario
    from rolling_robotics.files import checked_output, written_beside
    from rolling_robotics.page.page import page_of

    need('page', 'ziglang')
    out, scenario = checked_output(args.out, '.html'), load_scenario(args.scenario)
    with Progress(f'writing {scenario.name}'):
        text = page_of(scenario, args.law)
    with written_beside(out) as scratch:
        scratch.write_text(text, encoding='utf-8')
    print(f'written to {out} ({len(text.encode()) / 1000:.0f} kB)')
    return 0

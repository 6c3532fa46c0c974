"""
Write a scenario as a page that simulates in a browser.

Write one HTML file that simulates a scenario in a browser, without a server, a network or this
suite: the same steps and modes as here, as WebAssembly, under the control of the scenario or a
law, with its sensors and actuators. Time runs, pauses and goes back; parameters are sliders; the
body can be dragged and pushed. Needs the compiler of Zig:
`pip install 'rolling_robotics[page]'`.

example:
  rolling page spinning_plate --out page.html
  rolling page ball_balancer --law lqr --out balancer.html
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_dynamics.extras import need
from rolling_robotics.console import Progress


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('scenario', metavar='SCENARIO', help='scenario file or example')
    parser.add_argument(
        '--law', metavar='LAW', default='', help='law of `rolling export` that closes the loop'
    )
    parser.add_argument(
        '--out', metavar='PAGE.html', type=Path, required=True, help='page to write'
    )


def run(args: Namespace) -> int:
    """Write the page."""
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

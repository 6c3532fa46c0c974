"""
Write the tables of parameters in `docs/nodes` from the declarations of the nodes.

    .venv/bin/python tools/node_pages.py

Each node has a page of its name; its table stands between two comments, the rest of the page is
written by hand. Needs rclpy.
"""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from rolling_dynamics.plugin import roles

if TYPE_CHECKING:
    from rolling_node_kit.parameters import Parameter

ROOT = Path(__file__).resolve().parents[1]
BEGIN = '<!-- parameters, written by tools/node_pages.py -->'
END = '<!-- end of parameters -->'
SIMULATED = {  # machines of the simulator
    'simulated_robot': 'rolling_dynamics.nodes.simulated_robot:SimulatedRobot.table',
    'simulated_object': 'rolling_dynamics.nodes.simulated_object:HybridObject.table',
    'simulated_arm': 'rolling_hw_interface.nodes.simulated_arm:ObjectOnArm.table',
}
CONTROLLED = {  # of the controller
    'hand_controller': 'rolling_controller.nodes.machines:ControlledHand.table',
    'robot_controller': 'rolling_controller.nodes.machines:ControlledRobot.table',
    'laboratory_controller': 'rolling_controller.nodes.controlled_laboratory:TABLE',
    'rig_controller': 'rolling_controller.ball_balancer.nodes.controlled_rig:TABLE',
}
HEAD = '| parameter | default | range | changes | meaning |\n|---|---|---|---|---|'


def nodes() -> dict[str, str]:
    """Return where the table of each node of the suite is, by the name of its page."""
    out = {}
    for path in sorted(ROOT.glob('rolling_*/**/nodes/*_node.py')):
        if 'TABLE' in path.read_text(encoding='utf-8'):
            module = '.'.join(path.relative_to(ROOT).with_suffix('').parts)
            out[path.stem.removesuffix('_node')] = f'{module}:TABLE'
    return out | SIMULATED | CONTROLLED


def page_of(name: str) -> Path:
    """Return the page of a node."""
    return ROOT / 'docs' / 'nodes' / f'{name}.md'


def table_of(place: str) -> str:
    """Return the table of the parameters that a node declares, at ``module:attribute``."""
    from rolling_controller.nodes.controller_parameters import law_parameters  # noqa: PLC0415
    from rolling_node_kit.parameters import COMMON  # noqa: PLC0415  (needs rclpy)

    module, _, attribute = place.partition(':')
    entries = [*COMMON, *attrgetter(attribute)(import_module(module))]
    if place == CONTROLLED['robot_controller']:
        kinds = (kind for _, kind in roles('law') if kind.group)
        own = {entry.name: entry for kind in kinds for entry in law_parameters(kind)}
        entries += own.values()
    return '\n'.join([HEAD, *map(_row, entries)])


def _row(entry: Parameter) -> str:
    default = f'`{_rounded(entry.default)}`' if entry.default != '' else 'empty'
    unit = f' {entry.unit}' if entry.unit else ''
    changes = 'at start' if entry.read_only else 'any time'
    cells = (f'`{entry.name}`', default + unit, _range(entry), changes, entry.text)
    return '| ' + ' | '.join(cell.replace('|', '&#124;') for cell in cells) + ' |'


def _rounded(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_rounded(v) for v in value]
    return float(f'{value:.6g}') if isinstance(value, float) else value


def _range(entry: Parameter) -> str:
    if entry.choices:
        return ', '.join(str(c) or 'empty' for c in entry.choices)
    low, high = entry.limits
    if low is not None and high is not None:
        return f'{low:g} to {high:g}'
    if low is not None:
        return f'at least {low:g}'
    return '' if high is None else f'at most {high:g}'


def with_table(text: str, table: str) -> str:
    """
    Return a page with its table in place of the one that it has.

    Raises
    ------
    ValueError
        The page has not one place for it.

    """
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f'a page needs {BEGIN!r} and {END!r} once each')
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f'{before}{BEGIN}\n{table}\n{END}{after}'


def main() -> None:
    """Write the table of every page."""
    for name, module in nodes().items():
        path = page_of(name)
        old = path.read_text(encoding='utf-8')
        new = with_table(old, table_of(module))
        if new != old:
            path.write_text(new, encoding='utf-8')
            print(path.relative_to(ROOT))


if __name__ == '__main__':
    main()

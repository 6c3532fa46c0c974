"""
Write `docs/experiments.md` and its diagrams: nodes, topics and verdicts of every experiment.

    .venv/bin/python tools/diagrams.py

Which nodes there are stands in the table of experiments, and what they publish and read in their
security policies, which are written from the graph of the running nodes. What succeeds is in
`test/golden`.
"""

from __future__ import annotations

from collections import defaultdict
import json
import math
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from rolling_robotics.experiments import Experiment, EXPERIMENTS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs' / 'experiments.md'
COMMON = {'clock', '/clock', '/diagnostics', '/parameter_events', '/rosout', '/tf'}
FONT, WIDTH, LINE, PAD, GAP = 12, 7.3, 16, 6, 18  # of a letter, a line and what is between [px]
HEAD = """# Experiments

Nodes of each experiment, with the topics and actions between them. Nodes are on the diagonal; what
one sends is in its row, what one receives in its column. A round box is a topic or an action that
a person or another robot uses. Every node publishes `/diagnostics` too, those with frames `/tf`,
and in simulated time the simulator is the `clock`. `tools/diagrams.py` draws the diagrams.
"""


def rights(name: str) -> dict[str, dict[str, set[str]]]:
    """Return what each node of an experiment may do: node -> right -> names."""
    path = ROOT / 'config' / 'security' / f'{name}.policy.xml'
    out: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for profile in ET.parse(path).iter('profile'):  # noqa: S314  a file of this repository
        node = str(profile.get('node'))
        for group in profile:
            for right in group.attrib:
                names = (str(entry.text).replace('~', node, 1) for entry in group)
                out[node][right] |= {n for n in names if n not in COMMON}
    return out


def topics_between(experiment: Experiment) -> dict[tuple[str, str], list[str]]:
    """Return the topics and actions from node to node; '' is a person or another robot."""
    nodes = [entry.name for entry in experiment.every_node]
    known = rights(experiment.name)
    out: dict[tuple[str, str], list[str]] = defaultdict(list)
    for right, opposite in (('publish', 'subscribe'), ('call', 'execute')):
        for topic in sorted({t for n in nodes for t in known[n][right] | known[n][opposite]}):
            sources = [n for n in nodes if topic in known[n][right]]
            for sink in (n for n in nodes if topic in known[n][opposite]):
                for source in sources if sink not in sources else ():
                    out[source, sink].append(topic)
                if not sources or right == 'call':
                    out['', sink].append(topic)
    return {pair: sorted(topics) for pair, topics in out.items()}


def diagram(experiment: Experiment) -> str:
    """
    Return the diagram of an experiment as SVG: an N-squared chart.

    Nodes stand on the diagonal; what one sends to another is in the row of the sender and the
    column of the receiver.
    """
    nodes = [entry.name for entry in experiment.every_node]
    between = topics_between(experiment)
    place = {name: k for k, name in enumerate(('', *nodes))}
    cells = {(place[a], place[b]): topics for (a, b), topics in between.items()}
    boxes = {(place[name], place[name]): [name] for name in nodes}
    widths, heights = [0.0] * len(place), [0.0] * len(place)
    for (row, column), lines in (cells | boxes).items():
        widths[column] = max(widths[column], WIDTH * max(map(len, lines)) + 2 * PAD)
        heights[row] = max(heights[row], LINE * len(lines) + 2 * PAD)
    widths[0] = -GAP  # nobody sends anything to the outside here
    x, y = _middles(widths), _middles(heights)
    arrows = (
        _arrow((x[row] if row else x[column], y[row]), (x[column], y[column]))
        for row, column in cells
    )
    width, height = x[-1] + widths[-1] / 2 + GAP, y[-1] + heights[-1] / 2 + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}"',
        f' viewBox="0 0 {width:g} {height:g}">',
        f'<g font-family="monospace" font-size="{FONT}" text-anchor="middle">',
        f'<title>Nodes and topics of {experiment.name}</title>',
        '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"',
        ' orient="auto"><path d="M0 0 8 4 0 8z" fill="#555"/></marker>',
        '<rect width="100%" height="100%" fill="#fff"/>',
        *arrows,
        *(_box((x[c], y[r]), t, '#f4f4f4', 0 if r else 9) for (r, c), t in cells.items()),
        *(_box((x[c], y[r]), t, '#cfe3f3', 3) for (r, c), t in boxes.items()),
        '</g></svg>',
    ]
    return '\n'.join(parts) + '\n'


def _middles(sizes: list[float]) -> list[float]:
    """Return the middles of columns or rows of these sizes, with gaps between them."""
    return [sum(sizes[:k]) + (k + 1) * GAP + size / 2 for k, size in enumerate(sizes)]


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Return an arrow along the row of the sender, then along the column of the receiver."""
    side = end[1] + math.copysign(LINE / 2 + PAD, start[1] - end[1])
    path = f'M{start[0]:g} {start[1]:g}H{end[0]:g}V{side:g}'
    return f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#head)"/>'


def _box(middle: tuple[float, float], lines: list[str], colour: str, corner: float) -> str:
    """Return lines of text in a box."""
    width, height = WIDTH * max(map(len, lines)) + 2 * PAD, LINE * len(lines) + 2 * PAD
    left, top = middle[0] - width / 2, middle[1] - height / 2
    edge = ' stroke="#555"' if corner else ''
    text = ''.join(
        f'<text x="{middle[0]:g}" y="{top + PAD + LINE * (k + 0.75):g}">{escape(line)}</text>'
        for k, line in enumerate(lines)
    )
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="{corner:g}" '
        f'fill="{colour}"{edge}/>{text}'
    )


VERDICTS = """## Verdicts

Trials of `test/golden` that succeed: random seeds 0, 1 and 2 in lockstep, without ROS, and the
demonstration on its nodes in simulated time. A plan has one start, so one trial a controller. Of
the ball balancer: jumps that end within 5 mm, of 36 on each of two plates.

| experiment | in lockstep | on its nodes |
|---|---|---|
"""


def verdicts() -> str:
    """Return the table of what the golden set says of each experiment."""
    golden = ROOT / 'test' / 'golden'
    lockstep, ros = (json.loads((golden / f'{n}.json').read_text()) for n in ('lockstep', 'ros'))
    rows = []
    for name in EXPERIMENTS:
        found = (
            f'{title.removeprefix(name).strip(" ,")}: {_succeeded(given)}'.removeprefix(': ')
            for title, given in lockstep.items()
            if title.startswith(name)
        )
        nodes = ', '.join(ros[name]['laws'])
        rows.append(f'| `{name}` | {"; ".join(found)} | {nodes} |\n')
    return VERDICTS + ''.join(rows)


def _succeeded(given: dict[str, list[int]] | list[int]) -> str:
    """Return how many trials succeed, of each law where there are several."""
    if isinstance(given, dict):
        return ', '.join(f'{law} {_succeeded(trials)}' for law, trials in given.items())
    if all(isinstance(trial, bool) for trial in given):
        return f'{sum(given)} of {len(given)}'
    return ' and '.join(map(str, given))


def page() -> str:
    """Return the text of the page."""
    parts = [HEAD]
    for name, experiment in EXPERIMENTS.items():
        command = f'ros2 launch rolling_robotics {name}.launch.py'
        parts.append(f'## {name}\n\n{experiment.text} `{command}`\n')
        parts.append(f'![Nodes and topics of {name}](images/{picture(name).name})\n')
    return '\n'.join([*parts, verdicts()])


def picture(name: str) -> Path:
    """Return the path of the diagram of an experiment."""
    return PAGE.parent / 'images' / f'nodes_{name}.svg'


if __name__ == '__main__':
    PAGE.write_text(page(), encoding='utf-8')
    for name, experiment in EXPERIMENTS.items():
        picture(name).write_text(diagram(experiment), encoding='utf-8')

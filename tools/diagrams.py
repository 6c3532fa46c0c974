"""
Write `docs/experiments.md`: nodes and topics of every experiment, as diagrams.

    .venv/bin/python tools/diagrams.py

Which nodes there are stands in the table of experiments, and what they publish and read in their
security policies, which are written from the graph of the running nodes.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree as ET

from rolling_robotics.experiment import Experiment
from rolling_robotics.experiments import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs' / 'experiments.md'
COMMON = {'clock', '/clock', '/diagnostics', '/parameter_events', '/rosout', '/tf'}
HEAD = """# Experiments

Nodes of each experiment, with the topics and actions between them; written by
`tools/diagrams.py`. A round box is a topic or an action that a person or another robot uses. Every
node publishes `/diagnostics` too, those with frames `/tf`, and in simulated time the simulator is
the `clock`.
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


def diagram(experiment: Experiment) -> str:
    """Return the diagram of an experiment in the language of Mermaid."""
    nodes = [entry.name for entry in experiment.every_node]
    known = rights(experiment.name)
    lines = ['flowchart LR', *(f'  {n}[{n}]' for n in nodes)]
    between: dict[tuple[str, str], list[str]] = defaultdict(list)
    outside: dict[tuple[str, str], list[str]] = defaultdict(list)
    for right, opposite in (('publish', 'subscribe'), ('call', 'execute')):
        for topic in sorted({t for n in nodes for t in known[n][right] | known[n][opposite]}):
            sources = [n for n in nodes if topic in known[n][right]]
            sinks = [n for n in nodes if topic in known[n][opposite] and n not in sources]
            for a in sources:
                for b in sinks:
                    between[a, b].append(topic)
            if not sources or right == 'call':
                for b in (n for n in nodes if topic in known[n][opposite]):
                    outside['in', b].append(topic)
    for (a, b), topics in between.items():
        lines.append(f'  {a} -->|"{"<br/>".join(topics)}"| {b}')
    for k, ((_, b), topics) in enumerate(outside.items()):
        lines.append(f'  person{k}(["{"<br/>".join(sorted(topics))}"]) --> {b}')
    return '\n'.join(lines)


def page() -> str:
    """Return the text of the page."""
    parts = [HEAD]
    for name, experiment in EXPERIMENTS.items():
        command = f'ros2 launch rolling_robotics {name}.launch.py'
        parts.append(f'## {name}\n\n{experiment.text} `{command}`\n')
        parts.append(f'```mermaid\n{diagram(experiment)}\n```\n')
    return '\n'.join(parts)


if __name__ == '__main__':
    PAGE.write_text(page(), encoding='utf-8')

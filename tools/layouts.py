"""
Write the layouts of Foxglove and PlotJuggler of every experiment into `config`.

    .venv/bin/python tools/layouts.py

An experiment shows the curves below whose topics it records: `<experiment>.foxglove.json`
and `<experiment>.plotjuggler.xml`.
"""

from __future__ import annotations

from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from rolling_dynamics.robots.view import robot_view
from rolling_dynamics.scenario import load_scenario
from rolling_robotics.experiments import Experiment, EXPERIMENTS
from rolling_robotics.figures.states import COLOURS

ROOT = Path(__file__).resolve().parents[1]
SHOWN = (  # in space
    'simulator/surfaces',
    'simulator/markers',
    'plan/object_path',
    'robot_description',
)
ARM_JOINTS = ['joint_1', 'joint_2', 'joint_3']


@dataclass(frozen=True)
class Curve:
    """A field of a topic; of a joint state the joint with a number and a name."""

    topic: str
    field: str
    label: str
    joint: int | None = None

    @property
    def message_path(self) -> str:
        """Path as Foxglove writes it."""
        index = '' if self.joint is None else f'[{self.joint}]'
        return f'/{self.topic}.{self.field}{index}'

    @property
    def series(self) -> str:
        """Name of the series in PlotJuggler."""
        if self.joint is not None:
            return f'/{self.topic}/{self.label}/{self.field}'
        return f'/{self.topic}/{self.field.replace(".", "/")}'


def fields(topic: str, prefix: str, names: str, label: str = '') -> list[Curve]:
    """Return a curve for each of the names below a field."""
    return [Curve(topic, f'{prefix}.{n}', f'{label} {n}'.strip()) for n in names.split()]


def joints(topic: str, field: str, names: list[str]) -> list[Curve]:
    """Return a curve for each joint of a joint state."""
    return [Curve(topic, field, name, k) for k, name in enumerate(names)]


def panels(experiment: Experiment) -> dict[str, list[Curve]]:
    """Return the curves of each plot of an experiment by its title, those that are recorded."""
    scenario = load_scenario(experiment.scenario_file)
    control, inner = scenario.system.control.names, ARM_JOINTS
    if 'robot/state' in experiment.recorded:
        inner = list(robot_view(scenario.system, scenario.p).joints)
    place, xyz = 'pose.pose.position', 'x y z'
    everything = {
        'Place [m]': [
            *fields('object/odometry', place, xyz, 'object'),
            *fields('object/ground_truth', place, xyz, 'true'),
            *fields('vision/object_pose', place, xyz, 'seen'),
            *fields('odom', place, 'x y'),
        ],
        'Contact coordinates': joints(
            'contact/coordinates', 'position', ['u_o', 'v_o', 'u_h', 'v_h', 'psi']
        ),
        'Velocity [m/s, rad/s]': [
            *fields('cmd_vel', 'twist.linear', 'x', 'commanded'),
            *fields('cmd_vel', 'twist.angular', 'z', 'commanded'),
            *fields('odom', 'twist.twist.linear', 'x'),
            *fields('odom', 'twist.twist.angular', 'z'),
        ],
        'Control': [
            *fields('hand/accel_command', 'accel.angular', xyz, 'angular'),
            *fields('hand/accel_command', 'accel.linear', xyz, 'linear'),
            *joints('robot/control', 'effort', control),
        ],
        'Joints': joints('joint_states', 'position', inner),
        'Contact force [N]': fields('contact/wrench', 'wrench.force', xyz),
        'Friction': [
            Curve('contact/state', 'required_friction', 'required'),
            Curve('contact/state', 'friction_utilisation', 'utilisation'),
        ],
    }
    recorded = set(experiment.recorded)
    found = {t: [c for c in curves if c.topic in recorded] for t, curves in everything.items()}
    return {title: curves for title, curves in found.items() if curves}


def colour(k: int) -> str:
    """Return the colour of a curve of a plot."""
    return COLOURS[k % len(COLOURS)]


def foxglove(experiment: Experiment) -> str:
    """Return the layout for Foxglove: space and contact at the left, curves at the right."""
    robot = 'robot/state' in experiment.recorded
    recorded = set(experiment.recorded)
    configs: dict[str, Any] = {
        '3D!scene': {
            'followTf': 'odom' if robot else 'world',
            'cameraState': {
                'perspective': True,
                'distance': 4.0 if robot else 1.2,
                'phi': 60,
                'thetaOffset': 45,
            },
            'topics': {f'/{topic}': {'visible': True} for topic in SHOWN if topic in recorded},
        },
        'DiagnosticSummary!health': {'minLevel': 0, 'topicToRender': '/diagnostics'},
    }
    right = []
    for number, (title, curves) in enumerate(panels(experiment).items()):
        right.append(f'Plot!{number}')
        configs[right[-1]] = {
            'title': title,
            'paths': [
                {
                    'value': c.message_path,
                    'label': c.label,
                    'color': colour(k),
                    'enabled': True,
                    'timestampMethod': 'headerStamp',
                }
                for k, c in enumerate(curves)
            ],
            'showLegend': True,
            'isSynced': True,
            'xAxisVal': 'timestamp',
        }
    left = _stack(['3D!scene', 'DiagnosticSummary!health'], first=75)
    layout = {'direction': 'row', 'first': left, 'second': _stack(right), 'splitPercentage': 55}
    document = {
        'configById': configs,
        'globalVariables': {},
        'userNodes': {},
        'playbackConfig': {'speed': 1},
        'layout': layout,
    }
    return json.dumps(document, indent=2) + '\n'


def _stack(names: list[str], first: float = 0.0) -> Any:  # noqa: ANN401  (a tree of panels)
    """Return panels one below the other, of equal heights unless the first has its own."""
    if len(names) == 1:
        return names[0]
    height = first or 100 / len(names)
    rest = _stack(names[1:])
    return {'direction': 'column', 'first': names[0], 'second': rest, 'splitPercentage': height}


def plotjuggler(experiment: Experiment) -> str:
    """Return the layout for PlotJuggler: the curves one below the other."""
    plots = panels(experiment)
    root = ET.Element('root')
    window = {'name': 'Main Window', 'parent': 'main_window'}
    tabs = ET.SubElement(root, 'tabbed_widget', window)
    tab = ET.SubElement(tabs, 'Tab', tab_name=experiment.name, containers='1')
    splitter = ET.SubElement(
        ET.SubElement(tab, 'Container'),
        'DockSplitter',
        orientation='-',
        count=str(len(plots)),
        sizes=';'.join([f'{1 / len(plots):.6f}'] * len(plots)),
    )
    for title, curves in plots.items():
        area = ET.SubElement(splitter, 'DockArea', name=title)
        settings = {'mode': 'TimeSeries', 'style': 'Lines', 'flip_x': 'false', 'flip_y': 'false'}
        plot = ET.SubElement(area, 'plot', settings)
        ET.SubElement(plot, 'limitY')
        for k, curve in enumerate(curves):
            ET.SubElement(plot, 'curve', name=curve.series, color=colour(k))
    ET.SubElement(tabs, 'currentTabIndex', index='0')
    ET.SubElement(root, 'use_relative_time_offset', enabled='1')
    ET.indent(root)
    return (
        "<?xml version='1.0' encoding='UTF-8'?>\n" + ET.tostring(root, encoding='unicode') + '\n'
    )


def layouts() -> dict[str, str]:
    """Return the text of every layout by the name of its file in `config`."""
    out = {}
    for name, experiment in EXPERIMENTS.items():
        out[f'{name}.foxglove.json'] = foxglove(experiment)
        out[f'{name}.plotjuggler.xml'] = plotjuggler(experiment)
    return out


def main() -> None:
    """Write every layout."""
    for name, text in layouts().items():
        path = ROOT / 'config' / name
        if not path.exists() or path.read_text(encoding='utf-8') != text:
            path.write_text(text, encoding='utf-8')
            print(path.relative_to(ROOT))


if __name__ == '__main__':
    main()

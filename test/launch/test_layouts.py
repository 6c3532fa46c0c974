"""Layouts of Foxglove and PlotJuggler show what the experiments record, and are up to date."""

import json
from pathlib import Path
import re
import runpy
from xml.etree import ElementTree as ET

import pytest
from rolling_dynamics.configuration import find_config
from rolling_robotics.experiments import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
LAYOUTS = runpy.run_path(str(ROOT / 'tools' / 'layouts.py'))['layouts']()

TYPES = {  # of the topics of which layouts show fields
    'object/odometry': ('nav_msgs', 'Odometry'),
    'object/ground_truth': ('nav_msgs', 'Odometry'),
    'odom': ('nav_msgs', 'Odometry'),
    'vision/object_pose': ('geometry_msgs', 'PoseWithCovarianceStamped'),
    'cmd_vel': ('geometry_msgs', 'TwistStamped'),
    'hand/accel_command': ('geometry_msgs', 'AccelStamped'),
    'contact/coordinates': ('sensor_msgs', 'JointState'),
    'robot/control': ('sensor_msgs', 'JointState'),
    'joint_states': ('sensor_msgs', 'JointState'),
    'contact/wrench': ('geometry_msgs', 'WrenchStamped'),
    'contact/state': ('rolling_interfaces', 'RollingContact'),
}


def foxglove(name):
    return json.loads(find_config(f'{name}.foxglove.json').read_text())


def leaves(layout):
    if isinstance(layout, str):
        return [layout]
    return leaves(layout['first']) + leaves(layout['second'])


def plotted(name):
    """Return (topic, field) of every curve that Foxglove draws."""
    panels = foxglove(name)['configById'].values()
    paths = [path['value'] for panel in panels for path in panel.get('paths', [])]
    return [path.removeprefix('/').split('.', 1) for path in paths]


def test_files_are_up_to_date():
    for name, text in LAYOUTS.items():
        path = ROOT / 'config' / name
        assert path.read_text() == text, f'{name}: run .venv/bin/python tools/layouts.py'


@pytest.mark.parametrize('name', EXPERIMENTS)
class TestEveryExperiment:
    def test_topics_of_foxglove_are_recorded(self, name):
        panels = foxglove(name)['configById']
        topics = {topic for topic, _ in plotted(name)}
        topics |= {t.removeprefix('/') for t in panels['3D!scene']['topics']}
        assert topics
        assert topics <= set(EXPERIMENTS[name].recorded)
        assert panels['DiagnosticSummary!health']['topicToRender'] in EXPERIMENTS[name].recorded

    def test_every_panel_stands_in_the_layout_once(self, name):
        document = foxglove(name)
        assert sorted(leaves(document['layout'])) == sorted(document['configById'])

    def test_series_of_plotjuggler_are_recorded(self, name):
        root = ET.parse(find_config(f'{name}.plotjuggler.xml')).getroot()  # noqa: S314, our own
        series = [c.get('name').removeprefix('/') for c in root.iter('curve')]
        assert len(series) == len(plotted(name))
        for one in series:
            assert any(one.startswith(f'{topic}/') for topic in EXPERIMENTS[name].recorded), one
        splitter = root.find('.//DockSplitter')
        assert int(splitter.get('count')) == len(splitter.findall('DockArea'))

    def test_fields_are_those_of_the_messages(self, name):
        pytest.importorskip('rolling_interfaces')
        from importlib import import_module

        for topic, path in plotted(name):
            package, kind = TYPES[topic]
            message = getattr(import_module(f'{package}.msg'), kind)()
            for field in re.sub(r'\[\d+\]$', '', path).split('.'):
                message = getattr(message, field)

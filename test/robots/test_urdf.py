"""Descriptions of robots: one tree of links, the shapes of the view in their places."""

from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from robot_plants import make_plant
from rolling_dynamics.robots.urdf import CURVE_RODS, robot_urdf
from rolling_dynamics.robots.view import Curve, Floor
from transforms3d.euler import euler2mat


def described(view, prefix=''):
    def frame(name):
        return 'floor' if name == 'odom' else f'{prefix}{name}'

    return ET.fromstring(robot_urdf(view, frame))  # noqa: S314, our own text


def numbers(element, name):
    return np.array([float(v) for v in element.get(name).split()])


def cylinder_ends(visual):
    """Return both ends of a cylinder in its link."""
    origin, cylinder = visual.find('origin'), visual.find('geometry/cylinder')
    axis = euler2mat(*numbers(origin, 'rpy'), 'sxyz')[:, 2]
    middle, half = numbers(origin, 'xyz'), numbers(cylinder, 'length') / 2
    return middle - half * axis, middle + half * axis


def test_links_form_one_tree_of_prefixed_names(robot):
    plant, _ = robot
    root = described(plant.view, 'one_')
    links = [link.get('name') for link in root.findall('link')]
    parents = {
        j.find('child').get('link'): j.find('parent').get('link') for j in root.findall('joint')
    }
    wanted = {'one_base_footprint', 'one_base_link', *(f'one_{v.name}' for v in plant.view.links)}
    assert len(links) == len(set(links))
    assert set(parents) == wanted == set(links) - {'floor'}
    assert len({j.get('name') for j in root.findall('joint')}) == len(wanted)
    for name in wanted:
        above = name
        while above != 'floor':
            above = parents[above]


def test_every_shape_but_the_floor_is_drawn_in_its_link(robot):
    plant, _ = robot
    root = described(plant.view)
    for link in root.findall('link'):
        name = link.get('name').replace('floor', 'odom')
        shapes = [s for s in plant.view.shapes if s.link == name and not isinstance(s, Floor)]
        count = sum(CURVE_RODS if isinstance(s, Curve) else 1 for s in shapes)
        assert len(link.findall('visual')) == count


def test_sizes_and_places_are_those_of_the_shapes():
    plant = make_plant('pendulum_torque.yaml')
    layout = plant.view.system.parameters
    values = {k: float(v[0]) for k, v in layout.unpack(plant.emulation.p).items()}
    root = described(plant.view)
    shell = root.find("link[@name='shell_link']/visual/geometry/sphere")
    assert float(shell.get('radius')) == pytest.approx(values['shell_radius'])
    rod, disk = root.findall("link[@name='pendulum_link']/visual")
    start, end = cylinder_ends(rod)
    assert start == pytest.approx(np.zeros(3), abs=1e-9)
    assert end == pytest.approx([0, 0, -values['pendulum_length']], abs=1e-8)
    assert np.mean(cylinder_ends(disk), axis=0) == pytest.approx(end, abs=1e-8)


def test_a_rail_is_a_closed_chain_on_its_curve():
    plant = make_plant('point_mass_disk.yaml')
    rails = [s for s in plant.view.shapes if isinstance(s, Curve)]
    visuals = described(plant.view).findall("link[@name='shell_link']/visual")
    rods = [v for v in visuals if v.find('material').get('name') == 'rail']
    assert len(rods) == CURVE_RODS * len(rails)
    for k, rail in enumerate(rails):
        ends = [cylinder_ends(v) for v in rods[k * CURVE_RODS : (k + 1) * CURVE_RODS]]
        for (_, end), (start, _) in pairwise(ends):
            assert end == pytest.approx(start, abs=1e-7)
            assert np.linalg.norm(rail.points - start, axis=1).min() < 1e-7

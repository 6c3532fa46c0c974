"""Materials in scenario files: the patch of a contact follows from them."""

import copy
import math

import numpy as np
import pytest
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.friction import Elastic, ellipse, SPINNING
from rolling_dynamics.scenario import load_scenario
import yaml

SOFT = {'young': 3e6, 'poisson': 0.45, 'other_young': 70e9, 'other_poisson': 0.22}
RUBBER, G = Elastic(**SOFT), 9.81
ON_HAND = {
    'system': 'contact',
    'object': {'mass': 0.26, 'inertia': 'solid', 'surface': {'kind': 'sphere', 'radius': 0.02}},
    'hand': {'surface': {'kind': 'plane'}},
    'friction': {'mu': 0.3, 'model': 'pure_rolling', 'material': SOFT},
    'initial': {'object': {'position': [0, 0, 0.02]}},
    'duration': 1,
}
MACHINE = {
    'system': 'machine',
    'machine': {
        'bodies': {'egg': {'kind': 'ellipsoid', 'radii': [0.03, 0.02, 0.02], 'mass': 0.1}},
        'joints': {'egg': {'kind': 'free'}},
        'contacts': {'egg': {'mu': 0.3, 'mu_kinetic': 0.3, 'material': SOFT}},
    },
    'initial': {'p_egg': [0, 0, 0.02]},
    'duration': 1,
}


def loaded(tmp_path, document):
    path = tmp_path / 'scenario.yaml'
    path.write_text(yaml.safe_dump(document))
    return load_scenario(path)


def of(scenario, name):
    return float(scenario.system.parameters.unpack(scenario.p)[name][0])


@pytest.mark.parametrize('height', [None, 0.0, 0.1])
def test_a_material_gives_the_friction_that_holds_the_spin(tmp_path, height):
    document = copy.deepcopy(ON_HAND)
    if height is not None:  # where it may fly the patch is that under its weight
        document['hybrid'] = {}
        del document['friction']['model']
        document['initial']['object']['position'][2] += height
    s = loaded(tmp_path, document)
    a = ellipse([50, 50], 0.26 * G, RUBBER).semi_axes[0]
    assert of(s, 'mu_spin') == pytest.approx(SPINNING * 0.3 * a, rel=1e-12)


@pytest.mark.parametrize('load', [None, 4.0])
def test_the_patch_of_an_ellipsoid_has_the_curvatures_and_the_force_at_its_start(tmp_path, load):
    document, s = copy.deepcopy(MACHINE), 0.3
    document['initial']['q_egg'] = [0, 0, s]  # about the normal: nothing changes
    if load:
        document['machine']['contacts']['egg']['material'] = {**SOFT, 'load': load}
    s = loaded(tmp_path, document)
    expected = ellipse([0.02 / 0.03**2, 0.02 / 0.02**2], load or 0.1 * G, RUBBER)
    assert of(s, 'egg_patch') == pytest.approx(expected.friction_radius, rel=1e-9)
    assert expected.semi_axes[0] > 1.3 * expected.semi_axes[1]


def test_a_ball_on_a_ball_has_both_curvatures(tmp_path):
    document = copy.deepcopy(MACHINE)
    document['machine'] = {
        'bodies': {
            n: {'kind': 'ball', 'radius': r, 'mass': 0.1} for n, r in (('a', 0.05), ('b', 0.02))
        },
        'joints': {'a': {'kind': 'free'}, 'b': {'kind': 'free'}},
        'drives': {'hold': {'kind': 'motion', 'of': 'a'}},
        'contacts': {
            'b': {'against': 'a', 'surface': 'outside', 'mu': 1, 'mu_kinetic': 1, 'material': SOFT}
        },
    }
    tilt = 0.2
    document['initial'] = {'p_b': [0.07 * math.sin(tilt), 0, 0.07 * math.cos(tilt)]}
    s = loaded(tmp_path, document)
    part = s.system.parts['rolling']
    force = float(part.modes['rolling'].wrench(s.x0, np.zeros(6), 0, s.p)[5])
    expected = ellipse([1 / 0.05 + 1 / 0.02] * 2, force, RUBBER).friction_radius
    assert of(s, 'b_patch') == pytest.approx(expected, rel=1e-9)
    assert force < 0.1 * G * math.cos(tilt) * 1.0001


@pytest.mark.parametrize(
    ('base', 'path', 'changes', 'text'),
    [
        (ON_HAND, ('friction',), {'mu_spin': 1e-3}, 'friction.material: gives mu_spin already'),
        (ON_HAND, ('friction', 'material'), {'poisson': 0.6}, 'friction.material.poisson: .*0.5'),
        (
            MACHINE,
            ('machine', 'contacts', 'egg'),
            {'patch': 1e-3},
            'egg.material: gives the patch',
        ),
        (
            MACHINE,
            ('machine',),
            {'gravity': [0, 0, 9.81]},
            r'contacts.egg: material.load: is miss',
        ),
        (
            MACHINE,
            ('machine', 'bodies'),
            {'egg': {'kind': 'wheel', 'radius': 0.02, 'mass': 1}},
            'contacts.egg: the relative curvatures at a contact must be positive',
        ),
    ],
)
def test_what_has_no_patch_is_refused(tmp_path, base, path, changes, text):
    document = copy.deepcopy(base)
    inner = document
    for key in path:
        inner = inner[key]
    inner.update(changes)
    with pytest.raises(ScenarioError, match=text):
        loaded(tmp_path, document)

"""`rolling plot`: each figure of each kind of result is an image with something on it."""

import json

import numpy as np
from PIL import Image
import pytest
from rolling_robotics.figures.style import COLOURS
from rolling_robotics.plot import FIGURES
import yaml


@pytest.fixture(scope='module', params=['spinning_plate', 'ellipsoid_in_dish', 'curved_hand'])
def result(request, scenarios, tmp_path_factory):
    from rolling_robotics.cli import main

    folder = tmp_path_factory.mktemp('plot')
    document = yaml.safe_load((scenarios / f'{request.param}.yaml').read_text())
    document |= {'name': request.param, 'duration': 0.5}
    scenario, out = folder / 'scenario.yaml', folder / 'result.json'
    scenario.write_text(yaml.safe_dump(document))
    assert main(['simulate', str(scenario), '--out', str(out)]) == 0
    return out


@pytest.mark.parametrize('name', FIGURES)
def test_figure(rolling, result, tmp_path, name):
    ended = rolling('plot', result, '--only', name, '--out', tmp_path)
    assert ended.status == 0
    path = tmp_path / f'result_{name}.png'
    assert ended.out == f'{path}\n'
    image = np.asarray(Image.open(path).convert('RGB')).astype(int)
    assert min(image.shape[:2]) > 500
    first = np.array([int(COLOURS[0][k : k + 2], 16) for k in (1, 3, 5)])
    assert (np.abs(image - first).sum(axis=2) < 60).sum() > 50, 'no line in the first colour'


def test_all_figures_beside_the_file(rolling, result):
    ended = rolling('plot', result, '--format', 'svg')
    assert ended.status == 0
    assert ended.out.split() == [str(result.parent / f'result_{n}.svg') for n in FIGURES]
    text = (result.parent / 'result_contact.svg').read_text()
    assert 'force [N]' in text


def test_bad_files(rolling, tmp_path, result):
    bad = tmp_path / 'bad.json'
    for text, words in (
        ('{', 'is no JSON'),
        ('[]', 'is no result'),
        ('{"format": "other"}', 'is no result'),
        ('{"format": "rolling/simulation", "arrays": {}}', 'damaged'),
    ):
        bad.write_text(text)
        ended = rolling('plot', bad)
        assert ended.status == 2
        assert words in ended.err
    document = json.loads(result.read_text())
    del document['arrays']['f_contact']
    bad.write_text(json.dumps(document))
    assert rolling('plot', bad, '--only', 'states').status == 0
    ended = rolling('plot', result, '--only', 'stats')
    assert ended.status == 2
    assert "no figure 'stats'" in ended.err

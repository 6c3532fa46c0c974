"""The page in a headless Chromium: it moves as in Node, keys and pointer work, no error."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import Stepper
from rolling_robotics.page.modes import drawn_forces
from rolling_robotics.page.page import page_of

pytest.importorskip('ziglang')

from evidence.benchmarks.viewer import Browser, find_chromium

PICTURES = Path(__file__).resolve().parents[2] / 'build' / 'screenshots'

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason='Chromium is not installed'),
]


@pytest.fixture
def browser(tmp_path):
    with Browser(tmp_path / 'profile') as browser:
        yield browser


@pytest.fixture
def page(tmp_path, browser):
    scenario = load_scenario('spinning_plate')
    beside = {'name': 'another', 'every': 0.05, 'height': 0.2, 'places': [[0, 0], [0, -0.01]]}
    (tmp_path / 'page.html').write_text(page_of(scenario, '', beside))
    browser.open(f'file://{tmp_path}/page.html#mu=0.5&mass=-1')
    browser.wait_for('the first frame', 'typeof rig !== "undefined" && rig.r.s.t > 0')
    return browser, scenario


def test_page_moves_and_answers_keys_sliders_and_pointer(page):
    browser, scenario = page
    browser.run('runs = false')
    assert browser.run('document.getElementById("wrong").textContent').startswith('object.mass:')
    assert browser.run('motion.p[data.parameters.findIndex(q => q && q.name === "mu")]') == 0.5
    browser.run('$("reset").click(); go(100)')
    found = json.loads(browser.run('JSON.stringify([...rig.r.s.x])'))
    p = scenario.p.copy()
    p[scenario.system.parameters.names.index('mu')] = 0.5
    stepper = Stepper(scenario.system, p, mode=scenario.mode, through_modes=True)
    u = np.zeros(6)
    s = stepper.start(scenario.x0, u)
    for k in range(100):
        s = stepper.step(s, u, (k + 1) * 1e-3 - s.t)
    assert np.array_equal(found, s.x)
    browser.run('go(-50)')
    assert browser.run('rig.r.s.t') == pytest.approx(0.05, abs=1e-12)
    before = browser.run('place(rig.r.s)[0]')
    browser.run('put([0.01, 0], 0)')
    assert browser.run('place(rig.r.s)[0]') == pytest.approx(before + 0.01, abs=1e-3)
    browser.run('$("many").click()')
    assert browser.run('crowd.length') == 99
    browser.run('runs = true')
    browser.wait_for('all of them', 'rig.r.s.t > 0.2')
    browser.picture(PICTURES / 'page.png')
    assert 'another' in browser.run('document.getElementById("beside").textContent')
    assert browser.run('trail.length') > 3
    assert browser.errors == []


def test_each_contact_has_its_force_and_the_camera_follows(tmp_path, browser):
    """Both wheels of a bicycle have an arrow and a curve, and it stays in the picture."""
    scenario = load_scenario('bicycle')
    (tmp_path / 'page.html').write_text(page_of(scenario))
    browser.open(f'file://{tmp_path}/page.html')
    browser.wait_for('the first frame', 'typeof rig !== "undefined" && rig.r.s.t > 0')
    browser.run('runs = false; restart(); for (let k = 0; k < 100; ++k) go(10)')
    found = json.loads(browser.run('JSON.stringify(contacts(rig.r.s).map(c => [c.name, ...c.f]))'))
    stepper = Stepper(scenario.system, scenario.p)
    s = stepper.start(scenario.x0, u := np.zeros(1))
    for k in range(1000):
        s = stepper.step(s, u, (k + 1) * 1e-3 - s.t)
    f, _, names = drawn_forces(scenario.system, 'rolling')
    here = np.reshape(np.array(f(s.x, u, s.t, scenario.p)), (-1, 3))
    assert list(names) == [c[0] for c in found] == ['rear', 'front']
    assert np.allclose([c[1:] for c in found], here, rtol=0, atol=1e-6)
    assert browser.run('curves["normal force"].values.at(-1).length') == len(names)
    x, y = json.loads(browser.run('JSON.stringify(camera().to(place(rig.r.s)).slice(0, 2))'))
    assert 0.3 < x / browser.run('canvas.width') < 0.7
    assert 0.3 < y / browser.run('canvas.height') < 0.7
    assert browser.errors == []


def test_wheel_and_its_rollers_stay_in_the_picture(tmp_path, browser):
    """What moves aside of the frame that is held is followed too."""
    (tmp_path / 'page.html').write_text(page_of(load_scenario('mecanum_wheel')))
    browser.open(f'file://{tmp_path}/page.html')
    browser.wait_for('the first frame', 'typeof rig !== "undefined" && rig.r.s.t > 0')
    browser.run('runs = false; restart(); for (let k = 0; k < 50; ++k) go(20)')
    assert browser.run('rig.r.s.t') == pytest.approx(1.0)
    seen = browser.run(
        'followed.filter(b => b.name.startsWith("roller")).flatMap(b => b.meshes.flatMap(m =>'
        ' [...m.v.keys()].filter(i => i % 3 === 0).map(i =>'
        ' camera().to(moved(poses(rig.r.s)[b.name], m.v, i)).slice(0, 2))))'
    )
    x, y = np.transpose(seen)
    assert 0 < x.min() < x.max() < browser.run('canvas.width')
    assert 0 < y.min() < y.max() < browser.run('canvas.height')
    assert browser.errors == []

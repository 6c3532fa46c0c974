"""The page of a scenario steps as Stepper does."""

from __future__ import annotations

import json
from pathlib import Path
import shutil
import subprocess

import numpy as np
import pytest
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import Stepper
from rolling_robotics.page.page import page_data, script

NODE = shutil.which('node')
STEPS = 1000
RUN = """
const {Motion} = require('./motion.js'), data = require('./data.json');
const motion = new Motion(data);
for (let k = 0; k < STEPS && motion.step(); ++k);
const end = [...motion.x], t = motion.t;
for (let k = 0; k < 10; ++k) motion.back();
const before = [...motion.x];
for (let k = 0; k < 10; ++k) motion.step();
console.log(JSON.stringify({x: end, t, ended: motion.ended, before, again: [...motion.x]}));
"""


@pytest.fixture(autouse=True)
def _tools() -> None:
    pytest.importorskip('ziglang', reason='the compiler of Zig is not installed')
    if NODE is None:
        pytest.skip('node is not installed: nothing here runs WebAssembly')


def _in_node(data: dict, folder: Path) -> dict:
    (folder / 'motion.js').write_text(script())
    (folder / 'data.json').write_text(json.dumps(data))
    (folder / 'run.js').write_text(RUN.replace('STEPS', str(STEPS)))
    done = subprocess.run(
        [NODE, 'run.js'], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def _here(scenario) -> list[np.ndarray]:
    """Return the states of the same steps by Stepper."""
    stepper = Stepper(scenario.system, scenario.p, mode=next(iter(scenario.system.modes)))
    control, x = FastFunction(scenario.control.function), scenario.x0
    states = [x]
    for k in range(STEPS):
        t = k * 1e-3
        x = stepper.step(x, control(x, t), 1e-3, t)
        states.append(x)
    return states


# Of + - * / and roots only: the same bits. With library functions those of musl stand for glibc's.
@pytest.mark.parametrize(
    ('name', 'tolerance'), [('spinning_plate', 0.0), ('pendulum_slope', 1e-12)]
)
def test_steps_are_those_of_stepper(name: str, tolerance: float, tmp_path: Path) -> None:
    """A second in the page ends where Stepper does, and goes back and forth to the same bits."""
    scenario = load_scenario(name)
    found, states = _in_node(page_data(scenario), tmp_path), _here(scenario)
    assert found['ended'] == ''
    assert found['t'] == pytest.approx(STEPS * 1e-3, abs=1e-12)
    assert np.abs(np.array(found['x']) - states[-1]).max() <= tolerance
    assert np.abs(np.array(found['before']) - states[-11]).max() <= tolerance
    assert found['again'] == found['x']

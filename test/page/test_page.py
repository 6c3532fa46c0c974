"""The page of a scenario moves as Stepper and Emulation do: side by side, in Node."""

from __future__ import annotations

from dataclasses import replace
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
RUN = """
const data = require('./data.json'), {steps, h} = require('./asked.json');
const motion = new Motion(data), rig = new Rig(motion), events = [];
let before;
const go = k => { rig.advance(k * h); return [...rig.r.s.x]; };
for (let k = 1; k <= steps && !rig.r.s.ended; ++k) {
  if (k === steps - 9) before = rig.keep();
  const x = go(k);
  events.push(...rig.r.s.events.map(e => [e.name, e.t]));
}
const {s} = rig.r;
const out = {x: [...s.x], t: s.t, mode: s.mode, ended: s.ended, events, u: [...rig.r.u]};
if (before && !s.ended) {
  rig.recall(before);
  for (let k = steps - 9; k <= steps; ++k) go(k);
  out.again = [...rig.r.s.x];
}
console.log(JSON.stringify(out));
"""


@pytest.fixture(autouse=True)
def _tools() -> None:
    pytest.importorskip('ziglang', reason='the compiler of Zig is not installed')
    if NODE is None:
        pytest.skip('node is not installed: nothing here runs WebAssembly')


def in_node(data: dict, steps: int, folder: Path, h: float = 1e-3) -> dict:
    (folder / 'data.json').write_text(json.dumps(data))
    (folder / 'asked.json').write_text(json.dumps({'steps': steps, 'h': h}))
    (folder / 'run.js').write_text(script() + RUN)
    done = subprocess.run(
        [NODE, 'run.js'], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def here(scenario, steps: int):
    """Return the state with its mode after the same steps by Stepper, and the events."""
    stepper = Stepper(scenario.system, scenario.p, mode=scenario.mode, through_modes=True)
    control, s, events = FastFunction(scenario.control.function), None, []
    s = stepper.start(scenario.x0, control(scenario.x0, 0.0))
    for k in range(steps):
        s = stepper.step(s, control(s.x, s.t), (k + 1) * 1e-3 - s.t)
        events += [(e.name, e.time) for e in s.events]
        if s.ended is not None:
            break
    return s, events


# Of + - * / and roots only: the same bits. With library functions those of musl stand for glibc's.
@pytest.mark.parametrize(
    ('name', 'steps', 'tolerance'),
    [
        ('spinning_plate', 1000, 0.0),
        ('pendulum_slope', 1000, 1e-12),
        ('ball_balancer', 1000, 1e-12),
        ('labyrinth', 1000, 1e-12),
        ('point_mass_hop', 950, 1e-9),
        ('ball_tossed_by_plate', 900, 1e-9),
    ],
)
def test_motion_is_that_of_stepper(name: str, steps: int, tolerance: float, tmp_path: Path):
    """The page ends where Stepper does, by the same events, and goes back and forth alike."""
    scenario = replace(load_scenario(name), events={})
    found, (s, events) = in_node(page_data(scenario), steps, tmp_path), here(scenario, steps)
    assert [e[0] for e in found['events']] == [e[0] for e in events]
    assert np.allclose([e[1] for e in found['events']], [e[1] for e in events], rtol=0, atol=1e-9)
    assert (found['mode'], found['ended']) == (s.mode, s.stopped)
    assert np.abs(np.array(found['x']) - s.x).max() <= tolerance
    assert found.get('again', found['x']) == found['x']

"""An ellipsoid that hangs between two pads, squeezed by 10 N: what it creeps, beside MuJoCo."""

from __future__ import annotations

from collections.abc import Iterator

from evidence.benchmarks.row import Row
import numpy as np
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate

SECONDS, SQUEEZE, STIFFNESS, FORCE = 10.0, 1e-4, 1e5, 10.0  # s, m, N/m, N
SCENARIO = {
    'system': 'machine',
    'machine': {
        'gravity': [-9.81, 0, 0],
        'bodies': {
            'egg': {'kind': 'ellipsoid', 'radii': [0.03, 0.02, 0.015], 'mass': 0.2},
            'pad': {'kind': 'plate', 'side': 0.2},
        },
        'joints': {'egg': {'kind': 'free'}, 'pad': {'kind': 'free'}},
        'contacts': {
            'lower': {'body': 'egg', 'stiffness': STIFFNESS},
            'upper': {'body': 'egg', 'against': 'pad', 'stiffness': STIFFNESS},
        },
        'drives': {'pad': {'kind': 'motion', 'of': 'pad'}},
    },
    'initial': {
        'p_egg': [0, 0, 0.015 - SQUEEZE],
        'p_pad': [0, 0, 0.03 - 2 * SQUEEZE],
        'q_pad': [0, 1, 0, 0],
    },
    'duration': SECONDS,
}
# elliptic cones and an impratio of 10, as MuJoCo's documentation recommends for a grasp
MODEL = """
<mujoco><option gravity="-9.81 0 0" cone="elliptic" impratio="10" timestep="0.002"/>
<default><geom friction="1 0 0" condim="3"/></default>
<worldbody><geom type="box" size="0.1 0.1 0.01" pos="0 0 -0.01"/>
<body pos="0 0 0.0149"><freejoint/>
<geom type="ellipsoid" size="0.03 0.02 0.015" mass="0.2"/></body>
<body pos="0 0 0.04"><joint name="pad" type="slide" axis="0 0 1" damping="1"/>
<geom type="box" size="0.1 0.1 0.01" mass="0.1"/></body></worldbody>
<actuator><motor joint="pad"/></actuator></mujoco>
"""


def rows() -> Iterator[Row]:
    """Yield how far it goes in 10 s."""
    scenario = load_scenario(SCENARIO)
    run = simulate(scenario.system, scenario.p, scenario.x0, scenario.control, SECONDS)
    moved = np.abs(run.states - scenario.x0).max() if run.times[-1] == SECONDS else np.nan
    name = 'a squeezed ellipsoid creeps in 10 s by'
    yield Row(name, float(moved), 'm', reference=_mujoco(), goal='at most 1e-10')


def _mujoco() -> str:
    """Return what MuJoCo makes of it after the first second, if it is installed."""
    try:
        import mujoco  # noqa: PLC0415  (optional)
    except ImportError:
        return ''
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    data.ctrl[0] = -FORCE
    mujoco.mj_step(model, data, nstep=round(1 / model.opt.timestep))
    before = data.qpos[0]
    mujoco.mj_step(model, data, nstep=round(SECONDS / model.opt.timestep))
    return f'MuJoCo: {abs(data.qpos[0] - before):.2g} m'

"""A page that simulates a scenario by itself."""

from __future__ import annotations

from base64 import b64encode
import json
from pathlib import Path
from typing import Any

import numpy as np
from rolling_dynamics.contract.capabilities import offers, StartMode
from rolling_dynamics.contract.rolling_system import MotionState
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation.stepper import step_with_guards
from rolling_robotics.page.webassembly import webassembly
from rolling_robotics.result import simulate_scenario, simulation_result
from rolling_robotics.scene.general import scene_of
from rolling_robotics.scene.scene import Scene

STEP = 1e-3  # s, that of Stepper
HERE = Path(__file__).parent


def page_data(scenario: Scenario) -> dict[str, Any]:
    """
    Return what a page needs of a scenario, as plain data.

    Raises
    ------
    ParameterError
        The compiler is missing, or an equation has no C.

    """
    system = scenario.system
    starts, u = offers(system, StartMode), scenario.control(0.0, scenario.x0)
    if starts is None or scenario.mode is not None:
        name = scenario.mode or next(iter(system.modes))
        begun = MotionState(t=0.0, x=scenario.x0, mode=name, p=scenario.p)
    else:
        begun = starts.begin(scenario.p, scenario.x0, u, 0.0)
    if begun.mode not in system.modes:
        raise ParameterError(f'page: the motion starts in the mode {begun.mode!r}, left out here')
    mode = system.modes[begun.mode]
    functions = {
        'step': step_with_guards(system, begun.mode),
        'control': scenario.control.function,
        'pose': system.pose,
    }
    outputs = {name: f for name, f in system.invariants.items() if name == 'energy'}
    if mode.wrench is not None:
        outputs['wrench'] = mode.wrench
    module, table = webassembly(functions | outputs)
    result = simulation_result(scenario, simulate_scenario(scenario))
    p = system.parameters
    return {
        'title': scenario.name,
        'text': scenario.description,
        'wasm': b64encode(module).decode(),
        'table': table,
        'bodies': system.pose.name_out(),
        'state': system.state.names,
        'x': begun.x.tolist(),
        'p': begun.p.tolist(),
        'parameters': [
            {'name': c, 'unit': e.unit, 'text': e.text} for e in p.entries for c in e.components
        ],
        'guards': list(mode.guards),
        'slip': 0 if mode.slip is None else mode.slip.numel_out(0),
        'ends': [scenario.events.get(g, 'stop') == 'stop' for g in mode.guards],
        'resets': list(mode.resets),
        'mode': begun.mode,
        'h': STEP,
        'scene': _drawn(scene_of(json.loads(json.dumps(result, default=_plain)))),
    }


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Return arrays of a result as lists."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else dict(value)


def _drawn(scene: Scene) -> list[dict[str, Any]]:
    """Return the meshes of a scene, vertices to a micrometre."""
    return [
        {
            'name': b.name,
            'at': [*b.position[0].tolist(), *b.attitude[0].tolist()],
            'meshes': [
                {
                    'v': np.round(m.vertices, 6).ravel().tolist(),
                    'f': m.faces.tolist(),
                    'c': (255 * m.colours).astype(int).tolist(),
                    'a': m.opacity,
                    'k': m.closed,
                    'z': min(m.layer, b.layer),
                }
                for m in b.meshes
            ],
        }
        for b in scene.bodies
    ]


def page_of(scenario: Scenario) -> str:
    """Return a page that simulates a scenario, without a server or a network."""
    data = json.dumps(page_data(scenario), separators=(',', ':')).replace('</', '<\\/')
    text = (HERE / 'page.html').read_text(encoding='utf-8')
    for name, part in (('DATA', data), ('MOTION', script()), ('VIEW', _read('view.js'))):
        text = text.replace(f'/*{name}*/', part)
    return text


def script() -> str:
    """Return the script that steps a motion, as it stands in a page."""
    return _read('motion.js')


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding='utf-8')

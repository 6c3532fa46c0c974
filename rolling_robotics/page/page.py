"""A page that simulates a scenario by itself."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
import json
from pathlib import Path
from typing import Any
import zlib

import numpy as np
from rolling_controller.export.machine_laws import law_source
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import Stepper
from rolling_robotics.page.modes import contacts_of, modes_of
from rolling_robotics.page.rig import (
    actuators_of,
    control_at_rest,
    grip_of,
    law_of,
    sensors_of,
)
from rolling_robotics.page.sliders import sliders_of
from rolling_robotics.page.webassembly import webassembly
from rolling_robotics.result import start_result
from rolling_robotics.scene.general import scene_of
from rolling_robotics.scene.scene import GROUND, Mesh, Scene

STEP = 1e-3  # s, as of Stepper
HERE = Path(__file__).parent


def page_data(scenario: Scenario, law: str = '') -> dict[str, Any]:
    """
    Return the data of a scenario for a page, as plain data.

    Parameters
    ----------
    scenario
        The scenario.
    law
        Name of a law of `rolling export`; the control of the scenario if empty.

    Raises
    ------
    ParameterError
        The compiler is missing, or an equation has no C.

    """
    system = scenario.system
    source = law_source(scenario, law) if law else None
    rest = control_at_rest(scenario, source)
    stepper = Stepper(system, scenario.p, mode=scenario.mode, through_modes=True)
    start = stepper.start(scenario.x0, rest)
    functions, modes = modes_of(system, scenario.events)
    contact = contacts_of(system)
    sensed, sensors = sensors_of(scenario)
    lawful, law_data = law_of(scenario, source)
    scene = scene_of(start_result(scenario))
    names = [b.name for b in scene.bodies if b.name in system.pose.name_out()]
    ground = [b.name for b in scene.bodies if GROUND in (b.layer, *(m.layer for m in b.meshes))]
    held = next((n for n in names if n not in ('hand', *ground)), names[0])
    grip, free = grip_of(system, held, [n for n in names if n != held])
    functions |= {'pose': system.pose, 'retract': system.retract, **grip, **lawful}
    functions |= {n: f for n, f in system.invariants.items() if n == 'energy'}
    functions |= sensed if law_data and law_data['sensor'] else {}
    functions |= contact[0] if contact else {}
    if not law:
        functions['control'] = scenario.control.function
    steps = {m['k']: m['slip'] + len(m['guards']) for m in modes.values()}
    module, table = webassembly(functions, source, steps)
    return {
        'title': scenario.name,
        'text': scenario.description,
        'wasm': b64encode(module).decode(),
        'table': table,
        'bodies': system.pose.name_out(),
        'held': {'body': held, 'free': free},
        'state': system.state.names,
        'tangent': system.tangent.size,
        'x': start.x.tolist(),
        'u': rest.tolist(),
        'p': start.p.tolist(),
        'parameters': sliders_of(scenario),
        'modes': modes,
        'contact': contact and contact[1],
        'law': law_data,
        'sensors': sensors,
        'actuators': actuators_of(scenario),
        'seed': scenario.seed,
        'mode': start.mode,
        'first': scenario.mode or next(iter(system.modes)),
        'h': STEP,
        'unit': 's' if system.independent_variable == 'time' else 'm',
        **_drawn(scene),
    }


def _drawn(scene: Scene) -> dict[str, Any]:
    """Return the bodies of a scene, and their meshes, each once; vertices to a micrometre."""
    meshes: list[dict[str, Any]] = []
    bodies = [
        {
            'name': b.name,
            'at': [*b.position[0].tolist(), *b.attitude[0].tolist()],
            'cell': 2 * float(np.ptp(b.meshes[0].vertices[b.meshes[0].faces[0]], axis=0).max())
            if b.name == 'floor' and not b.lines
            else 0,
            'meshes': [_numbered(meshes, _mesh(m, min(m.layer, b.layer))) for m in b.meshes],
            'lines': [
                {'v': m.points.round(6).tolist(), 'c': [255 * c for c in m.colour], 'w': m.width}
                for m in b.lines
            ],
        }
        for b in scene.bodies
    ]
    return {'scene': bodies, 'meshes': meshes}


def _mesh(m: Mesh, layer: int) -> dict[str, Any]:
    return {
        'v': np.round(m.vertices, 6).ravel().tolist(),
        'f': m.faces.tolist(),
        'c': (255 * m.colours).astype(int).tolist(),
        'a': m.opacity,
        'k': m.closed,
        'z': layer,
    }


def _numbered(meshes: list[dict[str, Any]], mesh: dict[str, Any]) -> int:
    """Return the number of a mesh among others, to which a new one is added."""
    if mesh not in meshes:
        meshes.append(mesh)
    return meshes.index(mesh)


def page_of(scenario: Scenario, law: str = '', beside: Mapping[str, Any] | None = None) -> str:
    """
    Return a page that simulates a scenario, without a server or a network.

    Parameters
    ----------
    scenario
        The scenario.
    law
        See :func:`page_data`.
    beside
        A path drawn in addition to the body's: ``name``, the time between two of its ``places``
        (2) as ``every`` [s], and its ``height`` [m].

    """
    data = {**page_data(scenario, law), 'beside': beside}
    module = b64decode(data.pop('wasm'))
    plain = json.dumps(data, separators=(',', ':')).encode() + b'\0' + module
    packed = b64encode(zlib.compress(plain, 9)).decode()
    text = (HERE / 'page.html').read_text(encoding='utf-8')
    for name, part in (('DATA', packed), ('MOTION', script()), ('VIEW', _read('view.js'))):
        text = text.replace(f'/*{name}*/', part)
    return text


def script() -> str:
    """Return the script that steps a motion, as embedded in a page."""
    return ''.join(map(_read, ('motion.js', 'contact.js', 'machine.js', 'rig.js')))


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding='utf-8')

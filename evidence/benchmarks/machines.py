"""Cost of the equations of each machine from parts: operations, compilation, a call."""

from __future__ import annotations

from collections.abc import Iterator
import os
import tempfile
import time
from unittest import mock

import casadi as ca
from evidence.benchmarks.row import call_time, evaluation_time, Row
from evidence.reality.circle import ballbot
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, compiles
from rolling_dynamics.configuration import examples
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import (
    Contact,
    Cylinder,
    Driven,
    MachineSystem,
    Plane,
    Revolute,
    Rolling,
    Sphere,
    Spherical,
    Wheel,
)
from rolling_dynamics.mechanism.shapes import Shape, Surface
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_dynamics.simulation import simulate
from transforms3d.quaternions import mat2quat

FREE = (ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST)


def operations(function: ca.Function) -> int:
    """Return the number of operations, what is computed twice counted once."""
    inputs = [ca.SX.sym(f'i{k}', function.sparsity_in(k)) for k in range(function.n_in())]
    once = ca.Function('f', inputs, [ca.cse(function(*inputs))])
    return sum(once.instruction_id(k) not in FREE for k in range(once.n_instructions()))


def rows() -> Iterator[Row]:
    """Yield the figures of every machine that comes as a scenario, and of ``examples/ballbot``."""
    shipped = (load_scenario(name) for name in examples())
    for scenario in (*(s for s in shipped if s.raw['system'] == 'machine'), ballbot().scenario):
        name = scenario.name
        dynamics = next(iter(scenario.system.modes.values())).dynamics
        yield Row(f'operations of {name}', operations(dynamics), 'operations')
        if not compiles():
            continue
        with (  # an empty cache
            tempfile.TemporaryDirectory() as folder,
            mock.patch.dict(os.environ, ROLLING_CACHE_DIR=folder),
        ):
            start = time.perf_counter()
            (fast,) = compiled(dynamics)
            seconds = time.perf_counter() - start
        yield Row(f'compilation of {name}', seconds, 's', goal='at most 20')
        u = scenario.control(0.0, scenario.x0)
        best = evaluation_time(fast, scenario.x0, u, 0.0, scenario.p)
        yield Row(f'one evaluation of {name}', 1e6 * best, 'us', reference=_beside(scenario))


def _beside(scenario: Scenario) -> str:
    """Return what one evaluation of the same machine costs in MuJoCo, if it is installed."""
    try:
        import mujoco  # noqa: PLC0415  (optional)
    except ImportError:
        return ''
    try:
        model = mujoco.MjModel.from_xml_string(mjcf(scenario))
    except ParameterError as e:
        return str(e)
    data = mujoco.MjData(model)
    spent = call_time(lambda: mujoco.mj_forward(model, data))
    return f'MuJoCo, {data.ncon} contacts: {1e6 * spent:.3g} us'


SECONDS, SQUEEZE, STIFFNESS, FORCE = 10.0, 1e-4, 1e5, 10.0  # s, m, N/m, N
PRESSED = {
    'system': 'machine',
    'machine': {
        'gravity': [-9.81, 0, 0],
        'bodies': {
            'egg': {'kind': 'ellipsoid', 'radii': [0.03, 0.02, 0.015], 'mass': 0.2},
            'pad': {'kind': 'block', 'sides': [0.2, 0.2, 0.02], 'mass': 0.1},
        },
        'joints': {'egg': {'kind': 'free'}, 'pad': {'kind': 'prismatic', 'axis': [0, 0, 1]}},
        'contacts': {
            'lower': {'body': 'egg', 'stiffness': STIFFNESS, 'damping': 30.0},
            'upper': {
                'body': 'egg',
                'against': 'pad',
                'normal': [0, 0, -1],
                'stiffness': STIFFNESS,
                'damping': 30.0,
            },
        },
        'drives': {'press': {'kind': 'motor', 'of': 'pad'}},
    },
    'initial': {'p_egg': [0, 0, 0.015 - SQUEEZE], 'pad': 0.03 - 1.9 * SQUEEZE},
    'control': {'press': -FORCE},
    'duration': 1 + SECONDS,
}
# elliptic cones and an impratio of 10, as MuJoCo's documentation recommends for a grasp
SQUEEZED = """
<mujoco><option gravity="-9.81 0 0" cone="elliptic" impratio="10" timestep="0.002"/>
<default><geom friction="1 0 0" condim="3"/></default>
<worldbody><geom type="box" size="0.1 0.1 0.01" pos="0 0 -0.01"/>
<body pos="0 0 0.0149"><freejoint/>
<geom type="ellipsoid" size="0.03 0.02 0.015" mass="0.2"/></body>
<body pos="0 0 0.04"><joint name="pad" type="slide" axis="0 0 1" damping="1"/>
<geom type="box" size="0.1 0.1 0.01" mass="0.1"/></body></worldbody>
<actuator><motor joint="pad"/></actuator></mujoco>
"""


def squeezed_rows() -> Iterator[Row]:
    """Yield how far it goes in 10 s, after a first one in which the pad comes to rest."""
    scenario, end = load_scenario(PRESSED), 1 + SECONDS
    times = np.linspace(1, end, 21)
    run = simulate(scenario.system, scenario.p, scenario.x0, scenario.control, end, t_eval=times)
    moved = np.ptp(run.states, axis=0).max() if run.times[-1] == end else np.nan
    name = 'a squeezed ellipsoid creeps in 10 s by'
    yield Row(name, float(moved), 'm', reference=_squeezed_in_mujoco(), goal='at most 1e-10')


def _squeezed_in_mujoco() -> str:
    """Return what MuJoCo makes of it after the first second, if it is installed."""
    try:
        import mujoco  # noqa: PLC0415  (optional)
    except ImportError:
        return ''
    model = mujoco.MjModel.from_xml_string(SQUEEZED)
    data = mujoco.MjData(model)
    data.ctrl[0] = -FORCE
    mujoco.mj_step(model, data, nstep=round(1 / model.opt.timestep))
    before = data.qpos[0]
    mujoco.mj_step(model, data, nstep=round(SECONDS / model.opt.timestep))
    return f'MuJoCo: {abs(data.qpos[0] - before):.2g} m'


LONG, THIN = 0.06, 1e-3  # m, half the lengths of a cylinder and of an edge


def mjcf(scenario: Scenario) -> str:
    """
    Return the same bodies, hinges and contacts, and driven bodies where they are.

    Raises
    ------
    ParameterError
        MuJoCo has no such joint or contact between primitives.

    """
    return _Model(scenario).text


class _Model:
    """Pieces of the model."""

    def __init__(self, scenario: Scenario) -> None:
        """Write the model of a scenario."""
        if not isinstance(scenario.system, MachineSystem):
            raise ParameterError(f'{scenario.system.name} is not a machine from parts')
        self.machine, self.p, pose = scenario.system.machine, scenario.p, scenario.system.pose
        found = pose(scenario.x0, scenario.p)
        self.poses = {'': np.eye(4)}
        self.poses |= {n: np.array(X) for n, X in zip(pose.name_out(), found, strict=True)}
        self.geoms: dict[str, dict[str, str]] = {n: {} for n in ('', *self.machine.bodies)}
        pairs = [self._pair(c, number) for number, c in enumerate(self._contacts())]
        self.text = (
            f'<mujoco><option gravity="{_row(self._numbers(self.machine.gravity_W))}"/>'
            f'<worldbody>{"".join(self.geoms[""].values())}{"".join(self._bodies(""))}'
            f'</worldbody><contact>{"".join(pairs)}</contact></mujoco>'
        )

    def _numbers(self, value: ca.SX | float) -> Array:
        f = ca.Function('f', [self.machine.symbols.p], [ca.densify(ca.SX(value))])
        return np.array(f(self.p)).ravel(order='F')

    def _contacts(self) -> Iterator[Contact]:
        yield from self.machine.contacts
        for name, body in self.machine.bodies.items():
            if isinstance(body.joint, Rolling):
                yield Contact(body=name, shape=body.joint.shape, on=body.parent, mu=body.joint.mu)

    def _pair(self, contact: Contact, number: int) -> str:
        if contact.rollers is not None:
            raise ParameterError('MuJoCo has no rollers')
        names = (
            self._geom(contact.body, contact.shape, f'shape_{number}'),
            self._geom(contact.on, contact.surface, f'surface_{number}'),
        )
        mu = _row(np.append(np.repeat(self._numbers(contact.mu), 2), [0, 0, 0]))
        return '<pair geom1="{}" geom2="{}" condim="3" friction="{}"/>'.format(*names, mu)

    def _geom(self, body: str, shape: Shape | Surface, name: str) -> str:
        """Add a geometry to a body, and return its name."""
        at, size = '', ''
        if isinstance(shape, Sphere | Cylinder | Wheel):
            size = _row(self._numbers(shape.radius))
            kind = 'sphere' if isinstance(shape, Sphere) else 'cylinder'
            if kind == 'cylinder':
                size += f' {LONG if isinstance(shape, Cylinder) else THIN}'
            if isinstance(shape, Wheel):
                at = f'zaxis="{_row(self._numbers(ca.SX(shape.side)))}"'
        elif isinstance(shape, Plane):
            kind, size = 'plane', '1 1 1'
            at = f'zaxis="{_row(self._numbers(ca.vertcat(*shape.normal)))}"'
        else:
            raise ParameterError(f'MuJoCo has no {type(shape).__name__} among its primitives')
        text = f'<geom name="{name}" type="{kind}" size="{size}" {at} mass="0" '
        self.geoms[body][name] = text + 'contype="0" conaffinity="0"/>'
        return name

    def _bodies(self, parent: str) -> Iterator[str]:
        for name, body in self.machine.bodies.items():
            joint, hinge = '<freejoint/>', body.joint
            if (body.parent if isinstance(hinge, Revolute | Spherical) else '') != parent:
                continue
            X = np.linalg.solve(self.poses[parent], self.poses[name])
            at = f'pos="{_row(X[:3, 3])}" quat="{_row(mat2quat(X[:3, :3]))}"'
            if isinstance(hinge, Driven):
                joint, at = '', f'{at} mocap="true"'
            elif isinstance(hinge, Spherical):
                joint = '<joint type="ball"/>'
            elif isinstance(hinge, Revolute):
                joint = f'<joint type="hinge" axis="{_row(hinge.axis)}"/>'
            geoms, inside = ''.join(self.geoms[name].values()), ''.join(self._bodies(name))
            yield f'<body {at}>{joint}{self._inertial(name)}{geoms}{inside}</body>'

    def _inertial(self, name: str) -> str:
        mass = self.machine.bodies[name].mass
        if mass is None:
            return ''
        about = self._numbers(mass.about_centre)
        inertia, heavy = _row(about[[0, 4, 8, 1, 2, 5]]), _row(self._numbers(mass.mass))
        centre = _row(self._numbers(mass.centre))
        return f'<inertial mass="{heavy}" pos="{centre}" fullinertia="{inertia}"/>'


def _row(values: ArrayLike) -> str:
    return ' '.join(f'{v:.17g}' for v in np.ravel(np.asarray(values, dtype=float)))

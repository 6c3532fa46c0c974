"""The scene of any system, by its plug-in or from its pose alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rolling_dynamics.contract.contact_forces import contact_forces
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import plugin_of
from rolling_dynamics.robots.view import (
    Curve,
    Floor,
    GLASS,
    OBJECT,
    OTHER_COLOUR,
    PART_COLOURS,
    robot_view,
    Shape,
    SHELL,
)
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_robotics.files import Arrays, damage_reported, Values
from rolling_robotics.scene.parts import (
    box_mesh,
    contact_strips,
    contact_wrenches,
    cylinder_mesh,
    error_strips,
    floor_body,
    ghost_of,
    moved_mesh,
    ON_GROUND,
    rolling_traces,
    sphere_mesh,
)
from rolling_robotics.scene.scene import (
    AXES,
    Body,
    Colour,
    Frame,
    GROUND,
    layer_of,
    Line,
    Mesh,
    resample,
    resample_attitude,
    rotation_matrices,
    Scene,
    still,
    Strip,
    Trace,
    Wrench,
)

LIFT = 0.01  # of the path over the surface it is drawn on, in sizes of the first body


def general_scene(scenario: Scenario, arrays: Arrays) -> Scene:
    """
    Return the bodies of a system's ``pose``, the path of the contact, and its force.

    The path lies on the body with a board or plate, or else in the world; without a contact it
    is the path of the first body.

    Parameters
    ----------
    scenario
        Scenario of any system. Its view gives the shapes; a body without shapes is drawn as its
        axes, and one named ``contact`` is the contact frame.
    arrays
        Arrays of the simulation.

    """
    system = scenario.system
    view = robot_view(system, scenario.p)
    names = [n for n in system.pose.name_out() if n != 'contact']
    fixed = [s for s in view.shapes if s.link == 'odom' and not isinstance(s, Floor)]
    bodies = []
    if any(isinstance(s, Floor) for s in view.shapes):
        around = np.concatenate([arrays[f'{n}_position'] for n in names])
        bodies.append(floor_body(len(arrays.time), around, view.radius))
    if fixed:
        bodies.append(_body('fixed', *still(len(arrays.time)), fixed, view.radius))
    for k, name in enumerate(names):
        links = {f'{name}_link', view.links[k].name if k == 0 else ''}
        shapes = [s for s in view.shapes if s.link in links]
        pose = arrays[f'{name}_position'], arrays[f'{name}_attitude']
        bodies.append(_body(name, *pose, shapes, view.radius))
    wrenches = contact_wrenches(arrays, _friction(scenario), view.radius)
    frames = tuple(
        Frame(
            name=name,
            position=arrays[f'{name}_position'],
            attitude=arrays[f'{name}_attitude'],
            wrench=wrench,
        )
        for name, wrench in _frames(wrenches).items()
        if f'{name}_position' in arrays
    )
    return Scene(
        title=scenario.name,
        system=system.name,
        times=arrays.time,
        time_unit='s' if system.independent_variable == 'time' else 'm',
        bodies=tuple(bodies),
        frames=frames,
        traces=(_trace(names[0], arrays, bodies, LIFT * view.radius),),
        strips=contact_strips(wrenches) if wrenches else control_strips(scenario, arrays),
    )


def _friction(scenario: Scenario) -> dict[str, float]:
    """Return the coefficient of friction of each contact by its name; empty without forces."""
    system = scenario.system
    found = contact_forces(system, next(iter(system.modes)))
    if found is None:
        return {}
    mu = np.array(found.frames(scenario.x0, scenario.p)[0]).ravel()
    return {name: value for name, value in zip(found.names, mu, strict=True) if value > 0}


def _frames(wrenches: Mapping[str, Wrench]) -> dict[str, Wrench | None]:
    """Return names of contact frames with what acts in each."""
    named = {f'contact_{name}' if name else 'contact': w for name, w in wrenches.items()}
    return {**named} or {'contact': None}


def _trace(name: str, arrays: Arrays, bodies: Sequence[Body], lift: float) -> Trace:
    """Return the path of the contact, a bit above the board that moves under it."""
    path = 'path of the contact'
    if 'contact_position' not in arrays:
        path = f'path of {name}'
        return Trace(name=path, body='', points=arrays[f'{name}_position'], colour=ON_GROUND)
    points = arrays['contact_position']
    points = points + lift * rotation_matrices(arrays['contact_attitude'])[:, :, 2]
    board = next((b for b in bodies if GROUND in {m.layer for m in b.meshes}), None)
    if board is None or board.layer == GROUND:
        return Trace(name=path, body='', points=points, colour=ON_GROUND)
    R = rotation_matrices(board.attitude)
    points = np.einsum('kji,kj->ki', R, points - board.position)
    return Trace(name=path, body=board.name, points=points, colour=ON_GROUND)


def scene_on_floor(scenario: Scenario, arrays: Arrays, marks: Sequence[Line]) -> Scene:
    """
    Return the general scene of a shell on a floor, with the contact's path on both.

    Parameters
    ----------
    scenario, arrays
        The scenario, and arrays of its simulation. W is fixed to the floor: on a slope, gravity is
        tilted.
    marks
        Lines drawn on the floor.

    """
    radius = robot_view(scenario.system, scenario.p).radius
    scene = general_scene(scenario, arrays)
    contact = arrays['shell_position'] - np.array([0.0, 0.0, radius])
    floor = floor_body(len(contact), contact, radius, marks)
    return replace(
        scene,
        bodies=(floor, *(_cut(b, floor) if b.name == 'fixed' else b for b in scene.bodies[1:])),
        frames=(
            Frame(
                name='contact',
                position=contact,
                attitude=still(len(contact))[1],
                wrench=contact_wrenches(arrays, _friction(scenario), radius).get(''),
            ),
        ),
        traces=rolling_traces(
            contact, arrays['shell_attitude'], radius, ('on the floor', 'on the shell', 'shell')
        ),
    )


def _cut(body: Body, floor: Body) -> Body:
    """Return obstacles on a floor, cut off at its edges."""
    ground = floor.meshes[0].vertices
    low, high = ground.min(axis=0), ground.max(axis=0)
    low[2], high[2] = -np.inf, np.inf
    meshes = (replace(m, vertices=np.clip(m.vertices, low, high)) for m in body.meshes)
    return replace(body, meshes=tuple(meshes))


def control_strips(scenario: Scenario, arrays: Arrays) -> tuple[Strip, ...]:
    """Return the controls over time."""
    curves: dict[str, Values] = {}
    units = set()
    for name in (e.name for e in scenario.system.control.entries if e.name in arrays):
        values = arrays[name].reshape(len(arrays.time), -1)
        units.add(arrays.unit(name))
        curves |= dict(zip(arrays.components(name), values.T, strict=True))
    return (Strip(title='inputs', unit=', '.join(sorted(units)), curves=curves),)


def _body(
    name: str, position: Values, attitude: Values, shapes: Sequence[Shape], size: float
) -> Body:
    lines = [Line(points=s.points, width=1.2) for s in shapes if isinstance(s, Curve)]
    if not shapes:
        lines = [
            Line(points=np.array([np.zeros(3), size * e]), colour=c, width=2.0)
            for e, c in zip(np.eye(3), AXES, strict=True)
        ]
    meshes = (_mesh(s) for s in shapes)
    return Body(
        name=name,
        position=position,
        attitude=attitude,
        meshes=tuple(m for m in meshes if m is not None),
        lines=tuple(lines),
    )


def _mesh(shape: Shape) -> Mesh | None:
    """Return the mesh of a shape; None for one that is drawn as a line."""
    r, g, b, opacity = PART_COLOURS.get(shape.name, OTHER_COLOUR)
    colours: tuple[Colour, Colour] = ((r, g, b), (r, g, b))
    if shape.name == 'shell':
        colours, opacity = SHELL, GLASS
    elif shape.name == 'ball':
        colours = OBJECT
    if shape.solid is None:
        return None
    kind, X, sides = shape.solid
    if kind == 'sphere':
        mesh = sphere_mesh(sides[0] / 2, colours, opacity=opacity)
    elif kind == 'box':
        mesh = replace(box_mesh(sides, colours[0], opacity=opacity), layer=layer_of(shape.name))
    else:
        mesh = cylinder_mesh(sides[0] / 2, sides[2] / 2, colours, opacity=opacity)
    return moved_mesh(mesh, X[:3, :3], X[:3, 3])


def scene_of(result: dict[str, Any], plan: dict[str, Any] | None = None) -> Scene:
    """
    Return the scene of a result, with a plan as a ghost.

    Parameters
    ----------
    result
        Of `rolling simulate` or `rolling plan`, as read from its file.
    plan
        A result of `rolling plan` whose motion is the ghost; if None, a result that is a plan
        itself has its end as the ghost.

    Raises
    ------
    ParameterError
        The system is not known, the result is damaged, or the plan is of another system.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_robotics import scene_of, simulate_scenario, simulation_result
    >>> scenario = load_scenario('pendulum_slope')
    >>> result = simulation_result(scenario, simulate_scenario(scenario))
    >>> scene_of(result).times.shape
    (401,)

    """
    name = result.get('system')
    build = plugin_of(str(name)).load('scene') or general_scene
    if plan is not None and plan.get('system') != name:
        raise ParameterError(
            f'--plan: is of the system {plan.get("system")!r}, the file of {name!r}; give a plan '
            'of the same system'
        )
    with damage_reported('the result'):
        scenario = load_scenario(result['scenario'])
        scenario = replace(scenario, name=result.get('name', scenario.name))
        scene: Scene = build(scenario, Arrays(result))
        ghosts = _ghosts(scene, result, plan)
        errors = error_strips(scene.bodies, ghosts) if plan is not None else ()
        return replace(scene, ghosts=ghosts, strips=(*scene.strips, *errors))


def _ghosts(scene: Scene, result: dict[str, Any], plan: dict[str, Any] | None) -> tuple[Body, ...]:
    """Return the bodies as another plan moves them, or where this plan ends."""
    if plan is None and 'plan' not in result:
        return ()
    arrays = Arrays(result if plan is None else plan)
    times = np.full(len(scene.times), arrays.time[-1]) if plan is None else scene.times
    return tuple(
        replace(
            ghost_of(b),
            position=resample(arrays.time, arrays[f'{b.name}_position'], times),
            attitude=resample_attitude(arrays.time, arrays[f'{b.name}_attitude'], times),
        )
        for b in scene.bodies
        if b.is_above and f'{b.name}_position' in arrays  # a body without a pose is fixed
    )

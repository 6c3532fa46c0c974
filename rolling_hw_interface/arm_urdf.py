# ruff: noqa: ANN401 (parameters of a node, or a mapping)
"""An arm in URDF: written for RViz, robot_state_publisher and MoveIt, and read as it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
import math
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree as ET

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import find_config, read_regular
from rolling_dynamics.errors import ParameterError, quoted
from rolling_dynamics.robots.urdf import add_origin, Description, ORIGIN, text_of
from rolling_dynamics.robots.view import Ball, Rod, Shape
from rolling_hw_interface.arm import Arm, ArmModel, Body, Chain, Link, Place
from transforms3d.euler import mat2euler

T = TypeVar('T')
HAND = 'hand'  # link at the end of a description
ROD_SHARE = 0.05  # radius of a drawn link, of the longest link
MAX_BYTES = 1_000_000  # of a description
REGULAR = 0.02  # minimum determinant of the Jacobian, of that at home
INERTIA = ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')
LIMITS = {'low': 'lower', 'high': 'upper', 'speed': 'velocity', 'acceleration': 'acceleration',
          'torque': 'effort'}  # fmt: skip


def link_names(chain: Chain, prefix: str) -> list[str]:
    """Return the names of the base, the links and the hand, as frames have them."""
    links = [f'link_{k + 1}' for k in range(len(chain.links))]
    return [f'{prefix}{name}' for name in ('base_link', *links, HAND)]


def frame_places(chain: Chain) -> list[Place]:
    """Return where those frames stand, each in the one before it, at joint angles of zero."""
    first, *others = (link.place for link in chain.links)
    return [first, Place(), *others, chain.hand]


def arm_urdf(chain: Chain, joint_names: Sequence[str], *, world: str, prefix: str) -> str:
    """
    Return the description of an arm.

    Parameters
    ----------
    chain
        Its links and limits.
    joint_names
        Names of its joints, as joint states name them.
    world, prefix
        Name of the world frame, and prefix of the names of the links.

    Returns
    -------
    str
        Links ``base_link``, ``link_1`` and so on, and ``hand``, the frames of `arm_frames`.

    """
    made, names = Description('arm'), link_names(chain, prefix)
    places = frame_places(chain)
    radius = ROD_SHARE * max(math.hypot(*place.position) for place in places[1:])
    for name in (world, names[0]):
        made.link(name)
    for k, link in enumerate(chain.links):
        shapes: list[Shape] = [Ball(name='joint', link=names[k + 1], radius=1.5 * radius)]
        end = places[k + 2].position
        if any(end):
            x, y, z = end
            shapes.append(Rod(name='link', link=names[k + 1], end=(x, y, z), radius=radius))
        _add_inertia(made.link(names[k + 1], shapes), link.body)
    _add_inertia(made.link(names[-1]), chain.payload)
    kinds = ['fixed', *['revolute'] * len(chain.links), 'fixed']
    given = ['', *joint_names, '']
    for k, parent in enumerate((world, *names[:-1])):
        place = places[k]
        joint = made.joint(
            kinds[k], parent, names[k], name=given[k], position=place.position, rpy=place.rpy
        )
        if kinds[k] == 'revolute':
            link = chain.links[k - 1]
            ET.SubElement(joint, 'axis', xyz=text_of(np.eye(3)[link.axis]))
            limits = {word: text_of(getattr(link, name)) for name, word in LIMITS.items()}
            ET.SubElement(joint, 'limit', limits)
    return made.text()


def _add_inertia(link: ET.Element, body: Body) -> None:
    if not body.mass:
        return
    inertial = ET.SubElement(link, 'inertial')
    add_origin(inertial, body.centre, ORIGIN)
    ET.SubElement(inertial, 'mass', value=text_of(body.mass))
    values = zip(INERTIA, body.inertia, strict=True)
    ET.SubElement(inertial, 'inertia', {name: text_of(v) for name, v in values})


def arm_of_urdf(path: str | Path, *, gravity: Sequence[float], home: Sequence[float]) -> Chain:
    """
    Return the arm that a URDF describes, from its root, which is the world, to the link ``hand``.

    The usual fraction of the determinant of the Jacobian at home is the minimum one.

    Parameters
    ----------
    path
        The file, or the name of one in config.
    gravity
        In the world [m/s^2], 3 numbers.
    home
        Joint angles near which the arm works [rad].

    Raises
    ------
    ParameterError
        There is no such file, or it describes no chain of revolute joints with their limits,
        ``acceleration`` among them.

    """
    try:
        root = ET.fromstring(read_regular(find_config(str(path)), MAX_BYTES))  # noqa: S314
    except ET.ParseError as error:
        raise ParameterError(f'{path}: cannot be read: {error}') from None
    above = {_named(joint, 'child', 'link', path): joint for joint in root.findall('joint')}
    bodies = {link.get('name'): link for link in root.findall('link')}
    joints: list[tuple[ET.Element, Body]] = []
    name = HAND
    while name in above and len(joints) < len(above):
        joints.insert(0, (above[name], _body(bodies.get(name), path)))
        name = _named(above[name], 'parent', 'link', path)
    links, X, payload = [], np.eye(4), Body()
    for joint, body in joints:
        X = X @ _pose(joint.find('origin'), path)
        payload = body
        if joint.get('type') != 'fixed':
            links.append(_link(joint, _place(X), body, path))
            X, payload = np.eye(4), Body()
    if not links:
        raise ParameterError(f'{path}: no joint leads to a link {HAND!r}')
    chain = Chain(
        links=tuple(links), hand=_place(X), payload=payload,
        gravity=tuple(gravity), home=tuple(home), determinant=0.0,
    )  # fmt: skip
    return replace(chain, determinant=REGULAR * Arm(chain).determinant(chain.home))


def model_from(kind: type[T], given: Any, prefix: str) -> T:
    """
    Return a dataclass such as MotorModel, with what parameters change of its defaults.

    Raises
    ------
    ParameterError
        The numbers do not go together.

    """
    values = {}
    for field in fields(kind):  # type: ignore[arg-type]
        value = given.get(f'{prefix}.{field.name}')
        if value is not None:
            values[field.name] = tuple(value) if isinstance(field.default, tuple) else value
    return kind(**values)


def chain_from(given: Any) -> Chain:
    """
    Return the arm of the parameters: from a URDF, or the planar one, whose gravity counts.

    Raises
    ------
    ParameterError
        The description cannot be read, or the numbers do not go together.

    """
    planar = model_from(ArmModel, given, 'arm')
    description, (x, z) = given.get('arm.description', ''), planar.gravity
    if not description:
        return planar.chain
    return arm_of_urdf(description, gravity=(x, 0.0, z), home=given.get('arm.home', ()))


def _link(joint: ET.Element, place: Place, body: Body, path: str | Path) -> Link:
    name, kind = joint.get('name', ''), joint.get('type')
    if kind != 'revolute':
        raise ParameterError(f'{path}: joint {name!r} must be fixed or revolute, it is {kind}')
    axis = _numbers(joint.find('axis'), 'xyz', path, usual='1 0 0')
    if sorted(axis) != [0, 0, 1]:
        raise ParameterError(f'{path}: joint {name!r} must turn about x, y or z, got {axis}')
    limit = joint.find('limit')
    values = {key: _numbers(limit, word, path)[0] for key, word in LIMITS.items()}
    if not (values['low'] < values['high'] and min(list(values.values())[2:]) > 0):
        raise ParameterError(
            f'{path}: joint {name!r} needs lower < upper and positive limits, got {values}'
        )
    return Link(joint=name, place=place, axis=axis.index(1), body=body, **values)


def _body(link: ET.Element | None, path: str | Path) -> Body:
    """Return the mass of a link, along its own axes."""
    inertial = None if link is None else link.find('inertial')
    if inertial is None:
        return Body()
    X = _pose(inertial.find('origin'), path)
    xx, yy, zz, xy, xz, yz = (_numbers(inertial.find('inertia'), n, path)[0] for n in INERTIA)
    J = X[:3, :3] @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ X[:3, :3].T
    return Body(
        mass=_numbers(inertial.find('mass'), 'value', path)[0],
        centre=tuple(X[:3, 3].tolist()),
        inertia=tuple(J[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist()),
    )


def _pose(origin: ET.Element | None, path: str | Path) -> Array:
    X = np.eye(4)
    if origin is not None:
        rpy = _numbers(origin, 'rpy', path, usual='0 0 0')
        X[:3, :3] = Place(rpy=tuple(rpy)).matrix
        X[:3, 3] = _numbers(origin, 'xyz', path, usual='0 0 0')
    return X


def _place(X: Array) -> Place:
    return Place(position=tuple(X[:3, 3].tolist()), rpy=tuple(mat2euler(X[:3, :3], 'sxyz')))


def _named(element: ET.Element, child: str, name: str, path: str | Path) -> str:
    found = element.find(child)
    text = None if found is None else found.get(name)
    if not text:
        raise ParameterError(f'{path}: {element.tag} {element.get("name")!r} has no {child}')
    return text


def _numbers(
    element: ET.Element | None, name: str, path: str | Path, *, usual: str = ''
) -> list[float]:
    """Return finite numbers of an attribute; three of one that may be left out, else one."""
    text = usual if element is None else element.get(name, usual)
    try:
        found = [float(v) for v in text.split()]
    except ValueError:
        found = []
    if len(found) != (3 if usual else 1) or not np.isfinite(found).all():
        tag = 'inertial or limit' if element is None else element.tag
        raise ParameterError(f'{path}: {name} of {tag} takes finite numbers, got {quoted(text)}')
    return found

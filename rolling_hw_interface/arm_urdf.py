"""The arm in URDF, for RViz, robot_state_publisher and MoveIt."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from rolling_dynamics.robots.shapes import Ball, Rod
from rolling_dynamics.robots.urdf import add_origin, Description, ORIGIN, text_of
from rolling_hw_interface.arm import MOUNT
from rolling_hw_interface.arm_model import ArmModel, JOINTS

ROD_SHARE = 0.05  # radius of a drawn link, of the longest link
SLENDER = 1e-3  # inertia of a link about its own length, of that about its joint: not measured


def arm_urdf(model: ArmModel, joint_names: Sequence[str], *, world: str, prefix: str) -> str:
    """
    Return the description of the planar arm.

    Parameters
    ----------
    model
        Its lengths, masses and limits.
    joint_names
        Names of its joints, as joint states name them.
    world, prefix
        Name of the world frame, and what is put before the names of the links.

    Returns
    -------
    str
        Links ``base_link``, ``link_1`` to ``link_3`` and ``hand``, the frames of `arm_frames`: a
        link's frame stands in its joint, x along the link, the joint turns it about y.

    """
    made = Description('planar_arm')
    made.link(world)
    base, hand = f'{prefix}base_link', f'{prefix}hand'
    x, z = model.base
    made.link(base)
    made.joint('fixed', world, base, position=(x, 0.0, z))
    parent, place = base, ORIGIN
    radius = ROD_SHARE * max(model.lengths)
    for k in range(JOINTS):
        child, end = f'{prefix}link_{k + 1}', (model.lengths[k], 0.0, 0.0)
        shapes = (
            Ball(name='joint', link=child, radius=1.5 * radius),
            Rod(name='link', link=child, end=end, radius=radius),
        )
        _add_inertia(made.link(child, shapes), model, k)
        joint = made.joint('revolute', parent, child, name=joint_names[k], position=place)
        ET.SubElement(joint, 'axis', xyz=text_of((0, 1, 0)))
        ET.SubElement(
            joint,
            'limit',
            lower=text_of(model.low[k]),
            upper=text_of(model.high[k]),
            effort=text_of(model.torque[k]),
            velocity=text_of(model.speed[k]),
        )
        parent, place = child, end
    made.link(hand)
    made.joint('fixed', parent, hand, position=place, rpy=(0.0, MOUNT, 0.0))
    return made.text()


def _add_inertia(link: ET.Element, model: ArmModel, k: int) -> None:
    inertial = ET.SubElement(link, 'inertial')
    add_origin(inertial, (model.centres[k], 0.0, 0.0), ORIGIN)
    ET.SubElement(inertial, 'mass', value=text_of(model.masses[k]))
    across, along = model.inertias[k], SLENDER * model.inertias[k]
    values = {'ixx': along, 'ixy': 0.0, 'ixz': 0.0, 'iyy': across, 'iyz': 0.0, 'izz': across}
    ET.SubElement(inertial, 'inertia', {name: text_of(v) for name, v in values.items()})

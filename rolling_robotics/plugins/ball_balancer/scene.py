"""Scene of a ball balancer: ball and plate, and the servos and arms that tilt it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rolling_dynamics.scenario import Scenario
from rolling_robotics.files import Arrays
from rolling_robotics.scene.general import general_scene
from rolling_robotics.scene.parts import box_mesh, moved_mesh, rod_mesh
from rolling_robotics.scene.scene import Body, Colour, fixed_body, Scene, still, UNDER, Values
from transforms3d.quaternions import axangle2quat, qmult, quat2mat

SERVO: Colour = (0.16, 0.19, 0.24)
ARM: tuple[Colour, Colour] = ((0.86, 0.42, 0.13), (0.93, 0.55, 0.26))
BOX = np.array([0.4, 0.2, 0.36])  # sides of a servo in half widths of the plate: usual ones


def rig_scene(scenario: Scenario, arrays: Arrays) -> Scene:
    """Return the general scene with servos and arms, of a gimbal or of three legs."""
    scene = general_scene(scenario, arrays)
    half = arrays.parameter('half_width')
    if 'arm_length' in scenario.system.parameters:
        lengths = arrays.parameter('axle_radius'), arrays.parameter('arm_length')
        added = _legs(arrays['servo'], *lengths, half)
    else:
        added = _gimbal(arrays['servo'], half)
    lower = (replace(b, meshes=tuple(replace(m, layer=UNDER) for m in b.meshes)) for b in added)
    return replace(scene, bodies=(*lower, *scene.bodies))


def _legs(angles: Values, axle: float, arm: float, half: float) -> list[Body]:
    """Return a servo for each leg, and its arm, which turns in a vertical plane."""
    out = []
    for k in range(3):
        outwards = _turn(np.full(len(angles), 2 * np.pi * k / 3), 2)
        R = quat2mat(outwards[0])
        place = axle * R[:, 0]
        box = moved_mesh(
            box_mesh((0.6 * half * BOX).tolist(), SERVO), R, place - 0.1 * half * R[:, 1]
        )
        out.append(fixed_body(f'servo_{k + 1}', len(angles), box))
        attitude = _times(outwards, _turn(-angles[:, k], 1))
        position = np.tile(place, (len(angles), 1))
        rod = rod_mesh(np.zeros(3), np.array([arm, 0, 0]), 0.035 * half, ARM)
        out.append(Body(name=f'arm_{k + 1}', position=position, attitude=attitude, meshes=(rod,)))
    return out


def _gimbal(angles: Values, half: float) -> list[Body]:
    """Return two servos: one turns a yoke about y, the other, on the yoke, the plate about -x."""
    outer, inner = 0.55 * half, 0.4 * half
    y, x = np.array([0.0, outer, 0.0]), np.array([inner, 0.0, 0.0])
    below = np.array([0.0, 0.0, -BOX[2] * half / 2])
    box = box_mesh((half * BOX).tolist(), SERVO)
    fixed = moved_mesh(box, np.eye(3), y + below + [0, 0.1 * half, 0])
    post = rod_mesh(-y, -y + [0, 0, -BOX[2] * half], 0.04 * half, ARM)
    second_box = box_mesh((0.6 * half * BOX[[1, 0, 2]]).tolist(), SERVO)
    yoke = (rod_mesh(-y, y, 0.035 * half, ARM), moved_mesh(second_box, np.eye(3), -x))
    bar = rod_mesh(-x, x, 0.035 * half, ARM)
    position, _ = still(len(angles))
    first = _turn(angles[:, 0], 1)
    second = _times(first, _turn(-angles[:, 1], 0))
    return [
        fixed_body('servo_1', len(angles), fixed, post),
        Body(name='yoke', position=position, attitude=first, meshes=yoke),
        Body(name='axle', position=position, attitude=second, meshes=(bar,)),
    ]


def _turn(angles: Values, axis: int) -> Values:
    """Return unit quaternions of turns about an axis of the frame, shape (T, 4)."""
    return np.array([axangle2quat(np.eye(3)[axis], angle) for angle in angles])


def _times(a: Values, b: Values) -> Values:
    """Return products of quaternions, shape (T, 4)."""
    return np.array([qmult(q, r) for q, r in zip(a, b, strict=True)])

"""The ball on the spinning plate in MuJoCo and in Bullet, where they are installed: Fig. 6."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array

STEP = 1e-3  # s
BULLET_STEP = 1 / 60  # s, Bullet's own where none is given


class Tuning(NamedTuple):
    """Options of a contact in MuJoCo, and the divergence that they give in 10 s [%]."""

    contact: str
    divergence: float


# MuJoCo's own values; the fastest reference that its manual allows for the step; and the damping
# of the friction reference, 1/s, at which the errors of a step cancel.
TUNINGS = {
    'default': Tuning('', 44.9),
    'usual': Tuning(f'solref="{2 * STEP:g} 1" solreffriction="{2 * STEP:g} 1"', 2.0),
    'friction reference tuned': Tuning(
        f'solref="{2 * STEP:g} 1" solreffriction="-1e-9 -1950"', 0.01
    ),
}
MODEL = """
<mujoco>
  <option timestep="{step}" cone="elliptic"/>
  <worldbody>
    <body name="plate">
      <joint name="spin" type="hinge" axis="0 0 1" damping="0"/>
      <inertial pos="0 0 0" mass="1e6" diaginertia="1e6 1e6 1e6"/>
      <geom name="plate" type="cylinder" size="2 0.5" pos="0 0 -0.5"/>
    </body>
    <body name="ball" pos="0 0 0.2">
      <freejoint/>
      <geom name="ball" type="sphere" size="0.2" mass="0.1"/>
    </body>
  </worldbody>
  <contact>
    <pair geom1="plate" geom2="ball" condim="3" friction="1 1 0 0 0" {contact}/>
  </contact>
</mujoco>
"""


def missing() -> list[str]:
    """Return the names of the engines that are not installed."""
    engines = {'Bullet': 'pybullet', 'MuJoCo': 'mujoco'}
    return [name for name, module in engines.items() if find_spec(module) is None]


def divergence(points: Array) -> float:
    """Return by how much the radius of a path, shape (k, 2 or 3), differs at most [%]."""
    radius = np.hypot(points[:, 0] - 0.1, points[:, 1])
    return 100 * float(np.abs(radius / 0.1 - 1).max())


def mujoco_path(duration: float, tuning: str) -> Array | None:
    """
    Return the path of the ball after each step, shape (k, 2) [m].

    Parameters
    ----------
    duration
        Time [s].
    tuning
        One of ``TUNINGS``.

    Returns
    -------
    Array or None
        None where MuJoCo is not installed.

    """
    try:
        import mujoco  # noqa: PLC0415  (optional)
    except ImportError:
        return None
    text = MODEL.format(step=STEP, contact=TUNINGS[tuning].contact)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:7] = 7.0, 0.0, -0.2, 0.0, 1.0, 0.0, 0.0
    places = []
    for _ in range(round(duration / STEP)):
        mujoco.mj_step(model, data)
        places.append(data.qpos[1:3].copy())
    return np.array(places)


def bullet_path(duration: float, step: float = STEP) -> Array | None:
    """
    Return the path of the ball after each step, without damping, shape (k, 2) [m].

    Parameters
    ----------
    duration, step
        Time, and length of a step [s].

    Returns
    -------
    Array or None
        None where PyBullet is not installed.

    """
    try:
        import pybullet as bullet  # noqa: PLC0415  (optional)
    except ImportError:
        return None
    client = bullet.connect(bullet.DIRECT)
    try:
        bullet.setPhysicsEngineParameter(fixedTimeStep=step, physicsClientId=client)
        bullet.setGravity(0, 0, -9.81, physicsClientId=client)
        box = bullet.createCollisionShape(
            bullet.GEOM_BOX, halfExtents=[2, 2, 0.5], physicsClientId=client
        )
        sphere = bullet.createCollisionShape(
            bullet.GEOM_SPHERE, radius=0.2, physicsClientId=client
        )
        plate = bullet.createMultiBody(
            baseMass=0,
            linkMasses=[1e6],
            linkCollisionShapeIndices=[box],
            linkVisualShapeIndices=[-1],
            linkPositions=[[0, 0, -0.5]],
            linkOrientations=[[0, 0, 0, 1]],
            linkInertialFramePositions=[[0, 0, 0]],
            linkInertialFrameOrientations=[[0, 0, 0, 1]],
            linkParentIndices=[0],
            linkJointTypes=[bullet.JOINT_REVOLUTE],
            linkJointAxis=[[0, 0, 1]],
            physicsClientId=client,
        )
        ball = bullet.createMultiBody(0.1, sphere, -1, [0, 0, 0.2], physicsClientId=client)
        for body, link in ((plate, -1), (plate, 0), (ball, -1)):
            bullet.changeDynamics(
                body,
                link,
                lateralFriction=1,
                rollingFriction=0,
                spinningFriction=0,
                linearDamping=0,
                angularDamping=0,
                jointDamping=0,
                physicsClientId=client,
            )
        bullet.resetJointState(plate, 0, 0, 7.0, physicsClientId=client)
        bullet.setJointMotorControl2(
            plate,
            0,
            bullet.VELOCITY_CONTROL,
            targetVelocity=7.0,
            force=1e12,
            physicsClientId=client,
        )
        bullet.resetBaseVelocity(ball, [0, -0.2, 0], [1, 0, 0], physicsClientId=client)
        places = []
        for _ in range(round(duration / step)):
            bullet.stepSimulation(physicsClientId=client)
            position, _ = bullet.getBasePositionAndOrientation(ball, physicsClientId=client)
            places.append(position[:2])
        return np.array(places)
    finally:
        bullet.disconnect(client)

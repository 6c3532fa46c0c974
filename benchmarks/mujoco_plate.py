"""The ball on the spinning plate in MuJoCo, for comparison."""

from __future__ import annotations

import numpy as np

STEP = 1e-3  # s
# Options of the contact: MuJoCo's own values; the fastest reference that its manual allows for the
# step; and the damping of the friction reference, 1/s, at which the errors of a step cancel.
TUNINGS = {
    'default': '',
    'usual': f'solref="{2 * STEP:g} 1" solreffriction="{2 * STEP:g} 1"',
    'friction reference tuned': f'solref="{2 * STEP:g} 1" solreffriction="-1e-9 -1950"',
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


def mujoco_divergence(duration: float, tuning: str) -> float | None:
    """
    Return by how much the radius of the ball's circle changes at most [%].

    Parameters
    ----------
    duration
        Time [s].
    tuning
        One of ``TUNINGS``.

    Returns
    -------
    float or None
        None where MuJoCo is not installed.

    """
    try:
        import mujoco  # noqa: PLC0415  (optional)
    except ImportError:
        return None
    text = MODEL.format(step=STEP, contact=TUNINGS[tuning])
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[0] = 7.0
    data.qvel[1:4] = 0.0, -0.2, 0.0
    data.qvel[4:7] = 1.0, 0.0, 0.0
    worst = 0.0
    for _ in range(round(duration / STEP)):
        mujoco.mj_step(model, data)
        radius = float(np.hypot(data.qpos[1] - 0.1, data.qpos[2]))
        worst = max(worst, abs(radius - 0.1) / 0.1)
    return 100 * worst

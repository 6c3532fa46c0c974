"""What is recorded of an arm says how much of its limits it used."""

import numpy as np
import pytest
from rolling_hw_interface.arm import ArmModel
from rolling_robotics.demo.laboratory import joint_use
from rolling_robotics.recordings.recorded_topics import RecordedJoints

CHAIN = ArmModel(
    low=(-1.0, 0.5, -2.0), high=(1.0, 1.5, 2.0), speed=(8.0, 8.0, 12.0), torque=(60.0, 40.0, 15.0)
).chain


def recorded(position, velocity, effort):
    rows = (np.array(v, dtype=float) for v in (position, velocity, effort))
    position, velocity, effort = rows
    return RecordedJoints(
        times=np.arange(len(position)), position=position, velocity=velocity, effort=effort
    )


def test_the_greatest_share_of_each_limit_is_told():
    used = joint_use(
        CHAIN,
        recorded(
            [[0.5, 1.0, 0.0], [-0.25, 1.25, -2.0]],
            [[4.0, 0.0, -6.0], [-8.8, 2.0, 3.0]],
            [[np.nan, 10.0, 0.0], [-30.0, -20.0, 15.0]],
        ),
    )
    assert used['angle'] == pytest.approx([0.5, 0.5, 1.0])
    assert used['rate'] == pytest.approx([1.1, 0.25, 0.5])
    assert used['torque'] == pytest.approx([0.5, 0.5, 1.0])

"""Kinetic friction is found from what camera and encoders see of an object that slides."""

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.calibration.rocking import calibrate_sliding
from rolling_planner.laboratory.laboratory import FLAT, Laboratory
from rolling_robotics.trials.chain import HardwareInterface, Imperfections, PERIOD

EXACT = Imperfections(shift=0.0, turn=0.0)


def recorded(laboratory, size, seconds=2.4):
    """Shake the plate to and fro; return times, hands and poses of the object."""
    chain = HardwareInterface(laboratory, laboratory.rest(FLAT), EXACT, seed=2)
    hands, images = [], []
    chain.estimator.take_image = lambda stamp, _, p, q, __: images.append((stamp, p, q))
    chain.machine.release()
    for _ in range(round(seconds / PERIOD)):
        phase = (2.5 * chain.time + 0.25) % 1.0
        chain.sense()
        chain.act([0.0, size if phase < 0.5 else -size, 0.0])
        hands.append(chain.motors.arm.hand_state(*chain.motors.values.reshape(3, -1)[:2]))
    stamps = (
        np.array([image[0] for image in images]) - chain.machine.emulation.streams['camera'].offset
    )
    hands, when = np.array(hands), PERIOD * np.arange(1, len(hands) + 1)
    at = np.column_stack([np.interp(stamps, when, column) for column in hands.T])
    return stamps, at, *(np.array([image[k] for image in images]) for k in (1, 2))


@pytest.mark.slow
@pytest.mark.parametrize('mu', [0.15, 0.25])
def test_kinetic_friction_is_found(mu):
    laboratory = Laboratory.of_paper(mu=1.25 * mu)  # slips at 0.8 of it
    found = calibrate_sliding(laboratory.system, laboratory.params, *recorded(laboratory, 4.0))
    assert found.mu_kinetic == pytest.approx(mu, rel=0.06)
    assert abs(found.mu_kinetic - mu) < 4 * found.sigma + 0.01
    assert found.samples > 40
    assert found.mu_least < 1.5 * laboratory.mu


def test_object_that_sticks_tells_no_friction():
    laboratory = Laboratory.of_paper()
    with pytest.raises(ParameterError, match='slides in 0 images'):
        calibrate_sliding(laboratory.system, laboratory.params, *recorded(laboratory, 1.0, 1.0))

"""Stepper motors: steps, their errors, torque and rate; and what they do to a ball."""

from evidence.papers import putkaradze_rogers
from evidence.papers.disk_and_ball import ball, simulated
from evidence.papers.putkaradze_rogers import deviation, SAMPLE, stepped, Stepper
import numpy as np
import pytest

TIMES = np.arange(0.0, 2.0, SAMPLE)


def angle(acceleration):
    """Return where the shaft is, twice summed up."""
    rate = np.cumsum(acceleration) * SAMPLE
    return np.cumsum(rate) * SAMPLE


def test_a_shaft_comes_to_rest_on_the_steps_with_errors_that_do_not_add_up():
    motor = Stepper(step=0.02, error=0.02)
    wanted = np.minimum(TIMES, 1.0) * 0.5  # 25 steps
    ends = [angle(motor.follow(wanted, 0.0, 0.2, seed))[-1] for seed in range(8)]
    np.testing.assert_allclose(ends, 0.5, atol=5e-3)
    exact = angle(Stepper(step=0.02, error=0.0).follow(wanted, 0.0, 0.2, 0))[-1]
    assert np.std(np.array(ends) - exact) == pytest.approx(0.02 * 0.02, rel=0.6)


def test_rate_and_torque_are_limited():
    fast = Stepper(rate=0.25).follow(TIMES, 0.0, 0.2, 0)
    assert angle(fast)[-1] == pytest.approx(0.5, abs=0.06)
    torque, inertia = 0.5, 0.4
    weak = Stepper(holding=torque, damping=0.0).follow(5 * TIMES**2, 0.0, inertia, 0)
    assert np.abs(weak).max() <= torque / inertia * (1 + 1e-9)
    assert angle(weak)[-1] < 1.0  # it lost its steps: 20 rad were wanted


@pytest.mark.slow
def test_the_ball_keeps_to_its_path_the_better_the_finer_the_steps():
    example = ball()
    planned = simulated(example, putkaradze_rogers.MOTORS_FOR, putkaradze_rogers.TIGHT)
    coarse, fine = (
        deviation(planned, stepped(example, planned, Stepper(step=step, damping=0.2)))
        for step in (np.radians(2.0), np.radians(0.5))
    )
    assert fine[1] < coarse[1] / 2
    assert fine[0] < coarse[0] / 2

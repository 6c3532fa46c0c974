"""Laws on the emulated rig, with all that the scenario hides from them."""

import numpy as np
import pytest
from rolling_controller.ball_balancer import protocol
from rolling_controller.ball_balancer.laws import LAWS
from rolling_controller.ball_balancer.rig import run_rig
from rolling_controller.ball_balancer.rig_model import RigModel
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.faults import check

FOUR_JUMPS = protocol.BEGIN + 4 * protocol.LAST


@pytest.fixture(scope='module')
def file():
    return check(BallBalancerFile, load_scenario('ball_balancer').raw, '')


@pytest.mark.parametrize(('name', 'end'), [('lqr', 3e-3), ('pid', 10e-3)])
def test_a_law_takes_the_ball_to_its_set_point(file, name, end):
    law = LAWS[name](RigModel.of(file))
    jumps = protocol.judged(run_rig(file, law, protocol.jumps, FOUR_JUMPS, seed=1))
    assert [round(1e3 * j.length) for j in jumps] == [57, 80, 80, 57]
    assert max(j.end_error for j in jumps) < end
    assert max(j.rise for j in jumps) < 1.2


def test_a_run_has_the_same_bits_again(file):
    law = LAWS['lqr'](RigModel.of(file))
    a, b = (run_rig(file, law, protocol.jumps, 3.0, seed=4) for _ in range(2))
    assert np.array_equal(a.ball, b.ball)
    assert np.array_equal(a.commands, b.commands)

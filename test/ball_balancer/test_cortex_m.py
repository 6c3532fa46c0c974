"""A law on an emulated board: the same bits as here, and what a step takes."""

import shutil

from evidence.benchmarks.cortex_m import COMPILER, on_board, PROCESSORS, QEMU, wild
import numpy as np
import pytest
from rolling_controller.ball_balancer.laws import sources_of
from rolling_controller.export.compiled_law import CompiledLaw
from rolling_controller.law import replay
from rolling_dynamics.scenario import load_scenario

MISSING = [tool for tool in (COMPILER, QEMU, 'cc') if shutil.which(tool) is None]


@pytest.mark.skipif(bool(MISSING), reason=f'there is no {" and no ".join(MISSING)} here')
@pytest.mark.parametrize('processor', PROCESSORS, ids=lambda p: p.name)
def test_a_law_does_on_a_board_what_it_does_here(processor):
    source, frames = sources_of(load_scenario('ball_balancer'))['pid'](), wild()[:50]
    frames[20:23, 0] = np.nan
    board = on_board(source, 'float', frames, 2, processor)
    here = CompiledLaw(source=source, real='float')
    assert np.array_equal(board.outputs, replay(here, frames)[0])
    assert np.ptp(board.outputs) > 100
    assert board.loop == pytest.approx(1.0, abs=1e-3)
    assert source.operations < board.instructions.min() <= board.instructions.max() < 1000
    assert 0 < board.stack < 400

"""What `rolling identify` asks of a ball balancer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
import math
from pathlib import Path
from typing import Any

import numpy as np
from rolling_controller.ball_balancer import protocol
from rolling_controller.ball_balancer.identification import identify as likelihood
from rolling_controller.ball_balancer.identification.identify import Identified
from rolling_controller.ball_balancer.identification.log import log_of, read_log, write_log
from rolling_controller.ball_balancer.laws import pid_law
from rolling_controller.ball_balancer.rig import run_rig
from rolling_controller.ball_balancer.rig_model import RigModel
from rolling_dynamics.ball_balancer.scenario import rig_of
from rolling_dynamics.scenario import Scenario
from rolling_robotics.plugins.ball_balancer.recorded_log import recorded_log

DURATION = 120.0  # s, of an emulated log


def identify(path: Path, scenario: Scenario | None) -> Identified:
    """Return the numbers of the rig that wrote a log; a recording needs its scenario."""
    if scenario is None:
        return likelihood.identify(read_log(path))
    return likelihood.identify(recorded_log(path, rig_of(scenario)))


def emulate(scenario: Scenario, path: Path, seed: int) -> None:
    """Write the log of jumps of the set point on the rig of a scenario."""
    file = rig_of(scenario)
    run = run_rig(file, pid_law(RigModel.of(file)), protocol.jumps, DURATION, seed=seed)
    write_log(path, log_of(run, file.camera.delay))


def experiment(path: Path) -> None:
    """Write set points over time as CSV, whose log tells what is identified."""
    times = np.arange(0.0, DURATION, protocol.LAST) + protocol.BEGIN
    times = np.concatenate([[0.0], times[times < min(DURATION, protocol.jumps_duration())]])
    rows = np.column_stack([times, [protocol.jumps(t) for t in times]])
    np.savetxt(path, rows, fmt='%.6g', delimiter=',', header='time,goal_x,goal_y', comments='')


def lines(found: Identified) -> Iterator[str]:
    """Yield what is printed."""
    for name, n in found.numbers.items():
        if n.half_width is None:
            yield f'{name:20} not told by this log: {n.text}'
        else:
            told = f'{n.value:12.6g} +- {n.half_width:<9.2g} {n.unit:14} {n.text}'
            yield f'{name:20} {told}'.rstrip()
    yield f'{"noise of a place":20} {found.noise[0]:12.3g} m'
    yield f'{"explained":20} {100 * found.fit:12.2f} % of {found.rolling} second differences'


def complete(found: Identified) -> bool:
    """Tell whether the log told every number."""
    return all(n.half_width is not None for n in found.numbers.values())


def to_dict(found: Identified) -> dict[str, Any]:
    """Return plain values."""
    numbers = {name: asdict(n) for name, n in found.numbers.items()}
    for n in numbers.values():
        n['value'] = n['value'] if math.isfinite(n['value']) else None
    return {'numbers': numbers, 'noise': found.noise[0], 'explained': found.fit}

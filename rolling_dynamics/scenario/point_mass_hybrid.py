"""Scenarios of balls and disks that slide, leave the plane and land: the section ``hybrid``."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.mode import mode_name
from rolling_dynamics.internal_masses import PointMassBall, PointMassDisk
from rolling_dynamics.scenario.scenario import ProgressReport, Runner, Scenario
from rolling_dynamics.scenario.section import Section
from rolling_dynamics.simulation import simulate, Trajectory
from transforms3d.quaternions import quat2mat

Array = NDArray[np.float64]
ON_THE_WAY = (
    1e-9  # of the radius: a centre lower than this over its height of rest is on the plane
)


def check_hybrid(top: Section) -> None:
    """Refuse entries that have no meaning beside ``hybrid``, or without it."""
    if 'hybrid' not in top:
        initial = top.section('initial')
        for key in ('velocity', 'height'):
            if key in initial:
                raise initial.fail(
                    key, 'follows from rolling; it is free where there is a section `hybrid`'
                )
        return
    for key, reason in (
        ('events', 'the modes follow from their margins'),
        ('plan', 'a plan is made for rolling'),
        ('path', 'coordinates along a path are for a body that rolls'),
    ):
        if key in top:
            raise top.fail(key, f'has no meaning beside `hybrid`: {reason}; leave one of them out')


def hybrid_start(
    initial: Section, rolling: dict[str, Any], system: PointMassBall | PointMassDisk, p: Array
) -> dict[str, Any]:
    """
    Return the entries of the state of a body that can leave the plane.

    Parameters
    ----------
    initial
        The section.
    rolling
        Entries of the state as of a body that rolls.
    system, p
        The unilateral system, and its parameters.

    """
    start = dict(rolling)
    place = np.atleast_1d(start.pop('p'))
    radius = float(p[system.parameters.slice('radius')][0])
    height = initial.number('height', radius)
    if height < radius * (1 - ON_THE_WAY):
        raise initial.fail(
            'height',
            f'must be at least the radius, {radius:g} m, got {height:g}: it is that of '
            'the centre over the plane',
        )
    velocity = _rolling_velocity(start, radius)
    return start | {
        'p_WB': [*place, height],
        'v_WB_W': initial.numbers('velocity', velocity),
    }


def _rolling_velocity(start: dict[str, Any], radius: float) -> Array:
    """Return the velocity of the centre of a body that rolls, in W."""
    if 'phi_rate' in start:
        return np.array([-radius * start['phi_rate'], 0.0])
    w_WB_W = quat2mat(start['q_WB']) @ start['w_WB_B']
    velocity: Array = np.cross(w_WB_W, [0.0, 0.0, radius])
    return velocity


def hybrid_runner(top: Section) -> Runner:
    """Return what simulates such a scenario."""
    section = top.section('hybrid')
    mode, sliding = mode_name(section.get('mode', 'rolling')), section.get('sliding', False)

    def run(scenario: Scenario, report: ProgressReport | None) -> Trajectory:
        body = cast(PointMassBall, scenario.system)
        return simulate(
            body if sliding else body.ending_at_slip,
            scenario.p,
            scenario.x0,
            scenario.control.simplest,
            scenario.duration,
            mode=mode,
            t_eval=scenario.output_times,
            rtol=scenario.tolerances.relative,
            atol=scenario.tolerances.absolute,
            on_progress=report,
        )

    return run

"""The demonstration of a ball balancer: set points in turn, judged as the published rig is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rolling_controller.ball_balancer.protocol import judged_jump, Jump, LAST, targets, WITHIN
from rolling_robotics.demo.figures.panels import saved_panels
from rolling_robotics.demo.run import (
    brought_up,
    fresh_folder,
    HEALTH_PERIOD,
    LOCKSTEP_TIMEOUT,
    START_TIMEOUT,
    time_text,
)
from rolling_robotics.demo.verdict import margin_text, MISSED, REACHED, say, VOID
from rolling_robotics.experiments import find_experiment
from rolling_robotics.recordings.recorded_topics import read_joints

Array = NDArray[np.float64]
PACE = 2.0  # simulated seconds in a second at most
JUMPS = 4
GAP = 0.1  # s between two states beyond which a jump is not judged
TIMEOUT = 120.0  # for a jump [s]
BALL, GOAL = '#1f6fb4', '#2a9d4a'


@dataclass(frozen=True, eq=False)
class Course:
    """
    What was seen of the set points in turn.

    Attributes
    ----------
    times, ball
        Of the states [s], shape (k,), and places of the ball, shape (k, 2) [m].
    changes
        Stamps [s] and set points (2) [m], the first before the first jump.

    """

    times: Array
    ball: Array
    changes: Sequence[tuple[float, Array]]

    @property
    def gap(self) -> float:
        """Longest time between two states [s]."""
        return float(np.diff(self.times).max())

    def jumps(self) -> list[Jump]:
        """Return what came of each jump."""
        out = []
        for k in range(1, len(self.changes)):
            (_, before), (start, goal) = self.changes[k - 1 : k + 1]
            inside = (self.times >= start) & (self.times < start + LAST)
            out.append(judged_jump(self.times[inside] - start, self.ball[inside], before, goal))
        return out


@dataclass(frozen=True, kw_only=True)
class SetPointDemo:
    """
    Takes the ball to the first set points of the published protocol.

    Attributes
    ----------
    law
        Law of the controller; empty for its usual one.

    """

    law: str = ''

    def perform(self, out: Path, *, use_sim_time: bool) -> int:
        """Run it once; return REACHED, MISSED or VOID."""
        from rolling_robotics.nodes.set_point_client import SetPointClient  # noqa: PLC0415

        experiment, pace = find_experiment('ball_balancer'), PACE if use_sim_time else None
        recording = fresh_folder(out / 'recording')
        say(experiment.text)
        with (
            brought_up(
                out,
                time_text(pace),
                experiment=experiment,
                record=recording,
                use_sim_time=use_sim_time,
                overrides=self._overrides(use_sim_time=use_sim_time),
            ) as (domain, bringup),
            SetPointClient(domain=domain, check=bringup.check) as client,
        ):
            client.wait_until_balancing(START_TIMEOUT)
            points = targets()
            client.go_to(points[0], client.time + LAST, TIMEOUT)
            for goal in points[1 : JUMPS + 1]:
                client.go_to(goal, client.time + LAST + 0.1, TIMEOUT)
            void = client.void
        told = read_joints(recording, 'robot/state', ['ball_x', 'ball_y'])
        course = Course(told.times, told.position, client.set_points)
        say(f'recording: {recording}')
        outcome = conclude(course, out)
        if course.gap > GAP:
            void = f'states of {course.gap:.2g} s are missing'
        if void:
            say(f'the run is void: {void}')
        return VOID if void else outcome

    def _overrides(self, *, use_sim_time: bool) -> dict[str, dict[str, object]]:
        simulator: dict[str, object] = {'diagnostics_period': HEALTH_PERIOD}
        if use_sim_time:
            simulator |= {'rate_factor': PACE, 'lockstep_timeout': LOCKSTEP_TIMEOUT}
        return {'simulator': simulator, 'controller': {'law': self.law} if self.law else {}}


def conclude(course: Course, out: Path) -> int:
    """Print what came of each jump, draw the figure and return the exit status."""
    jumps = course.jumps()
    say('jump [mm]   90 % after [s]   overshoot [mm]   end error [mm]')
    for j in jumps:
        mm = (1e3 * j.length, 1e3 * j.overshoot, 1e3 * j.end_error)
        say(f'{mm[0]:9.0f}   {j.rise:14.2f}   {mm[1]:14.1f}   {mm[2]:14.1f}')
    figure = out / 'ball_balancer.png'
    draw(course, figure)
    say(f'figure: {figure}')
    there = sum(j.end_error <= WITHIN for j in jumps)
    if jumps:
        say(margin_text(1e3 * max(j.end_error for j in jumps), 1e3 * WITHIN, 'mm'))
    say(f'{there} of {len(jumps)} jumps ended within {1e3 * WITHIN:g} mm')
    return REACHED if there == len(jumps) == JUMPS else MISSED


def draw(course: Course, path: Path) -> None:
    """Write the figure, a PNG file."""
    stamps = np.array([t for t, _ in course.changes])
    goals = np.array([place for _, place in course.changes])
    begin = max(stamps[0], course.times[0])
    ends = np.append(stamps[1:], course.times[-1])
    with saved_panels(path, 'ab;ac') as axes:
        axes['a'].plot(*(1e3 * course.ball.T), color=BALL, label='ball')
        axes['a'].plot(*(1e3 * goals.T), '+', color=GOAL, markersize=12, label='set point')
        axes['a'].set(xlabel='$x$ [mm]', ylabel='$y$ [mm]', title='on the plate')
        axes['a'].set_aspect('equal', adjustable='datalim')
        for k, axis in enumerate((axes['b'], axes['c'])):
            axis.plot(course.times - begin, 1e3 * course.ball[:, k], color=BALL, label='ball')
            starts = np.maximum(stamps, begin) - begin
            axis.hlines(1e3 * goals[:, k], starts, ends - begin, color=GOAL, label='set point')
            axis.set(xlabel='time [s]', ylabel=f'${"xy"[k]}$ [mm]')


DEMO = SetPointDemo()

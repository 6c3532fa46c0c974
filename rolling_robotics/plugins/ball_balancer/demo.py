"""The demonstration of a ball balancer: set points in turn, judged as the published rig is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rolling_controller.ball_balancer.protocol import judged_jump, Jump, LAST, targets, WITHIN
from rolling_robotics.demo.figures.panels import saved_panels
from rolling_robotics.demo.rig import RigDemo, Seen, TIMEOUT
from rolling_robotics.demo.verdict import margin_text, MISSED, REACHED, say

if TYPE_CHECKING:
    from rolling_robotics.nodes.set_point_client import SetPointClient

Array = NDArray[np.float64]
JUMPS = 4
BALL, GOAL = '#1f6fb4', '#2a9d4a'


@dataclass(frozen=True, eq=False)
class Course(Seen):
    """What was seen of the set points in turn, the first before the first jump."""

    def jumps(self) -> list[Jump]:
        """Return what came of each jump."""
        out = []
        for k in range(1, len(self.changes)):
            (_, before), (start, goal) = self.changes[k - 1 : k + 1]
            inside = (self.times >= start) & (self.times < start + LAST)
            out.append(judged_jump(self.times[inside] - start, self.ball[inside], before, goal))
        return out


@dataclass(frozen=True, kw_only=True)
class SetPointDemo(RigDemo):
    """Takes the ball to the first set points of the published protocol."""

    experiment: ClassVar[str] = 'ball_balancer'

    def drive(self, client: SetPointClient) -> None:
        """Go to the set points."""
        points = targets()
        client.go_to(points[0], client.time + LAST, TIMEOUT)
        client.judge()
        for goal in points[1 : JUMPS + 1]:
            client.go_to(goal, client.time + LAST + 0.1, TIMEOUT)

    def conclude(self, seen: Seen, out: Path) -> int:
        """Print what came of each jump, draw the figure and return the exit status."""
        return conclude(Course(seen.times, seen.ball, seen.changes), out)


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

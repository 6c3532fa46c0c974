"""A plan beside its execution: states and controls of both over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
import numpy as np
from rolling_planner.plan import Plan
from rolling_robotics.figures.style import COLOURS, GREY, legend, panel_grid, room
from rolling_robotics.result_arrays import Arrays, Values

Motion = Mapping[str, tuple[Values, Values]]  # scalar name -> times [s] and values
STILL = 1e-12  # what stays below it in plan and execution has no panel
PLANNED = (0, (4, 2))  # dashes


@dataclass(frozen=True)
class Group:
    """Scalars that are drawn together: their title, names and unit."""

    title: str
    names: Sequence[str]
    unit: str


def motion_of_plan(plan: Plan) -> dict[str, tuple[Values, Values]]:
    """Return states and controls of a plan at its times; held controls are steps."""
    out = {n: (plan.times, x) for n, x in zip(plan.state_names, plan.states.T, strict=True)}
    times, controls = plan.control_samples()
    return out | {n: (times, u) for n, u in zip(plan.control_names, controls.T, strict=True)}


def plan_figure(arrays: Arrays, plan: Mapping[str, Any] | None = None) -> Figure | None:
    """
    Return the figure of a plan and of the motion in a result.

    Parameters
    ----------
    arrays
        Of the motion.
    plan
        As its file holds it; None takes that of the result itself, whose motion is the
        simulation of its controls.

    """
    plan = arrays.result.get('plan') if plan is None else plan
    if plan is None:
        return None
    planned = motion_of_plan(Plan.from_dict(plan))
    groups: list[Group] = []
    executed: dict[str, tuple[Values, Values]] = {}
    for name in arrays.names():
        components = arrays.components(name)
        if components and set(components) <= set(planned):
            groups.append(Group(name, components, arrays.unit(name)))
            columns = arrays[name].reshape(len(arrays.time), -1).T
            executed |= {c: (arrays.time, v) for c, v in zip(components, columns, strict=True)}
    word = 'simulated' if plan is arrays.result.get('plan') else 'executed'
    return beside_figure(groups, planned, executed, word)


def beside_figure(
    groups: Sequence[Group], planned: Motion, executed: Motion, word: str = 'executed'
) -> Figure:
    """
    Return one panel for each group that moves: planned dashed, executed in full lines.

    Parameters
    ----------
    groups
        What may be drawn.
    planned, executed
        Both motions.
    word
        What the full lines are.

    """
    shown = [g for g in groups if _moves(g, planned) or _moves(g, executed)]
    figure, grid = panel_grid(len(shown), 0.6, 1.55, sharex=True)
    for axes, group in zip(grid, shown, strict=True):
        _draw(axes, group, planned, executed)
    for axes in grid[-2:]:
        axes.set_xlabel('time [s]')
    kinds = [
        Line2D([], [], color=GREY, linestyle=PLANNED, label='planned'),
        Line2D([], [], color=GREY, label=word),
    ]
    figure.legend(handles=kinds, loc='outside lower center', ncols=2)
    return figure


def _moves(group: Group, motion: Motion) -> bool:
    return any(
        np.nanmax(np.abs(motion[name][1]), initial=0) > STILL
        for name in group.names
        if name in motion
    )


def _draw(axes: Axes, group: Group, planned: Motion, executed: Motion) -> None:
    flip = _sign(group, planned, executed)
    for k, name in enumerate(group.names):
        colour = COLOURS[k % len(COLOURS)]
        label = name.removeprefix(f'{group.title}_')
        if name in executed:
            times, values = executed[name]
            axes.plot(times, flip * values, color=colour, label=label)
        if name in planned:
            axes.plot(*planned[name], color=colour, linestyle=PLANNED, linewidth=1.0, alpha=0.75)
    axes.set_title(group.title)
    axes.set_ylabel(f'[{group.unit}]' if group.unit else '')
    axes.margins(x=0)
    room(axes, 1e-6)
    if len(group.names) > 1:
        legend(axes, len(group.names))


def _sign(group: Group, planned: Motion, executed: Motion) -> float:
    """Return -1 for an attitude whose quaternion begins as the negative of the planned one."""
    names = [n for n in group.names if n in planned and n in executed]
    if [n[-2:] for n in names] != ['_w', '_x', '_y', '_z']:
        return 1.0
    pairs = ((planned[n][1][0], executed[n][1][0]) for n in names)
    return -1.0 if sum(a * b for a, b in pairs) < 0 else 1.0

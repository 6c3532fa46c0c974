"""A plan and its execution: states and controls of both over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
import numpy as np
from rolling_planner.plan import Plan
from rolling_robotics.figures.states import COLOURS, GREY, legend, panel_grid, room
from rolling_robotics.files import Arrays, Values
from rolling_robotics.trials.trial import Motion, Record

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
        As its file holds it; None takes the result's own, whose motion is the
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
    return beside_figure(groups, planned, [(word, executed)])


def records_figure(records: Sequence[Record]) -> Figure | None:
    """Return the figure of trials and their plan; None where they have no arrays."""
    shown = [record for record in records if record.arrays]
    if not shown:
        return None
    groups = [Group(n, a.components, a.unit) for n, a in shown[0].arrays.items() if a.components]
    executed = [(record.law, record.motion()) for record in shown]
    return beside_figure(groups, shown[0].planned, executed)


def beside_figure(
    groups: Sequence[Group], planned: Motion, executed: Sequence[tuple[str, Motion]]
) -> Figure:
    """
    Return one panel for each group that moves: planned dashed, executed in full lines.

    Parameters
    ----------
    groups
        What may be drawn.
    planned
        The motion that was to be kept.
    executed
        Names and motions; the first name's are drawn in full, the others fainter.

    """
    motions = [planned, *(motion for _, motion in executed)]
    shown = [g for g in groups if any(_moves(g, motion) for motion in motions)]
    columns = min(2, max(len(shown), 1))
    figure, grid = panel_grid(len(shown), 0.6, 3.1 / columns, columns, sharex=True)
    names = list(dict.fromkeys(name for name, _ in executed))
    for axes, group in zip(grid, shown, strict=True):
        for name, motion in reversed(executed):
            _draw(axes, group, planned, motion, names.index(name), alone=len(names) == 1)
        _finish(axes, group, planned)
    for axes in grid[-columns:]:
        axes.set_xlabel('time [s]')
    kinds = [Line2D([], [], color=GREY, linestyle=PLANNED, label='planned')] if planned else []
    by_name = any(len(group.names) == 1 for group in shown) and len(names) > 1
    kinds += [
        Line2D(
            [],
            [],
            color=COLOURS[k] if by_name else GREY,
            label=name.replace('_', ' '),
            **_faint(k),
        )
        for k, name in enumerate(names)
    ]
    figure.legend(handles=kinds, loc='outside lower center', ncols=len(kinds))
    return figure


def _faint(k: int) -> dict[str, Any]:
    """Return how the motions of the k-th name are drawn."""
    return {'alpha': 1.0 if k == 0 else 0.5, 'linestyle': ('-', ':', '-.', '--')[k % 4]}


def _moves(group: Group, motion: Motion) -> bool:
    return any(
        np.nanmax(np.abs(motion[name][1]), initial=0) > STILL
        for name in group.names
        if name in motion
    )


def _draw(
    axes: Axes, group: Group, planned: Motion, executed: Motion, number: int, *, alone: bool
) -> None:
    """Draw a motion of the ``number``-th name; one scalar has a colour for each name."""
    flip = _sign(group, planned, executed)
    for k, name in enumerate(group.names):
        if name in executed:
            times, values = executed[name]
            colour = number if len(group.names) == 1 and not alone else k
            style = {'color': COLOURS[colour % len(COLOURS)], **_faint(number)}
            label = name.removeprefix(f'{group.title}_') if number == 0 else None
            axes.plot(times, flip * values, label=label, **style)


def _finish(axes: Axes, group: Group, planned: Motion) -> None:
    """Draw the planned motion, and the legend."""
    for k, name in enumerate(group.names):
        if name in planned:
            style: dict[str, Any] = {'linestyle': PLANNED, 'linewidth': 1.0, 'alpha': 0.75}
            colour = COLOURS[k % len(COLOURS)] if len(group.names) > 1 else GREY
            axes.plot(*planned[name], color=colour, **style)
    axes.set_title(group.title)
    axes.set_ylabel(f'[{group.unit}]' if group.unit else '')
    axes.margins(x=0)
    room(axes, 1e-6)
    if len(group.names) > 1:
        legend(axes, len(group.names))


def _sign(group: Group, planned: Motion, executed: Motion) -> float:
    """Return -1 for an attitude whose quaternion starts as the negative of the planned one."""
    names = [n for n in group.names if n in planned and n in executed]
    if [n[-2:] for n in names] != ['_w', '_x', '_y', '_z']:
        return 1.0
    pairs = ((planned[n][1][0], executed[n][1][0]) for n in names)
    return -1.0 if sum(a * b for a, b in pairs) < 0 else 1.0

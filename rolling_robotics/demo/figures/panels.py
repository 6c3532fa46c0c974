"""Panels that the figures of the demonstrations share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_robotics.demo.record import Record

COLOURS = {'open loop': '#c1440e', 'closed loop': '#1f6fb4'}
DASHES = ('-', '--', '-.')
NOTHING = 1e-6  # share of the greatest control that counts as none
MARGIN = 0.08  # around a path, of its extent


@contextmanager
def saved_panels(path: Path, layout: str = 'ab;cd', **options: Any) -> Iterator[dict[str, Axes]]:
    """
    Yield the axes of a mosaic by letter, and write them to a PNG file.

    One legend stands for all of them, but for those that have their own.
    """
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use('Agg')
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplot_mosaic(
        layout, figsize=(11, 8.5), constrained_layout=True, **options
    )
    try:
        yield axes
        handles, labels = [], []
        for axis in axes.values():
            axis.grid(visible=True, alpha=0.3)
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                if axis.get_legend() is None and label not in labels:
                    handles.append(handle)
                    labels.append(label)
        figure.legend(handles, labels, loc='outside lower center', ncols=len(labels))
        figure.savefig(path, dpi=120)
    finally:
        plt.close(figure)


def draw_paths(
    axis: Axes, planned: Array, driven: dict[str, Array], *, unit: str, around: Array | None = None
) -> None:
    """
    Draw paths from above, in equal scales.

    Parameters
    ----------
    axis
        Where to draw.
    planned, driven
        Points, shape (k, 2); those of the executions by label.
    unit
        Unit of the points.
    around
        Points that are to be seen beside the plan, shape (n, 2).

    """
    axis.plot(*planned.T, 'k--', label='planned', zorder=3)
    for label, points in driven.items():
        axis.plot(*points.T, color=COLOURS[label], label=label)
        axis.plot(*points[-1], 'o', color=COLOURS[label], markersize=5)
    axis.plot(*planned[0], 'ko', markersize=5, zorder=4)
    axis.plot(*planned[-1], 'k*', markersize=11, label='goal', zorder=4)
    shown = planned if around is None else np.vstack([planned, around])
    low, high = shown.min(axis=0), shown.max(axis=0)
    room = MARGIN * float(np.max(high - low))
    axis.set_xlim(low[0] - room, high[0] + room)
    axis.set_ylim(low[1] - room, high[1] + room)
    axis.set(xlabel=f'$x$ [{unit}]', ylabel=f'$y$ [{unit}]')
    axis.set_aspect('equal', adjustable='box')


def draw_errors(axis: Axes, record: Record, unit: str) -> None:
    """Draw the norm of the state error over time, and the goal error at the end."""
    for label, run in record.runs.items():
        axis.semilogy(run.times, run.errors, color=COLOURS[label], label=label)
        end = run.times[-1] if run.times else 0.0
        axis.semilogy(end, run.final_error, 'o', color=COLOURS[label])
    axis.set(
        xlabel='time [s]', ylabel=f'norm ({unit})', title='state error, at the end goal error'
    )


def draw_controls(axis: Axes, record: Record, *, unit: str, title: str) -> None:
    """Draw the planned controls that are not zero throughout."""
    plan = record.plan
    least = NOTHING * float(np.abs(plan.controls).max(initial=0.0))
    for k, (name, values) in enumerate(zip(plan.control_names, plan.controls.T, strict=True)):
        if np.any(np.abs(values) > least):
            axis.plot(plan.times, values, DASHES[k % len(DASHES)], label=name)
    axis.set(xlabel='time [s]', ylabel=f'[{unit}]', title=title)
    axis.legend(loc='upper right')


def draw_normal_force(axis: Axes, record: Record) -> None:
    """Draw the normal force over time."""
    plan = record.plan
    if len(plan.contact_wrenches):
        axis.plot(plan.times, plan.contact_wrenches[:, 5], 'k--', label='planned')
    for label, (times, force) in record.samples('contact/wrench').items():
        axis.plot(times, force[:, 2], color=COLOURS[label], label=label)
    axis.axhline(0.0, color='0.4', linewidth=0.8)
    axis.set(xlabel='time [s]', ylabel='[N]', title='normal force')


def draw_friction(axis: Axes, record: Record, mu: float) -> None:
    """Draw the friction that is needed, and the coefficient that there is."""
    plan = record.plan
    if len(plan.contact_wrenches):
        axis.plot(
            plan.times, required_friction(plan.contact_wrenches[:, 3:]), 'k--', label='planned'
        )
    for label, (times, force) in record.samples('contact/wrench').items():
        axis.plot(times, required_friction(force), color=COLOURS[label], label=label)
    axis.axhline(mu, color='0.4', linewidth=0.8)
    axis.set(xlabel='time [s]', ylabel='tangential / normal force', title='friction needed')
    axis.set_ylim(0.0, 1.15 * mu)


def required_friction(force: Array) -> Array:
    """Return the ratio of tangential to normal force, shape (k,)."""
    return np.array(np.hypot(force[:, 0], force[:, 1]) / np.maximum(force[:, 2], 1e-9))

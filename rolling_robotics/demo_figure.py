"""Figure of a demonstration: paths on the plate, errors, controls and normal force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

COLOURS = {'open loop': '#c1440e', 'closed loop': '#1f6fb4'}


def draw_demo(plan: Any, runs: dict[str, Any], path: Path) -> None:
    """
    Write the figure.

    Parameters
    ----------
    plan
        The plan as its message.
    runs
        Executions by label.
    path
        PNG file.

    """
    mpl.use('Agg')
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(2, 2, figsize=(11, 8.5), constrained_layout=True)
    _draw_paths(axes[0, 0], plan, runs)
    _draw_errors(axes[0, 1], runs)
    _draw_controls(axes[1, 0], plan)
    _draw_force(axes[1, 1], plan, runs)
    for axis in axes.flat:
        axis.grid(visible=True, alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _columns(plan: Any, values: Any, names: Any) -> dict[str, np.ndarray]:
    table = np.asarray(values).reshape(len(plan.times), len(names))
    return dict(zip(names, table.T, strict=True))


def _draw_paths(axis: Any, plan: Any, runs: dict[str, Any]) -> None:
    states = _columns(plan, plan.states, plan.state_names)
    u, v = 1e3 * states['u_h'], 1e3 * states['v_h']
    axis.plot(u, v, 'k--', label='planned')
    for label, run in runs.items():
        if run.contact:
            q = 1e3 * np.asarray(run.contact)
            axis.plot(q[:, 2], q[:, 3], color=COLOURS[label], label=label)
    axis.plot(u[0], v[0], 'ko', markersize=5)
    axis.plot(u[-1], v[-1], 'k*', markersize=11, label='goal')
    span = 0.5 * max(np.ptp(u), np.ptp(v)) + 15.0
    axis.set_xlim((u.max() + u.min()) / 2 - span, (u.max() + u.min()) / 2 + span)
    axis.set_ylim((v.max() + v.min()) / 2 - span, (v.max() + v.min()) / 2 + span)
    axis.set(xlabel='$u_h$ [mm]', ylabel='$v_h$ [mm]', title='contact point on the plate')
    axis.set_aspect('equal')
    axis.legend()


def _draw_errors(axis: Any, runs: dict[str, Any]) -> None:
    for label, run in runs.items():
        axis.semilogy(run.times, run.errors, color=COLOURS[label], label=label)
        end = run.times[-1] if run.times else 0.0
        axis.semilogy(end, run.final_error, 'o', color=COLOURS[label])
    axis.set(xlabel='time [s]', ylabel='norm (m, rad, m/s, rad/s)', title='state error')
    axis.legend()


def _draw_controls(axis: Any, plan: Any) -> None:
    controls = _columns(plan, plan.controls, plan.control_names)
    for name, values in controls.items():
        if np.any(values):
            axis.plot(plan.times, values, label=name)
    axis.set(
        xlabel='time [s]', ylabel='[rad/s$^2$], [m/s$^2$]', title='planned control of the plate'
    )
    axis.legend()


def _draw_force(axis: Any, plan: Any, runs: dict[str, Any]) -> None:
    if plan.contact_wrenches:
        axis.plot(plan.times, [w.force.z for w in plan.contact_wrenches], 'k--', label='planned')
    end = plan.times[-1]
    for label, run in runs.items():
        t, f = np.asarray(run.wrench_times), np.asarray(run.normal_force)
        keep = t <= end
        axis.plot(t[keep], f[keep], color=COLOURS[label], label=label)
    axis.axhline(0.0, color='0.4', linewidth=0.8)
    axis.set(xlabel='time [s]', ylabel='[N]', title='normal force')
    axis.legend()

"""Figures of a result: which there are, and drawing one into a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from rolling_dynamics.errors import ParameterError
from rolling_robotics.figures.beside import plan_figure
from rolling_robotics.figures.paths import paths_figure, phase_figure
from rolling_robotics.figures.states import (
    contact_figure,
    energy_figure,
    states_figure,
    STYLE,
    world_figure,
)
from rolling_robotics.files import Arrays, damage_reported

mpl.use('Agg')

FIGURES: dict[str, Callable[[Arrays], Figure | None]] = {
    'states': states_figure,
    'paths': paths_figure,
    'world': world_figure,
    'contact': contact_figure,
    'energy': energy_figure,
    'phase': phase_figure,
    'plan': plan_figure,
}


def draw(
    name: str, result: dict[str, Any], path: Path, plan: dict[str, Any] | None = None
) -> bool:
    """
    Write one figure of a result; return whether the result has the data for it.

    Parameters
    ----------
    name
        One of ``FIGURES``.
    result
        Result of a simulation or a plan, as read from its file.
    path
        Image file; its suffix selects the format.
    plan
        Result of a planner that the figure ``plan`` shows with it; None for its own.

    Raises
    ------
    ParameterError
        The result is damaged, or the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_robotics import draw, simulate_scenario, simulation_result
    >>> scenario = load_scenario('pendulum_slope')
    >>> result = simulation_result(scenario, simulate_scenario(scenario))
    >>> draw('world', result, Path('world.png'))
    True

    """
    arrays = Arrays(result)
    if name == 'plan' and plan is not None:
        return write_figure(name, lambda: plan_figure(arrays, plan['plan']), path)
    return write_figure(name, lambda: FIGURES[name](arrays), path)


def write_figure(name: str, make: Callable[[], Figure | None], path: Path) -> bool:
    """Write the figure that is made; return whether there is one. Errors as in :func:`draw`."""
    with mpl.rc_context(STYLE), damage_reported(f'{name}: the result'):
        figure = make()
        if figure is None:
            return False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path)
        except OSError as e:
            raise ParameterError(f'{path}: cannot be written: {e.strerror}') from None
    return True

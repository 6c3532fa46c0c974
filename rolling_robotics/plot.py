"""Figures of a result: which there are, and drawing one into a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from rolling_dynamics.errors import ParameterError
from rolling_robotics.figures.contact import contact_figure
from rolling_robotics.figures.energy import energy_figure
from rolling_robotics.figures.paths import paths_figure
from rolling_robotics.figures.states import states_figure
from rolling_robotics.figures.style import STYLE
from rolling_robotics.figures.world import world_figure
from rolling_robotics.result_arrays import Arrays

mpl.use('Agg')

FIGURES: dict[str, Callable[[Arrays], Figure | None]] = {
    'states': states_figure,
    'paths': paths_figure,
    'world': world_figure,
    'contact': contact_figure,
    'energy': energy_figure,
}


def draw(name: str, result: dict[str, Any], path: Path) -> bool:
    """
    Write one figure of a result; tell whether the result has what it shows.

    Parameters
    ----------
    name
        One of ``FIGURES``.
    result
        Of a simulation or a plan, as read from its file.
    path
        Image file; its suffix tells the format.

    Raises
    ------
    ParameterError
        The result is damaged, or the file cannot be written.

    """
    try:
        with mpl.rc_context(STYLE):
            figure = FIGURES[name](Arrays(result))
            if figure is None:
                return False
            figure.savefig(path)
    except OSError as e:
        raise ParameterError(f'{path}: cannot be written: {e.strerror}') from None
    except (KeyError, IndexError, TypeError, ValueError) as e:
        if isinstance(e, ParameterError):
            raise
        raise ParameterError(
            f'{name}: the result is damaged: {type(e).__name__} {e}; write it again'
        ) from None
    return True

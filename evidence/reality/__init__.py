"""
Models of the suite beside tests and measurements of others, one set of logs a module.

The logs are not part of the suite: ``rolling reproduce reality --data FOLDER`` reads them from a
folder, in which each repository lies under its owner and name.
"""

from __future__ import annotations

from functools import partial
from itertools import starmap, zip_longest
from pathlib import Path

from evidence.papers.row import write_drawings
from evidence.reality import (
    ballbot,
    beam,
    circle,
    labyrinth,
    published,
    roboball,
    roboball_trials,
    valley,
)
from evidence.reality.row import fetched, judged, NOT_FETCHED, residual_figure, Row, table, whole
from rolling_dynamics.errors import ParameterError, quoted

__all__ = ['DATA', 'SETS', 'SUMMARY', 'Row', 'figures', 'rows', 'stated', 'table']
SUMMARY = 'models beside public logs of real machines'
DATA = 'ROLLING_REALITY_DATA'
SETS = (roboball, roboball_trials, labyrinth, valley, beam, ballbot)


def rows(data: Path | None = None, only: str = '') -> list[Row]:
    """
    Return a row for each test and each prediction; one without its logs is not fetched.

    Parameters
    ----------
    data
        Folder of the logs.
    only
        Name of one set of logs, or ``published``; all of them without.

    Raises
    ------
    ParameterError
        There is no such set.

    """
    names = ['published', *(module.__name__.rpartition('.')[2] for module in SETS)]
    if only and only not in names:
        raise ParameterError(f'reality has no {quoted(only)}; there are: {", ".join(names)}')
    out = [*published.rows(), *circle.rows()] if only in ('', names[0]) else []
    for name, module in zip(names[1:], SETS, strict=True):
        if only in ('', name):
            content = getattr(module, 'evaluated', whole)
            paths = fetched(data, module.REPOSITORY, module.SHA256, content)
            found = module.found(data, paths) if paths else ()
            out += starmap(judged, zip_longest(module.ROWS, found))
    return out


def stated(rows: list[Row]) -> list[str]:
    """Return where the logs come from, under which licence, and what each model lacks."""
    out = []
    for module in SETS:
        out.append(f'{module.REPOSITORY}: {module.LICENCE}')
        out += [f'    {path}: sha256 {digest}' for path, digest in module.SHA256.items()]
    out += [f'{row.name}: {row.lacks}' for row in rows if row.lacks]
    if any(row.verdict == NOT_FETCHED for row in rows):
        out += [f'not fetched; in the folder of --data, or of {DATA}:']
        out += [
            f'    git clone https://github.com/{module.REPOSITORY} {module.REPOSITORY} && '
            f'git -C {module.REPOSITORY} checkout {module.COMMIT}'
            for module in SETS
        ]
    return out


def figures(folder: Path, rows: list[Row]) -> list[Path]:
    """Draw residuals over time, a panel for each row whose logs are there."""
    drawn = [row for row in rows if row.residuals is not None]
    return (
        write_drawings(folder, 'reality', {'residuals': partial(residual_figure, drawn)})
        if drawn
        else []
    )

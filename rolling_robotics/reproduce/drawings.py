"""The figures of a paper as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image
from rolling_robotics.figures.style import STYLE

Drawing = Callable[[], Figure | Image.Image]


def write_drawings(folder: Path, paper: str, drawings: Mapping[str, Drawing]) -> list[Path]:
    """Write what is drawn under each name as a PNG of the paper and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with mpl.rc_context(STYLE):
        for name, draw in drawings.items():
            file = folder / f'{paper}_{name}.png'
            drawn = draw()
            if isinstance(drawn, Figure):
                drawn.savefig(file, dpi=130)
            else:
                drawn.save(file)
            files.append(file)
    return files

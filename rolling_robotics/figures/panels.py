"""A figure of several panels, written to a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from matplotlib.axes import Axes


@contextmanager
def saved_panels(path: Path, layout: str = 'ab;cd') -> Iterator[dict[str, Axes]]:
    """
    Yield the axes of a mosaic by letter, and write them to a PNG file.

    One legend stands for all of them, but for those that have their own.
    """
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use('Agg')
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplot_mosaic(layout, figsize=(11, 8.5), constrained_layout=True)
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

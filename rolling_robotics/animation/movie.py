"""Pictures of a scene over time, written as GIF or MP4."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
import math
from pathlib import Path
import shutil
import subprocess
import tempfile
from typing import Any, IO

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_robotics.animation.painter import Camera, extent, Painter
from rolling_robotics.figures.states import GREY, line_style, STYLE
from rolling_robotics.files import written_beside
from rolling_robotics.scene.scene import Scene, Strip

DPI = 100
STRIP_HEIGHT = 95  # px
COLOURS_OF_GIF = 96
DEFAULT_CAMERA = Camera(math.radians(-60), math.radians(28))
SQUARE: dict[str, Any] = {'marker': 's', 'linewidth': 0, 'markersize': 5}
SMALL: dict[str, Any] = {
    'fontsize': 7.5,
    'frameon': False,
    'handletextpad': 0.1,
    'labelspacing': 0.2,
}
LEGEND, ENTRY = 14, 125  # px: height and width of an entry of the legend
HEAD = 24  # px of the line above the scene
MOST = {'.gif': 2_000, '.mp4': 20_000, '.png': 100}  # pictures; a GIF is made in memory
MOST_TIMES = 20_000  # of a scene that is drawn
IN_A_ROW = 5  # snapshots of a strip
Picture = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Shot:
    """
    Camera and length of a picture of a scene.

    Attributes
    ----------
    rate
        Pictures per second.
    speed
        Time of the scene per second of the picture [s or m].
    at
        Time of a still picture; the middle if None.
    width
        Of the picture [px]; its height follows from the scene, the strips come below.
    camera
        Position of the camera.
    strips, legend
        Whether curves over time are drawn below, and a legend above.
    every
        Time between the snapshots of a ``*.png``; None for a single picture.

    Examples
    --------
    >>> from rolling_robotics import Shot
    >>> Shot(rate=10, width=320).speed
    1.0

    """

    rate: float = 20.0
    speed: float = 1.0
    at: float | None = None
    width: int = 640
    camera: Camera = field(default_factory=lambda: DEFAULT_CAMERA)
    strips: bool = True
    legend: bool = True
    every: float | None = None

    def times(self, scene: Scene) -> Array:
        """Return the times of the pictures [s], shape (pictures,)."""
        count = int(min(self.count(scene), MOST_TIMES))
        if self.every is not None:  # the traces between the snapshots are shown too
            steps = np.arange((count - 1) * self.between + 1)
            return np.asarray(scene.times[0] + self.every / self.between * steps)
        return np.linspace(scene.times[0], scene.times[-1], count)

    @property
    def between(self) -> int:
        """Number of times of the scene for each picture."""
        return 1 if self.every is None else max(1, min(round(self.every * self.rate), 100))

    def count(self, scene: Scene) -> float:
        """Return the number of pictures; a float, as it may be beyond all bounds."""
        passed = float(scene.times[-1] - scene.times[0])
        if self.every is not None:
            return float(np.floor(passed / self.every * (1 + 1e-9))) + 1.0
        return float(max(2.0, 1.0 + np.round(passed / self.speed * self.rate)))


def pictures(scene: Scene, shot: Shot, *, still: bool = False) -> Iterator[Picture]:
    """Yield the pictures, or the still one, each of shape (rows, columns, 3)."""
    shown = scene.resampled(shot.times(scene))
    strips = scene.strips if shot.strips else ()
    low, high = extent(shown, shot.camera)
    names = scene.legend if shot.legend else {}
    columns = max(1, min(len(names), shot.width // ENTRY))
    head = HEAD + LEGEND * -(-len(names) // columns)
    height = shot.width * min(max((high - low)[1] / (high - low)[0], 0.3), 0.75) + head
    rows = int(height) + STRIP_HEIGHT * len(strips)
    with mpl.rc_context({**STYLE, 'figure.constrained_layout.use': False}):
        figure = Figure(figsize=(shot.width / DPI, rows / DPI), dpi=DPI)
        canvas = FigureCanvasAgg(figure)
        fraction = int(height) / rows
        axes = figure.add_axes((0.0, 1 - fraction, 1.0, fraction - head / rows))
        squares = [mpl.lines.Line2D([], [], color=c, **SQUARE) for c in names.values()]
        place: dict[str, Any] = {
            'loc': 'upper left',
            'bbox_to_anchor': (0.0, 1 - (HEAD - 6) / rows),
        }
        figure.legend(squares, list(names), ncols=columns, **place, **SMALL)
        painter = Painter(axes, shown, shot.camera)
        clock = figure.text(0.015, 1 - 6 / rows, '', va='top', fontsize=9)
        cursors = []
        for k, strip in enumerate(strips):
            top = 1 - fraction - k * STRIP_HEIGHT / rows
            box = (0.10, top - 0.80 * STRIP_HEIGHT / rows, 0.87, 0.55 * STRIP_HEIGHT / rows)
            cursors.append(_strip(figure.add_axes(box), scene, strip))
        moving = (axes, clock, *cursors)
        for artist in moving:
            artist.set_animated(True)
        canvas.draw()  # type: ignore[no-untyped-call]  # curves and their axes, once for all
        unmoved = canvas.copy_from_bbox(figure.bbox)  # type: ignore[no-untyped-call]
        for k in [_index(shown, shot)] if still else range(0, len(shown.times), shot.between):
            t = shown.times[k]
            painter.draw(k)
            clock.set_text(f'{scene.title.replace("_", " ")}   {t:.2f} {scene.time_unit}')
            for cursor in cursors:
                cursor.set_xdata([t, t])
            canvas.restore_region(unmoved)  # type: ignore[no-untyped-call]
            for artist in moving:
                artist.draw(canvas.get_renderer())  # type: ignore[no-untyped-call]
            yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()  # type: ignore[no-untyped-call]


def _index(scene: Scene, shot: Shot) -> int:
    """Return the number of the still picture."""
    if shot.at is None:
        return len(scene.times) // 2
    if not scene.times[0] <= shot.at <= scene.times[-1]:
        raise ParameterError(
            f'--at: must lie between {scene.times[0]:g} and {scene.times[-1]:g} '
            f'{scene.time_unit}, got {shot.at:g}'
        )
    return int(np.argmin(np.abs(scene.times - shot.at)))


def _strip(axes: Axes, scene: Scene, strip: Strip) -> mpl.lines.Line2D:
    """Draw the curves of a strip; return the line that shows the time."""
    for k, (name, values) in enumerate(strip.curves.items()):
        axes.plot(scene.times, values, label=name, linewidth=1.2, **line_style(k))
    if strip.limit is not None:
        axes.axhline(strip.limit, color='black', linewidth=0.8, linestyle='--')
    axes.set_title(f'{strip.title} [{strip.unit}]' if strip.unit else strip.title, fontsize=8)
    if 1 < len(strip.curves) <= 6:
        axes.legend(
            loc='lower right', bbox_to_anchor=(1.01, 0.95), ncols=len(strip.curves), fontsize=7
        )
    axes.tick_params(labelsize=7)
    axes.margins(x=0, y=0.15)
    return axes.axvline(scene.times[0], color=GREY, linewidth=1.0)


def write_movie(
    scene: Scene, shot: Shot, path: Path, on_picture: Callable[[int, int], None]
) -> int:
    """
    Write a moving picture and return the number of its pictures.

    Parameters
    ----------
    scene, shot
        The scene, and its camera.
    path
        ``*.gif`` or ``*.mp4``, or ``*.png`` for a still picture.
    on_picture
        Called with the number of pictures drawn so far, and the total.

    Raises
    ------
    ParameterError
        The format is unknown, ffmpeg is missing or failed, or the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_robotics import scene_of, Shot, simulate_scenario, simulation_result
    >>> scenario = load_scenario('pendulum_slope')
    >>> scene = scene_of(simulation_result(scenario, simulate_scenario(scenario)))
    >>> write_movie(scene, Shot(rate=1, width=160), Path('slope.gif'), lambda done, of: None)
    5

    """
    if path.suffix not in WRITERS:
        raise ParameterError(f'--out: a file *.gif, *.mp4 or *.png is needed, got {str(path)!r}')
    if path.suffix == '.mp4' and shutil.which('ffmpeg') is None:
        raise ParameterError(
            f'--out: {path.name} needs ffmpeg, which is not installed (Debian: apt-get install '
            'ffmpeg); a *.gif needs nothing more'
        )
    still = path.suffix == '.png' and shot.every is None
    count, most = 1.0 if still else shot.count(scene), MOST[path.suffix]
    if not count <= most:
        option, now = ('strip', shot.every) if shot.every is not None else ('speed', shot.speed)
        raise ParameterError(
            f'--out: {path.name} would have {count:g} pictures, at most {most} are written; give '
            f'--{option} {now * count / most:.3g} or more'
        )
    total = int(count)

    def counted() -> Iterator[Picture]:
        for k, picture in enumerate(pictures(scene, shot, still=still)):
            on_picture(k, total)
            yield picture

    try:
        with written_beside(path) as scratch:
            WRITERS[path.suffix](counted(), shot.rate, scratch)
    except OSError as e:
        raise ParameterError(f'{path}: cannot be written: {e.strerror}') from None
    return total


def _write_gif(frames: Iterator[Picture], rate: float, path: Path) -> None:
    images = [Image.fromarray(picture) for picture in frames]
    sample = np.concatenate([np.asarray(i)[::4] for i in images[:: max(1, len(images) // 6)]])
    palette = Image.fromarray(sample).quantize(COLOURS_OF_GIF, method=Image.Quantize.MEDIANCUT)
    small = [i.quantize(palette=palette, dither=Image.Dither.NONE) for i in images]
    small[0].save(
        path,
        format='GIF',
        save_all=True,
        append_images=small[1:],
        duration=round(1000 / rate),
        loop=0,
        optimize=True,
        disposal=1,
    )


def _write_mp4(frames: Iterator[Picture], rate: float, path: Path) -> None:
    first = next(frames)
    rows, columns = (n - n % 2 for n in first.shape[:2])  # the codec wants even numbers
    command = ['ffmpeg', '-y', '-loglevel', 'error', '-f', 'rawvideo', '-pix_fmt', 'rgb24']
    command += ['-s', f'{columns}x{rows}', '-r', f'{rate:g}', '-i', '-', '-an']
    command += ['-vcodec', 'libx264', '-pix_fmt', 'yuv420p', '-movflags', '+faststart', str(path)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log)  # noqa: S603
        pipe: IO[bytes] | None = process.stdin
        try:
            for picture in chain((first,), frames):
                if pipe is not None:
                    pipe.write(np.ascontiguousarray(picture[:rows, :columns]).tobytes())
        except BrokenPipeError:
            pass  # its output has the reason
        finally:
            if pipe is not None:
                pipe.close()
            status = process.wait()
        log.seek(0)
        said = log.read().decode(errors='replace').strip()
    if status:
        raise ParameterError(f'{path.name}: ffmpeg ended with status {status}: {said[-300:]}')


def _write_png(frames: Iterator[Picture], _rate: float, path: Path) -> None:
    Image.fromarray(side_by_side(list(frames))).save(path, format='PNG', optimize=True)


def side_by_side(snapshots: Sequence[Picture]) -> Picture:
    """Return pictures of one size in rows, from left to right."""
    columns = min(len(snapshots), IN_A_ROW)
    empty = np.full_like(snapshots[0], 255)
    missing = -len(snapshots) % columns
    rows = np.array([*snapshots, *[empty] * missing])
    height, width, colours = empty.shape
    grid = rows.reshape(-1, columns, height, width, colours).swapaxes(1, 2)
    return np.asarray(grid.reshape(-1, columns * width, colours))


WRITERS: dict[str, Callable[[Iterator[Picture], float, Path], None]] = {
    '.gif': _write_gif,
    '.mp4': _write_mp4,
    '.png': _write_png,
}

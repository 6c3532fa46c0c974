"""What the colours of a scene stand for, as HTML beside it."""

from __future__ import annotations

from html import escape

from rolling_dynamics.robots.palette import CONE, CURVES, FORCE, GHOST
from rolling_robotics.scene.scene import Colour, Scene, Strip

AXES: tuple[Colour, ...] = ((0.8, 0.0, 0.0), (0.0, 0.8, 0.0), (0.0, 0.0, 0.8))  # x, y, z
LIMIT, NOW = 'limit', '#000000'


def curve_colours(strip: Strip) -> dict[str, str]:
    """Return the colours of the curves of a strip by their names, its limit among them."""
    names = [*strip.curves, *([LIMIT] if strip.limit is not None else [])]
    return {name: CURVES[i % len(CURVES)] for i, name in enumerate(names)}


def legend_of(scene: Scene) -> str:
    """Return HTML that names what is drawn in space."""
    entries = [('where the plan ends', GHOST[0])] if scene.ghosts else []
    if scene.wrench is not None:
        entries += [('contact force', FORCE), ('friction cone', CONE)]
    entries += [
        (f'path {trace.name.removeprefix("path ")}', trace.colour) for trace in scene.traces
    ]
    if scene.frames:
        entries += [(f'contact frame, {n}', c) for n, c in zip('xyz', AXES, strict=True)]
    return _rows({name: _hex(colour) for name, colour in entries})


def legend_of_strip(strip: Strip) -> str:
    """Return HTML that names the curves of a strip."""
    return _rows({**curve_colours(strip), 'now': NOW})


def _rows(entries: dict[str, str]) -> str:
    spans = (
        f'<span style="white-space:nowrap;margin-right:0.9em"><span style="color:{colour}">&#9632;'
        f'</span> {escape(name)}</span>'
        for name, colour in entries.items()
    )
    return f'<div style="font-size:0.8em;padding:0.2em 1em">{" ".join(spans)}</div>'


def _hex(colour: Colour) -> str:
    return '#' + ''.join(f'{round(255 * c):02x}' for c in colour)

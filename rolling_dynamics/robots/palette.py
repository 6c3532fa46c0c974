"""Colours of what is drawn, the same in animations, viewer, RViz and recordings; r, g, b."""

from __future__ import annotations

Colour = tuple[float, float, float]
Chequer = tuple[Colour, Colour]

OBJECT: Chequer = ((0.90, 0.62, 0.0), (0.98, 0.90, 0.70))  # a chequer shows rolling
HAND: Chequer = ((0.68, 0.74, 0.80), (0.80, 0.84, 0.88))
SHELL: Chequer = ((0.34, 0.71, 0.91), (0.75, 0.88, 0.96))
INNER: Chequer = ((0.84, 0.37, 0.0), (0.84, 0.37, 0.0))
GHOST: Chequer = ((0.0, 0.50, 0.36), (0.55, 0.85, 0.72))
OBSTACLE: Chequer = ((0.45, 0.45, 0.45), (0.45, 0.45, 0.45))
CONE: Colour = (0.8, 0.47, 0.65)
FORCE: Colour = (0.0, 0.35, 0.25)
PREDICTED: Colour = (0.84, 0.37, 0.0)  # path that a law foresees
GLASS = 0.3  # opacity of a shell that shows what is in it, of a ghost, and of an obstacle

# Curves. Okabe & Ito (2008): told apart with every kind of colour blindness.
CURVES = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9')


def with_opacity(colours: Chequer, opacity: float) -> tuple[tuple[float, ...], ...]:
    """Return both colours as r, g, b, a."""
    return tuple((*colour, opacity) for colour in colours)

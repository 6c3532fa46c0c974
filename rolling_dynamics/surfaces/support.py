"""Whether a support function and a chart describe the same body."""

from __future__ import annotations

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.surfaces.surface import Surface

SAMPLES = 200  # points of the chart
TOLERANCE = 1e-6  # of the size of the body
REGULAR = 1e-4  # regularity of the chart below which a normal is too coarse to compare


@np.errstate(all='ignore')  # a sample without a value is left out, or told of
def check_support(surface: Surface) -> None:
    """
    Refuse a support function h that does not belong to the first chart of a surface.

    At sampled points F of the chart (seeded) with the normal n out of the convex body, the
    gradient of h at n must be F, and h(n) the largest n . x of all sampled points x: h is
    homogeneous of degree 1, and no point lies beyond its plane of support.

    Parameters
    ----------
    surface
        The surface, with a support function.

    Raises
    ------
    SurfaceError
        The text tells the worst point and by how much [m].

    """
    uv, points, normals = _samples(surface)
    if not len(points):
        return
    values, gradients = _support(surface, normals)
    reach = (points @ normals.T).max(axis=0)
    size = float(np.ptp(points, axis=0).max())
    for what, given, needed in (
        ('its gradient there is {given}, the point of the chart {needed}', gradients, points),
        (
            'it is {given} there, the chart reaches {needed} along its normal',
            values[:, None],
            reach[:, None],
        ),
    ):
        off = np.linalg.norm(given - needed, axis=1)
        off[~np.isfinite(off)] = np.inf
        worst = int(np.argmax(off))
        if off[worst] > TOLERANCE * size:
            told = what.format(given=_text(given[worst]), needed=_text(needed[worst]))
            raise SurfaceError(
                f'support: does not belong to the chart: at (u, v) = ({uv[worst, 0]:.6g}, '
                f'{uv[worst, 1]:.6g}) {told}: off by {off[worst]:.6g} m; give the support '
                'function of this body, out of which F_u x F_v points, or leave it out'
            )


def _samples(surface: Surface) -> tuple[Array, Array, Array]:
    """Return (u, v), points and normals out of the body at regular points of the first chart."""
    rng = np.random.default_rng(0)
    uv = rng.uniform(*surface.box(), size=(SAMPLES, 2))
    p = np.tile(surface.parameter_values[:, None], (1, SAMPLES))
    position, frame, metric = surface.numeric().map(SAMPLES)(uv.T, p)[:3]
    points = np.array(position).T
    normals = np.array(frame).reshape(3, SAMPLES, 3)[:, :, 2].T
    G = np.array(metric).reshape(2, SAMPLES, 2)
    det = G[0, :, 0] * G[1, :, 1] - G[0, :, 1] * G[1, :, 0]
    regular = np.sqrt(det) > REGULAR / 2 * (G[0, :, 0] + G[1, :, 1])
    good = regular & np.isfinite(np.hstack([points, normals])).all(axis=1)
    sign = -1 if surface.side == 'inside' else 1
    return uv[good], points[good], sign * normals[good]


def _support(surface: Surface, normals: Array) -> tuple[Array, Array]:
    """Return h and its gradient at normals."""
    n, p = ca.SX.sym('n', 3), ca.SX.sym('p', surface.parameters.numel())
    assert surface.support is not None  # noqa: S101 (asked for by the caller)
    h = ca.substitute(surface.support(n), surface.parameters, p)
    f = ca.Function('support', [n, p], [h, ca.densify(ca.gradient(h, n))])
    values = np.tile(surface.parameter_values[:, None], (1, len(normals)))
    h1, gradient = f.map(len(normals))(normals.T, values)
    return np.array(h1).ravel(), np.array(gradient).T


def _text(values: Array) -> str:
    return ', '.join(f'{v:.6g}' for v in values)

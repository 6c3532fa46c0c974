"""Whether rolling can start from a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError, SurfaceError
from rolling_dynamics.surfaces.surface import REGULAR

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem

NORM = 1e-6  # tolerance of a given quaternion's norm, and of a given spin
DEFINITE = 1e-9  # least relative curvature against the greatest


def check_contact(system: ContactSystem, p: ArrayLike, x: ArrayLike) -> None:
    """
    Raise an error where no rolling can start from a state.

    Parameters
    ----------
    system
        The system.
    p
        Parameters.
    x
        State.

    Raises
    ------
    ParameterError
        A quaternion is not of norm 1, or there is spin in pure rolling.
    SurfaceError
        A chart is degenerate there, or the bodies would not touch in a single point.

    """
    p, x = np.asarray(p, dtype=float), np.asarray(x, dtype=float)
    for entry in system.state.entries:
        if entry.kind == 'quaternion':
            norm = float(np.linalg.norm(x[system.state.slice(entry.name)]))
            if not abs(norm - 1) <= NORM:
                raise ParameterError(
                    f'{entry.name} must be a unit quaternion (w, x, y, z), got one of norm '
                    f'{norm:.9g}'
                )
    _check_charts(system, p, x)
    _check_curvature(system, p, x)
    if system.friction == 'pure_rolling':
        u = np.zeros(system.control.size)
        spin = float(system.invariants['spin'](x, u, 0, p))
        speed = float(np.linalg.norm(x[-3:]))
        if not abs(spin) <= NORM * max(1.0, speed):
            raise ParameterError(
                f'{system.representation.velocity.name}: pure rolling has no spin about the '
                f"normal, got {spin:.6g} rad/s; take it away, or choose friction 'rolling'"
            )


def _check_charts(system: ContactSystem, p: NDArray[np.float64], x: NDArray[np.float64]) -> None:
    values, params = system.state.unpack(x), system.parameters.unpack(p)
    used = [('contact_h', system.hand_surface, system.hand_chart, params['hand_surface'])]
    if 'contact_o' in system.state:
        used.append(
            ('contact_o', system.object_surface, system.object_chart, params['object_surface'])
        )
    for name, surface, chart, dimensions in used:
        scale = np.array(surface.numeric(chart)(values[name], dimensions)[3])
        area, size = abs(scale[0, 0] * scale[1, 1]), np.abs(scale).max()
        if not area > REGULAR * size * size:
            raise SurfaceError(
                f'{name}: the chart {surface.charts[chart].name!r} of the {surface.name} is '
                f'degenerate at {values[name].tolist()}; start away from its poles, or on another '
                'of its charts'
            )


def _check_curvature(
    system: ContactSystem, p: NDArray[np.float64], x: NDArray[np.float64]
) -> None:
    """Refuse all but H~_o + H_h < 0, where the bodies touch in one point and do not overlap."""
    e = system.expressions
    f = ca.Function('curvature', [e.x, e.p], [e.state.relative_curvature])
    H = np.array(f(x, p))
    names = f'the object ({system.object_surface.name}) and the hand ({system.hand_surface.name})'
    if not np.all(np.isfinite(H)):
        raise SurfaceError(f'the relative curvature of {names} is not finite at this state')
    low, high = np.linalg.eigvalsh((H + H.T) / 2)
    if high < -DEFINITE * abs(low):
        return
    if abs(high) <= DEFINITE * max(abs(low), 1e-300):
        reason = 'along a line, not in a point, so that rolling is not determined'
    else:
        reason = 'where the hand is more curved than the object, so that they would overlap'
    raise SurfaceError(
        f'{names} touch {reason}: the principal relative curvatures {-high:.6g} and {-low:.6g} '
        '1/m must both be positive'
    )

"""Where rolling ends: limits of the contact as guards and, smooth, for optimisation."""

from __future__ import annotations

import math

import casadi as ca
from rolling_dynamics.contact.equations import ContactExpressions
from rolling_dynamics.contact.friction import contact_margins
from rolling_dynamics.contact.layouts import GRAVITY
from rolling_dynamics.surfaces.surface import Surface

LENGTH = 1e-3  # m: spin torques are measured in weights times mu_spin + this


def guard_expressions(e: ContactExpressions, friction: str) -> dict[str, ca.SX]:
    """Return what is positive while the object rolls, by name; zero is an event."""
    margins = contact_margins(e.load, e.params['mu'], e.params['mu_spin'])
    K = -e.state.relative_curvature
    point, edges = e.point_h, e.params['hand_edges']
    inside = ca.vertcat(
        point[0] - edges[0], edges[1] - point[0], point[1] - edges[2], edges[3] - point[1]
    )
    guards = {
        'normal_force': margins.normal_force,
        'friction': margins.friction,
        'edge': ca.mmin(inside),
        'relative_curvature': (K[0, 0] + K[1, 1]) / 2
        - ca.sqrt(((K[0, 0] - K[1, 1]) / 2) ** 2 + K[0, 1] ** 2),
    }
    if friction == 'pure_rolling':
        guards['spin'] = margins.spin
    return guards


def envelope_expressions(e: ContactExpressions, friction: str) -> dict[str, ca.SX]:
    """
    Return the limits as smooth functions, positive inside, without dimension.

    ``normal_force`` is f_z over the weight, ``friction`` (mu f_z)^2 - f_x^2 - f_y^2 and ``spin``
    (mu_spin f_z)^2 - tau_z^2, over the squares of weight and of weight times length.
    """
    weight = e.params['mass'] * (ca.norm_2(e.params['gravity_W']) + 1e-9 * GRAVITY)
    fx, fy, fz = (e.load[k] / weight for k in (3, 4, 5))
    out = {'normal_force': fz, 'friction': (e.params['mu'] * fz) ** 2 - fx * fx - fy * fy}
    if friction == 'pure_rolling':
        length = e.params['mu_spin'] + LENGTH
        torque = e.load[2] / weight / length
        out['spin'] = (e.params['mu_spin'] / length * fz) ** 2 - torque**2
    return out


def open_edge(surface: Surface, uv: ca.SX, chart: int) -> ca.SX | None:
    """Return the distance in the chart to the edges of a surface, None if it has no edge."""
    c = surface.charts[chart]
    if len(surface.charts) > 1:  # the bounds are poles that another chart covers
        return None
    margins = []
    for k, (low, high) in enumerate(c.bounds):
        if not c.periods[k]:
            margins += [uv[k] - low] if math.isfinite(low) else []
            margins += [high - uv[k]] if math.isfinite(high) else []
    return ca.mmin(ca.vertcat(*margins)) if margins else None

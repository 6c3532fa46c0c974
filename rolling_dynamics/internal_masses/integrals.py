"""
Integrals of motion of a ball, and the momenta of which they are made.

Energy; the linear momentum and the angular momentum about the centre of mass (flight: the latter
constant, the former changed by gravity alone); the angular momentum about the contact point, all
three components constant for a balanced ball without masses (Chaplygin); and, for a shell with an
axis of symmetry z through its two centres, the integrals of Jellett and of Routh.
"""

from __future__ import annotations

import casadi as ca
from rolling_dynamics.internal_masses.ball_equations import BallState


def ball_integrals(
    state: BallState, position_W: ca.SX, velocity_W: ca.SX, *, static: bool
) -> dict[str, ca.SX]:
    """
    Return integrals by name.

    Parameters
    ----------
    state
        The ball.
    position_W, velocity_W
        Of the geometric centre.
    static
        Whether there are no masses: adds the integrals of Jellett and Routh.

    """
    R, w = state.R_WB, state.Omega
    mean = sum(p.mass * p.place for p in state.points) / state.total_mass
    kinetic = ca.dot(w, state.inertia @ w) / 2
    potential = ca.SX(0)
    linear, about_mean, about_contact = ca.SX.zeros(3), R @ state.inertia @ w, ca.SX.zeros(3)
    about_contact += R @ state.inertia @ w
    v_mean = ca.SX.zeros(3)
    speeds = [velocity_W + R @ (ca.cross(w, p.place) + p.rate) for p in state.points]
    for p, v in zip(state.points, speeds, strict=True):
        v_mean += p.mass * v / state.total_mass
    for p, v in zip(state.points, speeds, strict=True):
        kinetic += p.mass * ca.dot(v, v) / 2
        potential -= p.mass * ca.dot(state.gravity_W, position_W + R @ p.place)
        linear += p.mass * v
        about_mean += p.mass * ca.cross(R @ (p.place - mean), v - v_mean)
        about_contact += p.mass * ca.cross(R @ p.place + ca.vertcat(0, 0, state.radius), v)
    out = {'energy': kinetic + potential}
    for name, vector in (
        ('linear_momentum', linear),
        ('angular_momentum', about_mean),
        ('contact_momentum', about_contact),
    ):
        out |= {f'{name}_{s}': vector[k] for k, s in enumerate('xyz')}
    return out | (_routh(state) if static else {})


def _routh(state: BallState) -> dict[str, ca.SX]:
    """Return the integrals of Jellett and of Routh."""
    m, s = state.points[0].mass, state.radius * state.Gamma + state.points[0].place
    I1, I3 = state.inertia[0, 0], state.inertia[2, 2]
    inner = I1 * I3 + m * (I1 * (s[0] ** 2 + s[1] ** 2) + I3 * s[2] ** 2)
    return {
        'jellett': ca.dot(state.inertia @ state.Omega, s),
        'routh': state.Omega[2] * ca.sqrt(inner),
    }

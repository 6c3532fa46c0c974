"""The disk and the ball of the paper: Putkaradze & Rogers (normal force), Sections 5 and 6."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.internal_masses.ball import PointMassBall, PointMassDisk
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.internal_masses.rails import Circle, published_frame
from rolling_dynamics.simulation import simulate, Trajectory

DURATION = 20.0  # s
GRAVITY_W = (0.0, 0.0, -1.0)
DISK_RADII = (0.9, 19 / 30, 11 / 30, 0.1)
BALL_RADII = (0.95, 0.9, 0.85)
BALL_SPHERICAL = ((0.0, 0.0), (np.pi / 2, 0.0), (np.pi / 4, np.pi / 4))  # (phi, theta) of (6.10)
PRINTED_ANGLES = (0.0, 2.0369, 0.7044)
SHAPE_TIMES = (0.0, 0.1, 0.2, DURATION)
SHAPE = (1.0, 1.0, 0.0, 0.0)  # Eqs. (5.5), (6.11)


class Example(NamedTuple):
    """A system, its parameters, its start and its control as (times, values)."""

    system: PointMassBall | PointMassDisk
    p: Array
    x0: Array
    control: tuple[Array, Array]

    def simulated(self, duration: float, tolerance: float) -> Trajectory:
        """Return its motion over a duration [s], friction without limit, at a tolerance."""
        return simulate(
            *self, duration, events={'friction': 'ignore'}, rtol=tolerance, atol=tolerance
        )


def disk() -> Example:
    """Return the disk of Section 5."""
    system = PointMassDisk([RailMass(1.0, Circle(r)) for r in DISK_RADII])
    p = system.pack_parameters(
        mass=1.0, polar_inertia=1.0, radius=1.0, gravity_W=GRAVITY_W, mu=1.0
    )
    x0 = system.state.pack(
        theta=np.full(4, -np.pi / 2), theta_rate=np.zeros(4), phi=0, phi_rate=0, p=[0]
    )
    signs = np.array([-1.0, 1.0, -1.0, 1.0])
    return Example(system, p, x0, (np.array(SHAPE_TIMES), np.outer(SHAPE, signs)))


def ball_normals() -> list[Array]:
    """Return the unit vectors n_i of Eqs. (6.9), (6.10); (0, 0, 1) are angles, not components."""
    return [
        np.array([np.cos(th) * np.cos(ph), np.cos(th) * np.sin(ph), np.sin(th)])
        for ph, th in BALL_SPHERICAL
    ]


def ball(
    masses: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0),
    theta: tuple[float, ...] = PRINTED_ANGLES,
    *,
    unilateral: bool = False,
    mu: float = 1.0,
    mu_kinetic: float | None = None,
) -> Example:
    """
    Return the ball of Section 6.

    Parameters
    ----------
    masses
        m_0 to m_3 [kg]; (0.1, 0.1, 0.1, 60) is the detachment example.
    theta
        Initial angles.
    unilateral, mu, mu_kinetic
        See :class:`PointMassBall`.

    """
    rails = [
        Circle(r, frame=published_frame(n))
        for r, n in zip(BALL_RADII, ball_normals(), strict=True)
    ]
    system = PointMassBall(
        [RailMass(m, rail) for m, rail in zip(masses[1:], rails, strict=True)],
        unilateral=unilateral,
    )
    p = system.pack_parameters(
        mass=masses[0],
        inertia=[0.9, 1.0, 1.1],
        radius=1.0,
        centre_of_mass=[0, 0, -0.05],
        gravity_W=GRAVITY_W,
        mu=mu,
        mu_kinetic=mu_kinetic,
    )
    place = {'p_WB': [0, 0, 1], 'v_WB_W': np.zeros(3)} if unilateral else {'p': [0, 0]}
    x0 = system.state.pack(
        theta=theta, theta_rate=np.zeros(3), q_WB=[1, 0, 0, 0], w_WB_B=np.zeros(3), **place
    )
    return Example(system, p, x0, (np.array(SHAPE_TIMES), np.outer(SHAPE, np.ones(3))))

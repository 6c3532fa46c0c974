"""Examples that leave the plane: mirror masses that lift off without friction, and a hop."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.internal_masses.rails import Ellipse, Straight
from rolling_dynamics.simulation.control import ControlLike

RADIUS = 0.3  # m
G = 9.81  # m/s^2


@dataclass(frozen=True, eq=False)
class JumpExample:
    """
    A ball that jumps.

    Attributes
    ----------
    system, p, x0, control, duration
        Arguments of :func:`rolling_dynamics.simulation.simulate`.
    lift_off
        Time at which N vanishes, from its closed form [s]; NaN where there is none.
    obstacle
        Front, back and height of a box on the plane, along x [m].

    """

    system: PointMassBall
    p: NDArray[np.float64]
    x0: NDArray[np.float64]
    control: ControlLike
    duration: float
    lift_off: float = math.nan
    obstacle: tuple[float, float, float] = (0.0, 0.0, 0.0)


def mirror_masses(mu: float = 0.5, rate: float = 12.0) -> JumpExample:
    """
    Return two mirror masses on vertical half-ellipses, driven alike, theta' held.

    Their horizontal forces and their torques cancel at every instant, so friction is zero for all
    time and the ball does not turn. The normal force is M g - 2 m b theta'^2 sin(theta): it
    vanishes where sin(theta) = M g / (2 m b theta'^2).

    Parameters
    ----------
    mu
        Coefficient of friction; 0 will do.
    rate
        theta' [rad/s].

    """
    shell, mass, a, b, start = 0.5, 1.0, 0.15, 0.2, -0.5
    stops = (-math.pi / 2, math.pi / 2)
    mirrored = np.diag([-1.0, -1.0, 1.0])
    system = PointMassBall(
        [
            RailMass(mass, Ellipse((a, b), (0.05, 0, 0), stops=stops)),
            RailMass(mass, Ellipse((a, b), (-0.05, 0, 0), mirrored, stops=stops)),
        ],
        unilateral=True,
    )
    p = system.pack_parameters(mass=shell, inertia=0.02, radius=RADIUS, mu=mu)
    x0 = system.state.pack(
        theta=[start, start],
        theta_rate=[rate, rate],
        q_WB=[1, 0, 0, 0],
        w_WB_B=[0, 0, 0],
        p_WB=[0, 0, RADIUS],
        v_WB_W=[0, 0, 0],
    )
    sine = (shell + 2 * mass) * G / (2 * mass * b * rate**2)
    lift_off = (math.asin(sine) - start) / rate
    slow = (1.35 - start) / rate  # held until here, then brought to rest within 0.1 rad
    brake = rate**2 / (2 * 0.1)
    end = slow + rate / brake
    times = np.array([0, slow, slow, end, end])
    values = np.repeat([[0.0], [0.0], [-brake], [-brake], [0.0]], 2, axis=1)
    return JumpExample(system, p, x0, (times, values), end + 0.3, lift_off)


def hop(speed: float = 1.0, stroke: float = 0.24, push: float = 25.0) -> JumpExample:
    """
    Return a ball that rolls along x and hops over an obstacle by throwing its mass upwards.

    The mass rests in a tube through the centre. When the tube has turned upright the mass is
    accelerated along it and stopped at its end; the momentum that it had lifts the ball.

    Parameters
    ----------
    speed
        Rolling speed [m/s].
    stroke
        Way of the mass, half of it on either side of the centre [m].
    push
        Acceleration along the tube [m/s^2].

    """
    shell, mass = 0.5, 2.0
    system = PointMassBall(
        [RailMass(mass, Straight((0, 0, 1), (-RADIUS, RADIUS)))], unilateral=True
    )
    p = system.pack_parameters(mass=shell, inertia=0.02, radius=RADIUS, mu=0.9)
    first = 0.8 * stroke
    rise = math.sqrt(2 * first / push)
    brake = push * first / (stroke - first)
    stop = push * rise / brake
    tilt = speed / RADIUS * (rise + stop / 2)  # the tube is upright while the mass is stopped
    x0 = system.state.pack(
        theta=[-stroke / 2],
        theta_rate=[0],
        q_WB=[math.cos(tilt / 2), 0, -math.sin(tilt / 2), 0],
        w_WB_B=[0, speed / RADIUS, 0],
        p_WB=[0, 0, RADIUS],
        v_WB_W=[speed, 0, 0],
    )
    times = np.array([0, rise, rise, rise + stop, rise + stop])
    values = np.array([[push], [push], [-brake], [-brake], [0.0]])
    box = 0.34, 0.39, 0.05
    return JumpExample(system, p, x0, (times, values), rise + stop + 0.8, obstacle=box)

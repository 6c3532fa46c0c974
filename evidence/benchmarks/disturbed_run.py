"""Closed loop on a sphere that is not as believed, on a floor that is not level, with noise."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
import math

import numpy as np
from rolling_controller.gait_following.gait_follower import GaitFollower
from rolling_controller.law import answered
from rolling_dynamics.arrays import Array
from rolling_dynamics.pendulum_sphere import PendulumSphere, SphereParameters
from rolling_dynamics.pendulum_sphere.system import STATE
from rolling_dynamics.simulation import Stepper
from rolling_planner.gait_planner import GaitSequence
from transforms3d.quaternions import axangle2quat, qmult

LEAD = 2.0  # s of holding before the first swing, in which the slope is learnt
SETTLE = 3.0  # s of holding after the last swing


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """
    What is not as believed.

    Attributes
    ----------
    shell_mass, pendulum_mass
        Factors of the masses; moments of inertia go with them.
    slope, azimuth
        Of the floor [rad].
    rolling_resistance
        Lever arm [m].
    noise
        Scale of the sensors' noise: 1 is 5 mm, 0.05 rad/s (shell), 0.3 deg, 0.03 rad/s (pendulum).
    seed
        Of the noise.

    """

    shell_mass: float = 1.0
    pendulum_mass: float = 1.0
    slope: float = 0.0
    azimuth: float = 0.0
    rolling_resistance: float = 0.0
    noise: float = 1.0
    seed: int = 0

    def applied(self, params: SphereParameters) -> SphereParameters:
        """Return the sphere as it is."""
        a, b = self.shell_mass, self.pendulum_mass
        return replace(
            params,
            slope=self.slope,
            azimuth=self.azimuth,
            rolling_resistance=self.rolling_resistance,
            shell_mass=params.shell_mass * a,
            shell_inertia=params.shell_inertia * a,
            pendulum_mass=params.pendulum_mass * b,
            pendulum_inertia=params.pendulum_inertia * b,
            pendulum_excess=params.pendulum_excess * b,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Arrival:
    """
    How a disturbed run went.

    Attributes
    ----------
    times, path
        Shapes (k,), (k, 2) [s], [m]; negative times are the hold before the first swing.
    miss
        Distance from the goal at the end [m].
    speed
        At the end [m/s].
    friction, least_normal_force
        Greatest friction over normal force, least normal force [N].
    slope_estimate, resistance_estimate
        At the end [rad], [N m].
    torque
        Greatest [N m].

    """

    times: Array
    path: Array
    miss: float
    speed: float
    friction: float
    least_normal_force: float
    slope_estimate: float
    resistance_estimate: float
    torque: float


def random_disturbance(seed: int) -> Disturbance:
    """Return masses wrong by 10 %, a slope up to 2 degrees, resistance up to 1 mm, and noise."""
    rng = np.random.default_rng([2016, seed])
    signs = rng.choice([0.9, 1.1], size=2)
    return Disturbance(
        shell_mass=float(signs[0]),
        pendulum_mass=float(signs[1]),
        slope=math.radians(2) * math.sqrt(rng.uniform()),
        azimuth=rng.uniform(-math.pi, math.pi),
        rolling_resistance=rng.uniform(0, 1e-3),
        noise=1.0,
        seed=seed,
    )


def follow(
    plan: GaitSequence,
    disturbance: Disturbance,
    *,
    follower: GaitFollower | None = None,
    rate: float = 250.0,
) -> Arrival:
    """
    Return how the feedback carries a disturbed sphere along a plan, in lockstep.

    Parameters
    ----------
    plan
        Made for the undisturbed sphere.
    disturbance
        What is not as believed.
    follower
        The feedback; a new one if None.
    rate
        Of measurement and command [Hz].

    """
    true = disturbance.applied(plan.params)
    system, dt = PendulumSphere(), 1 / rate
    p = system.pack_parameters(true)
    plant = Stepper(system, p, max_step=dt / 2)
    follower = follower or GaitFollower(plan)
    rng = np.random.default_rng([7, disturbance.seed])
    x = system.rolling_state(plan.params, contact=plan.start)  # hangs as if the floor were level
    steps = round((LEAD + plan.duration + SETTLE) * rate)
    states, torques = np.empty((steps + 1, STATE.size)), np.zeros((steps + 1, 3))
    states[0] = x

    def motion() -> Generator[tuple[float, Array], Array, None]:
        for k in range(steps):
            torques[k] = yield k * dt - LEAD, measured(states[k], disturbance.noise, rng)
            states[k + 1] = plant.step(states[k], torques[k], dt)

    _, memory = answered(follower, motion())
    x, torques[-1] = states[-1], torques[-2]
    wrench = system.function('wrench', system.expressions.wrench)
    force = np.array(wrench(states.T, torques.T, 0, p)).T[:, 3:]
    Omega = x[STATE.slice('w_WS_W')]
    N = force[:, 2]
    goal = plan.steps[-1].corner
    path = states[:, STATE.slice('contact')]
    return Arrival(
        times=np.array(np.arange(steps + 1) * dt - LEAD),
        path=path,
        miss=float(np.hypot(*(path[-1] - goal))),
        speed=float(true.shell_radius * np.hypot(Omega[0], Omega[1])),
        friction=float((np.hypot(force[:, 0], force[:, 1]) / N).max()),
        least_normal_force=float(N.min()),
        slope_estimate=memory.loop.filter.slope,
        resistance_estimate=float(memory.loop.filter.state[4]),
        torque=float(np.linalg.norm(torques, axis=1).max()),
    )


def measured(x: Array, scale: float, rng: np.random.Generator) -> Array:
    """Return a state with the sensors' noise."""
    if scale == 0:
        return x
    y = x.copy()
    y[STATE.slice('contact')] += 0.005 * scale * rng.normal(size=2)
    y[STATE.slice('w_WS_W')] += 0.05 * scale * rng.normal(size=3)
    y[STATE.slice('w_WP_W')] += 0.03 * scale * rng.normal(size=3)
    turn = math.radians(0.3) * scale * rng.normal(size=3)
    angle = float(np.linalg.norm(turn))
    q = STATE.slice('q_WP')
    y[q] = qmult(axangle2quat(turn / angle, angle), y[q])
    return y

"""
Masses driven by stepper motors, Putkaradze & Rogers, Section 2: what steps do to a motion.

A motor follows the plan in whole steps, each a share of itself off for good or bad, by the torque
T = -holding sin(teeth (angle - step)) of its teeth, damped; it loses steps where that does not
suffice. The load of the masses on the shaft is left to the gear, as the paper has it.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple

from evidence.papers.row import Row, unprinted
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.internal_masses.masses import rail_masses
from rolling_dynamics.internal_masses.published import ball, Example
from rolling_dynamics.internal_masses.required_friction import required_friction
from rolling_dynamics.simulation import Trajectory

DURATION, SAMPLE, SUBSTEPS = 5.0, 2e-3, 8  # s, s, of the motors within a sample
TIGHT = 1e-8


@dataclass(frozen=True, kw_only=True)
class Stepper:
    """
    A stepper motor with its gear.

    Attributes
    ----------
    step
        Angle of a step of the shaft [rad].
    error
        Standard deviation of where a step ends, as a share of it; it does not add up.
    rate
        Greatest commanded rate [rad/s].
    holding
        Greatest torque on the shaft [N m].
    damping
        Ratio of damping of the swing about a step.

    """

    step: float = math.radians(1.8)
    error: float = 0.015
    rate: float = 3 * 2 * math.pi
    holding: float = 4.0
    damping: float = 0.4

    def follow(self, wanted: Array, start: float, inertia: float, seed: int) -> Array:
        """
        Return the acceleration of the shaft [rad/s^2] at the samples of a wanted angle.

        Parameters
        ----------
        wanted
            Planned angle [rad] every ``SAMPLE`` seconds; the motor begins on a step there.
        start
            Rate at the start [rad/s].
        inertia
            About the shaft [kg m^2].
        seed
            Of the errors of the steps.

        """
        rng, off = np.random.default_rng(seed), {0: 0.0}
        teeth = math.pi / (2 * self.step)  # four steps to a tooth
        stiff = self.holding / inertia
        loss = 2 * self.damping * math.sqrt(stiff * teeth)
        h, out = SAMPLE / SUBSTEPS, np.zeros(len(wanted))
        angle, rate, at, target = 0.0, start, 0.0, 0
        for k, place in enumerate(wanted - wanted[0]):
            at += float(np.clip(place - at, -self.rate * SAMPLE, self.rate * SAMPLE))
            target = round(at / self.step)
            if target not in off:
                off[target] = self.error * float(rng.normal())
            goal, before = (target + off[target]) * self.step, rate
            for _ in range(SUBSTEPS):
                rate += h * (-stiff * math.sin(teeth * (angle - goal)) - loss * rate)
                angle += h * rate
            out[k] = (rate - before) / SAMPLE
        return out


def stepped(example: Example, planned: Trajectory, motor: Stepper, seed: int = 0) -> Trajectory:
    """Return the motion of a ball whose masses follow a planned motion by stepper motors."""
    system, times = example.system, np.arange(0.0, DURATION, SAMPLE)
    layout, states = system.state, planned.state_at(times)
    angles = states[:, layout.slice('theta')]
    rates = states[0, layout.slice('theta_rate')]
    bodies = rail_masses(system.masses)
    inertias = [m.mass * float(np.sum(m.rail.derivatives(0.0)[1] ** 2)) for m in bodies]
    drives = [
        motor.follow(angles[:, k], float(rates[k]), J, 3 * seed + k)
        for k, J in enumerate(inertias)
    ]
    # each acceleration holds for its sample: the same value at both of its ends
    held = np.repeat(np.column_stack(drives), 2, axis=0)
    ends = np.column_stack([times, times + SAMPLE * (1 - 1e-6)]).ravel()
    return example._replace(control=(ends, held)).simulated(DURATION, TIGHT)


def rows() -> list[Row]:
    """Return what steps of one and two degrees do to the ball: path, masses, friction, force."""
    example = ball()
    planned = example.simulated(DURATION, TIGHT)
    out = []
    for degrees, error in ((1.0, 0.01), (2.0, 0.02)):
        motor = Stepper(step=math.radians(degrees), error=error)
        found = Deviation.of(planned, stepped(example, planned, motor))
        name = f'ball, {DURATION:g} s, steppers of {degrees:g} degree(s), {error:.0%}: '
        out += [
            unprinted(f'{name}masses off the plan', found.masses, None, 0.0, 'rad'),
            unprinted(f'{name}ball off its path', found.path, None, 0.0, 'm'),
            unprinted(f'{name}coefficient of friction', found.friction, None, 0.0),
        ]
    return out


class Deviation(NamedTuple):
    """Greatest distance of masses [rad] and ball [m] from a plan, and friction that is needed."""

    masses: float
    path: float
    friction: float

    @classmethod
    def of(cls, planned: Trajectory, found: Trajectory) -> Deviation:
        """Compare two motions of a ball."""
        layout, times = planned.system.state, np.arange(0.0, DURATION, SAMPLE)
        off = np.abs(found.state_at(times) - planned.state_at(times))
        masses, place = off[:, layout.slice('theta')], off[:, layout.slice('p')]
        path = np.linalg.norm(place, axis=1)
        return cls(float(masses.max()), float(path.max()), required_friction(found).mu)

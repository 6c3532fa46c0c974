"""
What is not perfect in the emulated laboratory: fixed, published numbers.

Every trial draws from its seed the signs of what is off, and all that is random in camera and
motors. What is off is wrong by its full size.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.emulated_camera import CameraModel
from rolling_hw_interface.motor_model import MotorModel

# Of what is not perfect in the flip-ups that are compared. At 1, when this was chosen, replay and
# then balance succeeded on half of the seeds 1 to 8; at this scale on 1 of them, and feedback then
# balance on all.
STATED_SCALE = 1.5


class Draw(NamedTuple):
    """
    The imperfections of one trial.

    Attributes
    ----------
    inertia, friction_torque
        Factors of the object's moment of inertia and of the torques of friction, of rolling and in
        the drives.
    shift, turn
        Of the object at the start, along the plate [m] and about y [rad].
    seed
        Of camera and motors.

    """

    inertia: float
    friction_torque: float
    shift: float
    turn: float
    seed: int


@dataclass(frozen=True, kw_only=True)
class Imperfections:
    """
    Sizes of what is not perfect.

    Attributes
    ----------
    inertia, friction_torque
        Fraction by which inertia and torques of friction differ from what the controller believes.
    shift, turn
        Distance of the object from where it is believed to start, [m] and [rad].
    camera
        Rate, latency, noise, occlusion and clock of the camera.
    motors
        Current limit, rotor inertia, friction, ripple and encoders, as they are believed to be.
    transport
        Periods of 1 ms from the controller to the motors' bridge.
    warm_up
        Time for which the object is held while the estimator gets to know it [s].
    informed
        Whether the estimator is given how large all this may be, and that the object is held. One
        that is not given expects an object that is held out of rest to roll off.

    """

    inertia: float = 0.1
    friction_torque: float = 0.1
    shift: float = 5e-3
    turn: float = 0.05
    camera: CameraModel = field(
        default_factory=lambda: CameraModel(
            rate=250.0, latency=8e-3, jitter=2e-3, noise=2e-4, occlusion=0.1, clock_spread=0.3
        )
    )
    motors: MotorModel = field(default_factory=MotorModel)
    transport: int = 1
    warm_up: float = 1.0
    informed: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn from."""
        for name in ('inertia', 'friction_torque'):
            if not 0 <= getattr(self, name) < 1:
                raise ParameterError(
                    f'imperfections: {name} must be at least 0 and less than 1, '
                    f'got {getattr(self, name)!r}'
                )
        for name in ('shift', 'turn', 'transport', 'warm_up'):
            if not 0 <= getattr(self, name) < np.inf:
                raise ParameterError(
                    f'imperfections: {name} must be zero or positive, got {getattr(self, name)!r}'
                )

    def scaled(self, scale: float) -> Imperfections:
        """Return imperfections so many times as large; rates, clocks and drives stay."""
        camera = self.camera
        return replace(
            self,
            inertia=scale * self.inertia,
            friction_torque=scale * self.friction_torque,
            shift=scale * self.shift,
            turn=scale * self.turn,
            camera=replace(
                camera,
                latency=scale * camera.latency,
                jitter=scale * camera.jitter,
                noise=scale * camera.noise,
                occlusion=scale * camera.occlusion,
            ),
        )

    def draw(self, seed: int) -> Draw:
        """Return the imperfections of the trial with this seed."""
        signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=4)
        return Draw(
            inertia=float(1 + signs[0] * self.inertia),
            friction_torque=float(1 + signs[1] * self.friction_torque),
            shift=float(signs[2] * self.shift),
            turn=float(signs[3] * self.turn),
            seed=seed,
        )

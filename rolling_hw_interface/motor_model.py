"""Parameters of geared motors with current control, from a data sheet and a test bench."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import check_positive, ParameterError

MODES = ('effort', 'velocity', 'position')


@dataclass(frozen=True, kw_only=True)
class MotorModel:
    """
    A brushed motor with a harmonic drive on each joint, and its amplifier.

    Values per joint are given for all joints, from the base on.

    Attributes
    ----------
    gear
        Gear ratios: motor revolutions per joint revolution.
    rotor_inertia
        Inertias of rotors and wave generators, on the side of the motor [kg m^2].
    torque_constant
        Torque constants at the motors [N m/A].
    current_limit
        Maximum currents [A].
    current_bandwidth
        Bandwidth of the current loop [Hz].
    coulomb
        Dry friction at the joints, after Coulomb [N m].
    viscous
        Viscous friction at the joints [N m s/rad].
    ripple
        Amplitudes of the torque ripple of the harmonic drives at the joints, twice per motor
        revolution [N m].
    counts
        Encoder counts per motor revolution.
    rate
        Loop rate of the amplifiers [Hz].
    velocity_gain
        Gains of the velocity loop of the amplifiers [N m s/rad].
    position_gain
        Gains of the position loop of the amplifiers [1/s].
    velocity_bandwidth
        Bandwidth of the low-pass filter on reported velocities [Hz].
    command_timeout
        Age of a command beyond which the amplifiers brake [s].
    brake
        Damping of the motors with shorted windings, while braking, at the joints [N m s/rad].
    holding
        Torques of the holding brakes, at the joints [N m].
    holding_delay
        Braking time after which the holding brakes engage [s].

    """

    gear: tuple[float, ...] = (100.0, 100.0, 50.0)
    rotor_inertia: tuple[float, ...] = (3e-5, 2e-5, 6e-6)
    torque_constant: tuple[float, ...] = (0.05, 0.05, 0.03)
    current_limit: tuple[float, ...] = (14.0, 9.0, 11.0)
    current_bandwidth: float = 600.0
    coulomb: tuple[float, ...] = (1.5, 1.0, 0.3)
    viscous: tuple[float, ...] = (0.8, 0.5, 0.1)
    ripple: tuple[float, ...] = (0.3, 0.2, 0.05)
    counts: tuple[float, ...] = (4000.0, 4000.0, 4000.0)
    rate: float = 4000.0
    velocity_gain: tuple[float, ...] = (150.0, 80.0, 12.0)
    position_gain: tuple[float, ...] = (60.0, 60.0, 60.0)
    velocity_bandwidth: float = 150.0
    command_timeout: float = 0.02
    brake: tuple[float, ...] = (25.0, 25.0, 4.0)
    holding: tuple[float, ...] = (60.0, 40.0, 15.0)
    holding_delay: float = 0.1

    def __post_init__(self) -> None:
        """Reject impossible values."""
        may_be_zero = (
            'rotor_inertia', 'coulomb', 'viscous', 'ripple', 'brake', 'holding', 'holding_delay',
        )  # fmt: skip
        for name in self.__dataclass_fields__:
            given = getattr(self, name)
            value = np.atleast_1d(np.asarray(given, dtype=float))
            size = len(self.gear) if isinstance(given, tuple | list) else 1
            if value.shape != (size,) or not np.all(np.isfinite(value)):
                raise ParameterError(
                    f'motors: {name} takes {size} finite numbers, got {value.tolist()}'
                )
            check_positive(f'motors: {name}', given, zero=name in may_be_zero)

    def check_joints(self, count: int) -> None:
        """Raise ParameterError unless there is a motor for each of so many joints."""
        if len(self.gear) != count:
            raise ParameterError(
                f'motors: they take {count} numbers each, one a joint of the arm, got '
                f'{len(self.gear)}'
            )

    @property
    def reflected_inertia(self) -> Array:
        """Inertia of the rotors as the joints feel it [kg m^2], shape (n,)."""
        return np.square(self.gear) * self.rotor_inertia

    @property
    def torque_limit(self) -> Array:
        """Maximum joint torque [N m], shape (n,)."""
        return np.array(self.gear) * self.torque_constant * self.current_limit

    @property
    def resolution(self) -> Array:
        """Joint angle of one encoder count [rad], shape (n,)."""
        return 2 * math.pi / (np.array(self.gear) * self.counts)

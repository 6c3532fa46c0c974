"""Parameters that every simulator node has."""

from __future__ import annotations

from rolling_node_kit.common_parameters import (
    LOCKSTEP_TIMEOUT,
    OVERRUN,
    RATE_FACTOR,
    TF_RATE,
)
from rolling_node_kit.parameters import Parameter

SLIP_SHARE = Parameter(
    name='slip_share',
    default=0.8,
    low=0.0,
    high=1.0,
    read_only=True,
    text='ratio of kinetic to static friction',
)
ROLLING_RESISTANCE = Parameter(
    name='rolling_resistance',
    default=0.0,
    low=0.0,
    high=1.0,
    unit='m s/rad',
    read_only=True,
    text='rolling resistance: torque per normal force and rate of rolling',
)


# long: a table
def plant_parameters(body: str, rate: float) -> tuple[Parameter, ...]:
    """Return the parameters of every simulator; ``body`` is what a command moves."""
    return (
        Parameter(
            name='scenario_file',
            default='',
            read_only=True,
            text='scenario with bodies, surfaces, friction, start; a path, or a name in config/',
        ),
        Parameter(
            name='rate',
            default=rate,
            low=50.0,
            high=2000.0,
            unit='Hz',
            read_only=True,
            text='simulation rate and publication rate of the states',
        ),
        Parameter(
            name='contact_rate',
            default=100.0,
            low=1.0,
            high=1000.0,
            unit='Hz',
            read_only=True,
            text='publication rate of contact wrench, joints and other contact topics',
        ),
        TF_RATE,
        Parameter(
            name='marker_rate',
            default=20.0,
            low=1.0,
            high=60.0,
            unit='Hz',
            read_only=True,
            text='publication rate of markers and contact state',
        ),
        RATE_FACTOR,
        Parameter(
            name='command_timeout',
            default=0.05,
            low=0.002,
            high=5.0,
            unit='s',
            text=f'age of a command beyond which the {body} is braked',
        ),
        LOCKSTEP_TIMEOUT,
        *OVERRUN,
        Parameter(
            name='brake_time',
            default=0.1,
            low=0.01,
            high=5.0,
            unit='s',
            read_only=True,
            text=f'time constant of braking while the {body} has no command',
        ),
        Parameter(
            name='frame_prefix',
            default='',
            read_only=True,
            text='prefix of every other frame, so that the frames of two robots differ',
        ),
    )


def perturbation_parameters(shift: str, turn: str) -> tuple[Parameter, Parameter]:
    """Return how far off the start ``~/reset`` puts the plant; both texts tell what is moved."""
    return (
        Parameter(
            name='perturbation_position',
            default=[0.0, 0.0],
            length=2,
            low=-10.0,
            high=10.0,
            unit='m',
            text=shift,
        ),
        Parameter(
            name='perturbation_rotation',
            default=[0.0, 0.0, 0.0],
            length=3,
            low=-3.2,
            high=3.2,
            unit='rad',
            text=turn,
        ),
    )

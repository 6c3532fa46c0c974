"""A spherical shell that rolls, driven by an axisymmetric pendulum in its centre."""

from rolling_dynamics.pendulum_sphere.parameters import (
    paper_parameters,
    Scales,
    scales_of,
    SphereParameters,
)
from rolling_dynamics.pendulum_sphere.system import PendulumSphere

__all__ = ['PendulumSphere', 'Scales', 'SphereParameters', 'paper_parameters', 'scales_of']

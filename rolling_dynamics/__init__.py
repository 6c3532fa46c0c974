"""
Mechanics of rolling contact: surfaces, contact kinematics and dynamics, simulation.

The names below are those that a notebook needs; they are loaded when they are asked for.
"""

from typing import TYPE_CHECKING

from rolling_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from rolling_dynamics.contact import ContactSystem
    from rolling_dynamics.errors import RollingError
    from rolling_dynamics.internal_masses import PointMassBall, PointMassDisk
    from rolling_dynamics.pendulum_sphere.system import PendulumSphere
    from rolling_dynamics.scenario import load_scenario
    from rolling_dynamics.simulation import simulate, Trajectory
    from rolling_dynamics.spin_rolling_sphere import SpinRollingSphere
    from rolling_dynamics.surfaces import Ellipsoid, ExpressionSurface, Plane, Sphere

__all__ = [
    'ContactSystem',
    'Ellipsoid',
    'ExpressionSurface',
    'PendulumSphere',
    'Plane',
    'PointMassBall',
    'PointMassDisk',
    'RollingError',
    'Sphere',
    'SpinRollingSphere',
    'Trajectory',
    'load_scenario',
    'simulate',
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        'ContactSystem': 'rolling_dynamics.contact',
        'PointMassBall': 'rolling_dynamics.internal_masses',
        'PointMassDisk': 'rolling_dynamics.internal_masses',
        'PendulumSphere': 'rolling_dynamics.pendulum_sphere.system',
        'SpinRollingSphere': 'rolling_dynamics.spin_rolling_sphere',
        'Plane': 'rolling_dynamics.surfaces',
        'Sphere': 'rolling_dynamics.surfaces',
        'Ellipsoid': 'rolling_dynamics.surfaces',
        'ExpressionSurface': 'rolling_dynamics.surfaces',
        'RollingError': 'rolling_dynamics.errors',
        'Trajectory': 'rolling_dynamics.simulation',
        'load_scenario': 'rolling_dynamics.scenario',
        'simulate': 'rolling_dynamics.simulation',
    },
)

"""The contract of a rolling system: what it must offer and what it may offer."""

from typing import TYPE_CHECKING

from rolling_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from rolling_dynamics.contract.capabilities import (
        Atlas,
        CarriedObject,
        ChangesCharts,
        ChartCoordinates,
        ChartView,
        Conservation,
        default_weights,
        DefaultWeights,
        Envelope,
        envelope,
        FollowedQuantities,
        offers,
        PlanSeeds,
        Projection,
        Rechart,
        RestGoal,
        RigidBodies,
        Separation,
        StartMode,
        StateBounds,
        StateCheck,
    )
    from rolling_dynamics.contract.layout import Entry, Layout, quaternion_entry, vector_entry
    from rolling_dynamics.contract.mode import Mode, MotionState
    from rolling_dynamics.contract.regulator_weights import RegulatorWeights
    from rolling_dynamics.contract.rigid_body import RigidBody
    from rolling_dynamics.contract.rolling_system import RollingSystem
    from rolling_dynamics.contract.tangent_space import difference, retraction, tangent_layout
    from rolling_dynamics.contract.written_system import WrittenSystem

_PLACES = {
    'capabilities': (
        'Atlas',
        'CarriedObject',
        'ChangesCharts',
        'ChartCoordinates',
        'ChartView',
        'Conservation',
        'DefaultWeights',
        'Envelope',
        'FollowedQuantities',
        'PlanSeeds',
        'Projection',
        'Rechart',
        'RestGoal',
        'RigidBodies',
        'Separation',
        'StartMode',
        'StateBounds',
        'StateCheck',
        'default_weights',
        'envelope',
        'offers',
    ),
    'layout': ('Entry', 'Layout', 'quaternion_entry', 'vector_entry'),
    'mode': ('Mode', 'MotionState'),
    'regulator_weights': ('RegulatorWeights',),
    'rigid_body': ('RigidBody',),
    'rolling_system': ('RollingSystem',),
    'tangent_space': ('difference', 'retraction', 'tangent_layout'),
    'written_system': ('WrittenSystem',),
}
__all__ = [
    'Atlas',
    'CarriedObject',
    'ChangesCharts',
    'ChartCoordinates',
    'ChartView',
    'Conservation',
    'DefaultWeights',
    'Entry',
    'Envelope',
    'FollowedQuantities',
    'Layout',
    'Mode',
    'MotionState',
    'PlanSeeds',
    'Projection',
    'Rechart',
    'RegulatorWeights',
    'RestGoal',
    'RigidBodies',
    'RigidBody',
    'RollingSystem',
    'Separation',
    'StartMode',
    'StateBounds',
    'StateCheck',
    'WrittenSystem',
    'default_weights',
    'difference',
    'envelope',
    'offers',
    'quaternion_entry',
    'retraction',
    'tangent_layout',
    'vector_entry',
]

__getattr__, __dir__ = lazy_names(
    __name__, {name: f'{__name__}.{module}' for module, names in _PLACES.items() for name in names}
)

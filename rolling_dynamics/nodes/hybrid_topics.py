"""What the simulator of a hybrid plant publishes: as that of rolling, and the mode as it is."""

from __future__ import annotations

from builtin_interfaces.msg import Time
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contact.plant import Observation
from rolling_dynamics.hybrid_contact.plant_view import VIEW
from rolling_dynamics.hybrid_contact.simulated_plant import SimulatedHybridPlant
from rolling_dynamics.nodes.plant_topics import body_matrix, PlantTopics, ratio
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.conversions import array_to_wrench

HAND = slice(VIEW.slice('q_WH').start, VIEW.slice('v_WH_H').stop)
OBJECT = slice(VIEW.slice('q_WO').start, VIEW.slice('v_WO_O').stop)
POINT, TORQUE, FORCE = (VIEW.slice(name) for name in ('p_HC_H', 'torque_H', 'force_H'))
GAP = VIEW.slice('gap').start


class HybridObservation(Observation):
    """
    What can be seen of a hybrid plant; what is published less often is computed when it is.

    Attributes
    ----------
    mode
        Mode of the contact, as published.
    gap
        Distance between object and plate [m].

    """

    __slots__ = ('_view', 'mode')
    _view: NDArray[np.float64]
    mode: str

    def __init__(self, view: NDArray[np.float64], mode: str) -> None:
        """Keep what is seen, laid out as ``VIEW``, and the mode."""
        object.__setattr__(self, '_view', view)  # what it derives from is frozen
        object.__setattr__(self, 'mode', mode)

    @property
    def hand(self) -> NDArray[np.float64]:
        """Pose and twist of the hand."""
        return self._view[HAND]

    @property
    def object_(self) -> NDArray[np.float64]:
        """Pose and twist of the object."""
        return self._view[OBJECT]

    @property
    def X_WCh(self) -> NDArray[np.float64]:
        """Pose of the contact frame of the hand."""
        X = body_matrix(self.hand)
        X[:3, 3] += X[:3, :3] @ self._view[POINT]
        return X

    @property
    def wrench(self) -> NDArray[np.float64]:
        """Torque and force on the object."""
        return np.concatenate([self._view[TORQUE], self._view[FORCE]])

    @property
    def margins(self) -> dict[str, float]:
        """Normal force [N]."""
        return {'normal_force': float(self._view[FORCE][2])}

    @property
    def gap(self) -> float:
        """Distance between object and plate [m]."""
        return float(self._view[GAP])


def observation(plant: SimulatedHybridPlant) -> HybridObservation:
    """Return what can be seen of a plant now."""
    return HybridObservation(plant.view(), plant.mode)


class HybridTopics(PlantTopics):
    """Publishers of a hybrid plant."""

    def contact_state(self, seen: Observation, stamp: Time, fault: str) -> None:  # noqa: ARG002
        """Publish mode, gap and utilisation of friction."""
        assert isinstance(seen, HybridObservation)  # noqa: S101 (what observation() gave)
        tangential = float(np.hypot(seen.wrench[3], seen.wrench[4]))
        normal, spin = float(seen.wrench[5]), abs(float(seen.wrench[2]))
        message = RollingContact(mode=seen.mode, gap=max(seen.gap, 0.0))
        message.wrench = array_to_wrench(seen.wrench)
        message.header.stamp, message.header.frame_id = stamp, self._contact_h
        message.required_friction = ratio(tangential, normal)
        message.friction_utilisation = ratio(tangential, self._mu * normal)
        message.spin_utilisation = ratio(spin, self._mu_spin * normal) if self._mu_spin else 0.0
        message.object_chart, message.hand_chart = self._view.charts
        self._state.publish(message)

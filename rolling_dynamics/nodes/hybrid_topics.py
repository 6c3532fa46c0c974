"""What the simulator of a hybrid plant publishes: as that of rolling, and the mode as it is."""

from __future__ import annotations

from dataclasses import dataclass

from builtin_interfaces.msg import Time
import numpy as np
from rolling_dynamics.hybrid_contact.plant_view import VIEW
from rolling_dynamics.hybrid_contact.simulated_plant import SimulatedHybridPlant
from rolling_dynamics.nodes.conversions import array_to_wrench
from rolling_dynamics.nodes.plant import Observation
from rolling_dynamics.nodes.plant_topics import body_matrix, PlantTopics, ratio
from rolling_interfaces.msg import RollingContact


@dataclass(frozen=True, slots=True)
class HybridObservation(Observation):
    """
    What can be seen of a hybrid plant.

    Attributes
    ----------
    mode
        Mode of the contact, as published.
    gap
        Distance between object and plate [m].

    """

    mode: str
    gap: float


def observation(plant: SimulatedHybridPlant) -> HybridObservation:
    """Return what can be seen of a plant now."""
    seen = {e.name: plant.view()[VIEW.slice(e.name)] for e in VIEW.entries}
    hand = np.concatenate([seen[n] for n in ('q_WH', 'p_WH', 'w_WH_H', 'v_WH_H')])
    X_WCh = body_matrix(hand)
    X_WCh[:3, 3] += X_WCh[:3, :3] @ seen['p_HC_H']
    force = seen['force_H']
    return HybridObservation(
        hand=hand,
        object_=plant.view()[:13],
        X_WCh=X_WCh,
        wrench=np.concatenate([seen['torque_H'], force]),
        margins={'normal_force': float(force[2])},
        mode=plant.mode,
        gap=float(seen['gap'][0]),
    )


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

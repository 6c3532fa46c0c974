"""The contract of a rolling system: what it must offer and what it may offer."""

from rolling_dynamics.contract.capabilities import default_weights, DefaultWeights, offers
from rolling_dynamics.contract.regulator_weights import RegulatorWeights

__all__ = ['DefaultWeights', 'RegulatorWeights', 'default_weights', 'offers']

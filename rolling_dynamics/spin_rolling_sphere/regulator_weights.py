"""Default weights of a regulator of the sphere that rolls and spins."""

from rolling_dynamics.contract.regulator_weights import RegulatorWeights

ATTITUDE = {'contact_s': 100.0, 'd_SO': 10.0}
_TRACKING = {**ATTITUDE, 'contact_o': 10.0, 'psi': 10.0}
SPIN_ROLLING_WEIGHTS = RegulatorWeights(
    tracking=_TRACKING, terminal={k: 1e3 * v for k, v in _TRACKING.items()}, control=1.0
)

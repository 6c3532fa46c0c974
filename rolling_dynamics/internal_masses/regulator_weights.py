"""Default weights of a regulator of a ball or a disk with internal masses."""

from rolling_dynamics.contract.regulator_weights import RegulatorWeights

_TRACKING = {
    'theta': 1.0,
    'theta_rate': 0.1,
    'd_WB': 1.0,
    'w_WB_B': 0.1,
    'p': 10.0,
    'path': 10.0,
    'phi': 1.0,
    'phi_rate': 0.1,
}
MASS_DRIVEN_WEIGHTS = RegulatorWeights(
    tracking=_TRACKING, terminal={k: 1e3 * v for k, v in _TRACKING.items()}, control=1e-3
)

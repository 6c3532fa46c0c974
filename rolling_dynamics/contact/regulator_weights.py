"""Default weights of a regulator of an object on a hand."""

from rolling_dynamics.contract.layout import RegulatorWeights

# the contact on charts weighs as the attitude and the point on the hand do
ATTITUDE = {
    'd_WH': 1.0,
    'd_HO': 10.0,
    'contact_h': 1000.0,
    'w_WH_H': 0.1,
    'v_WH_H': 0.1,
    'w_HO_H': 1.0,
}
_TRACKING = {**ATTITUDE, 'contact_o': 10.0, 'psi': 10.0, 'w_HO_Ch': 1.0}
CONTACT_WEIGHTS = RegulatorWeights(
    tracking=_TRACKING, terminal={k: 1e4 * v for k, v in _TRACKING.items()}, control=0.1
)

"""
Balance in space, with the weights and limits that it is run with.

Of a ball the contact point and the velocities are controlled and the attitude is left free; of an
ellipsoid its tilt and rates. Spin, and the relations that rolling keeps to first order, are taken
out before the Riccati equation; :attr:`BalanceLqr.uncontrollable` names them. Woodruff & Lynch
leave this to future work (Section IX).
"""

from __future__ import annotations

from rolling_controller.balance.balance_lqr import BalanceLqr
from rolling_controller.lqr_weights import LqrWeights
from rolling_dynamics.hybrid_contact.spatial_body import SpatialBody

CONTROL_LIMITS = {f'alpha_WH_H_{k}': (-80.0, 80.0) for k in 'xyz'} | {
    f'a_WH_H_{k}': (-8.0, 8.0) for k in 'xyz'
}
CONTROL_WEIGHTS = (0.1, 0.1, 0.1, 1.0, 1.0, 1.0)
HAND = {'d_WH': 10.0, 'p_WH': 100.0, 'w_WH_H': 0.1, 'v_WH_H': 1.0, 'w_HO_H': 1.0}
BALL = HAND | {'contact_h': 1000.0}
ELLIPSOID = HAND | {'d_HO': 100.0}


def spatial_regulator(body: SpatialBody) -> BalanceLqr:
    """Return the regulator of a ball in the middle of the plate, or of an upright ellipsoid."""
    model, p = body.model()
    weights = BALL if body.is_ball else ELLIPSOID
    return BalanceLqr(
        model,
        p,
        body.rest(model),
        weights=LqrWeights(tracking=weights, terminal={}, control=CONTROL_WEIGHTS),
        control_limits=CONTROL_LIMITS,
    )

"""
Flip-up: from lying flat to standing upright, by rolling a quarter of the circumference.

Woodruff & Lynch, Section VIII-D, by the collocation planner on the contact system reduced to the
plane. The guess rolls the object evenly on a hand that rests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from rolling_dynamics.hybrid_contact.laboratory import FLAT, Laboratory, UPRIGHT
from rolling_dynamics.hybrid_contact.planar_rolling import PlanarRolling
from rolling_planner.arrays import Array
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem, Weights

GUESS_NODES = 41


@dataclass(frozen=True, kw_only=True)
class FlipUpOptions:
    """
    How a flip-up is to be done.

    Attributes
    ----------
    horizon
        Duration [s].
    control_limits
        Least and greatest control by scalar name.
    state_limits
        Least and greatest state by scalar name: where the hand may go.
    normal_force_min
        Least normal force as a share of the weight.
    friction_share
        Share of the coefficient of friction that the plan may use.
    control_weights
        Cost of the angular acceleration and of the two accelerations of the hand.

    """

    horizon: float = 2.0
    control_limits: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: {
            'alpha_WH_H_y': (-40.0, 40.0),
            'a_WH_H_x': (-5.0, 5.0),
            'a_WH_H_z': (-3.0, 3.0),
        }
    )
    state_limits: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: {'p_WH_x': (-0.2, 0.2), 'p_WH_z': (-0.1, 0.1)}
    )
    normal_force_min: float = 0.3
    friction_share: float = 0.7
    control_weights: tuple[float, float, float] = (1e-2, 1.0, 1.0)


def flip_up_problem(laboratory: Laboratory, options: FlipUpOptions | None = None) -> PlanProblem:
    """
    Return the problem: flat at u_h = -circumference / 4 to upright at u_h = 0, all at rest.

    Parameters
    ----------
    laboratory
        The ellipse and the plate.
    options
        Duration, limits and weights.

    """
    options = options or FlipUpOptions()
    system, p = laboratory.model()
    p = p.copy()
    p[system.parameters.slice('mu')] *= options.friction_share
    x_start = laboratory.rest(FLAT, -laboratory.circumference / 4)
    return PlanProblem(
        system=system,
        p=p,
        x_start=x_start,
        goal={'beta_HO': UPRIGHT, 'contact_h': 0.0, 'p_WH': [0.0, 0.0]},
        horizon=options.horizon,
        active_controls=tuple(system.control.names),
        control_limits=options.control_limits,
        state_limits=options.state_limits,
        normal_force_min=options.normal_force_min,
        weights=Weights(control=list(options.control_weights)),
        segments=30,
        quiet_ends=True,
        guess='stationary',
        warm_start=rolling_guess(system, p, x_start, UPRIGHT, options.horizon),
    )


def rolling_guess(
    system: PlanarRolling, p: Array, x_start: Array, beta_end: float, duration: float
) -> Plan:
    """Return even rolling on a hand that rests, as a plan to start from."""
    layout, times = system.state, np.linspace(0.0, duration, GUESS_NODES)
    states = np.tile(x_start, (GUESS_NODES, 1))
    start = float(x_start[layout.slice('beta_HO')][0])
    share = times / duration
    ease = share**2 * (3 - 2 * share)
    beta = start + (beta_end - start) * ease
    states[:, layout.slice('beta_HO').start] = beta
    rate = np.gradient(beta, times)
    states[:, layout.slice('w_HO_H').start] = rate
    # the contact runs with what the object rolls off: du_h / dbeta by the equations
    u, zero = layout.slice('contact_h').start, np.zeros(system.control.size)
    f = next(iter(system.modes.values())).dynamics
    for k in range(GUESS_NODES - 1):
        middle = (states[k] + states[k + 1]) / 2
        speed = float(np.array(f(middle, zero, 0.0, p)).ravel()[u])
        states[k + 1, u] = states[k, u] + speed * (times[k + 1] - times[k])
    return Plan(
        system=system.name,
        model_hash=system.model_hash,
        state_names=tuple(layout.names),
        control_names=tuple(system.control.names),
        times=times,
        states=states,
        controls=np.zeros((GUESS_NODES, system.control.size)),
    )

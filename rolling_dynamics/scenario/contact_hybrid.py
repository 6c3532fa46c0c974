"""Scenarios of an object that slides on a hand, leaves it and lands: the section ``hybrid``."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.scenario.contact_sections import (
    Friction,
    Initial,
    Placement,
    Pose,
    relative_velocity,
)
from rolling_dynamics.scenario.faults import located
from rolling_dynamics.scenario.fields import quantity, Section
from rolling_dynamics.scenario.hand_motion import HandStart, quaternion_of
from transforms3d.quaternions import qconjugate, qmult, quat2mat

if TYPE_CHECKING:  # few scenarios need it
    from rolling_dynamics.hybrid_contact import HybridContactSystem

TOUCHES = 1e-6  # m: an object that is this near the plate rolls if nothing is said of its velocity


class Hybrid(Section):
    """
    The object may slide on the hand, leave it, fly and land.

    Without this section it rolls only, and the run stops where the normal force vanishes.
    """

    rolling_resistance: float = quantity(
        'torque against rolling over normal force and rate of rolling',
        'm s/rad',
        least=0,
        default=0.0,
    )
    restitution: float = quantity(
        'share of the work of compression that a landing gives back',
        least=0,
        most=1,
        default=0.0,
    )


def check_hybrid(
    hybrid: Hybrid | None, friction: Friction, initial: Initial, given: AbstractSet[str]
) -> None:
    """Refuse entries that have no meaning beside ``hybrid``, or without it."""
    if hybrid is None:
        free = {
            'friction.mu_kinetic': 'mu_kinetic' in friction.given,
            'initial.object.velocity': initial.object and 'velocity' in initial.object.given,
        }
        for path, there in free.items():
            if there:
                raise ScenarioError(
                    f'{path}: has a meaning where there is a section `hybrid`; this object rolls'
                )
        return
    for key, reason in (
        ('events', 'the modes follow from their margins'),
        ('representation', 'the state is that of a free body'),
    ):
        if key in given:
            raise ScenarioError(
                f'{key}: has no meaning beside `hybrid`: {reason}; leave one of them out'
            )
    if friction.model == 'pure_rolling':
        raise ScenarioError(
            'friction.model: beside `hybrid` the contact spins where friction.mu_spin does not '
            "hold it; leave 'pure_rolling' out"
        )


def hybrid_bodies(
    hybrid: Hybrid, friction: Friction, model: ContactSystem, params: Array
) -> tuple[HybridContactSystem, Array]:
    """Return the bodies of a contact system as a system of several modes, and its parameters."""
    from rolling_dynamics.hybrid_contact.from_contact_system import hybrid_of  # noqa: PLC0415

    with located('hybrid'):
        system, p = hybrid_of(
            model,
            params,
            slip_share=1.0,
            resistance=hybrid.rolling_resistance,
            restitution=hybrid.restitution,
        )
    if friction.mu_kinetic is not None:
        if friction.mu_kinetic > friction.mu:
            raise ScenarioError(
                f'friction.mu_kinetic: must not exceed mu = {friction.mu:g}, got '
                f'{friction.mu_kinetic:g}'
            )
        p[system.parameters.slice('mu_kinetic')] = friction.mu_kinetic
    return system, p


def free_state(
    initial: Initial,
    pose: Pose,
    hand: HandStart,
    model: ContactSystem,
    bodies: tuple[HybridContactSystem, Array],
) -> Array:
    """Return the state of an object that is placed by its pose, on the hand or above it."""
    system, p = bodies
    R_WH = quat2mat(hand.q_WH)
    q_HO = qmult(qconjugate(hand.q_WH), quaternion_of(pose.attitude))
    p_HO = R_WH.T @ (pose.position - hand.p_WH)
    foot = _closest(system, p, q_HO, p_HO)
    at = Placement(q_HO=q_HO, contact_h=foot, contact_o=None, psi=None)
    carried = -hand.v_WH_H - np.cross(hand.w_WH_H, p_HO)  # v_HO_H of what rests in the world
    v_WO = np.zeros(3) if pose.velocity is None else R_WH.T @ pose.velocity
    x = system.state.pack(
        **vars(hand),
        q_HO=q_HO,
        p_HO_H=p_HO,
        w_HO_H=relative_velocity(initial.relative_velocity, model, hand, at).in_H,
        v_HO_H=v_WO + carried,
        **({'contact_h': foot} if system.curved else {}),
    )
    gap = float(system.touch(x, p)[0])
    if pose.velocity is None and abs(gap) <= TOUCHES:
        return np.array(system.projections['rolling'](x, p)).ravel()
    try:
        system.begin(p, x, np.zeros(system.control.size))
    except ParameterError as e:
        raise ScenarioError(f'initial.object.position: {e}') from None
    return x


def _closest(system: HybridContactSystem, p: Array, q_HO: Array, p_HO: Array) -> Array:
    """Return the coordinates of the hand's point that is closest to the object."""
    if not system.curved:
        return p_HO[:2]
    from rolling_dynamics.hybrid_contact.closest_points import (  # noqa: PLC0415
        placed_on_closest_point,
    )

    rest = {e.name: np.zeros(e.size) for e in system.state.entries}
    rest |= {'q_WH': np.array([1.0, 0, 0, 0]), 'q_HO': q_HO, 'p_HO_H': p_HO}
    rest['contact_h'] = np.mean(system.hand_surface.box(), axis=0)
    with located('initial.object.position'):
        x = placed_on_closest_point(system, p, system.state.pack(**rest))
    return np.asarray(x[system.state.slice('contact_h')])

"""The modes of a body on a hand: rates, wrench, guards and constraints of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
from rolling_dynamics.contact.equations import contact_margins, hand_machine, solid
from rolling_dynamics.contract.layout import Symbols
from rolling_dynamics.hybrid_contact.equations import (
    Accelerations,
    ContactMotion,
    flight,
    HandMotion,
    rolling,
    Scene,
    sliding,
)
from rolling_dynamics.hybrid_contact.foot import on_plane, on_surface, Surfaces
from rolling_dynamics.hybrid_contact.layouts import (
    BodyVectors,
    CURVED_STATE,
    parameter_layout,
    STATE,
)
from rolling_dynamics.inertia import inertia_matrix
from rolling_dynamics.point_contact.transitions import CREEP, SPIN_CREEP
from rolling_dynamics.rotations import rate_body, rate_space, rotation_matrix
from rolling_dynamics.surfaces.surface import Surface

CONTACT_MODES = ('rolling', 'pure_rolling', 'slipping', 'pure_slipping')
FREE_MODES = ('separated', 'off_hand')  # over the plate, and past its edge for good
STILL = 1e-14  # m/s: keeps the direction of no slip a number


@dataclass(frozen=True, eq=False)
class HybridExpressions(Symbols):
    """Symbols of the equations, and body and hand at a state."""

    scene: Scene

    @property
    def curved(self) -> bool:
        """Whether the hand is not a plane."""
        return 'contact_h' in self.values

    def with_velocities(self, w_HO_H: ca.SX, v_HO_H: ca.SX) -> ca.SX:
        """Return the state with other velocities of the object."""
        return self.changed(w_HO_H=w_HO_H, v_HO_H=v_HO_H)

    def changed(self, **entries: ca.SX) -> ca.SX:
        """Return the state with other vectors in place of some."""
        return ca.vertcat(*({**self.values, **entries}).values())


@dataclass(frozen=True, eq=False)
class ModeEquations:
    """Rates of the state, wrench (tau, f) on the object at the contact in Ch, and guards."""

    xdot: ca.SX
    wrench: ca.SX
    guards: Mapping[str, ca.SX]


def expressions_of(surface: Surface, hand: Surface) -> HybridExpressions:
    """Return symbols, and body and hand, of two surfaces."""
    curved = hand.name != 'plane'
    state = CURVED_STATE if curved else STATE
    machine, x, p = hand_machine(state, parameter_layout(surface, hand))
    body = BodyVectors.of(x)
    surfaces = Surfaces(surface, hand, p['object_surface'], p.get('hand_surface', ca.SX(0, 1)))
    at, foot = on_surface(surfaces, body, x['contact_h']) if curved else on_plane(surfaces, body)
    machine.body('object', replace(at.joint, rates={}), solid(p), on='hand')
    symbols, c, w = machine.symbols, at.geometry, body.w_HO_H
    V = body.v_HO_H + ca.cross(w, c.r_OC)
    s = Scene(
        body=body,
        contact=c,
        hand=HandMotion(w=body.w_WH_H, alpha=symbols.u[0:3], a=symbols.u[3:6]),
        rolling=machine.dynamics,
        spin_rate=at.spin_rate,
        foot=foot,
        gap=ca.dot(c.frame[:, 2], body.p_HO_H + c.r_OC - c.p_HC),
        v_contact=c.frame.T @ V,
        bias=c.frame.T @ ca.cross(w, foot.r_rate) + foot.frame_rate.T @ V,
        mass=p['mass'],
        inertia_O=inertia_matrix(p['inertia']),
        gravity_H=rotation_matrix(body.q_WH).T @ p['gravity_W'],
        resistance=p['rolling_resistance'],
    )
    return HybridExpressions(**vars(symbols), scene=s)


def mode_equations(mode: str, e: HybridExpressions) -> ModeEquations:
    """Return the equations of a mode."""
    s = e.scene
    if mode in FREE_MODES:
        guards = {'gap': s.gap} if mode == 'separated' else {}
        if mode == 'separated':
            guards |= _foot_guard(e)
        return ModeEquations(_rates(e, flight(s)), ca.SX.zeros(6), guards)
    motion = _contact_motion(mode, e)
    frame = s.contact.frame
    wrench = ca.vertcat(frame.T @ motion.torque_H, frame.T @ motion.force_H)
    return ModeEquations(_rates(e, motion.accelerations), wrench, _guards(mode, e, motion, wrench))


def _contact_motion(mode: str, e: HybridExpressions) -> ContactMotion:
    s, q = e.scene, e.params
    held, spin = mode.startswith('pure'), (q['mu_spin'], q['spin_direction'])
    if mode.endswith('rolling'):
        return rolling(s, *spin, pure=held)
    v = s.v_contact
    slip = s.contact.frame[:, 0:2] @ v[0:2]
    direction = slip / ca.sqrt(v[0] ** 2 + v[1] ** 2 + STILL**2)
    return sliding(s, q['mu_kinetic'], *spin, direction, held=held)


def _guards(
    mode: str, e: HybridExpressions, motion: ContactMotion, wrench: ca.SX
) -> dict[str, ca.SX]:
    """Return what is positive within a mode of contact."""
    s, q = e.scene, e.params
    margins = contact_margins(wrench, q['mu'], q['mu_spin'])
    point, edges = s.foot.uv, q['hand_edges']
    inside = ca.vertcat(point - edges[[0, 2]], edges[[1, 3]] - point)
    guards = {'edge': ca.mmin(inside), 'normal_force': margins.normal_force}
    if mode.endswith('rolling'):
        guards['friction'] = margins.friction
    else:
        v = s.v_contact
        guards['slip'] = ca.sqrt(v[0] ** 2 + v[1] ** 2) - CREEP
    guards['painleve'] = motion.margin
    if mode.startswith('pure'):
        guards['spin'] = margins.spin
    else:
        sign = q['spin_direction']
        guards['spin'] = ca.if_else(sign == 0, 1.0, sign * s.spin - SPIN_CREEP)
    return guards | _foot_guard(e)


def _foot_guard(e: HybridExpressions) -> dict[str, ca.SX]:
    """Return what is positive where the closest point of a curved hand is determined."""
    return {'foot': e.scene.foot.margin} if e.curved else {}


def on_the_foot(e: HybridExpressions) -> ca.SX:
    """Return the state with the closest point of the hand one step of Newton's nearer."""
    return e.changed(contact_h=e.scene.foot.uv + e.scene.foot.step)


def projected(mode: str, e: HybridExpressions) -> ca.SX:
    """Return the state on the constraints of a mode."""
    s, b = e.scene, e.scene.body
    fixed = {name: getattr(b, name) / ca.norm_2(getattr(b, name)) for name in ('q_WH', 'q_HO')}
    if mode in FREE_MODES:
        return e.changed(**fixed)
    n = s.contact.frame[:, 2]
    fixed['p_HO_H'] = b.p_HO_H - n * s.gap
    w, v = b.w_HO_H, b.v_HO_H
    if mode.startswith('pure'):
        w -= n * s.spin
    if mode.endswith('rolling'):
        v = -ca.cross(w, s.contact.r_OC)
    else:
        v -= n * ca.dot(n, v + ca.cross(w, s.contact.r_OC))
    return e.changed(w_HO_H=w, v_HO_H=v, **fixed)


def _rates(e: HybridExpressions, a: Accelerations) -> ca.SX:
    s, b = e.scene, e.scene.body
    rates = {
        'q_WH': rate_body(b.q_WH, b.w_WH_H),
        'q_HO': rate_space(b.q_HO, b.w_HO_H),
        'p_WH': rotation_matrix(b.q_WH) @ b.v_WH_H,
        'p_HO_H': b.v_HO_H,
        'w_WH_H': s.hand.alpha,
        'v_WH_H': s.hand.a - ca.cross(b.w_WH_H, b.v_WH_H),
        'w_HO_H': a.w,
        'v_HO_H': a.v,
        'contact_h': s.foot.uv_rate,
    }
    return ca.vertcat(*(rates[name] for name in e.values))

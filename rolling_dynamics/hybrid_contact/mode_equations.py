"""The modes of a body on a hand: rates, wrench, guards and constraints of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.contact.equations import (
    HAND_CONFIGURATION,
    hand_machine,
    HAND_VELOCITY,
    inside_edges,
    solid,
)
from rolling_dynamics.contact.representation import (
    AttitudeRepresentation,
    ContactGeometry,
    ContactState,
    support_point,
)
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Layout,
    number_entry,
    quaternion_entry,
    Symbols,
    vector_entry,
)
from rolling_dynamics.friction import (
    against,
    against_patch,
    held,
    LEVER_ARM,
    MU,
    MU_KINETIC,
    MU_SPIN,
    RESISTANCE,
    SLOW,
    SPINNING,
    STILL,
)
from rolling_dynamics.mechanism import Flying, MachineSystem
from rolling_dynamics.mechanism.dynamics import Dynamics
from rolling_dynamics.mechanism.elimination import Cone, eliminate
from rolling_dynamics.mechanism.transitions import CREEP
from rolling_dynamics.point_contact.equations import OneContact, Response
from rolling_dynamics.point_contact.point_contact import ModeEquations
from rolling_dynamics.rotations import inverse_2x2, rate_space, rotation_matrix
from rolling_dynamics.surfaces.quadrics import Plane
from rolling_dynamics.surfaces.surface import Surface

STATE = Layout(
    (
        *HAND_CONFIGURATION,
        quaternion_entry('q_HO', 'attitude of the object in the hand'),
        vector_entry('p_HO_H', 'm', 'H', 'centre of mass of the object in the hand'),
        *HAND_VELOCITY,
        vector_entry('w_HO_H', 'rad/s', 'H', 'angular velocity of the object in the hand'),
        vector_entry('v_HO_H', 'm/s', 'H', 'velocity of the centre of mass in the hand'),
    )
)
FOOT = Entry('contact_h', ('u_h', 'v_h'), 'chart', 'hand', text='closest point of the hand')
SECOND_FOOT = Entry('contact_2', ('u_2', 'v_2'), 'chart', 'hand', text='the next closest point')
CURVED_STATE = Layout((*STATE.entries, FOOT))  # over a hand that is not a plane
# over one that the body may touch in two places
PAIRED_STATE = Layout((*CURVED_STATE.entries, SECOND_FOOT), {SECOND_FOOT.name: (0.0, 0.0)})
LOOKED = vector_entry('looked', 'm', 'H', 'where closest points were looked for last')
DEFAULTS = {'rolling_resistance': (0.0,), 'restitution': (0.0,), LOOKED.name: (0.0, 0.0, 0.0)}
_named = {e.name: e for e in STATE.entries}
FLYING = Flying(
    position=_named['p_HO_H'],
    attitude=_named['q_HO'],
    velocity=_named['v_HO_H'],
    speed=_named['w_HO_H'],
)


def friction_parameters(*, dry: bool) -> tuple[Entry, ...]:
    """Return the parameters of the contact, of one with dry rolling resistance if wanted."""
    text = 'fraction of the work of compression that a landing gives back'
    restitution = number_entry('restitution', '', text, 'zero or positive')
    return MU, MU_KINETIC, MU_SPIN, RESISTANCE, *((LEVER_ARM,) if dry else ()), restitution


NEWTON = 3  # steps to the closest point in a projection, from one that is nearly so
DISTINCT = 1e-2  # of the turn of d over a step of the closest point, for it to stand apart
CHART = 2e-2  # ratio of the lengths of the chart directions, below which it is near a pole


class Foot(NamedTuple):
    """
    The closest point of the hand.

    Attributes
    ----------
    uv
        Its coordinates.
    uv_rate
        Their rates [1/s].
    r_rate
        Rate of r_OC as seen from the hand, in H [m/s].
    frame_rate
        Rate of the contact frame as seen from the hand, 3x3 [1/s].
    step
        By how much uv must change so that it is the closest point, to first order.
    margin
        Positive where the closest point is one for itself and the chart regular.

    """

    uv: ca.SX
    uv_rate: ca.SX
    r_rate: ca.SX
    frame_rate: ca.SX
    step: ca.SX
    margin: ca.SX


def on_plane(
    body: Surface, x: Mapping[str, ca.SX], p: Mapping[str, ca.SX]
) -> tuple[ContactState, Foot]:
    """Return the contact and the closest point on the plane z = 0 of H."""
    values = {**x, 'contact_h': ca.SX.zeros(2)}
    touching = AttitudeRepresentation().evaluate(
        values, body, Plane(), p['object_surface'], ca.SX(0, 1)
    )
    g = touching.geometry
    lowest = x['p_HO_H'] + g.r_OC
    place = ca.vertcat(lowest[0:2], 0)
    contact = replace(
        touching,
        geometry=replace(g, p_HC=place),
        joint=replace(touching.joint, place_P=place),
    )
    r_rate = ca.cross(x['w_HO_H'], g.r_OC) + g.v_C
    foot = Foot(
        uv=lowest[0:2],
        uv_rate=(x['v_HO_H'] + r_rate)[0:2],
        r_rate=r_rate,
        frame_rate=ca.SX(3, 3),
        step=ca.SX.zeros(2),
        margin=ca.SX(1),
    )
    return contact, foot


def on_surface(
    body: Surface, hand_surface: Surface, x: Mapping[str, ca.SX], params: Mapping[str, ca.SX]
) -> tuple[ContactState, Foot]:
    """Return contact and closest point on any surface, at coordinates that the state holds."""
    q, uv, p = ca.SX.sym('q', 4), ca.SX.sym('uv', 2), ca.SX.sym('p', 3)
    dimensions = params['object_surface'], params['hand_surface']
    hand = hand_surface.geometry(uv, dimensions[1])
    R = rotation_matrix(q)
    point, _ = support_point(body, -(R.T @ hand.frame[:, 2]), dimensions[0])
    r = R @ point
    E = hand.frame[:, 0:2].T @ (p + r - hand.position)
    over_uv = ca.jacobian(E, uv)
    q_rate, v = rate_space(x['q_HO'], x['w_HO_H']), x['v_HO_H']
    uv_rate = -inverse_2x2(over_uv) @ (ca.jacobian(E, q) @ q_rate + ca.jacobian(E, p) @ v)
    frame = ca.reshape(hand.frame, 9, 1)
    turn = over_uv @ inverse_2x2(hand.scale)  # minus the unit matrix on a plane
    lengths = ca.fabs(hand.scale[1, 1] / hand.scale[0, 0])
    foot = Foot(
        uv=uv,
        uv_rate=uv_rate,
        r_rate=ca.jacobian(r, q) @ q_rate + ca.jacobian(r, uv) @ uv_rate,
        frame_rate=ca.reshape(ca.jacobian(frame, uv) @ uv_rate, 3, 3),
        step=-inverse_2x2(over_uv) @ E,
        margin=ca.mmin(
            ca.vertcat(
                ca.det(turn) - DISTINCT,
                -ca.trace(turn) - DISTINCT,
                ca.fmin(lengths, 1 / lengths) - CHART,
            )
        ),
    )
    here = [x[name] for name in ('contact_h', 'q_HO', 'p_HO_H')]
    foot = Foot(*ca.substitute(list(foot), [uv, q, p], here))
    return AttitudeRepresentation().evaluate(x, body, hand_surface, *dimensions), foot


CONTACT_MODES = ('rolling', 'pure_rolling', 'slipping', 'resting')  # the last one if dry
FREE_MODES = ('separated', 'off_hand')  # over the plate, and past its edge for good
NONE = 1e-300  # m: keeps what a contact without a patch has of the spin a number


class Accelerations(NamedTuple):
    """Rates of the components of w_HO_H and v_HO_H [rad/s^2], [m/s^2]."""

    w: ca.SX
    v: ca.SX


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene(Symbols):
    """
    A body and a hand at a state, as expressions in H unless it is said otherwise.

    Attributes
    ----------
    contact
        Geometry of the contact, for the closest points of body and hand; its frame Ch has z along
        the normal out of the hand.
    flight
        Hand and body as a machine whose body flies.
    slipping
        Equations of flight and slip.
    rolling
        Equations of rolling, for the rates of w_HO_H.
    spin_rate
        Rate of w_HO_H along the normal that keeps the spin [rad/s^2].
    foot
        Where the closest point stands on the hand, and how it moves.
    gap
        Distance of the closest points [m], negative where the bodies overlap.
    v_contact
        Velocity of the body's closest point relative to the hand, in Ch [m/s]; the last component
        is the rate of the gap.
    bias
        Its rate [m/s^2] where nothing but the hand accelerates the body.
    free
        Rates of the velocities that need no force.
    patch
        Radius [m] over which sliding and spinning resist each other; 0 where the spin is free.
    lever
        Lever arm [m] of dry rolling resistance; None where there is none.

    """

    contact: ContactGeometry
    flight: MachineSystem
    slipping: OneContact
    rolling: Dynamics
    spin_rate: ca.SX
    foot: Foot
    gap: ca.SX
    v_contact: ca.SX
    bias: ca.SX
    free: Accelerations
    patch: ca.SX
    lever: ca.SX | None

    @property
    def curved(self) -> bool:
        """True if the hand is not a plane."""
        return 'contact_h' in self.values

    def changed(self, **entries: ca.SX) -> ca.SX:
        """Return the state with other vectors in place of some."""
        return ca.vertcat(*({**self.values, **entries}).values())

    @property
    def rolling_torque(self) -> ca.SX:
        """Torque of rolling resistance over the normal force [m]."""
        w_Ch = self.contact.frame.T @ self.values['w_HO_H']
        torque = -self.params['rolling_resistance'] * w_Ch[0:2]
        if self.lever is not None:
            slow = STILL + self.lever * ca.if_else(ca.norm_2(self.slips) > CREEP, SLOW, 0)
            torque += self.lever * against(self.turns, slow)
        return self.contact.frame[:, 0:2] @ torque

    @property
    def turns(self) -> ca.SX:
        """Rates of rolling in Ch (2) times the lever arm of a dry resistance [m/s]."""
        rates = self.contact.frame[:, 0:2].T @ self.values['w_HO_H']
        return ca.SX(0) if self.lever is None else self.lever * rates

    @property
    def slips(self) -> ca.SX:
        """Velocity of the contact over the hand in Ch (2), and of the rim of its patch [m/s]."""
        return ca.vertcat(self.v_contact[:2], self.patch * self.spin)

    @property
    def spin(self) -> ca.SX:
        """Rate of turning about the normal, relative to the hand [rad/s]."""
        return ca.dot(self.contact.frame[:, 2], self.values['w_HO_H'])

    def wrench(self, torque: ca.SX, force: ca.SX) -> ca.SX:
        """Return torque and force in Ch."""
        return ca.vertcat(*(self.contact.frame.T @ v for v in (torque, force)))

    def added(self, r: Response) -> Accelerations:
        """Return what the velocities gain by accelerations of the body, or by an impulse."""
        return Accelerations(self.contact.R_HO @ r.turn, r.centre)

    def rates(self, r: Response) -> Accelerations:
        """Return the rates of the velocities."""
        return Accelerations(*(a + b for a, b in zip(self.added(r), self.free, strict=True)))


class ContactMotion(NamedTuple):
    """
    Motion in one state of the contact.

    ``wrench`` is torque and force on the body in Ch, and ``margin`` is positive where friction
    lets the equations determine the normal force.
    """

    accelerations: Accelerations
    wrench: ca.SX
    margin: ca.SX


def rolling(s: Scene, *, pure: bool) -> ContactMotion:
    """
    Return the motion without slip.

    Parameters
    ----------
    s
        Body and plate.
    pure
        Whether the contact holds the spin.

    """
    # the torque of resistance grows with the normal force f_z
    r, n, torque = s.contact.r_OC, s.contact.frame[:, 2], s.rolling_torque
    matrix, right = s.rolling.equations
    solved = eliminate(matrix, ca.horzcat(right, torque, n), symmetric=True)
    w, turn, spin_torque = solved[:, 0], solved[:, 1], ca.SX(0)
    if pure:  # the spin stays held
        grip, held = ca.dot(n, solved[:, 2]), solved[:, 2]
        spin_torque = (s.spin_rate - ca.dot(n, w)) / grip
        along = -ca.dot(n, turn) / grip
        w, turn, torque = w + spin_torque * held, turn + along * held, torque + along * n
    push = s.params['mass'] * ca.cross(turn, r)
    margin = 1 + ca.dot(n, push)
    force = s.rolling.carried(1, w).force
    f_z = ca.dot(n, force) / margin
    force -= f_z * push
    a = Accelerations(w + f_z * turn, force / s.params['mass'] + s.free.v)
    return ContactMotion(a, s.wrench(f_z * torque + n * spin_torque, force), margin)


def resting(s: Scene) -> ContactMotion:
    """Return the motion in which the body does not roll, and does not spin on a patch."""
    n, (matrix, right) = s.contact.frame[:, 2], s.rolling.equations
    spins = ca.dot(n, right) / ca.dot(n, matrix @ n)
    w = n * ca.if_else(s.patch > 0, 0, spins)
    force = s.rolling.carried(1, w).force
    a = Accelerations(w, force / s.params['mass'] + s.free.v)
    return ContactMotion(a, s.wrench(matrix @ w - right, force), ca.SX(1))


def slipping(s: Scene, mu: ca.SX) -> ContactMotion:
    """
    Return the motion in which the body slips, or spins on a patch.

    Its margin is what multiplies the normal force in the acceleration of the gap, times the mass.
    """
    slip = s.slips
    force, rim = against_patch(slip[:2], slip[2])
    torque = s.rolling_torque + s.contact.frame[:, 2] * (mu * s.patch * rim)
    motion = s.slipping.sliding(-s.contact.frame[:, :2] @ force, mu, torque)
    wrench = s.wrench(motion.torque, motion.force)
    return ContactMotion(s.rates(motion.response), wrench, motion.margin * s.params['mass'])


def scene_of(surface: Surface, hand: Surface, state: Layout, parameters: Layout) -> Scene:
    """Return symbols, and body and hand, of two surfaces."""
    machine, x, p = hand_machine(state, parameters)
    curved = 'contact_h' in state
    at, foot = on_surface(surface, hand, x, p) if curved else on_plane(surface, x, p)
    if curved:
        machine.rates |= {FOOT.name: foot.uv_rate, SECOND_FOOT.name: ca.SX(2, 1)}
    machine.body('object', replace(at.joint, rates={}), solid(p), on='hand')
    c, w = at.geometry, x['w_HO_H']
    flight = MachineSystem(machine.with_joint('object', FLYING))
    solved = flight.machine.links['object'].solved
    free = Accelerations(*(solved[name][1] for name in ('w_HO_H', 'v_HO_H')))
    V = x['v_HO_H'] + ca.cross(w, c.r_OC)
    moved = free.v + ca.cross(free.w, c.r_OC) + ca.cross(w, foot.r_rate)
    slips = OneContact(
        dynamics=flight.machine.dynamics,
        body=1,
        moves=3,
        R_FA=c.R_HO.T,
        normal=c.frame[:, 2],
        reach_F=c.p_OC,
        reach=c.r_OC,
        bias=ca.dot(c.frame[:, 2], moved) + ca.dot(foot.frame_rate[:, 2], V),
    )
    return Scene(
        **vars(machine.symbols),
        contact=c,
        flight=flight,
        slipping=slips,
        rolling=machine.dynamics,
        spin_rate=at.spin_rate,
        foot=foot,
        gap=ca.dot(c.frame[:, 2], x['p_HO_H'] + c.r_OC - c.p_HC),
        v_contact=c.frame.T @ V,
        bias=c.frame.T @ moved + foot.frame_rate.T @ V,
        free=free,
        patch=p['mu_spin'] / (SPINNING * p['mu'] + NONE),
        lever=p.get(LEVER_ARM.name),
    )


def mode_equations(mode: str, s: Scene) -> ModeEquations:
    """Return the equations of a mode."""
    if mode in FREE_MODES:
        guards = {'gap': s.gap} if mode == 'separated' else {}
        if mode == 'separated':
            guards |= _foot_guard(s)
        return ModeEquations(_rates(s, s.rates(s.slipping.free)), ca.SX.zeros(6), guards)
    motion = contact_motion(mode, s)
    return ModeEquations(_rates(s, motion.accelerations), motion.wrench, _guards(mode, s, motion))


def contact_motion(mode: str, s: Scene) -> ContactMotion:
    """Return the motion in a mode of contact."""
    if mode == 'resting':
        return resting(s)
    if mode.endswith('rolling'):
        return rolling(s, pure=mode.startswith('pure'))
    return slipping(s, s.params['mu_kinetic'])


def _guards(mode: str, s: Scene, motion: ContactMotion) -> dict[str, ca.SX]:
    """Return what is positive within a mode of contact."""
    q, inside = s.params, inside_edges(s.foot.uv, s.params)
    guards = {'painleve': motion.margin, 'edge': inside, 'normal_force': motion.wrench[5]}
    if mode == 'slipping':
        guards['slip'] = ca.norm_2(s.slips) - CREEP
    else:
        limit = q['mu'] * motion.wrench[5]
        guards['friction'] = Cone(limit, holding(mode, s, motion.wrench)).margin
    if s.lever is not None and mode.endswith('rolling'):
        guards['rest'] = ca.sqrt(ca.sumsqr(s.turns) + NONE) - CREEP
    if s.lever is not None and mode == 'resting':
        guards['turn'] = Cone(s.lever * motion.wrench[5], motion.wrench[:2]).margin
    return guards | _foot_guard(s)


def holding(mode: str, s: Scene, wrench: ca.SX) -> ca.SX:
    """Return what friction holds in a mode of rolling (2 or 3) [N]."""
    if mode == 'rolling':
        return wrench[3:5]
    return held(wrench[3:5], ca.if_else(s.patch > 0, wrench[2] / (s.patch + NONE), 0))


def _foot_guard(s: Scene) -> dict[str, ca.SX]:
    """Return what is positive where the closest point of a curved hand is determined."""
    return {'foot': s.foot.margin} if s.curved else {}


def settled(s: Symbols, feet: Mapping[str, Foot]) -> ca.SX:
    """Return the state with closest points of the hand, near which they must be, by name."""
    steps = {name: foot.step for name, foot in feet.items()}
    moved = ca.vertcat(*(value + steps.get(name, 0) for name, value in s.values.items()))
    nearer, x = ca.Function('nearer', [s.x, s.p], [moved]), s.x
    for _ in range(NEWTON if feet else 0):
        x = nearer(x, s.p)
    return x


def projected(mode: str, s: Scene) -> ca.SX:
    """Return the state on the constraints of a mode."""
    b = s.values
    fixed = {name: b[name] / ca.norm_2(b[name]) for name in ('q_WH', 'q_HO')}
    if mode in FREE_MODES:
        return s.changed(**fixed)
    n = s.contact.frame[:, 2]
    fixed['p_HO_H'] = b['p_HO_H'] - n * s.gap
    w, v = b['w_HO_H'], b['v_HO_H']
    if mode.startswith('pure'):
        w -= n * s.spin
    if mode == 'resting':
        w = n * ca.if_else(s.patch > 0, 0, s.spin)
    if mode != 'slipping':
        v = -ca.cross(w, s.contact.r_OC)
    else:
        v -= n * ca.dot(n, v + ca.cross(w, s.contact.r_OC))
    return s.changed(w_HO_H=w, v_HO_H=v, **fixed)


def _rates(s: Scene, a: Accelerations) -> ca.SX:
    return s.flight.rate_of_state(ca.SX(6, 1), w_HO_H=a.w, v_HO_H=a.v)

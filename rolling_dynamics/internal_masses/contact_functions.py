"""What the contact point of a ball or a disk does, as functions of the state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple, TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import (
    Jump,
    Mode,
    MotionState,
    Outcome,
    Transition,
)
from rolling_dynamics.internal_masses.equations import (
    BallState,
    ModeExpressions,
    Sliding,
    sliding,
)
from rolling_dynamics.internal_masses.masses import accelerations, FreeMass, mass_points
from rolling_dynamics.internal_masses.system import MassDrivenSystem
from rolling_dynamics.mechanism.mass import MovingPoint
from rolling_dynamics.point_contact.impact import inelastic_impulse, slips
from rolling_dynamics.point_contact.point_contact import Landing, PointContact, Touching
from rolling_dynamics.point_contact.transitions import CREEP, Transitions
from rolling_dynamics.simulation.guards import unit_norms

if TYPE_CHECKING:
    from typing_extensions import Self

GUARDS = {'stick': 'slip', 'clearance': 'gap'}  # as the decisions at a contact point call them
ENDS = {  # of a motion, by the beginning of the guard's name
    'stop': 'a mass has come to the stop of its rail',
    'masses_meet': 'two masses meet',
    'obstacle': 'the shell touches an obstacle',
}


class Rolling(NamedTuple):
    """Angular acceleration; acceleration and velocity of the centre, and contact force, in W."""

    turn: ca.SX
    acceleration_W: ca.SX
    velocity_W: ca.SX
    force_W: ca.SX


class Attitude(NamedTuple):
    """Attitude, as a quaternion and a matrix; angular velocity in B; rate of the state's entry."""

    q_WB: ca.SX
    R_WB: ca.SX
    Omega: ca.SX
    rate: ca.SX


class ContactFunctions(MassDrivenSystem, PointContact):
    """
    Equations of a ball, and of a ball in a plane: a disk; vectors are those of space.

    Attributes
    ----------
    slides
        Whether the motion goes on after slip begins.

    """

    plane: tuple[int, ...]  # axes of W along which it moves: all of a ball, x and z of a disk
    turns: ca.DM  # axes in the body about which it turns (3, k)
    spin_name: str  # entry of the angular velocity
    velocity_entry = 'v_WB_W'

    @abstractmethod
    def _attitude(self) -> Attitude:
        """Return the attitude in the symbols of the system."""

    @abstractmethod
    def _inertia(self) -> ca.SX:
        """Return the inertia of the shell about its centre of mass (3, 3) [kg m^2]."""

    @property
    def contact_W(self) -> ca.SX:
        """Contact point of a body that rolls, along the floor in W [m]."""
        return self.symbols.values['p']

    def contact_rates(self, velocity_W: ca.SX) -> ca.SX:
        """Return the rates of what the state holds of the contact point of a body that rolls."""
        return self.taken(velocity_W)[:-1]

    @cached_property
    def body(self) -> BallState:
        """What the equations of motion depend on, in the symbols of the system."""
        p, at, zero = self.symbols.params, self._attitude(), ca.SX.zeros(3)
        shell = MovingPoint(p['mass'], self.spatial(p['centre_of_mass']), zero, zero)
        moved = mass_points(self.masses, self.motion)
        position, velocity = self._centre(at)
        force = self.force_W(position, velocity, at.q_WB, at.R_WB @ at.Omega)
        return BallState(
            points=[shell, *(q.mapped(lambda v: self.spatial(self.taken(v))) for q in moved)],
            inertia=self._inertia(),
            radius=p['radius'],
            R_WB=at.R_WB,
            Omega=at.Omega,
            gravity_W=self.spatial(self.taken(p['gravity_W'])),
            force_W=self.spatial(self.taken(force)),
            axes=self.turns,
            plane=self.plane,
        )

    def _centre(self, at: Attitude) -> tuple[ca.SX, ca.SX]:
        """Return position and velocity of the geometric centre in W."""
        v, r = self.symbols.values, self.symbols.params['radius']
        if self.unilateral:
            return self.spatial(v['p_WB']), self.spatial(v['v_WB_W'])
        velocity = ca.cross(at.R_WB @ at.Omega, ca.vertcat(0, 0, r))
        return self.spatial(ca.vertcat(self.contact_W, r)), velocity

    @property
    def centre(self) -> tuple[ca.SX, ca.SX]:
        """Position and velocity of the geometric centre in W, as expressions."""
        return self._centre(self._attitude())

    @property
    def places(self) -> list[ca.SX]:
        """Where the masses are, in B [m]."""
        return [q.place for q in self.body.points[1:]]

    def rolling(self) -> Rolling:
        """Return rolling without slipping."""
        body, up = self.body, ca.vertcat(0, 0, self.body.radius)
        rates = body.rolling.rates
        turns = self.turns @ rates, body.Omega
        a_W, v_W = (ca.cross(body.R_WB @ w, up) for w in turns)
        return Rolling(rates, a_W, v_W, self.spatial(self.taken(body.rolling_force)))

    def of_contact(self, Omega: ca.SX, centre_W: ca.SX) -> ca.SX:
        """Return the lowest point's velocity from the velocities; accelerations alike."""
        down = ca.vertcat(0, 0, -self.body.radius)
        return centre_W + ca.cross(self.body.R_WB @ Omega, down)

    @property
    def velocity_of_contact(self) -> ca.SX:
        """Velocity of the lowest point in W (3) [m/s]."""
        return self.of_contact(self.body.Omega, self.centre[1])

    def _one_mode(
        self, turn: ca.SX, a_W: ca.SX, v_W: ca.SX, force: ca.SX, guards: Mapping[str, ca.SX]
    ) -> ModeExpressions:
        """Return a mode of accelerations, a velocity and a contact force."""
        body, power = self.body, ca.SX(0)
        rates = [*self.mass_rates, self._attitude().rate, turn]
        moving = [self.taken(v_W), self.taken(a_W)]
        rates += moving if self.unilateral else [self.contact_rates(v_W)]
        for m in body.points[1:]:
            inner = ca.cross(self.turns @ turn, m.place) + m.bias(body.Omega)
            acceleration = body.R_WB.T @ (a_W - body.gravity_W) + inner
            power += m.mass * ca.dot(acceleration, m.rate)
        return ModeExpressions(ca.vertcat(*rates), force, guards, power)

    @cached_property
    def centre_of_mass(self) -> ca.Function:
        """``(x, u, t, p) -> centre of mass`` of the whole in W, and over the centre in B [m]."""
        body = self.body
        mean = sum(q.mass * q.place for q in body.points) / body.total_mass
        whole = self.centre[0] + body.R_WB @ mean
        return self.function('centre_of_mass', ca.vertcat(self.taken(whole), self.taken(mean)))

    @cached_property
    def pose(self) -> ca.Function:
        """``(x, p) -> 4x4 matrices`` of shell and masses in W (free masses at t = 0)."""
        body, position = self.body, self.centre[0]
        masses = [position + body.R_WB @ q.place for q in body.points[1:]]
        return self.pose_function(body.R_WB, [position, *masses])

    @property
    def total_mass(self) -> ca.SX:
        """Mass of shell and masses [kg]."""
        return self.body.total_mass

    @property
    def mass_rates(self) -> list[ca.SX]:
        """Rates and accelerations of the masses on rails; none without masses."""
        s = self.symbols
        if not self._rails:
            return []
        return [s.values['theta_rate'], accelerations(self.masses, s.u, s.t)]

    def rest_goal(self, x_start: Array) -> dict[str, Array]:  # noqa: ARG002
        """Return what a goal at rest has by default: nothing moves."""
        names = [self.spin_name, *(('theta_rate',) if self._rails else ())]
        return {name: np.zeros(self.state.entry(name).size) for name in names}

    @property
    def planar(self) -> bool:
        """Whether slip has one direction only."""
        return len(self.plane) == 2

    def _mode_expressions(self) -> dict[str, ModeExpressions]:
        symbols = self.symbols
        stops = self.mass_guards(symbols.values, self.places)
        stops |= self.obstacle_guards(self.centre[0])
        mu, rolls = symbols.params['mu'], self.rolling()
        N, friction = rolls.force_W[2], ca.norm_2(rolls.force_W[:2])
        guards = {'normal_force': N, 'friction': mu * N - friction, **stops}
        out = {'rolling': self._one_mode(*rolls, guards)}
        if not self.unilateral:
            return out
        velocity, free = self.centre[1], self.body.free
        slip = velocity - rolls.velocity_W
        slip[2] = 0
        motion = self.sliding_motion(slip / ca.sqrt(ca.sumsqr(slip) + (CREEP / 10) ** 2))
        guards = {
            'normal_force': motion.force_W[2],
            'painleve': motion.coefficient * self.total_mass,
            'stick': ca.norm_2(slip[:2]) - CREEP,
            **stops,
        }
        out['slipping'] = self._one_mode(
            motion.turn, motion.centre_W, velocity, motion.force_W, guards
        )
        guards = {'clearance': symbols.values['p_WB'][-1] - symbols.params['radius'], **stops}
        out['separated'] = self._one_mode(
            free.turn, free.centre_W, velocity, ca.SX.zeros(3), guards
        )
        return out

    def _mode(self, name: str, e: ModeExpressions) -> Mode:
        """Return a mode; that of a unilateral system knows what follows it."""
        mode = super()._mode(name, e)
        if not self.unilateral:
            return mode
        return replace(
            mode,
            resets=_resets(self, mode),
            projection=self._projection(name),
            slip=self._slip if name == 'slipping' else None,
        )

    @cached_property
    def ending_at_slip(self) -> Self:
        """The same body, whose motion ends where slip begins."""
        twin = copy.copy(self)
        twin.slides = False
        twin.__dict__['modes'] = {
            name: replace(mode, resets=_resets(twin, mode)) for name, mode in self.modes.items()
        }
        return twin

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float = 0.0) -> MotionState:
        """Return a state with the mode that it is in; see :meth:`Transitions.begin`."""
        if not self.unilateral:
            return MotionState(t=t, x=np.array(x), mode='rolling', p=np.array(p))
        return Transitions(self).begin(p, x, u, t)

    def _projection(self, mode: str) -> ca.Function:
        """Return ``(x, p) -> x`` on the constraints of a mode: on the plane, without slip."""
        s, values = self.symbols, unit_norms(self.state, self.symbols.x)
        position, velocity = ca.vertsplit(values['p_WB']), ca.vertsplit(values['v_WB_W'])
        if mode != 'separated':
            values['p_WB'] = ca.vertcat(*position[:-1], s.params['radius'])
            values['v_WB_W'] = ca.vertcat(*velocity[:-1], 0)
        if mode == 'rolling':
            values['v_WB_W'] = s.values['v_WB_W'] - self.taken(self.velocity_of_contact)
        return self.of_state('projection', ca.vertcat(*values.values()), names=['y'])

    def spatial(self, vector: ca.SX) -> ca.SX:
        """Return a vector of the plane in space."""
        out = ca.SX(3, 1)
        out[list(self.plane)] = vector
        return out

    def taken(self, vector: ca.SX) -> ca.SX:
        """Return the components of a vector of space in the plane."""
        return vector[list(self.plane)]

    @cached_property
    def applied_wrench(self) -> ca.Function | None:
        """``(x, u, t, p) -> [tau, f]`` of the external force about the lowest point, in W."""
        if any(isinstance(mass, FreeMass) for mass in self.masses):
            return None
        force = self.body.force_W
        up = ca.vertcat(0, 0, self.symbols.params['radius'])
        return self.function('applied_wrench', ca.vertcat(ca.cross(up, force), force))

    @cached_property
    def contact_velocity(self) -> ca.Function:
        """``(x, p) -> velocity`` of the body's lowest point in W [m/s]."""
        return self.of_state('contact_velocity', self.taken(self.velocity_of_contact))

    @cached_property
    def _slip(self) -> ca.Function:
        return self.of_state('slip', self.taken(self.velocity_of_contact)[:-1])

    @property
    def touching(self) -> Touching:
        """Where and how body and plane touch, in W."""
        place = self.centre[0] - ca.vertcat(0, 0, self.symbols.params['radius'])
        return Touching(place[2], self.velocity_of_contact, place, ca.SX(0), ca.SX.eye(3))

    @property
    def lift(self) -> ca.SX:
        """Vertical acceleration without contact [m/s^2]."""
        return self.body.free.centre_W[2]

    def slip_in(self, direction: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return acceleration of slip, normal force and margin."""
        motion = self.sliding_motion(direction)
        slip = self.of_contact(self.turns @ motion.turn, motion.centre_W)
        return slip, motion.force_W[2], motion.coefficient * self.total_mass

    def sliding_motion(self, direction_W: ca.SX) -> Sliding:
        """Return the motion of a contact that slips in a direction, whose last component is 0."""
        body, mu = self.body, self.symbols.params['mu_kinetic']
        return sliding(body.free, body.answer, direction_W, mu)

    def struck(self, impulse: ca.SX) -> ca.SX:
        """Return the state after an impulse at the contact; masses keep their rails."""
        answer, values = self.body.answer(impulse), dict(self.symbols.values)
        values[self.spin_name] += answer.turn
        values['v_WB_W'] += self.taken(answer.centre_W)
        return ca.vertcat(*values.values())

    def landing(self, x: Array, t: float, p: Array) -> Landing:
        """
        Return what an inelastic landing leaves; mu holds what sticks, mu_kinetic what slips.

        Raises
        ------
        JammingError
            The impact has no end under Coulomb friction.

        """
        mu, kinetic = (float(p[self.parameters.slice(n)][0]) for n in ('mu', 'mu_kinetic'))

        def after(impulse: Array) -> Array:
            return np.array(self.kicked(x, t, p, impulse)).ravel()

        def velocity(y: Array) -> Array:
            return np.array(self.contact_velocity(y, p)).ravel()

        v = velocity(x)
        W = np.column_stack([velocity(after(e)) - v for e in np.eye(v.size)])
        impulse, left = inelastic_impulse(W, v, mu, kinetic)
        whole = impulse if v.size == 3 else np.array([impulse[0], 0.0, impulse[1]])
        return Landing(after(impulse), whole, sticks=not slips(v, left))

    def over_hand(self, x: Array, p: Array) -> bool:  # noqa: ARG002
        """Report that the plane has no end."""
        return True


def _resets(system: ContactFunctions, mode: Mode) -> dict[str, Transition]:
    """Return what follows the guards of a mode of a unilateral system."""
    decisions = Transitions(system)
    out: dict[str, Transition] = {}
    for name in mode.guards:
        text = next((t for start, t in ENDS.items() if name.startswith(start)), None)
        out[name] = (
            partial(decisions.after, GUARDS.get(name, name))
            if text is None
            else Jump(function=None, outcomes=(Outcome('', name, text),))
        )
    return out

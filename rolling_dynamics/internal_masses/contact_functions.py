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
from rolling_dynamics.contract.rolling_system import Mode, MotionState, Transition
from rolling_dynamics.internal_masses.equations import ModeExpressions, Response, Sliding, sliding
from rolling_dynamics.internal_masses.masses import accelerations, FreeMass
from rolling_dynamics.internal_masses.system import MassDrivenSystem
from rolling_dynamics.point_contact.impact import inelastic_impulse, slips
from rolling_dynamics.point_contact.point_contact import Landing
from rolling_dynamics.point_contact.transitions import CREEP, Transitions
from rolling_dynamics.simulation.guards import unit_norms

if TYPE_CHECKING:
    from rolling_dynamics.internal_masses.equations import BallState, DiskState
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


class ContactFunctions(MassDrivenSystem):
    """
    Contact of a unilateral ball or disk with the plane; each of them fills in the vectors.

    Attributes
    ----------
    slides
        Whether the motion goes on after slip begins.

    """

    axes: int  # 3 of a ball, 2 (x, z) of a disk
    spin_name: str  # entry of the angular velocity
    velocity_entry = 'v_WB_W'
    spin_entry: str | None = None  # there is no spin friction
    slides = True

    @property
    @abstractmethod
    def body(self) -> BallState | DiskState:
        """What the equations of motion depend on, in the symbols of the system."""

    @abstractmethod
    def rolling(self) -> Rolling:
        """Return rolling without slipping."""

    @property
    @abstractmethod
    def places(self) -> list[ca.SX]:
        """Where the masses are, in B [m]."""

    @property
    @abstractmethod
    def centre(self) -> tuple[ca.SX, ca.SX]:
        """Position and velocity of the geometric centre in W, as expressions."""

    @abstractmethod
    def _one_mode(
        self, turn: ca.SX, a_W: ca.SX, v_W: ca.SX, force: ca.SX, guards: Mapping[str, ca.SX]
    ) -> ModeExpressions:
        """Return a mode of accelerations, a velocity and a contact force."""

    @abstractmethod
    def answer(self, force_W: ca.SX) -> Response:
        """Return the answer to a force or an impulse at the contact point."""

    @abstractmethod
    def free(self) -> Response:
        """Return the accelerations without a contact force."""

    @abstractmethod
    def of_contact(self, turn: ca.SX, centre_W: ca.SX) -> ca.SX:
        """Return the lowest point's velocity from the velocities; accelerations alike."""

    @abstractmethod
    def velocities(self) -> tuple[ca.SX, ca.SX]:
        """Return angular velocity and velocity of the centre in W."""

    @cached_property
    def contact_axes(self) -> ca.Function:
        """``(x, p) -> R``: the axes of the world."""
        x, p = ca.SX.sym('x', self.state.size), ca.SX.sym('p', self.parameters.size)
        return ca.Function('contact_axes', [x, p], [ca.DM.eye(3)])

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
        return self.axes == 2

    def _mode_expressions(self) -> dict[str, ModeExpressions]:
        symbols = self.symbols
        stops = self.mass_guards(symbols.values, self.places)
        stops |= self.obstacle_guards(self.spatial(self.centre[0]))
        mu, rolls = symbols.params['mu'], self.rolling()
        N, friction = rolls.force_W[-1], ca.norm_2(rolls.force_W[:-1])
        guards = {'normal_force': N, 'friction': mu * N - friction, **stops}
        out = {'rolling': self._one_mode(*rolls, guards)}
        if not self.unilateral:
            return out
        velocity, free = symbols.values['v_WB_W'], self.free()
        slip = velocity - rolls.velocity_W
        slip[-1] = 0
        motion = self.sliding_motion(slip / ca.sqrt(ca.sumsqr(slip) + (CREEP / 10) ** 2))
        guards = {
            'normal_force': motion.force_W[-1],
            'painleve': motion.coefficient * self.total_mass,
            'stick': ca.norm_2(slip[:-1]) - CREEP,
            **stops,
        }
        out['slipping'] = self._one_mode(
            motion.turn, motion.centre_W, velocity, motion.force_W, guards
        )
        guards = {'clearance': symbols.values['p_WB'][-1] - symbols.params['radius'], **stops}
        out['separated'] = self._one_mode(
            free.turn, free.centre_W, velocity, ca.SX.zeros(self.axes), guards
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
            values['v_WB_W'] = s.values['v_WB_W'] - self.of_contact(*self.velocities())
        return ca.Function(
            'projection', [s.x, s.p], [ca.densify(ca.vertcat(*values.values()))], ['x', 'p'], ['y']
        )

    def spatial(self, vector: ca.SX) -> ca.SX:
        """Return a vector of W in space."""
        return ca.vertcat(vector[0], 0, vector[1]) if self.planar else vector

    @cached_property
    def applied_wrench(self) -> ca.Function | None:
        """``(x, u, t, p) -> [tau, f]`` of the external force about the lowest point, in W."""
        if any(isinstance(mass, FreeMass) for mass in self.masses):
            return None
        force = self.spatial(self.body.force_W)
        up = ca.vertcat(0, 0, self.symbols.params['radius'])
        return self.function('applied_wrench', ca.vertcat(ca.cross(up, force), force))

    @cached_property
    def contact_velocity(self) -> ca.Function:
        """``(x, p) -> velocity`` of the body's lowest point in W [m/s]."""
        s = self.symbols
        return ca.Function('contact_velocity', [s.x, s.p], [self.of_contact(*self.velocities())])

    @cached_property
    def _slip(self) -> ca.Function:
        s, slip = self.symbols, self.of_contact(*self.velocities())[: self.axes - 1]
        return ca.Function('slip', [s.x, s.p], [ca.densify(slip)])

    @cached_property
    def touch(self) -> ca.Function:
        """``(x, p) -> gap [m], velocity of the lowest point in W, its place, spin [rad/s]``."""
        s = self.symbols
        height, velocity = s.values['p_WB'][-1], self.of_contact(*self.velocities())
        place = self.spatial(s.values['p_WB']) - ca.vertcat(0, 0, s.params['radius'])
        outputs = [height - s.params['radius'], self.spatial(velocity), place, ca.SX(0)]
        return ca.Function('touch', [s.x, s.p], [ca.densify(o) for o in outputs])

    @cached_property
    def slip_onset(self) -> ca.Function:
        """``(x, u, t, p, direction (2)) -> acceleration of slip (2), normal force, margin``."""
        s, d = self.symbols, ca.SX.sym('direction', 2)
        motion = self.sliding_motion(ca.vertcat(d[0], 0) if self.planar else ca.vertcat(d, 0))
        slip = self.spatial(self.of_contact(motion.turn, motion.centre_W))[0:2]
        return ca.Function(
            'slip_onset',
            [s.x, s.u, s.t, s.p, d],
            [slip, motion.force_W[-1], motion.coefficient * self.total_mass],
        )

    def sliding_motion(self, direction_W: ca.SX) -> Sliding:
        """Return the motion of a contact that slips in a direction, whose last component is 0."""
        return sliding(self.free(), self.answer, direction_W, self.symbols.params['mu_kinetic'])

    @cached_property
    def free_lift(self) -> ca.Function:
        """``(x, u, t, p) -> vertical acceleration without contact [m/s^2]``."""
        return self.function('free_lift', self.free().centre_W[-1])

    @cached_property
    def kicked(self) -> ca.Function:
        """``(x, t, p, impulse in W) -> x`` after an impulse at the contact; masses keep rails."""
        s, impulse = self.symbols, ca.SX.sym('impulse', self.axes)
        answer, values = self.answer(impulse), dict(self.symbols.values)
        values[self.spin_name] += answer.turn
        values['v_WB_W'] += answer.centre_W
        return ca.Function('kicked', [s.x, s.t, s.p, impulse], [ca.vertcat(*values.values())])

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
        """Tell that the plane has no end."""
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
            else partial(_end, name, text)
        )
    return out


def _end(name: str, text: str, s: MotionState, _: Array) -> MotionState:
    return s.noted(name, text, ends=True)

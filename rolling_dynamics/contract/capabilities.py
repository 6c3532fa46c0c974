"""Optional capabilities of a rolling system, and the function that queries them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import casadi as ca
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import (
    Follower,
    Layout,
    Mode,
    MotionState,
    RegulatorWeights,
    RigidBody,
    RollingSystem,
)

Capability = TypeVar('Capability')


def offers(system: object, capability: type[Capability]) -> Capability | None:
    """
    Return the system typed as one with a capability, or None if it does not offer it.

    No attribute is evaluated: a property may be costly, or may raise an error in the
    representation of the system.

    Parameters
    ----------
    system
        Any rolling system.
    capability
        A protocol of this module, or your own.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_dynamics.contract import offers
    >>> from rolling_dynamics.contract.capabilities import ChartView
    >>> offers(load_scenario('two_wheeler').system, ChartView) is None
    True

    """
    if all(has(system, name) for name in members(capability)):
        return system  # type: ignore[return-value]
    return None


def members(capability: type) -> list[str]:
    """Return the names of the attributes and methods that a protocol asks for."""
    declared = vars(capability)
    return [n for n in (*declared, *declared.get('__annotations__', ())) if not n.startswith('_')]


def has(candidate: object, name: str) -> bool:
    """Return whether a system has an attribute, without evaluating it."""
    own = type(candidate)
    if hasattr(own, name) or name in getattr(candidate, '__dict__', ()):
        return True
    # a view of another system may pass its attributes on
    return hasattr(own, '__getattr__') and hasattr(candidate, name)


class Envelope(Protocol):
    """
    Has limits of contact that an optimisation may keep.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('pendulum_torque')
    >>> sorted(s.system.envelope)
    ['friction', 'normal_force']

    """

    @property
    def envelope(self) -> Mapping[str, ca.Function]:
        """
        Name -> smooth ``(x, u, t, p) -> scalar``, positive inside.

        The planner knows ``normal_force`` (in weights), ``friction``, ``spin``, ``depth``, ``gap``
        [m] and names that start with ``keep_out``. For a machine with several contacts, the name
        of the contact is appended to each.
        """


class StateBounds(Protocol):
    """
    Has bounds on its states.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('ball_balancer')
    >>> sorted(s.system.state_bounds(s.p))
    ['ball_x', 'ball_y', 'servo_rate_x', 'servo_rate_y']

    """

    def state_bounds(self, p: Array) -> Mapping[str, tuple[float, float]]:
        """Return minimum and maximum by scalar name, in the units of the layout."""


class StateCheck(Protocol):
    """
    Has states in which no motion can start.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> s.system.check_state(s.p, s.x0)

    """

    def check_state(self, p: ArrayLike, x: ArrayLike) -> None:
        """Raise ParameterError or SurfaceError, naming the entry, where no motion can start."""


class ContactReport(Protocol):
    """
    Has contacts that leave some motions free and some forces undetermined.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('ball_between_plates')
    >>> print(s.system.contact_report(s.p, s.x0)[0])
    contacts in addition to joints: 2 rows of rank 2; of 3 speeds 1 are free

    """

    def contact_report(self, p: ArrayLike, x: ArrayLike) -> Sequence[str]:
        """Return sentences on motions and forces that contacts leave undetermined."""


class Projection(Protocol):
    """
    Has constraints, other than norms of quaternions, from which rounding drifts.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> s.system.projection(s.x0, s.p).shape
    (17, 1)

    """

    @property
    def projection(self) -> ca.Function:
        """``(x, p) -> x`` with all constraints fulfilled."""


class StartMode(Protocol):
    """
    Has several modes, and knows in which of them a state is.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('ball_tossed_by_plate')
    >>> s.system.begin(s.p, s.x0, [0.0] * 6, 0.0).mode
    'separated'

    """

    def begin(self, p: Array, x: Array, u: Array, t: float) -> MotionState:
        """
        Return the state with its mode, after the impact of bodies that meet there at a speed.

        Parameters
        ----------
        p, x, u
            Parameters, state and control in force.
        t
            Time [s].

        Raises
        ------
        ParameterError
            It is not a state of the system, or the bodies overlap.

        """


class RestGoal(Protocol):
    """
    Has default goal values for entries that a goal leaves out.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> sorted(s.system.rest_goal(s.x0))
    ['left_rate', 'right_rate', 'v_body', 'w_body']

    """

    def rest_goal(self, x_start: Array) -> Mapping[str, Array]:
        """Return values by entry of the state, such as velocities of zero."""


class ChartView(Protocol):
    """
    Has another view of its state for use in a cost, such as the state of the paper.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('ball_on_plate_table_ii')
    >>> layout, view = s.system.chart_view
    >>> view(s.x0, s.p).numel() == layout.size
    True

    """

    @property
    def chart_view(self) -> tuple[Layout, ca.Function]:
        """Layout of the view s, and ``(x, p) -> s``; raises ParameterError if there is none."""


class CarriedObject(Protocol):
    """
    Carries an object whose motion in the world may be a goal.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spinning_plate')
    >>> s.system.object_motion('p_WO')(s.x0, s.p)
    DM([0, 0, 0.2])

    """

    def object_motion(self, entry: str) -> ca.Function:
        """
        Return ``(x, p) -> values`` of an entry of the object's motion.

        ``p_WO`` is the centre of mass in W [m], ``q_WO`` the attitude (a quaternion, or a rotation
        matrix in column-major order); ``v_WO`` the velocity of the centre in the world [m/s] and
        ``w_WO`` the angular velocity [rad/s], each with the frame in which it is expressed, W, H
        or O; ``v_HO_H`` the velocity of the centre relative to the hand.
        """


class FollowedQuantities(Protocol):
    """
    Has quantities that depend on the path, such as angles that count whole turns.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spinning_plate')
    >>> follower = s.system.follower(s.p)

    """

    def follower(self, p: Array) -> Follower:
        """Return an object that tracks them along the steps of a simulation with parameters p."""


class Separation(Protocol):
    """
    Has two bodies that can separate.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spinning_plate')
    >>> s.system.separation(s.p, s.x0, 0 * s.x0[:6], 0 * s.x0[:6])['gap'] > 0
    False

    """

    def separation(self, p: Array, x: Array, u: Array, u_rate: Array) -> Mapping[str, float]:
        """
        Return the separation of the bodies after the contact force has vanished.

        Parameters
        ----------
        p, x, u
            Parameters, state and control at the end of contact.
        u_rate
            Rate of the control there [its unit/s], which the hand continues.

        Returns
        -------
        Mapping
            ``acceleration_excess`` [m/s^2] and ``gap`` [m] a moment later.

        """


class ChartCoordinates(Protocol):
    """
    Has entries of the state that are coordinates on charts of surfaces.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spinning_plate')
    >>> s.system.on_first_chart, sorted(s.system.chart_periods)
    (True, ['contact_h'])

    """

    @property
    def chart_periods(self) -> Mapping[str, Array]:
        """Periods of the components of each entry, in their units; 0 if it has none."""

    @property
    def on_first_chart(self) -> bool:
        """True if the contact is on the hand's first chart, which results and plans use."""

    def check_charts(self, x: ArrayLike) -> None:
        """Raise SurfaceError if a chart of the state is singular there."""

    def in_lengths(
        self,
        p: Array,
        x: Array,
        x_goal: Array,
        misses: Mapping[str, Array],
        whole: Collection[str],
    ) -> dict[str, Array]:
        """
        Return the error from a goal as lengths [m] and rotations [rad], not chart steps.

        Parameters
        ----------
        p, x, x_goal
            Parameters, state, and the state at the goal.
        misses
            Difference from the goal by entry.
        whole
            Entries all of whose components belong to the goal.

        """


class Rechart(NamedTuple):
    """
    A system on other charts, the same state on them, and a description of the change.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spinning_plate')
    >>> s.system.atlas.off_pole(s.p, s.x0) is None
    True

    """

    system: RollingSystem
    state: Array
    text: str


class Atlas(Protocol):
    """
    Watches and changes the charts under a state; see :class:`ChangesCharts`.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spinning_plate')
    >>> sorted(s.system.atlas.regularity), s.system.atlas.has_alternatives('object')
    ([], False)

    """

    @property
    def regularity(self) -> Mapping[str, ca.Function]:
        """Name of a chart -> ``(x, u, t, p) -> scalar``: 1 at its best, 0 where it degenerates."""

    def has_alternatives(self, name: str) -> bool:
        """Return whether the surface of this name has more than one chart."""

    def rechart(self, name: str, p: ArrayLike, x: ArrayLike, worth: float = ...) -> Rechart | None:
        """Return the state on a chart that is better by a factor, or None."""

    def off_pole(self, p: ArrayLike, x: ArrayLike) -> Rechart | None:
        """Return the state on another chart if its own is degenerate, or None."""

    def from_charts_of(self, source: RollingSystem, p: ArrayLike, x: ArrayLike) -> Array:
        """Convert a state on other charts to the charts here; NaN where they degenerate."""


class ChangesCharts(Protocol):
    """
    Changes to other charts of its surfaces where its own degenerate.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spinning_plate')
    >>> s.system.atlas.off_pole(s.p, s.x0) is None
    True

    """

    @property
    def atlas(self) -> Atlas:
        """Atlas of the state."""


class DefaultWeights(Protocol):
    """
    Has default weights of a regulator; other systems use the scales of their layouts.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('point_mass_ball')
    >>> sorted(s.system.default_weights.tracking)
    ['d_WB', 'p', 'theta', 'theta_rate', 'w_WB_B']

    """

    @property
    def default_weights(self) -> RegulatorWeights:
        """Default weights of a regulator."""


class RigidBodies(Protocol):
    """
    Knows the masses of the bodies that contact and gravity move.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> sorted(s.system.rigid_bodies(s.p)), s.system.gravity(s.p)
    (['body', 'left', 'right'], array([ 0.  ,  0.  , -9.81]))

    """

    def rigid_bodies(self, p: Array) -> Mapping[str, RigidBody]:
        """Return mass, centre and inertia by the names of the outputs of ``pose``."""

    def gravity(self, p: Array) -> Array:
        """Return gravity in W, shape (3,) [m/s^2]."""

    @property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WCh``, 4x4: the frame in which the wrench is expressed, at its point."""


class GivenFormulas(Protocol):
    """
    Has user formulas in its equations, such as of a force or a motion.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('point_mass_wind')
    >>> s.system.given_formulas
    ('1.2*sin(t)-0.4*vx', '-0.4*vy', '0.05*sin(2*t)', '0.05*cos(2*t)', '-0.2')

    """

    @property
    def given_formulas(self) -> tuple[str, ...]:
        """The formulas, in SI units; empty if there are none."""

    @property
    def applied_wrench(self) -> ca.Function | None:
        """
        ``(x, u, t, p) -> [tau, f]`` of the given forces, expressed like the contact wrench.

        None if the formulas give a motion of a body instead, which ``pose`` does not contain.
        """


class Conservation(Protocol):
    """
    Has invariants that hold under conditions; those of other systems always hold.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> s.system.conserved(s.p, s.x0)
    ['energy']

    """

    def conserved(self, p: Array, x: Array) -> Collection[str]:
        """Return the names of the invariants that hold from a state without control."""


class PlanSeeds(Protocol):
    """
    Has its own initial guesses for plans, in addition to standing still.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spinning_plate')
    >>> s.system.plan_seeds
    'rolling_planner.seeds.contact_seeds:SEEDS'

    """

    @property
    def plan_seeds(self) -> str:
        """``module:name`` of a :class:`rolling_planner.seeds.guess.Seeds`, imported when used."""


class DrivenContacts(Protocol):
    """
    Has bodies with prescribed motion that move others by contacts.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('ball_between_plates')
    >>> rows, speeds, driven = s.system.driven_contacts
    >>> driven
    ['v_lower', 'w_lower', 'v_upper', 'w_upper']

    """

    @property
    def driven_contacts(self) -> tuple[ca.Function, Sequence[str], Sequence[str]] | None:
        """
        Jacobian of the velocities at closed contacts, and the entries of its columns.

        A function ``(x, p) -> (rows, speeds)``, the names of all speeds, and the names of the
        prescribed ones, which come last. None if no motion is prescribed.
        """


class SmoothMode(Protocol):
    """
    Has a mode for plans and controllers that is not its first one.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('ball_balancer')
    >>> list(s.system.smooth_mode.guards)
    ['normal_force', 'edge', 'stop']

    """

    @property
    def smooth_mode(self) -> Mode:
        """Rolling, differentiable everywhere."""


def default_weights(system: RollingSystem) -> RegulatorWeights:
    """
    Return the default weights of a regulator from a system, or from its scales.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_dynamics.contract import default_weights
    >>> default_weights(load_scenario('two_wheeler').system).control
    array([2.5, 2.5])

    """
    own = offers(system, DefaultWeights)
    if own is not None:
        return own.default_weights
    return RegulatorWeights.from_scales(system.tangent, system.control)


def smooth_mode(system: RollingSystem) -> Mode:
    """Return the mode for plans and controllers of a system: its smooth mode, or the first."""
    own = offers(system, SmoothMode)
    return next(iter(system.modes.values())) if own is None else own.smooth_mode


def envelope(system: RollingSystem) -> Mapping[str, ca.Function]:
    """
    Return the envelope of a system; empty if it does not offer one.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_dynamics.contract import envelope
    >>> sorted(envelope(load_scenario('pendulum_torque').system))
    ['friction', 'normal_force']

    """
    own = offers(system, Envelope)
    return {} if own is None else own.envelope

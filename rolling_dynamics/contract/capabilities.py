"""Capabilities that a rolling system may offer, and the one way to ask for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol, TYPE_CHECKING, TypeVar

import casadi as ca
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import (
    Layout,
    Mode,
    MotionState,
    RegulatorWeights,
    RigidBody,
    RollingSystem,
)

if TYPE_CHECKING:
    from rolling_dynamics.simulation.trajectory import Follower

Capability = TypeVar('Capability')


def offers(system: object, capability: type[Capability]) -> Capability | None:
    """
    Return the system as one that has a capability, None where it does not offer it.

    Nothing is evaluated: a property that is costly, or refuses in the representation of the
    system, is touched by who uses it.

    Parameters
    ----------
    system
        Any rolling system.
    capability
        A protocol of this module, or one of your own.

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
    # a view of another system may hand its attributes on
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
        [m] and what begins with ``keep_out``; of a machine with several contacts each with the
        contact behind it.
        """


class StateBounds(Protocol):
    """
    Has states that may not pass certain values.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('ball_balancer')
    >>> sorted(s.system.state_bounds(s.p))
    ['ball_x', 'ball_y', 'servo_rate_x', 'servo_rate_y']

    """

    def state_bounds(self, p: Array) -> Mapping[str, tuple[float, float]]:
        """Return least and greatest value by scalar name, in the units of the layout."""


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
    Has contacts that leave some motions free and some forces open.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('ball_between_plates')
    >>> print(s.system.contact_report(s.p, s.x0)[0])
    contacts beside the joints: 2 rows of rank 2; of 3 speeds 1 are free

    """

    def contact_report(self, p: ArrayLike, x: ArrayLike) -> Sequence[str]:
        """Return in sentences which motions and forces contacts leave open at a state."""


class Projection(Protocol):
    """
    Has constraints that rounding leaves, beside the norms of quaternions.

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
        Return the state with its mode; bodies that meet there at a speed have met afterwards.

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
    Knows what a plan should end with where its goal says nothing.

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
    Has a view of its state in which a cost may weigh, the paper's for instance.

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
        """Layout of the view s, and ``(x, p) -> s``; ParameterError where there is none."""


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
        matrix in column-major order); ``v_WO`` the velocity of the centre over the world [m/s] and
        ``w_WO`` the angular velocity [rad/s], each with the frame in which it is expressed, W, H
        or O; ``v_HO_H`` the velocity of the centre as seen from the hand.
        """


class FollowedQuantities(Protocol):
    """
    Has quantities that output times alone do not say, such as angles over whole turns.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spinning_plate')
    >>> follower = s.system.follower(s.p)

    """

    def follower(self, p: Array) -> Follower:
        """Return what follows them along the steps of a simulation with parameters p."""


class Separation(Protocol):
    """
    Has two bodies that can part.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spinning_plate')
    >>> s.system.separation(s.p, s.x0, 0 * s.x0[:6], 0 * s.x0[:6])['gap'] > 0
    False

    """

    def separation(self, p: Array, x: Array, u: Array, u_rate: Array) -> Mapping[str, float]:
        """
        Return how the bodies part when the contact force has vanished.

        Parameters
        ----------
        p, x, u
            Parameters, state and control at the end of contact.
        u_rate
            Rate of the control there [its unit/s]; the hand goes on with it.

        Returns
        -------
        Mapping
            ``acceleration_excess`` [m/s^2] and ``gap`` [m] a moment later.

        """


class ChartCoordinates(Protocol):
    """
    Has entries of the state that stand on charts of surfaces.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spinning_plate')
    >>> s.system.on_first_chart, sorted(s.system.chart_periods)
    (True, ['contact_h'])

    """

    @property
    def chart_periods(self) -> Mapping[str, Array]:
        """Periods of the numbers of each entry, in their units; 0 where it has none."""

    @property
    def on_first_chart(self) -> bool:
        """True if the contact is on the hand's first chart, which results and plans use."""

    def check_charts(self, x: ArrayLike) -> None:
        """Raise SurfaceError where a chart that the state stands on is singular."""

    def in_lengths(
        self,
        p: Array,
        x: Array,
        x_goal: Array,
        misses: Mapping[str, Array],
        whole: Collection[str],
    ) -> dict[str, Array]:
        """
        Return what misses a goal as lengths [m] and rotations [rad] instead of chart steps.

        Parameters
        ----------
        p, x, x_goal
            Parameters, state, and the state at the goal.
        misses
            Difference from the goal by entry.
        whole
            Entries all of whose numbers belong to the goal.

        """


class Rechart(NamedTuple):
    """
    A system on other charts, the same state on them, and what was changed.

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
        """Return whether there is more than one chart of this name's surface."""

    def rechart(self, name: str, p: ArrayLike, x: ArrayLike, worth: float = ...) -> Rechart | None:
        """Return the state on a chart so many times better, None where there is none."""

    def off_pole(self, p: ArrayLike, x: ArrayLike) -> Rechart | None:
        """Return the state on another chart where its own is degenerate, None elsewhere."""

    def from_charts_of(self, source: RollingSystem, p: ArrayLike, x: ArrayLike) -> Array:
        """Return a state of a system on other charts on those here; nan where they degenerate."""


class ChangesCharts(Protocol):
    """
    Goes over to other charts of its surfaces where its own degenerate.

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
    Knows what a regulator should weigh; other systems are weighed by their layouts' scales.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('point_mass_ball')
    >>> sorted(s.system.default_weights.tracking)
    ['d_WB', 'p', 'theta', 'theta_rate', 'w_WB_B']

    """

    @property
    def default_weights(self) -> RegulatorWeights:
        """Weights of a regulator where a user gives none."""


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
        """Return mass, centre and inertia by the names that the outputs of ``pose`` have."""

    def gravity(self, p: Array) -> Array:
        """Return gravity in W, shape (3,) [m/s^2]."""

    @property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WCh``, 4x4: the frame in which the wrench is expressed, at its point."""


class GivenFormulas(Protocol):
    """
    Takes formulas of its user into the equations, such as of a force or of a motion.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('point_mass_wind')
    >>> s.system.given_formulas
    ('1.2*sin(t)-0.4*vx', '-0.4*vy', '0.05*sin(2*t)', '0.05*cos(2*t)', '-0.2')

    """

    @property
    def given_formulas(self) -> tuple[str, ...]:
        """The formulas, whose numbers are in SI units; empty where there is none."""

    @property
    def applied_wrench(self) -> ca.Function | None:
        """
        ``(x, u, t, p) -> [tau, f]`` of forces that they give, expressed as the contact's.

        None where they move a body, which ``pose`` does not say.
        """


class Conservation(Protocol):
    """
    Has invariants that hold under conditions; in other systems they always hold.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> s.system.conserved(s.p, s.x0)
    ['energy']

    """

    def conserved(self, p: Array, x: Array) -> Collection[str]:
        """Return the names of the invariants that motion from a state without control keeps."""


class PlanSeeds(Protocol):
    """
    Has first guesses of plans of its own, beside standing still.

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
    Has bodies whose motion is prescribed, and that move others by contacts.

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
        Derivatives of the velocities at closed contacts, and the entries by which they are.

        A function ``(x, p) -> (rows, speeds)``, the names of all speeds, and of those that are
        prescribed, which come last; None where nothing is.
        """


class SmoothMode(Protocol):
    """
    Has a mode for plans and laws that is not its first one.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('ball_balancer')
    >>> list(s.system.smooth_mode.guards)
    ['normal_force', 'edge', 'stop']

    """

    @property
    def smooth_mode(self) -> Mode:
        """Rolling, with derivatives everywhere."""


def default_weights(system: RollingSystem) -> RegulatorWeights:
    """
    Return the weights of a regulator that a system offers, else by its scales.

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
    """Return the mode in which plans and laws of a system are made: a smooth one, or the first."""
    own = offers(system, SmoothMode)
    return next(iter(system.modes.values())) if own is None else own.smooth_mode


def envelope(system: RollingSystem) -> Mapping[str, ca.Function]:
    """
    Return the envelope that a system offers, empty where it offers none.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_dynamics.contract import envelope
    >>> sorted(envelope(load_scenario('pendulum_torque').system))
    ['friction', 'normal_force']

    """
    own = offers(system, Envelope)
    return {} if own is None else own.envelope

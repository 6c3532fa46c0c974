"""An object on a hand, emulated: observations of both bodies, their contact and its force."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contract.instruments import PlantDrive, Sensor
from rolling_dynamics.contract.rolling_system import Symbols
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.from_contact_system import (
    hybrid_of,
    planar_hybrid_of,
    Plant,
    plant_state,
)
from rolling_dynamics.restriction import Restriction
from rolling_dynamics.rotations import homogeneous, matrix_quaternion, product
from rolling_dynamics.simulation.emulation import EmulatedMachine, Emulation, SEPARATED, STOPPED

if TYPE_CHECKING:
    from rolling_dynamics.scenario_model import Model


class Observation(NamedTuple):
    """
    Observation of an object on a hand at one instant.

    Attributes
    ----------
    hand
        Pose and twist q (w, x, y, z), p [m] in the world, w [rad/s], v [m/s] in the body, shape
        (13,).
    object_
        Pose and twist of the object, at its centre of mass, shape (13,), SI units.
    X_WCh
        Pose of the contact frame of the hand, position in [m], shape (4, 4).
    wrench
        Torque [N m] and force [N] on the object in the hand's contact frame, shape (6,).
    gap
        Distance between the bodies [m].
    margins
        Margins of the contact by name: positive inside the envelope.

    """

    hand: Array
    object_: Array
    X_WCh: Array
    wrench: Array
    gap: float
    margins: dict[str, float]


class EmulatedObject(EmulatedMachine[Observation]):
    """
    An object on a hand that rolls, or also slides, flies and lands.

    Controls are the accelerations alpha_WH_H [rad/s^2] and a_WH_H [m/s^2] of the hand. After a
    reset, an object that may leave the hand is clamped until :meth:`release`, so that every run
    starts from the same state, however late the first command arrives.
    """

    def __init__(
        self,
        model: ContactSystem,
        params: ArrayLike,
        start: ArrayLike,
        *,
        hybrid: tuple[Plant, Array] | None = None,
        sensors: Sequence[Sensor] = (),
        drive: PlantDrive | None = None,
        brake_time: float = 0.1,
        limits: ArrayLike | None = None,
        seed: int | Sequence[int] = 0,
    ) -> None:
        """
        Put the object at its start.

        Parameters
        ----------
        model, params, start
            Object and hand that roll, with parameters and state at the start.
        hybrid
            The system through all modes and its parameters, see :func:`hybrid_of`; None for
            rolling alone.
        sensors, drive
            Its sensors, and the drive of the hand, if it does not follow accelerations directly.
        brake_time
            Time constant with which an uncommanded hand comes to rest [s].
        limits
            Maximum magnitude of each of the six accelerations; None for no limit.
        seed
            Random seed of the sensors, or one for each.

        """
        system, p = hybrid or (model, np.asarray(params, dtype=float))
        self._model, self._nominal, self._brake_time = model, p, brake_time
        self._columns = [model.control.names.index(name) for name in system.control.names]
        free = len(self._columns) == len(model.control.names)  # not held in a plane
        self._limits = np.full(6, np.inf) if limits is None else np.asarray(limits, dtype=float)
        shift, turn = np.zeros((model.tangent.size, 2)), np.zeros((model.tangent.size, 3))
        shift[model.tangent.slice('contact_h')] = np.diag([1, free])
        turn[model.tangent.slice('d_HO')] = np.diag([free, 1, free])
        emulation = Emulation(
            system, p, sensors, drive=drive, limits=self._limits[self._columns], seed=seed
        )
        super().__init__(emulation, model, start, shift, turn)
        # differences of parameters from the model's, from the next reset on
        self.factors: dict[str, float] = {}
        self._margins: tuple[str, ...] = ('normal_force',)
        self._hybrid = None if hybrid is None else hybrid[0]
        if self._hybrid is not None:
            self._hybrid.get_ready()  # a plant in real time must not stall when it lands
            self._views = hybrid_views(self._hybrid)
        else:
            self._views, self._margins = rolling_view(model), tuple(model.mode.guards)
        self.reset()

    def _restart(self, x: Array) -> None:
        machine, p = self.emulation, self._nominal.copy()
        for name, factor in self.factors.items():
            if name in machine.system.parameters:  # else it is zero
                p[machine.system.parameters.slice(name)] *= factor
        if self._hybrid is not None:
            x = plant_state(self._hybrid, p, self._model, x)
        machine.restart(x, np.zeros(len(self._columns)), p)
        machine.held = self._hybrid is not None

    def release(self) -> None:
        """Release the object."""
        self.emulation.held = False

    def _frees(self, u: Array) -> bool:  # noqa: ARG002
        """Return False: the object has its own release."""
        return False

    def step(self, u: ArrayLike | None, dt: float) -> None:
        """Advance under six accelerations of the hand; see :meth:`EmulatedMachine.step`."""
        if u is None:
            super().step(None, dt)
            return
        u = np.asarray(u, dtype=float)
        if u.shape != (6,):
            raise ParameterError(f'a control takes 6 finite numbers, got {u.tolist()}')
        super().step(u[self._columns], dt)

    def brake(self) -> Array | None:
        """Return the accelerations [rad/s^2, m/s^2] that bring the hand to rest, shape (6,)."""
        if self.emulation.drive is not None:
            return None
        u = -self._observed.hand[7:13] / self._brake_time
        return np.clip(u, -self._limits, self._limits)

    def push(self, velocity: ArrayLike) -> None:
        """
        Strike an object that rolls through its centre of mass.

        Parameters
        ----------
        velocity
            Impulse over the mass of the object, in the world, shape (3,) [m/s]: the velocity that
            it would give the object if that were free.

        """
        machine, state = self.emulation, self.emulation.state
        if state.ended is not None:
            return
        pushed = state.p.copy()
        pushed[self._model.parameters.slice('gravity_W')] += np.asarray(velocity, dtype=float)
        rate, given = self._model.mode.dynamics, (state.x, machine.u, state.t)
        # forces enter the rates linearly: a unit force for 1 s has the effect of its impulse
        machine.put(state.x + np.array(rate(*given, pushed) - rate(*given, state.p)).ravel())
        self._observed = self._look(0.0)

    @property
    def contact_mode(self) -> str:
        """Published mode; after rolling ends, ``slipping`` or ``separated``."""
        machine = self.emulation
        if self._hybrid is not None:
            return machine.state.published_mode
        mode = super().contact_mode
        return SEPARATED if mode == STOPPED else mode

    def _look(self, dt: float) -> Observation:  # noqa: ARG002
        machine, state = self.emulation, self.emulation.state
        numbers = self._views[state.mode](state.x, machine.u, state.t, state.p)
        X_WCh = numbers[26:42].reshape(4, 4).T
        gap, *margins = numbers[48:].tolist()
        named = dict(zip(self._margins, margins, strict=True))
        return Observation(numbers[:13], numbers[13:26], X_WCh, numbers[42:48], gap, named)


def rolling_view(system: ContactSystem) -> dict[str, FastFunction]:
    """Return ``(x, u, t, p) -> values`` of an :class:`Observation` of rolling, by its mode."""
    x, u, t, p = Symbols.of(system.state, system.control, system.parameters)
    values, mode = system.state.split(x), system.mode
    _, X_WO, X_WCh = system.pose(x, p)
    w_WO_O, v_WO_O = system.object_twist(x, p)
    if mode.wrench is None:
        raise ParameterError(f'{system.name} gives no wrench of the contact')
    out = ca.vertcat(
        values['q_WH'] / ca.norm_2(values['q_WH']),
        *(values[name] for name in ('p_WH', 'w_WH_H', 'v_WH_H')),
        *(matrix_quaternion(X_WO[:3, :3]), X_WO[:3, 3], w_WO_O, v_WO_O),
        *(ca.vec(X_WCh), mode.wrench(x, u, t, p), 0),
        *(guard(x, u, t, p) for guard in mode.guards.values()),
    )
    (function,) = compiled(ca.Function('observation', [x, u, t, p], [ca.densify(out)]))
    return {next(iter(system.modes)): FastFunction(function)}


def hybrid_views(system: Plant) -> dict[str, FastFunction]:
    """Return ``(x, u, t, p) -> values`` of an :class:`Observation` in each mode."""
    whole = system.whole if isinstance(system, Restriction) else system
    s, at = whole.symbols, whole.at
    x, links = s.values, whole.machine.links
    R_WH, body = links['hand'].R_WB, links['object']
    both = ca.vertcat(
        *(x[name] for name in ('q_WH', 'p_WH', 'w_WH_H', 'v_WH_H')),
        *(product(x['q_WH'], x['q_HO']), body.p_WB, body.w, body.v),
        ca.vec(homogeneous(R_WH @ at.frame, x['p_WH'] + R_WH @ at.p_HC)),
    )
    wrenches = {name: whole.wrench_in(name) for name in whole.modes}
    functions = [
        ca.Function(
            f'plant_view_{name}',
            [*s],
            [ca.densify(ca.vertcat(both, wrench, whole.gaps, wrench[5]))],
        )
        for name, wrench in wrenches.items()
    ]
    if isinstance(system, Restriction):
        functions = [system.of(function) for function in functions]
    pairs = zip(wrenches, compiled(*functions), strict=True)
    return {name: FastFunction(function) for name, function in pairs}


def held_object(model: Model, value: Callable[[str], Any]) -> EmulatedObject:
    """
    Return the object of a scenario, which may leave the hand, held at its start.

    Parameters
    ----------
    model
        Model of the scenario.
    value
        Returns a parameter of the simulator by name: ``planar``, ``slip_share``,
        ``rolling_resistance`` and ``brake_time``.

    """
    bodies = planar_hybrid_of if value('planar') else hybrid_of
    return EmulatedObject(
        model.system,
        model.params,
        model.start,
        hybrid=bodies(
            model.system,
            model.params,
            slip_share=value('slip_share'),
            resistance=value('rolling_resistance'),
        ),
        brake_time=value('brake_time'),
        limits=model.control_limits,
    )

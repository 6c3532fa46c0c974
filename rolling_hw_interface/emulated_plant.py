"""
The arm with its motors and an object on its plate, in lockstep.

The object rolls, slides, flies and lands as the hybrid plant says; its contact force acts on the
arm one step later. The arm is heavy beside the object, so that this delay is not felt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact import HybridContactSystem, HybridPlant
from rolling_dynamics.rotations import product, rotation_matrix
from rolling_hw_interface.arm import planar_wrench, PlanarArm
from rolling_hw_interface.emulated_motors import EmulatedMotors
from rolling_hw_interface.motor_model import MotorModel


@dataclass(frozen=True, slots=True)
class PlantView:
    """
    What is true of the plant at one instant.

    Attributes
    ----------
    hand, object_
        q (w, x, y, z), p [m] in the world, w [rad/s], v [m/s] in the body; shape (13,) each.
    p_WC, force_W, torque_W
        Contact point [m], and force [N] and torque [N m] on the object there, in the world.
    gap
        Distance between object and plate [m].
    mode
        ``rolling``, ``slipping`` or ``separated``.

    """

    hand: NDArray[np.float64]
    object_: NDArray[np.float64]
    p_WC: NDArray[np.float64]
    force_W: NDArray[np.float64]
    torque_W: NDArray[np.float64]
    gap: float
    mode: str


def planar_plant(
    model: ContactSystem, params: ArrayLike, *, slip_share: float = 0.8, resistance: float = 0.0
) -> tuple[HybridContactSystem, NDArray[np.float64]]:
    """
    Return the planar hybrid plant of the bodies of a contact system.

    Parameters
    ----------
    model, params
        Object on a plate, and its parameters.
    slip_share
        Kinetic over static friction.
    resistance
        Rolling resistance [m s/rad].

    Raises
    ------
    ParameterError
        The hand is no plane.

    """
    if model.hand_surface.name != 'plane':
        raise ParameterError(
            f'the emulated arm carries a plane, the scenario has a {model.hand_surface.name}'
        )
    if not 0.0 <= slip_share <= 1.0:
        raise ParameterError(f'slip_share must lie between 0 and 1, got {slip_share!r}')
    d = model.parameters.unpack(np.asarray(params, dtype=float))
    xx, yy, zz, xy, xz, yz = d['inertia']
    system = HybridContactSystem(model.object_surface, planar=True)
    return system, system.pack_parameters(
        mass=float(d['mass'][0]),
        inertia=[[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]],
        gravity_W=d['gravity_W'],
        mu=float(d['mu'][0]),
        mu_kinetic=slip_share * float(d['mu'][0]),
        rolling_resistance=resistance,
        edges=d['hand_edges'],
    )


def placed(
    plant: HybridContactSystem,
    params: NDArray[np.float64],
    model: ContactSystem,
    x: NDArray[np.float64],
) -> NDArray[np.float64]:
    """
    Return the state of the planar plant, rolling, at a state of the contact system.

    Parameters
    ----------
    plant, params
        The plant and its parameters.
    model, x
        Contact system and its state; what leads out of the plane is left out.

    """
    d = model.state.unpack(x)
    turns = {n: 2.0 * np.arctan2(d[n][2], d[n][0]) for n in ('q_WH', 'q_HO')}
    y = plant.state.pack(
        beta_WH=turns['q_WH'],
        p_WH=d['p_WH'][[0, 2]],
        beta_HO=turns['q_HO'],
        p_HO_H=np.zeros(2),
        w_WH_H=d['w_WH_H'][1],
        v_WH_H=d['v_WH_H'][[0, 2]],
        w_HO_H=d['w_HO_H'][1],
        v_HO_H=np.zeros(2),
    )
    at = np.array(plant.touch(y, params)[2]).ravel()  # the lowest point is moved to the contact
    y[plant.state.slice('p_HO_H').start] += d['contact_h'][0] - at[0]
    return np.array(plant.projections['rolling'](y, params)).ravel()


class EmulatedPlant:
    """
    Arm, motors and object. Not for use from two threads at once.

    Attributes
    ----------
    motors
        The arm and its motors; commands go there.
    time
        Since the last reset [s].
    ended
        Name of the event that ended the motion of the object, or the empty string.
    held
        Whether the object is held on the plate, so that it only moves with it.
    events
        Names of what happened to the contact in the last step.

    """

    def __init__(
        self,
        model: ContactSystem,
        params: ArrayLike,
        start: ArrayLike,
        arm: PlanarArm,
        motors: MotorModel,
        *,
        slip_share: float = 0.8,
        resistance: float = 0.0,
        seed: int = 0,
    ) -> None:
        """
        Put everything at its start.

        Parameters
        ----------
        model, params
            Object and plate, and their parameters; gravity is that of the plane of the arm.
        start
            State of the contact system at the start, in the plane x-z.
        arm, motors
            The arm and its motors.
        slip_share, resistance
            See :func:`planar_plant`.
        seed
            Of what is random in the motors.

        Raises
        ------
        ParameterError
            The arm does not reach the start, or the bodies do not fit.

        """
        self._model = model
        system, p = planar_plant(model, params, slip_share=slip_share, resistance=resistance)
        self._system, self._params, self._start = system, p, np.array(start, dtype=float)
        self._views = _views(system)
        self._joints = self._joints_of(arm, self._start)
        self.motors = EmulatedMotors(arm, motors, self._joints, seed=seed)
        self._plant = HybridPlant(system, p, self._placed(self._start))
        self._u = np.zeros(3)
        self.time, self.ended, self.held = 0.0, '', False
        self.events: tuple[str, ...] = ()
        self._seen = self._look()

    def _joints_of(self, arm: PlanarArm, x: NDArray[np.float64]) -> NDArray[np.float64]:
        d = self._model.state.unpack(x)
        pitch = 2.0 * float(np.arctan2(d['q_WH'][2], d['q_WH'][0]))
        return arm.joints_at(d['p_WH'][0], d['p_WH'][2], pitch)

    def reset(self, *, shift: float = 0.0, turn: float = 0.0) -> None:
        """
        Go back to the start, at rest.

        Parameters
        ----------
        shift, turn
            Of the contact point along the plate [m] and of the object about y [rad].

        """
        x = self._start.copy()
        x[self._model.state.slice('contact_h').start] += shift
        where = self._model.state.slice('q_HO')
        angle = 2.0 * float(np.arctan2(x[where][2], x[where][0])) + turn
        x[where] = (np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0)
        self.motors.reset(self._joints)
        self._plant.reset(self._placed(x))
        self._u, self.time, self.ended, self.events = np.zeros(3), 0.0, '', ()
        self._seen = self._look()

    def _placed(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return placed(self._system, self._params, self._model, x)

    def step(self, dt: float) -> PlantView:
        """
        Advance by dt [s]; the motors do what they were commanded.

        Returns
        -------
        PlantView
            What is true afterwards.

        """
        motors, seen = self.motors, self._seen
        x, z, pitch = _planar_hand(seen.hand)
        force = planar_wrench((x, z, pitch), seen.p_WC, -seen.force_W, -seen.torque_W)
        q, qd = motors.q, motors.qd
        qdd = motors.step(force, self.time, dt)
        self._u = motors.arm.hand_acceleration(q, qd, qdd)[[1, 3, 5]]
        self.time += dt
        self.events = ()
        if not self.ended:
            state = self._plant.state if self.held else self._plant.step(self._u, dt)
            self.ended, self.events = state.stopped, tuple(e.name for e in state.events)
            self._plant.state = replace(state, x=self._with_hand(state.x))
        self._seen = self._look()
        return self._seen

    def _with_hand(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the state with the hand where the arm has it."""
        layout = self._system.state
        hand = self.motors.arm.hand_state(self.motors.q, self.motors.qd)
        out = x.copy()
        before = float(x[layout.slice('beta_WH')][0])
        turned = _planar_hand(hand)[2] - before
        out[layout.slice('beta_WH')] = before + (turned + np.pi) % (2 * np.pi) - np.pi
        out[layout.slice('p_WH')] = hand[[4, 6]]
        out[layout.slice('w_WH_H')] = hand[8]
        out[layout.slice('v_WH_H')] = hand[[10, 12]]
        return out

    def view(self) -> PlantView:
        """Return what is true now."""
        return self._seen

    def _look(self) -> PlantView:
        state = self._plant.state
        out = self._views[state.mode](state.x, self._u, self._params)
        hand = self.motors.arm.hand_state(self.motors.q, self.motors.qd)
        on = not self.ended
        return PlantView(
            hand, out[:13], out[13:16], on * out[16:19], on * out[19:22], float(out[22]),
            state.published_mode,
        )  # fmt: skip


def _planar_hand(hand: NDArray[np.float64]) -> tuple[float, float, float]:
    return float(hand[4]), float(hand[6]), 2.0 * float(np.arctan2(hand[2], hand[0]))


def _views(system: HybridContactSystem) -> dict[str, FastFunction]:
    """
    Return ``(x, u, p) -> q_WO (4), p, w, v, p_WC, force, torque (3 each), gap`` of each mode.

    The twist of the object is in its own frame, everything else in the world.
    """
    e, s = system.expressions, system.scene
    b = s.body
    R_WH = rotation_matrix(b.q_WH)
    v_H = b.v_WH_H + ca.cross(b.w_WH_H, b.p_HO_H) + b.v_HO_H
    functions = []
    for name, mode in system.equations.items():
        out = ca.vertcat(
            product(b.q_WH, b.q_HO),
            b.p_WH + R_WH @ b.p_HO_H,
            s.contact.R_HO.T @ (b.w_WH_H + b.w_HO_H),
            s.contact.R_HO.T @ v_H,
            b.p_WH + R_WH @ s.contact.p_HC,
            R_WH @ mode.wrench[3:6],
            R_WH @ mode.wrench[0:3],
            s.gap,
        )
        out = ca.densify(out)
        functions.append(ca.Function(f'plant_view_{name}', [e.x, e.u, e.p], [out]))
    pairs = zip(system.equations, compiled(*functions), strict=True)
    return {name: FastFunction(function) for name, function in pairs}

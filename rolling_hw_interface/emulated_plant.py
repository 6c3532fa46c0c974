"""
The arm with its motors and an object on its plate, in lockstep.

The object rolls, slides, flies and lands as the hybrid plant says; its contact force acts on the
arm one step later. The arm is heavy beside the object, so that this delay is not felt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.hybrid_contact import HybridPlant
from rolling_dynamics.hybrid_contact.of_contact_system import hybrid_of, placed_state
from rolling_dynamics.hybrid_contact.plant_view import plant_views, VIEW
from rolling_hw_interface.arm import planar_wrench, PlanarArm
from rolling_hw_interface.emulated_motors import EmulatedMotors
from rolling_hw_interface.motor_model import MotorModel

OBJECT = slice(VIEW.slice('q_WO').start, VIEW.slice('v_WO_O').stop)
POINT, TORQUE, FORCE = (VIEW.slice(name) for name in ('p_HC_H', 'torque_H', 'force_H'))
GAP = VIEW.slice('gap').start


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
            Kinetic over static friction, and rolling resistance [m s/rad].
        seed
            Of what is random in the motors.

        Raises
        ------
        ParameterError
            The arm does not reach the start, or the bodies do not fit.

        """
        self._model = model
        system, p = hybrid_of(
            model, params, planar=True, slip_share=slip_share, resistance=resistance
        )
        self._system, self._params, self._start = system, p, np.array(start, dtype=float)
        self._views = plant_views(system)
        self._joints = self._joints_of(arm, self._start)
        self.motors = EmulatedMotors(arm, motors, self._joints, seed=seed)
        self._plant = HybridPlant(system, p, self._placed(self._start))
        self._u = np.zeros(3)
        layout = system.state
        self._beta = layout.slice('beta_WH').start
        self._hand_parts = np.r_[
            layout.slice('p_WH'), layout.slice('w_WH_H'), layout.slice('v_WH_H')
        ]
        self.time, self.ended, self.held = 0.0, '', False
        self.events: tuple[str, ...] = ()
        self._seen = self._look()

    def _joints_of(self, arm: PlanarArm, x: NDArray[np.float64]) -> NDArray[np.float64]:
        d = self._model.state.unpack(x)
        pitch = 2.0 * float(np.arctan2(d['q_WH'][2], d['q_WH'][0]))
        return arm.joints_at(d['p_WH'][0], d['p_WH'][2], pitch)

    def get_ready(self) -> None:
        """Do what takes a second at the first change of mode before there is one."""
        self._system.get_ready()

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
        return placed_state(self._system, self._params, self._model, x)

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
        hand = self.motors.arm.hand_state(self.motors.q, self.motors.qd)
        out, before = x.copy(), float(x[self._beta])
        turned = _planar_hand(hand)[2] - before
        out[self._beta] = before + (turned + math.pi) % (2 * math.pi) - math.pi
        out[self._hand_parts] = hand[[4, 6, 8, 10, 12]]
        return out

    def view(self) -> PlantView:
        """Return what is true now."""
        return self._seen

    def _look(self) -> PlantView:
        state = self._plant.state
        seen = self._views[state.mode](state.x, self._u, state.p)
        hand = self.motors.arm.hand_state(self.motors.q, self.motors.qd)
        p_WH, on = hand[4:7], not self.ended
        (c, s), R_WH = hand[[0, 2]].tolist(), np.eye(3)
        R_WH[0, 0] = R_WH[2, 2] = c * c - s * s
        R_WH[0, 2], R_WH[2, 0] = 2 * c * s, -2 * c * s
        return PlantView(
            hand=hand,
            object_=seen[OBJECT],
            p_WC=p_WH + R_WH @ seen[POINT],
            force_W=on * R_WH @ seen[FORCE],
            torque_W=on * R_WH @ seen[TORQUE],
            gap=float(seen[GAP]),
            mode=state.published_mode,
        )


def _planar_hand(hand: NDArray[np.float64]) -> tuple[float, float, float]:
    return float(hand[4]), float(hand[6]), 2.0 * math.atan2(hand[2], hand[0])

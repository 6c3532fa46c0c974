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
from rolling_dynamics.contract.mode import MotionState
from rolling_dynamics.hybrid_contact.emulated_object import hybrid_views, Observation
from rolling_dynamics.hybrid_contact.from_contact_system import (
    hybrid_of,
    placed_state,
    planar_hybrid_of,
)
from rolling_dynamics.hybrid_contact.model_state import Plant
from rolling_dynamics.restriction import Restriction
from rolling_dynamics.simulation.emulation import Emulation
from rolling_hw_interface.arm import Arm
from rolling_hw_interface.arm_chain import ALL
from rolling_hw_interface.emulated_motors import EmulatedMotors
from rolling_hw_interface.motor_model import MotorModel
from transforms3d.quaternions import qmult, quat2mat

HAND = {'q_WH': slice(0, 4), 'p_WH': slice(4, 7), 'w_WH_H': slice(7, 10), 'v_WH_H': slice(10, 13)}


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
        arm: Arm,
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
            Object and plate, and their parameters; on a planar arm gravity is that of its plane.
        start
            State of the contact system at the start, on a planar arm in the plane x-z.
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
        bodies = hybrid_of if arm.chain.moves == ALL else planar_hybrid_of
        system: Plant
        system, p = bodies(model, params, slip_share=slip_share, resistance=resistance)
        self._system, self._params, self._start = system, p, np.array(start, dtype=float)
        self._views = hybrid_views(system)
        hand = np.concatenate([self._start[model.state.slice(n)] for n in ('q_WH', 'p_WH')])
        self._joints = arm.joints_at(hand)
        self.motors = EmulatedMotors(arm, motors, self._joints, seed=seed)
        self._plant = Emulation(system, p)
        self._moves = list(arm.chain.moves)
        self._u = np.zeros(len(self._moves))
        self._plant.restart(self._placed(self._start), self._u)
        self.time, self.ended, self.held = 0.0, '', False
        self.events: tuple[str, ...] = ()
        self._seen = self._look()

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
        x[where] = qmult((math.cos(turn / 2), 0.0, math.sin(turn / 2), 0.0), x[where])
        self.motors.reset(self._joints)
        self._u, self.time, self.ended, self.events = 0.0 * self._u, 0.0, '', ()
        self._plant.restart(self._placed(x), self._u)
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
        moment = seen.torque_W + np.cross(seen.p_WC - seen.hand[4:7], seen.force_W)
        q, qd = motors.q, motors.qd
        qdd = motors.step(-np.concatenate([seen.force_W, moment]), self.time, dt)
        self._u = motors.arm.hand_acceleration(q, qd, qdd)[self._moves]
        self.time += dt
        self.events = ()
        if not self.ended:
            plant = self._plant
            plant.forget()
            if not self.held:
                plant.step(self._u, dt)
            self.ended, self.events = plant.state.stopped, tuple(e.name for e in plant.events)
            plant.state = replace(plant.state, x=self._with_hand(plant.state.x))
        self._seen = self._look()
        return self._seen

    def _with_hand(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the state with the hand where the arm has it."""
        hand = self.motors.arm.hand_state(self.motors.q, self.motors.qd)
        system = self._system
        plane = system if isinstance(system, Restriction) else None
        out = x.copy() if plane is None else plane.expand_states(x)
        at = (system if plane is None else plane.whole).state.slice
        for name, part in HAND.items():
            out[at(name)] = hand[part]
        return out if plane is None else out[plane.state_index]

    def view(self) -> PlantView:
        """Return what is true now."""
        return self._seen

    @property
    def state(self) -> MotionState:
        """State of the object on the hand, with its mode."""
        return self._plant.state

    @property
    def control(self) -> NDArray[np.float64]:
        """Accelerations that the hand had in the last step; those of its control."""
        return self._u

    def _look(self) -> PlantView:
        state = self._plant.state
        seen = Observation(self._views[state.mode](state.x, self._u, state.t, state.p), ())
        hand = self.motors.arm.hand_state(self.motors.q, self.motors.qd)
        on, R_WH = not self.ended, quat2mat(hand[:4])
        return PlantView(
            hand=hand,
            object_=seen.object_,
            p_WC=seen.X_WCh[:3, 3],
            force_W=on * R_WH @ seen.wrench[3:],
            torque_W=on * R_WH @ seen.wrench[:3],
            gap=seen.gap,
            mode=state.published_mode,
        )

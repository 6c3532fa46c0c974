"""What follows an event of a ball or a disk: the next mode of contact, and the state there."""

from __future__ import annotations

from collections.abc import Callable
import math

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.event import Event
from rolling_dynamics.errors import JammingError
from rolling_dynamics.internal_masses.impact import Body, contact_velocity, landing
from rolling_dynamics.internal_masses.system import CREEP, SLIDE_START

Array = NDArray[np.float64]
TINY = 1e-9  # of the weight: a force that has vanished
ENDS = {  # of a motion, by the beginning of the guard's name
    'stop': 'a mass has come to the stop of its rail',
    'masses_meet': 'two masses meet',
    'obstacle': 'the shell touches an obstacle',
}


class Transitions:
    """
    Carries a state from mode to mode.

    Attributes
    ----------
    events
        What has happened, in order of time.

    """

    def __init__(
        self, system: Body, p: Array, control: Callable[[float, Array], Array], *, sliding: bool
    ) -> None:
        """
        Begin without events.

        Parameters
        ----------
        system, p
            A unilateral ball or disk, and its parameters.
        control
            ``(t, x) -> u``.
        sliding
            Whether the motion goes on after slip begins.

        """
        self.system, self.p, self.control, self.sliding = system, p, control, sliding
        self.events: list[Event] = []
        total = p[system.parameters.slice('mass')][0]
        if system.masses:
            total += p[system.parameters.slice('masses')].sum()
        self.weight = total * np.linalg.norm(p[system.parameters.slice('gravity_W')])

    def after(self, mode: str, name: str, t: float, x: Array) -> tuple[str, Array]:
        """
        Return the mode that follows, and the state in it.

        Parameters
        ----------
        mode, name
            The mode that ends and the guard of it that has fallen to zero.
        t, x
            Time [s] and state there.

        Returns
        -------
        mode
            The empty string where the motion ends.
        x
            State.

        """
        for beginning, text in ENDS.items():
            if name.startswith(beginning):
                return self._end(name, t, x, text)
        following: tuple[str, Array] = getattr(self, f'_after_{mode}')(name, t, x)
        return following

    def _note(self, name: str, t: float, x: Array, text: str, *, ends: bool = False) -> None:
        self.events.append(Event(name=name, time=t, state=x, terminal=ends, text=text))

    def _end(self, name: str, t: float, x: Array, text: str) -> tuple[str, Array]:
        self._note(name, t, x, text, ends=True)
        return '', x

    def _force(self, mode: str, t: float, x: Array) -> Array:
        wrench = self.system.modes[mode].wrench
        assert wrench is not None  # noqa: S101 (every mode of these systems has one)
        return np.array(wrench(x, self.control(t, x), t, self.p)).ravel()[3:]

    def _after_rolling(self, _name: str, t: float, x: Array) -> tuple[str, Array]:
        force = self._force('rolling', t, x)
        if force[2] <= TINY * self.weight:
            return self._lift(t, x, float(np.linalg.norm(force[:2])))
        if not self.sliding:
            return self._end('friction', t, x, 'the contact begins to slip')
        self._note('slip', t, x, 'the contact begins to slip')
        return 'sliding', self._begin_slip(t, x, force[:2])

    def _lift(self, t: float, x: Array, friction: float) -> tuple[str, Array]:
        rise = np.array(self.system.modes['flight'].dynamics(x, self.control(t, x), t, self.p))
        up = rise.ravel()[self.system.state.slice('v_WB_W')][-1]
        g = np.linalg.norm(self.p[self.system.parameters.slice('gravity_W')])
        if up < -1e-6 * g:
            return self._end(
                'detached',
                t,
                x,
                f'N vanishes while friction is {friction:.6g} N; without contact force the centre '
                f'would accelerate into the plane, {up:.6g} m/s^2: perfect friction has no '
                'continuation',
            )
        self._note('lift_off', t, x, 'the normal force vanishes and the body leaves the plane')
        return 'flight', x

    def _begin_slip(self, t: float, x: Array, friction: Array) -> Array:
        """Return the state with a first, very small slip in the direction in which it grows."""
        layout = self.system.state
        size = layout.entry('v_WB_W').size - 1
        d = -friction[:size] / np.linalg.norm(friction[:size])
        for _ in range(30):
            a = np.array(self.system.slip_onset(x, self.control(t, x), t, self.p, d)).ravel()
            if np.linalg.norm(a) < 1e-9 * self.weight:
                break
            d = a / np.linalg.norm(a)
        y = np.array(x)
        where = layout.slice('v_WB_W')
        y[where.start : where.stop - 1] += SLIDE_START * CREEP * d
        return y

    def _after_sliding(self, name: str, t: float, x: Array) -> tuple[str, Array]:
        margin = self.system.modes['sliding'].guards['painleve']
        if name == 'painleve' or float(margin(x, self.control(t, x), t, self.p)) <= 0:
            return self._end(
                'painleve',
                t,
                x,
                'the coefficient of N in the equations of sliding is not positive (Painleve): '
                'Coulomb friction does not determine what follows',
            )
        if name == 'normal_force':
            self._note('lift_off', t, x, 'the normal force vanishes in sliding')
            return 'flight', x
        return self._stick(t, x)

    def _stick(self, t: float, x: Array) -> tuple[str, Array]:
        y = self._without_slip(x)
        force = self._force('rolling', t, y)
        mu = self.p[self.system.parameters.slice('mu')][0]
        if np.linalg.norm(force[:2]) <= mu * force[2]:
            self._note('stick', t, y, 'slip has come to rest')
            return 'rolling', y
        if not self.sliding:
            return self._end('friction', t, y, 'the contact begins to slip')
        self._note('slip', t, y, 'slip turns round')
        return 'sliding', self._begin_slip(t, y, force[:2])

    def _without_slip(self, x: Array) -> Array:
        y = np.array(x)
        y[self.system.state.slice('v_WB_W')] -= contact_velocity(self.system, self.p, x)
        return y

    def _after_flight(self, _name: str, t: float, x: Array) -> tuple[str, Array]:
        try:
            result = landing(self.system, self.p, x, t)
        except JammingError as e:
            return self._end('jammed', t, x, str(e))
        y = result.state
        y[self.system.state.slice('p_WB').stop - 1] = self.p[
            self.system.parameters.slice('radius')
        ][0]
        y[self.system.state.slice('v_WB_W').stop - 1] = 0.0
        what = 'slips' if result.slips else 'sticks'
        self._note('landing', t, y, f'inelastic, the contact {what}')
        if result.slips:
            if not self.sliding:
                return self._end('friction', t, y, 'the landing slips')
            return 'sliding', y
        y = self._without_slip(y)
        force = self._force('rolling', t, y)
        if force[2] < 0 or not math.isfinite(force[2]):
            return self._lift(t, y, float(np.linalg.norm(force[:2])))
        return 'rolling', y

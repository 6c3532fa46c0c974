"""Rolling, sliding, flight and landing, one after the other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.internal_masses.hybrid_run import HybridRun, Phase
from rolling_dynamics.internal_masses.impact import Body, contact_velocity, landing
from rolling_dynamics.internal_masses.system import CREEP, SLIDE_START
from rolling_dynamics.simulation import Event, simulate
from rolling_dynamics.simulation.control import as_control, ControlLike

Array = NDArray[np.float64]
TINY = 1e-9  # of the weight: a force that has vanished
MASS_EVENT = 'a mass has come to the stop of its rail, or to another mass'
AT_ONCE = 40  # changes of mode in one instant, after which a run is given up
SAME_TIME = 1e-9  # s


def simulate_hybrid(
    system: Body,
    p: ArrayLike,
    x0: ArrayLike,
    control: ControlLike,
    duration: float,
    *,
    mode: str = 'rolling',
    sliding: bool = False,
    rtol: float = 1e-10,
    atol: float = 1e-12,
) -> HybridRun:
    """
    Return the motion of a unilateral ball or disk through contact and flight.

    Parameters
    ----------
    system, p, x0, control, duration
        As of :func:`simulate`; the system must be unilateral.
    mode
        Mode at the start.
    sliding
        Whether the motion goes on after slip begins, by Coulomb's law with mu_kinetic. Otherwise
        the event ``friction`` ends it: the papers leave open what follows. After a landing that
        slips, too.
    rtol, atol
        Tolerances.

    Raises
    ------
    ParameterError
        The system is not unilateral.
    SimulationError
        The modes change without end in one instant.

    """
    if not system.unilateral:
        raise ParameterError('a system built with unilateral=True is needed, it alone can fly')
    runner = _Runner(system, np.asarray(p, dtype=float), control, sliding, (rtol, atol))
    return runner.run(np.asarray(x0, dtype=float), duration, mode)


class _Runner:
    """Carries a state from mode to mode."""

    def __init__(
        self,
        system: Body,
        p: Array,
        control: ControlLike,
        sliding: bool,
        tolerance: tuple[float, float],
    ) -> None:
        self.system, self.p, self.sliding, self.tolerance = system, p, sliding, tolerance
        self.given = control
        self.control = as_control(control, system.control.size, system.state.size)
        self.phases: list[Phase] = []
        self.events: list[Event] = []
        total = p[system.parameters.slice('mass')][0]
        if system.masses:
            total += p[system.parameters.slice('masses')].sum()
        self.weight = total * np.linalg.norm(p[system.parameters.slice('gravity_W')])

    def run(self, x: Array, duration: float, mode: str) -> HybridRun:
        t, next_mode, busy = 0.0, mode, 0
        while next_mode and duration - t > 1e-12 * duration:
            before, mode = t, next_mode
            trajectory = simulate(
                self.system,
                self.p,
                x,
                self.given,
                duration - t,
                start=t,
                mode=mode,
                rtol=self.tolerance[0],
                atol=self.tolerance[1],
            )
            phase = Phase(mode, trajectory)
            if trajectory.segments and phase.end > phase.start:
                self.phases.append(phase)
            hit = trajectory.terminal_event
            if hit is None:
                t, x = duration, trajectory.states[-1]
                break
            t, x = hit.time, hit.state
            busy = busy + 1 if t - before < SAME_TIME else 0
            if busy > AT_ONCE:
                raise SimulationError(
                    f'at t = {t:.9g} s the modes change without end: the contact chatters'
                )
            next_mode, x = getattr(self, f'_after_{mode}')(hit.name, t, x)
        return HybridRun(tuple(self.phases), tuple(self.events), t, x)

    def _note(self, name: str, t: float, x: Array, text: str, *, ends: bool = False) -> None:
        self.events.append(Event(name=name, time=t, state=x, terminal=ends, text=text))

    def _end(self, name: str, t: float, x: Array, text: str) -> tuple[str, Array]:
        self._note(name, t, x, text, ends=True)
        return '', x

    def _force(self, mode: str, t: float, x: Array) -> Array:
        wrench = self.system.modes[mode].wrench
        assert wrench is not None  # noqa: S101 (every mode of these systems has one)
        return np.array(wrench(x, self.control(t, x), t, self.p)).ravel()[3:]

    def _after_rolling(self, name: str, t: float, x: Array) -> tuple[str, Array]:
        if name.startswith(('stop', 'masses')):
            return self._end(name, t, x, MASS_EVENT)
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
        if name.startswith(('stop', 'masses')):
            return self._end(name, t, x, MASS_EVENT)
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

    def _after_flight(self, name: str, t: float, x: Array) -> tuple[str, Array]:
        if name.startswith(('stop', 'masses')):
            return self._end(name, t, x, MASS_EVENT)
        result = landing(self.system, self.p, x, t)
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

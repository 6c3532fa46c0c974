"""What follows an event at a contact point with Coulomb friction: the next mode, and its state."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import MotionState
from rolling_dynamics.errors import JammingError, ParameterError
from rolling_dynamics.point_contact.point_contact import Onset, PointContact, slip_direction

CREEP = 1e-8  # m/s, slip speed below which a contact counts as sticking
SPIN_CREEP = 1e-7  # rad/s, the same for spin
START = 3.0  # slip and spin begin at this many times their creep
TOUCHING = 1e-6  # m, within which a state that is given stands on the other body
REST = 1e-9  # m/s, speed of the contact below which a touch is not an impact
LIFTS = -1e-5  # m/s^2, a free acceleration of the gap above this is none into the other body
PERFECT = 1e-8  # a normal force of this fraction of friction, which no friction is, has vanished
NOISE = 1e-12  # N, a force that is on the friction cone to rounding lies in it
PAINLEVE = (
    'the coefficient of the normal force in the equations of contact is not positive (Painleve): '
    'Coulomb friction does not determine what follows'
)
NO_FOOT = (
    'the closest point of the hand is not determined: another one comes as near, or its chart '
    'degenerates; choose another pole of its surface'
)
DETACHED = (
    'the normal force vanishes under friction, and without contact force the bodies would run '
    'into each other: perfect friction has no continuation'
)


class Transitions:
    """Decides the mode of a contact by what each mode would need."""

    def __init__(self, system: PointContact) -> None:
        """Keep the system."""
        self.system = system

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float = 0.0) -> MotionState:
        """
        Return a state with the mode that it is in: touching, if it is within a micrometre.

        Raises
        ------
        ParameterError
            The state is not one, or the bodies overlap.

        """
        vectors = []
        for name, given, layout in (
            ('p', p, self.system.parameters),
            ('x', x, self.system.state),
        ):
            array = np.array(given, dtype=float)
            if array.shape != (layout.size,) or not np.all(np.isfinite(array)):
                raise ParameterError(
                    f'{name} takes {layout.size} finite numbers, got shape {array.shape}'
                )
            vectors.append(array)
        p, x = vectors
        start = self._spinning(MotionState(t=t, x=x, mode='separated', p=p), 0.0)
        start = replace(start, x=self._on('separated', start))
        gap, v, _ = self._touch(start)
        if gap > TOUCHING:
            return start
        if gap < -TOUCHING:
            raise ParameterError(
                f'the object overlaps the plate by {-gap:.3g} m; place it on the plate or above'
            )
        if v[2] > REST:
            return start
        return self._land(start, np.asarray(u, dtype=float))

    def after(self, guard: str, s: MotionState, u: Array) -> MotionState:
        """Return the state after a guard of its mode has fallen at its time."""
        ends = {'painleve': PAINLEVE, 'foot': NO_FOOT}
        if guard in ends or self._undetermined(s, u):
            end = guard if guard in ends else 'painleve'
            return s.noted(end, ends[end], ends=True)
        if guard == 'edge':
            left = replace(self._spinning(s, 0.0), mode='off_hand')
            return left.noted('edge', 'the contact runs over the edge of the plate')
        if guard == 'normal_force' and s.mode.endswith('slipping'):
            return self._fly(s)
        if guard == 'gap':
            return self._touch_down(s, u)
        if guard == 'spin':
            return self._spin_event(s, u)
        return self._settle(s, u, guard)  # slip, and in rolling normal_force and friction

    # contact at rest: which mode holds it

    def _settle(self, s: MotionState, u: Array, guard: str = '') -> MotionState:
        """
        Return the mode of a contact whose point does not move over the plate.

        A guard that has fallen says what holds no longer, whatever rounding says.
        """
        rolls = s.mode.endswith('rolling')
        s = self._with_spin(replace(s, x=self._on('rolling', s)))
        if not (rolls and guard in {'friction', 'normal_force'}):
            rolled = self._rolling(s, u)
            if rolled is not None:
                slid = s.mode.endswith('slipping')
                return rolled.noted('stick', 'slip has come to rest') if slid else rolled
        lift, force = float(self.system.free_lift(s.x, u, s.t, s.p)), self._force('rolling', s, u)
        tiny = PERFECT * float(np.hypot(force[0], force[1]))
        if lift >= LIFTS and (guard == 'normal_force' or force[2] <= tiny):
            return self._fly(s)
        if abs(force[2]) <= tiny:
            return s.noted('detached', DETACHED, ends=True)
        return self._begin_slip(s, u, force, lift)

    def _rolling(self, s: MotionState, u: Array, *, spins: bool = False) -> MotionState | None:
        """
        Return rolling, with or without spin, if its force lies in the friction cone.

        Where it ``spins``, spin friction is known to hold the spin no longer.
        """
        if self._can_hold(s):
            pure = replace(self._spinning(s, 0.0), mode='pure_rolling')
            pure = replace(pure, x=self._on('pure_rolling', s))
            wrench = self._wrench('pure_rolling', pure, u)
            if not spins and abs(wrench[2]) <= self._of(s, 'mu_spin') * wrench[5]:
                return pure if self._in_cone(s, wrench[3:]) else None
            s = self._spun(s, -np.sign(wrench[2]))
        force = self._force('rolling', s, u)
        return replace(s, mode='rolling') if self._in_cone(s, force) else None

    def _in_cone(self, s: MotionState, force: Array) -> bool:
        along = float(np.hypot(force[0], force[1]))
        return bool(force[2] > 0 and along <= self._of(s, 'mu') * force[2] + NOISE)

    def _begin_slip(self, s: MotionState, u: Array, force: Array, lift: float) -> MotionState:
        """Return sliding with a first, very small slip in the direction in which it grows."""

        def onset(direction: Array) -> Onset:
            a, N, margin = self.system.slip_onset(s.x, u, s.t, s.p, direction)
            return Onset(np.array(a).ravel(), float(N), float(margin))

        d = slip_direction(onset, -force[:2], planar=self.system.planar)
        _, N, margin = onset(d)
        if not self.system.slides:
            return s.noted('friction', 'the contact begins to slip', ends=True)
        if margin <= 0:
            return s.noted('painleve', PAINLEVE, ends=True)
        if N <= 0:
            return self._fly(s) if lift >= 0 else s.noted('detached', DETACHED, ends=True)
        out = replace(s, x=self._kick_slip(s, START * CREEP * d))
        return self._slip_spin(out, u).noted('slip', 'the contact begins to slip')

    # spin

    def _can_hold(self, s: MotionState) -> bool:
        """Return whether spin friction may hold the spin: it exists, and there is no spin."""
        return self._spin_friction(s) and abs(self._touch(s)[2]) <= SPIN_CREEP * START / 2

    def _spin_friction(self, s: MotionState) -> bool:
        return self.system.spin_entry is not None and self._of(s, 'mu_spin') > 0

    def _spinning(self, s: MotionState, direction: float) -> MotionState:
        """Return the state with a direction of spin that friction opposes, 0 for none."""
        if 'spin_direction' not in self.system.parameters:
            return s
        at = self.system.parameters.slice('spin_direction').start
        if s.p[at] == direction:
            return s
        p = s.p.copy()
        p[at] = direction
        return replace(s, p=p)

    def _with_spin(self, s: MotionState) -> MotionState:
        if not self._spin_friction(s):
            return self._spinning(s, 0.0)
        spin = self._touch(s)[2]
        if abs(spin) > SPIN_CREEP * START / 2:
            return self._spinning(s, float(np.sign(spin)))
        return s

    def _spin_event(self, s: MotionState, u: Array) -> MotionState:
        """Return what follows when spin stops, or when friction no longer holds it."""
        sliding, was_held = s.mode.endswith('slipping'), s.mode.startswith('pure')
        x = self._on('pure_slipping' if sliding else 'pure_rolling', s)
        still = self._spinning(replace(s, x=x), 0.0)
        if sliding:
            out = self._slip_spin(still, u, spins=was_held)
        else:
            out = self._rolling(still, u, spins=was_held) or self._settle(still, u, 'friction')
        if out.mode.startswith('pure'):
            return out.noted('spin_stop', 'spin has come to rest')
        return out.noted('spin', 'the contact begins to spin')

    def _slip_spin(self, s: MotionState, u: Array, *, spins: bool = False) -> MotionState:
        """Return sliding with its spin held, or free against spin friction."""
        if not self._can_hold(s):
            return replace(self._with_spin(s), mode='slipping')
        held = replace(self._spinning(s, 0.0), x=self._on('pure_slipping', s))
        held = replace(held, mode='pure_slipping')
        wrench = self._wrench('pure_slipping', held, u)
        if not spins and abs(wrench[2]) <= self._of(s, 'mu_spin') * wrench[5]:
            return held
        return replace(self._spun(s, -np.sign(wrench[2])), mode='slipping')

    def _spun(self, s: MotionState, direction: float) -> MotionState:
        """Return the state with a first, very small spin."""
        assert self.system.spin_entry is not None  # noqa: S101 (there is spin friction)
        x, (_, slip, spin) = s.x.copy(), self._touch(s)
        normal = np.array(self.system.contact_axes(s.x, s.p))[:, 2]
        x[self.system.state.slice(self.system.spin_entry)] += normal * (
            direction * START * SPIN_CREEP - spin
        )
        x = self._kick_slip(replace(s, x=self._on('rolling', replace(s, x=x))), slip)
        return self._spinning(replace(s, x=x), float(direction))

    # leaving and landing

    def _fly(self, s: MotionState) -> MotionState:
        out = replace(self._spinning(s, 0.0), mode='separated')
        return out.noted('lift_off', 'the normal force vanishes and the object leaves the plate')

    def _touch_down(self, s: MotionState, u: Array) -> MotionState:
        if self.system.over_hand(s.x, s.p):
            return self._land(s, u)
        passed = replace(s, mode='off_hand')
        return passed.noted('missed', 'the object passes beside the plate')

    def _land(self, s: MotionState, u: Array) -> MotionState:
        """Return the state after an impact, or a touch without speed."""
        v = self._touch(s)[1]
        if abs(v[2]) <= REST:
            slides = float(np.hypot(v[0], v[1])) > START * CREEP
            return self._slide(s, u) if slides else self._settle(s, u)
        try:
            after = self.system.landing(s.x, s.t, s.p)
        except JammingError as e:
            return s.noted('jammed', str(e), ends=True)
        if self._touch(replace(s, x=after.state))[1][2] > REST:
            up = replace(self._spinning(s, 0.0), x=after.state, mode='separated')
            size = np.linalg.norm(after.impulse)
            return up.noted('landing', f'impact of {size:.6g} N s, the object rebounds')
        landed = replace(s, x=after.state).noted(
            'landing',
            f'inelastic impact of {np.linalg.norm(after.impulse):.6g} N s, the contact '
            f'{"sticks" if after.sticks else "slips"}',
        )
        return self._settle(landed, u) if after.sticks else self._slide(landed, u)

    def _slide(self, s: MotionState, u: Array) -> MotionState:
        """Return sliding of a contact that slips, unless it is lifted at once."""
        if not self.system.slides:
            return s.noted('friction', 'the contact slips', ends=True)
        out = self._slip_spin(replace(s, x=self._on('slipping', s)), u)
        if self._undetermined(out, u):
            return out.noted('painleve', PAINLEVE, ends=True)
        return self._fly(s) if self._force(out.mode, out, u)[2] <= 0 else out

    # evaluations

    def _undetermined(self, s: MotionState, u: Array) -> bool:
        """Return whether Coulomb friction does not determine the normal force of sliding."""
        if not s.mode.endswith('slipping'):
            return False
        margin = self.system.modes[s.mode].guards['painleve']
        return float(margin(s.x, u, s.t, s.p)) <= 0

    def _kick_slip(self, s: MotionState, slip: Array) -> Array:
        """Return a state that rolls, with a velocity of the centre that adds a slip."""
        y, start = s.x.copy(), self.system.state.slice(self.system.velocity_entry).start
        if self.system.planar:
            y[start] += slip[0]
        else:
            axes = np.array(self.system.contact_axes(s.x, s.p))
            y[start : start + 3] += axes[:, :2] @ slip[:2]
        return y

    @cached_property
    def _projections(self) -> dict[str, ca.Function]:
        return {n: m.projection for n, m in self.system.modes.items() if m.projection is not None}

    def _on(self, mode: str, s: MotionState) -> Array:
        """Return the state vector on the constraints of a mode."""
        name = mode if mode in self._projections else mode.removeprefix('pure_')
        return np.array(self._projections[name](s.x, s.p)).ravel()

    def _touch(self, s: MotionState) -> tuple[float, Array, float]:
        gap, v, _, spin = self.system.touch(s.x, s.p)
        return float(gap), np.array(v).ravel(), float(spin)

    def _of(self, s: MotionState, name: str) -> float:
        return float(s.p[self.system.parameters.slice(name).start])

    def _wrench(self, mode: str, s: MotionState, u: Array) -> Array:
        function = self.system.modes[mode].wrench
        assert function is not None  # noqa: S101 (every mode of such a system has one)
        return np.array(function(s.x, u, s.t, s.p)).ravel()

    def _force(self, mode: str, s: MotionState, u: Array) -> Array:
        return self._wrench(mode, s, u)[3:]

"""What follows an event: the next mode of a body on a plate, and its state there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.hybrid_contact.contact_status import HybridState
from rolling_dynamics.hybrid_contact.mode_equations import CREEP, SPIN_CREEP
from rolling_dynamics.hybrid_contact.slip_direction import slip_direction
from rolling_dynamics.hybrid_contact.system import HybridContactSystem
from rolling_dynamics.inelastic_impact import inelastic_impulse, slips
from rolling_dynamics.simulation.event import Event

Array = NDArray[np.float64]
START = 3.0  # slip and spin begin at this many times their creep
TOUCHING = 1e-6  # m, within which a state that is given stands on the plate
REST = 1e-9  # m/s, speed of the contact below which a touch is no impact
NOISE = 1e-12  # a guard that is zero to rounding has not fallen
PAINLEVE = (
    'the coefficient of the normal force in the equations of contact is not positive (Painleve): '
    'Coulomb friction does not determine what follows'
)


class Transitions:
    """Decides the mode of contact by what each mode would need; one for each run."""

    def __init__(self, system: HybridContactSystem, p: ArrayLike) -> None:
        """Keep the system and a copy of its parameters."""
        self.system = system
        self.p: Array = np.array(p, dtype=float)
        if self.p.shape != (system.parameters.size,):
            raise ParameterError(
                f'p takes {system.parameters.size} numbers, got shape {self.p.shape}'
            )
        where = system.parameters.slice
        self.mu, self.mu_kinetic, self.mu_spin = (
            float(self.p[where(n)][0]) for n in ('mu', 'mu_kinetic', 'mu_spin')
        )
        if system.planar:
            self.mu_spin = 0.0
        self._edges = self.p[where('hand_edges')]
        self._spin_at = where('spin_direction').start
        self._axes = [0, 2] if system.planar else [0, 1, 2]

    def parameters(self, spin_direction: float) -> Array:
        """Return p with a direction of spin."""
        p = self.p.copy()
        p[self._spin_at] = spin_direction
        return p

    def begin(self, x: ArrayLike, u: ArrayLike, t: float = 0.0) -> HybridState:
        """
        Return a state with the mode that it is in: touching, if it is within a micrometre.

        Raises
        ------
        ParameterError
            The state is not one, or the body and the plate overlap.

        """
        x = np.array(x, dtype=float)
        if x.shape != (self.system.state.size,) or not np.all(np.isfinite(x)):
            raise ParameterError(
                f'x takes {self.system.state.size} finite numbers, got shape {x.shape}'
            )
        x = self._on('separated', x)
        gap, v, _ = self._touch(x)
        start = HybridState(t=t, x=x, mode='separated')
        if gap > TOUCHING:
            return start
        if gap < -TOUCHING:
            raise ParameterError(
                f'the object overlaps the plate by {-gap:.3g} m; place it on the plate or above'
            )
        if v[2] > REST:
            return start
        return self._land(start, np.asarray(u, dtype=float))

    def after(self, s: HybridState, guard: str, u: Array) -> HybridState:
        """Return the state after a guard of its mode has fallen at its time."""
        if guard == 'painleve':
            return _noted(s, 'painleve', PAINLEVE, stopped=True)
        if guard == 'edge':
            left = replace(s, mode='separated', off_plate=True, spin_direction=0.0)
            return _noted(left, 'edge', 'the contact runs over the edge of the plate')
        if guard == 'normal_force' and s.mode.endswith('slipping'):
            return self._fly(s)
        if guard == 'gap':
            return self._touch_down(s, u)
        if guard == 'spin':
            return self._spin_event(s, u)
        return self._settle(s, u, guard)  # slip, and in rolling normal_force and friction

    # contact at rest: which mode holds it

    def _settle(self, s: HybridState, u: Array, guard: str = '') -> HybridState:
        """
        Return the mode of a contact whose point does not move over the plate.

        A guard that has fallen tells what holds no longer, whatever rounding says.
        """
        rolls = s.mode.endswith('rolling')
        s = self._with_spin(replace(s, x=self._on('rolling', s.x)))
        if not (rolls and guard in {'friction', 'normal_force'}):
            rolled = self._rolling(s, u)
            if rolled is not None:
                slid = s.mode.endswith('slipping')
                return _noted(rolled, 'stick', 'slip has come to rest') if slid else rolled
        lift = float(self.system.free_lift(s.x, u, s.t, self.p))
        if (guard == 'normal_force' or self._force('rolling', s, u)[2] <= 0) and lift >= 0:
            return self._fly(s)
        return self._begin_slip(s, u, lift)

    def _rolling(self, s: HybridState, u: Array, *, spins: bool = False) -> HybridState | None:
        """
        Return rolling, with or without spin, if its force lies in the friction cone.

        Where it ``spins``, spin friction is known to hold the spin no longer.
        """
        if self._can_hold(s):
            pure = replace(s, mode='pure_rolling', spin_direction=0.0)
            pure = replace(pure, x=self._on('pure_rolling', s.x))
            wrench = self._wrench('pure_rolling', pure, u)
            if not spins and abs(wrench[2]) <= self.mu_spin * wrench[5]:
                return pure if self._in_cone(wrench[3:]) else None
            s = self._spun(s, -np.sign(wrench[2]))
        force = self._force('rolling', s, u)
        return replace(s, mode='rolling') if self._in_cone(force) else None

    def _in_cone(self, force: Array) -> bool:
        return bool(force[2] > 0 and np.hypot(force[0], force[1]) <= self.mu * force[2])

    def _begin_slip(self, s: HybridState, u: Array, lift: float) -> HybridState:
        """Return sliding with a first, very small slip in the direction in which it grows."""
        p, force = self.parameters(s.spin_direction), self._force('rolling', s, u)

        def onset(direction: Array) -> tuple[Array, float, float]:
            a, N, margin = self.system.slip_onset(s.x, u, s.t, p, direction)
            return np.array(a).ravel(), float(N), float(margin)

        d = slip_direction(
            lambda direction: onset(direction)[0], -force[:2], planar=self.system.planar
        )
        _, N, margin = onset(d)
        if margin <= 0:
            return _noted(s, 'painleve', PAINLEVE, stopped=True)
        if N <= 0:
            if lift >= 0:
                return self._fly(s)
            raise SimulationError(f'at t = {s.t:.9g} s no mode of contact fits the state')
        out = replace(s, mode='slipping', x=self._kick_slip(s.x, START * CREEP * d))
        return _noted(self._slip_spin(out, u), 'slip', 'the contact begins to slip')

    # spin

    def _can_hold(self, s: HybridState) -> bool:
        """Tell whether spin friction may hold the spin: it exists, and there is no spin."""
        return self.mu_spin > 0 and abs(self._touch(s.x)[2]) <= SPIN_CREEP * START / 2

    def _with_spin(self, s: HybridState) -> HybridState:
        if self.mu_spin == 0:
            return replace(s, spin_direction=0.0)
        spin = self._touch(s.x)[2]
        if abs(spin) > SPIN_CREEP * START / 2:
            return replace(s, spin_direction=float(np.sign(spin)))
        return s

    def _spin_event(self, s: HybridState, u: Array) -> HybridState:
        """Return what follows when spin stops, or when friction no longer holds it."""
        sliding, was_held = s.mode.endswith('slipping'), s.mode.startswith('pure')
        x = self._on('pure_slipping' if sliding else 'pure_rolling', s.x)
        still = replace(s, x=x, spin_direction=0.0)
        if sliding:
            out = self._slip_spin(still, u, spins=was_held)
        else:
            out = self._rolling(still, u, spins=was_held) or self._settle(still, u, 'friction')
        held = out.mode.startswith('pure')
        return _noted(
            out,
            'spin_stop' if held else 'spin',
            'spin has come to rest' if held else 'the contact begins to spin',
        )

    def _slip_spin(self, s: HybridState, u: Array, *, spins: bool = False) -> HybridState:
        """Return sliding with its spin held, or free against spin friction."""
        if not self._can_hold(s):
            return replace(self._with_spin(s), mode='slipping')
        held = replace(s, x=self._on('pure_slipping', s.x), mode='pure_slipping')
        wrench = self._wrench('pure_slipping', held, u)
        if not spins and abs(wrench[2]) <= self.mu_spin * wrench[5]:
            return replace(held, spin_direction=0.0)
        return replace(self._spun(s, -np.sign(wrench[2])), mode='slipping')

    def _spun(self, s: HybridState, direction: float) -> HybridState:
        """Return the state with a first, very small spin."""
        layout = self.system.state
        x = s.x.copy()
        at = layout.slice('w_HO_H').start + 2
        x[at] += direction * START * SPIN_CREEP - self._touch(s.x)[2]
        keep = self._touch(s.x)[1]
        x = self._kick_slip(self._on('rolling', x), keep[:2])
        return replace(s, x=x, spin_direction=float(direction))

    # leaving and landing

    def _fly(self, s: HybridState) -> HybridState:
        out = replace(s, mode='separated', spin_direction=0.0)
        return _noted(out, 'lift_off', 'the normal force vanishes and the object leaves the plate')

    def _touch_down(self, s: HybridState, u: Array) -> HybridState:
        point = np.array(self.system.touch(s.x, self.p)[2]).ravel()
        x_min, x_max, y_min, y_max = self._edges
        on = x_min <= point[0] <= x_max and (self.system.planar or y_min <= point[1] <= y_max)
        if not on:
            return _noted(
                replace(s, off_plate=True), 'missed', 'the object passes beside the plate'
            )
        return self._land(s, u)

    def _land(self, s: HybridState, u: Array) -> HybridState:
        """Return the state after an inelastic impact, or a touch without speed."""
        x, (_, v, _) = s.x, self._touch(s.x)
        if abs(v[2]) <= REST:
            slides = float(np.hypot(v[0], v[1])) > START * CREEP
            return self._slide(s, u) if slides else self._settle(s, u)
        after, impulse, W = (np.array(a) for a in self.system.impact(x, self.p))
        P, sticks = impulse.ravel(), True
        if np.hypot(P[0], P[1]) > self.mu * P[2]:
            axes, P = self._axes, np.zeros(3)
            P[axes], v_after = inelastic_impulse(
                W[np.ix_(axes, axes)], v[axes], self.mu, self.mu_kinetic
            )
            sticks = not slips(v[axes], v_after)
            after = np.array(self.system.kicked(x, self.p, P))
        landed = _noted(
            replace(s, x=after.ravel()),
            'landing',
            f'inelastic impact of {np.linalg.norm(P):.6g} N s, the contact '
            f'{"sticks" if sticks else "slips"}',
        )
        return self._settle(landed, u) if sticks else self._slide(landed, u)

    def _slide(self, s: HybridState, u: Array) -> HybridState:
        """Return sliding of a contact that slips, unless it is lifted at once."""
        s = replace(s, x=self._on('slipping', s.x), mode='slipping')
        out = self._slip_spin(s, u)
        guards = self.system.modes[out.mode].guards
        p = self.parameters(out.spin_direction)
        if float(guards['painleve'](out.x, u, out.t, p)) <= 0:
            return _noted(out, 'painleve', PAINLEVE, stopped=True)
        if self._force(out.mode, out, u)[2] <= 0:
            return replace(s, mode='separated', spin_direction=0.0)
        return out

    # evaluations

    def _kick_slip(self, x: Array, slip: Array) -> Array:
        """Return a state that rolls, with a velocity of the centre that adds a slip."""
        y, where = x.copy(), self.system.state.slice('v_HO_H')
        if self.system.planar:
            y[where.start] += slip[0]
        else:
            y[where.start : where.start + 2] += slip
        return y

    def _on(self, mode: str, x: Array) -> Array:
        name = mode
        if name not in self.system.projections:  # in the plane there is no spin to hold
            name = mode.removeprefix('pure_')
        return np.array(self.system.projections[name](x, self.p)).ravel()

    def _touch(self, x: Array) -> tuple[float, Array, float]:
        gap, v, _, spin = self.system.touch(x, self.p)
        return float(gap), np.array(v).ravel(), float(spin)

    def _wrench(self, mode: str, s: HybridState, u: Array) -> Array:
        function = self.system.modes[mode].wrench
        assert function is not None  # noqa: S101 (every mode of this system has one)
        return np.array(function(s.x, u, s.t, self.parameters(s.spin_direction))).ravel()

    def _force(self, mode: str, s: HybridState, u: Array) -> Array:
        return self._wrench(mode, s, u)[3:]


def _noted(s: HybridState, name: str, text: str, *, stopped: bool = False) -> HybridState:
    event = Event(name=name, time=s.t, state=s.x, terminal=stopped, text=text)
    return replace(s, events=(*s.events, event), stopped=name if stopped else s.stopped)

"""Conformance checks of the motion of a system; the case and the outcome of all checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, compiles, newest, wait
from rolling_dynamics.contract.capabilities import Conservation, offers
from rolling_dynamics.contract.instruments import Actuator, Sensor
from rolling_dynamics.contract.rolling_system import Layout, Mode, RollingSystem
from rolling_dynamics.errors import suggestion
from rolling_dynamics.simulation.guards import projection
from rolling_dynamics.simulation.trajectory import Trajectory

TURNS = 10.0  # rad, maximum scale of an angle: a wheel with a small weight has a large one
SPREAD = 0.02  # of the tested states, as a fraction of the scales of the layout
SAMPLES = 4


class Failed(Exception):  # noqa: N818  an outcome
    """A check fails; the text gives the expected and the actual value."""


class NotApplicable(Exception):  # noqa: N818  an outcome
    """A check does not apply; the text gives the reason."""


@dataclass(frozen=True)
class Outcome:
    """
    Result of one check.

    Attributes
    ----------
    name
        Name of the check.
    verdict
        ``passed``, ``failed`` or ``skipped``.
    text
        Reason, in one line; empty if it passed.

    """

    name: str
    verdict: str
    text: str = ''


@dataclass(frozen=True, eq=False)
class Subject:
    """
    A system with values of parameters, state and control.

    Attributes
    ----------
    system
        The system.
    p, x, u
        Parameters, a state from which motion can start, and a control, in the units of the
        layouts; shapes (parameters.size,), (state.size,), (control.size,).
    duration
        Duration of the simulations [s, or the unit of the independent variable].
    seed
        Random seed of the states that are tried.
    sensors, actuators
        Sensors and actuators of the system.
    whole
        The system with all its modes, if ``system`` is limited to one; None otherwise.

    """

    system: RollingSystem
    p: Array
    x: Array
    u: Array
    duration: float = 0.5
    seed: int = 0
    sensors: Sequence[Sensor] = ()
    actuators: Sequence[Actuator] = ()
    whole: RollingSystem | None = None
    simulations: dict[str, Trajectory] = field(default_factory=dict)

    @property
    def mode_name(self) -> str:
        """Name of the first mode."""
        return next(iter(self.system.modes))

    @property
    def mode(self) -> Mode:
        """The first mode."""
        return self.system.modes[self.mode_name]

    @property
    def forces(self) -> dict[str, ca.Function]:
        """Motion and contact force in the first mode, by name."""
        named = {'dynamics': self.mode.dynamics, 'wrench': self.mode.wrench}
        return {name: f for name, f in named.items() if f is not None}

    @cached_property
    def samples(self) -> list[tuple[Array, Array]]:
        """States and controls near the given ones, on the constraints."""
        rng, system = np.random.default_rng(self.seed), self.system
        onto = projection(system)
        out = [(self.x, self.u)]
        for _ in range(SAMPLES):
            d = SPREAD * rng.normal(size=system.tangent.size) * scales(system.tangent)
            x = values(onto, values(system.retract, self.x, d), self.p)
            x = values(onto, x, self.p)  # a projection takes a few steps of Newton's method
            out.append((x, self.u + rng.normal(size=self.u.size) * scales(system.control)))
        return out

    def simulated(self) -> Trajectory:
        """Return the motion from the state without control, simulated once."""
        from rolling_dynamics.simulation import simulate  # noqa: PLC0415  large

        if 'free' not in self.simulations:
            self.simulations['free'] = simulate(
                self.system,
                self.p,
                self.x,
                np.zeros_like(self.u),
                self.duration,
                t_eval=np.linspace(0, self.duration, 51),
            )
        return self.simulations['free']

    def functions(self) -> Iterator[tuple[str, ca.Function]]:
        """Yield every function ``(x, u, t, p)`` of the system with its name."""
        for name, mode in self.system.modes.items():
            yield f'modes[{name!r}].dynamics', mode.dynamics
            if mode.wrench is not None:
                yield f'modes[{name!r}].wrench', mode.wrench
            for key, guard in mode.guards.items():
                yield f'modes[{name!r}].guards[{key!r}]', guard
        for name, invariant in self.system.invariants.items():
            yield f'invariants[{name!r}]', invariant


Check = Callable[[Subject], None]


def scales(layout: Layout) -> Array:
    """Return the scales of the components of a layout, in their units, shape (size,)."""
    sizes = (min(e.scale, TURNS) if e.unit == 'rad' else e.scale for e in layout.entries)
    return np.repeat([*sizes, 0.0], [*(e.size for e in layout.entries), 0])


def values(function: ca.Function, *arguments: object) -> Array:
    """Return the first output of a function as a flat array, shape (k,), in its units."""
    out = function(*arguments)
    return np.array(out[0] if isinstance(out, tuple) else out, dtype=float).ravel()


def close(found: Array, expected: Array, tolerance: float) -> bool:
    """
    Return whether two arrays of the same shape and unit agree.

    The tolerance is relative to the largest value, or to one if that is larger.
    """
    size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    return bool(np.all(np.abs(found - expected) <= tolerance * size))


DRIFT = 1e-7  # of an invariant over a simulation, relative
SAME = 1e-12
PATIENCE = 60.0  # s, for the compiler
TRIES = 40
TOUCHES = 1e-3  # fraction of a guard's value below which a minimum of zero counts as touching


def simulation(s: Subject) -> None:
    """Check that a motion can be simulated and stays on the constraints."""
    motion = s.simulated()
    onto = projection(s.system)
    if motion.times[-1] < s.duration * (1 - 1e-9) and motion.terminal_event is None:
        raise Failed(f'{s.duration:g} s are expected, found {motion.times[-1]:.6g} s')
    for t, x in zip(motion.times, motion.states, strict=True):
        off = np.abs(values(onto, x, s.p) - x).max(initial=0.0)
        if not off <= DRIFT:
            raise Failed(
                f'a state on the constraints is expected, at {t:.4g} s its error is {off:.3g}'
            )


def invariants(s: Subject) -> None:
    """Check that conserved quantities are constant along a simulation without control."""
    named = dict(s.system.invariants)
    own = offers(s.system, Conservation)
    if own is not None:
        kept = own.conserved(s.p, s.x)
        unknown = [name for name in kept if name not in named]
        if unknown:
            known = suggestion(unknown[0], list(named))
            raise Failed(f'conserved: no invariant {unknown[0]!r}{known}')
        named = {name: f for name, f in named.items() if name in kept}
    if not named:
        raise NotApplicable('nothing is conserved in a motion from this state')
    motion, u = s.simulated(), np.zeros_like(s.u)
    for name, f in named.items():
        along = np.array(
            [
                float(values(f, x, u, t, s.p)[0])
                for t, x in zip(motion.times, motion.states, strict=True)
            ]
        )
        drift = float(np.abs(along - along[0]).max())
        if not drift <= DRIFT * max(1e-2, float(np.abs(along).max())):
            raise Failed(f'{name}: constant {along[0]:.8g} is expected, it drifts by {drift:.3g}')


def guards(s: Subject) -> None:
    """Check that guards are positive at the start and fall through zero, not only to it."""
    if not s.mode.guards:
        raise NotApplicable('the mode has no guards')
    rest = np.zeros_like(s.u)
    for name, guard in s.mode.guards.items():
        here = float(values(guard, s.x, rest, 0.0, s.p)[0])
        if not here >= 0:
            raise Failed(f'{name}: a positive number is expected at the start, found {here:.6g}')
        least = _least(s, guard, here)
        if 0 <= least < TOUCHES * here:
            raise Failed(
                f'{name}: it is expected to fall through zero, found that it only touches it '
                f'(minimum {least:.3g} in a search that started at {here:.6g})'
            )


def _least(s: Subject, guard: ca.Function, here: float) -> float:
    """Return the minimum of a guard on lines through state and control."""
    rng, system = np.random.default_rng(s.seed), s.system
    n, least = system.tangent.size, here
    best = np.zeros(n + s.u.size)
    size = np.concatenate([scales(system.tangent), 10 * scales(system.control)])
    reach = 3.0
    for k in range(TRIES * 5):
        step = reach * rng.normal(size=size.size) * size
        tried = best + step
        x = values(system.retract, s.x, tried[:n])
        value = float(values(guard, x, tried[n:], 0.0, s.p)[0])
        if np.isfinite(value) and value < least:
            least, best = value, tried
        elif k % 4 == 3:
            reach *= 0.8
        if least < 0:
            break
    return least


def machine_code(s: Subject) -> None:
    """Check that machine code and CasADi's virtual machine give the same values."""
    if not compiles():
        raise NotApplicable('there is no compiler, or it is switched off')
    for name, f in s.forces.items():
        fast = compiled(f)[0]
        if not wait(PATIENCE):
            raise NotApplicable(f'{name} was not compiled within {PATIENCE:g} s')
        fast = newest(fast)
        for x, u in s.samples:
            slow, quick = (values(g, x, u, 0.0, s.p) for g in (f, fast))
            off = np.abs(slow - quick).max(initial=0.0)
            if not off <= SAME * max(1.0, np.abs(slow).max(initial=0.0)):
                raise Failed(
                    f'{name}: machine code is expected to give the same, found {off:.3g} off'
                )


# steps of differences, relative to the changed value; the short one is for jumps of a second
# derivative, where differences converge only linearly with the step
STEPS = (1e-5, 1e-7)
DERIVATIVE = 1e-5  # relative error of central differences
EXACT = 1e-9


def derivatives(s: Subject) -> None:
    """Check exact derivatives of motion and contact force against differences."""
    n = s.x.size
    for name, f in s.forces.items():
        symbols = [ca.MX.sym(f'a{k}', f.numel_in(k)) for k in range(4)]
        wanted = ca.vertcat(symbols[0], symbols[1])
        J = ca.Function('J', symbols, [ca.densify(ca.jacobian(f(*symbols), wanted))])

        def at(z: Array, f: ca.Function = f) -> Array:
            return values(f, z[:n], z[n:], 0.0, s.p)

        for x, u in s.samples:
            exact = np.array(J(x, u, 0.0, s.p))
            z = np.concatenate([x, u])
            found = _differing(exact, at, z)
            if found is not None:
                row, column = np.unravel_index(np.nanargmax(_off(exact, found)), exact.shape)
                names = [*s.system.state.names, *s.system.control.names]
                raise Failed(
                    f'{name}[{row}] by {names[column]}: differences give '
                    f'{found[row, column]:.6g}, the derivative is {exact[row, column]:.6g}'
                )


def _off(exact: Array, found: Array) -> Array:
    return np.where(np.isfinite(exact), np.abs(exact - found), np.inf)


def _differing(exact: Array, f: Callable[[Array], Array], z: Array) -> Array | None:
    """Return differences that contradict exact derivatives for every step, or None."""
    found = None
    for step in STEPS:
        found = _central(f, z, step)
        if close(exact, found, DERIVATIVE):
            return None
    return found


def _central(f: Callable[[Array], Array], z: Array, step: float) -> Array:
    columns = []
    for k in range(z.size):
        h = step * max(1.0, abs(z[k]))
        up, down = z.copy(), z.copy()
        up[k] += h
        down[k] -= h
        columns.append((f(up) - f(down)) / (2 * h))
    return np.column_stack(columns) if columns else np.zeros((0, 0))


def tangent_space(s: Subject) -> None:
    """Check that ``retract`` and ``difference`` undo each other."""
    system, rng = s.system, np.random.default_rng(s.seed)
    nothing = np.zeros(system.tangent.size)
    for x, _ in s.samples:
        stayed = values(system.retract, x, nothing)
        if not close(stayed, x, EXACT):
            raise Failed(
                f'retract(x, 0) = x is expected, found {np.abs(stayed - x).max():.3g} off'
            )
        d = SPREAD * rng.normal(size=system.tangent.size) * scales(system.tangent)
        y = values(system.retract, x, d)
        back = values(system.difference, y, x)
        if not close(back, d, EXACT):
            k = int(np.argmax(_off(back, d)))
            raise Failed(
                f'difference(retract(x, d), x) = d is expected, found {back[k]:.6g} instead of '
                f'{d[k]:.6g} for {system.tangent.names[k]}'
            )


def unit_norms(s: Subject) -> None:
    """Check that the motion keeps the norm of each quaternion."""
    for x, u in s.samples:
        rate = values(s.mode.dynamics, x, u, 0.0, s.p)
        for entry in s.system.state.entries:
            where = s.system.state.slice(entry.name)
            if entry.has_unit_norm:
                grows = float(x[where] @ rate[where])
                if not abs(grows) <= EXACT * max(1.0, np.abs(rate[where]).max()):
                    raise Failed(
                        f'{entry.name}: a constant norm is expected, its rate is {grows:.3g}'
                    )


def linearisation(s: Subject) -> None:
    """Check the linearisation in the tangent space of a step against differences."""
    system, n = s.system, s.system.tangent.size
    f, p = s.mode.dynamics, s.p
    x, d, u = ca.MX.sym('x', s.x.size), ca.MX.sym('d', n), ca.MX.sym('u', s.u.size)
    h = 1e-2
    y = system.retract(x, d)
    for _ in range(2):  # Heun's steps, exact to the second order and the same on both sides
        k1 = f(y, u, 0, p)
        y = y + h / 4 * (k1 + f(y + h / 2 * k1, u, 0, p))
    reference = ca.MX.sym('reference', s.x.size)
    moved = system.difference(y, reference)
    J = ca.Function('A', [x, d, u, reference], [ca.densify(ca.jacobian(moved, ca.vertcat(d, u)))])
    flow = ca.Function('flow', [x, d, u, reference], [y, moved])
    for x_now, u_now in s.samples[:2]:
        nothing = np.zeros(n)
        end = values(flow, x_now, nothing, u_now, x_now)
        exact = np.array(J(x_now, nothing, u_now, end))
        z = np.concatenate([nothing, u_now])

        def miss(z: Array, x_now: Array = x_now, end: Array = end) -> Array:
            return np.array(flow(x_now, z[:n], z[n:], end)[1], dtype=float).ravel()

        found = _differing(exact, miss, z)
        if found is not None:
            row, column = np.unravel_index(np.nanargmax(_off(exact, found)), exact.shape)
            names = [*system.tangent.names, *system.control.names]
            raise Failed(
                f'{system.tangent.names[row]} by {names[column]}: differences give '
                f'{found[row, column]:.6g}, the linearisation is {exact[row, column]:.6g}'
            )

"""Invariants and guards along a motion, and functions as machine code."""

from __future__ import annotations

import casadi as ca
import numpy as np
from rolling_dynamics.compiled import compiled, compiles, newest, wait
from rolling_dynamics.contract.capabilities import Conservation, offers
from rolling_dynamics.simulation.projection import projection
from rolling_dynamics.suggestion import suggestion
from rolling_dynamics.testing.checked_system import Failed, NotApplicable, scales, Subject, values

DRIFT = 1e-7  # of an invariant over a simulation, relative
SAME = 1e-12
PATIENCE = 60.0  # s, for the compiler
TRIES = 40
TOUCHES = 1e-3  # share of a guard's value below which a minimum of zero counts as touching


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
                f'a state on the constraints is expected, at {t:.4g} s it is {off:.3g} off'
            )


def invariants(s: Subject) -> None:
    """Check that what is conserved without control is constant along a simulation."""
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
                f'(minimum {least:.3g} on a search that began at {here:.6g})'
            )


def _least(s: Subject, guard: ca.Function, here: float) -> float:
    """Return the least value of a guard found on lines through state and control."""
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
    """Check that machine code gives what CasADi's virtual machine gives."""
    if not compiles():
        raise NotApplicable('there is no compiler, or it is switched off')
    functions = {'dynamics': s.mode.dynamics}
    if s.mode.wrench is not None:
        functions['wrench'] = s.mode.wrench
    for name, f in functions.items():
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

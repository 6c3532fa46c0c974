"""Machines whose contacts beside the joints slip and stick, by Coulomb's law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, combinations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.mode import Mode, MotionState
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.system import CREEP, MachineSystem

START = 3.0  # slip starts at this many times the creep


class SlippingMachine(MachineSystem):
    """
    A machine of which every contact with a ``mu_kinetic`` may slip, in modes of their own.

    The modes are ``rolling`` and ``slipping_<body>`` with the contacts that slip. Slip begins
    against the static friction at its limit; where it ends, the contact sticks if friction can
    hold it. The wrench and the guards are those of :class:`MachineSystem`.

    Attributes
    ----------
    parts
        The machine in each mode.

    """

    def __init__(self, machine: Machine) -> None:
        """Take a machine, or raise ParameterError where no contact may slip."""
        super().__init__(machine)
        names = list(self.contacts)[len(self.contacts) - len(machine.contacts) :]
        able = [i for i, c in enumerate(machine.contacts) if c.mu_kinetic is not None]
        if not able:
            raise ParameterError(f'{self.name}: no contact has a mu_kinetic')
        subsets = chain.from_iterable(combinations(able, n) for n in range(len(able) + 1))
        self._able = {i: names[i] for i in able}
        self.parts = {self._mode_of(s): MachineSystem(machine, s) for s in subsets}

    def _mode_of(self, slipping: tuple[int, ...]) -> str:
        return (
            '_'.join(['slipping', *(self._able[i] for i in slipping)]) if slipping else 'rolling'
        )

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Rolling, and slipping of each contact and of several."""
        return {name: self._mode(part) for name, part in self.parts.items()}

    def _mode(self, part: MachineSystem) -> Mode:
        mode, resets, slip = part.modes['rolling'], {}, None
        for i, name in self._able.items():
            ending = f'_{name}' if len(part.contacts) > 1 else ''
            if i in part.slipping:
                resets[f'stick{ending}'] = partial(self._stick, i)
                slip = part.contacts[name].slip
            else:
                resets[f'friction{ending}'] = partial(self._slip, i)
        if slip is not None:
            slip = ca.Function('slip', [self.symbols.x, self.symbols.p], [slip])
        return replace(mode, resets=resets, projection=part.projection, slip=slip)

    def _speed(self, i: int, x: ArrayLike, p: ArrayLike) -> float:
        return float(np.hypot(*self._numbers(self._closures[i].velocity[:2], x, p)))

    def check_state(self, p: ArrayLike, x: ArrayLike) -> None:
        """Refuse a state as :meth:`MachineSystem.check_state`, in the mode in which it is."""
        self.parts[self._mode_at(p, x)].check_state(p, x)

    def _mode_at(self, p: ArrayLike, x: ArrayLike) -> str:
        return self._mode_of(tuple(i for i in self._able if self._speed(i, x, p) > CREEP))

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float) -> MotionState:
        """Return a state with its mode; what friction cannot hold slips."""
        x, p = (np.array(a, dtype=float) for a in (x, p))
        s, u = MotionState(t=t, x=x, mode=self._mode_at(p, x), p=p), np.asarray(u, dtype=float)
        for i in self._able:
            if i not in self.parts[s.mode].slipping and self._margin(i, s, u) < 0:
                s = self._slip(i, s, u)
        return s

    def _at(self, i: int, s: MotionState, u: Array) -> Array:
        """Return force (3) [N] and margin of a contact in the mode of a state."""
        part = self.parts[s.mode]
        at = part.contacts[self._able[i]]
        f = part.function('at', ca.vertcat(at.wrench[3:], part.margin(at)))
        return np.array(f(s.x, u, s.t, s.p)).ravel()

    def _margin(self, i: int, s: MotionState, u: Array) -> float:
        return float(self._at(i, s, u)[3])

    def _slip(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact slip against the force that holds it."""
        fx, fy, *_ = self._at(i, s, u)
        after = tuple(sorted({*self.parts[s.mode].slipping, i}))
        part, way = self.parts[self._mode_of(after)], -np.array([fx, fy]) / np.hypot(fx, fy)
        off = self._closures[i].velocity[:2] - START * CREEP * way
        x = self._numbers(part.nearest(ca.vertcat(*part.rows, off)), s.x, s.p)
        slips = replace(s, x=x, mode=self._mode_of(after))
        return slips.noted('slip', f'{self._able[i]} begins to slip')

    def _stick(self, i: int, s: MotionState, u: Array) -> MotionState:
        """Let a contact stick where friction can hold it, else slip on."""
        after = tuple(k for k in self.parts[s.mode].slipping if k != i)
        part = self.parts[self._mode_of(after)]
        still = replace(
            s, x=np.array(part.projection(s.x, s.p)).ravel(), mode=self._mode_of(after)
        )
        if self._margin(i, still, u) < 0:
            return self._slip(i, still, u)
        return still.noted('stick', f'{self._able[i]} rolls')

    def conserved(self, p: Array, x: Array) -> list[str]:
        """Return what rolling keeps; nothing while a contact slips."""
        return super().conserved(p, x) if self._mode_at(p, x) == 'rolling' else []

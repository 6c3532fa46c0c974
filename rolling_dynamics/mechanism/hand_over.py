"""Machines on a ring of barrel rollers, which hand their contact over from one to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import copy
from dataclasses import replace
from functools import cached_property
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Jump, Mode, MotionState, Outcome
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.shapes import Barrel
from rolling_dynamics.mechanism.system import MachineSystem

WHOLE = 1e-9  # rad: by which the rollers may miss or overlap the rim of the wheel
LATE = 1e-7  # rad beyond the end of a roller where it hands over, so that it does not return


class HandOver(MachineSystem):
    """
    A machine with a ring of rollers, of which one at a time touches.

    A mode for each roller is named by it. Where the wheel has turned to the end of a roller, the
    contact moves to the next one. The impact that makes it roll takes its slip from it at once,
    as if friction could do so; the event ``hand_over`` says how much energy that costs.

    Attributes
    ----------
    parts
        The machine on each roller.

    """

    def __init__(self, machine: Machine) -> None:
        """Take a machine whose contacts of Barrels are a ring, in the order of their places."""
        self._ring = [c for c in machine.contacts if isinstance(c.shape, Barrel)]
        self._barrels = [c.shape for c in self._ring if isinstance(c.shape, Barrel)]
        wheels = list(dict.fromkeys(machine.bodies[c.body].parent for c in self._ring))
        if len(wheels) > 1:
            raise ParameterError(
                f'{machine.name}: {" and ".join(map(repr, wheels))} have rings of rollers, one '
                'wheel of a machine may; give contacts of the others ideal `rollers`'
            )
        covered = 2 * sum(barrel.reach for barrel in self._barrels)
        if abs(covered - 2 * math.pi) > WHOLE:
            raise ParameterError(
                f'{machine.name}: the rollers cover {covered:.9g} rad of the rim, not 2 pi: '
                f'{"gaps are left" if covered < 2 * math.pi else "two touch at once"}'
            )
        if any(c.mu_kinetic is not None for c in machine.contacts):
            raise ParameterError(
                f'{machine.name}: contacts of a machine with a ring of rollers only roll; leave '
                'mu_kinetic out, or give the wheel ideal `rollers`'
            )
        others = [c for c in machine.contacts if c not in self._ring]
        _ = machine.dynamics  # symbols, links and equations are the same on each roller
        on_one = []
        for contact in self._ring:
            one = copy.copy(machine)
            one.contacts = [*others, contact]
            on_one.append(one)
        super().__init__(on_one[0])
        self.parts = {
            f'rolling_{c.body}': MachineSystem(one)
            for c, one in zip(self._ring, on_one, strict=True)
        }

    @cached_property
    def _angles(self) -> list[ca.SX]:
        """Sine of the angle about the axle from where a roller touches in its middle, of each."""
        out = []
        each = zip(self._ring, self._barrels, self.parts.values(), strict=True)
        for contact, barrel, part in each:
            axis = self.machine.links[contact.body].R_WB @ barrel.axis
            normal = part.closures[-1].R_WP[:, 2]
            out.append(-ca.dot(axis, normal) / math.sin(barrel.angle))
        return out

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        """Rolling on each roller."""
        out, names = {}, list(self.parts)
        nexts = {name: self._next(name) for name in names}
        for k, (name, part) in enumerate(self.parts.items()):
            mode = part.modes['rolling']
            end = math.sin(self._barrels[k].reach + LATE)
            ends = {'ahead': end - self._angles[k], 'behind': end + self._angles[k]}
            follows = {'ahead': names[k - 1], 'behind': names[(k + 1) % len(names)]}
            out[name] = replace(
                mode,
                guards={**mode.guards, **self.functions(ends)},
                resets={
                    **mode.resets,
                    **{n: nexts[to] for n, to in follows.items()},
                },
                projection=part.projection,
            )
        return out

    def _next(self, to: str) -> Jump:
        """Return the change to the next roller, with the impact that makes it roll."""
        x, lost = self.parts[to].held()
        function = ca.Function('next', list(self.symbols), [ca.densify(x), 0, lost])
        text = f'{to.removeprefix("rolling_")} takes over and loses {{:.6g}} J'
        return Jump(function=function, outcomes=(Outcome(to, 'hand_over', text),))

    # which roller a state is on

    @cached_property
    def _heights(self) -> list[ca.SX]:
        """Height of the middle of each roller along the normal of what it rolls on [m]."""
        pairs = zip(self._ring, self.parts.values(), strict=True)
        links = self.machine.links
        return [ca.dot(p.closures[-1].R_WP[:, 2], links[c.body].p_WB) for c, p in pairs]

    def on_roller(self, p: ArrayLike, x: ArrayLike) -> str:
        """Return the mode of a state: the roller whose middle is lowest."""
        heights = np.array(self.of_state('heights', *self._heights)(x, p)).ravel()
        return list(self.parts)[int(np.argmin(heights))]

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float) -> MotionState:  # noqa: ARG002
        """Return a state with its mode."""
        x, p = (np.array(a, dtype=float) for a in (x, p))
        return MotionState(t=t, x=x, mode=self.on_roller(p, x), p=p)

    def part_at(self, p: ArrayLike, x: ArrayLike) -> MachineSystem:
        """Return the machine on the roller of a state."""
        return self.parts[self.on_roller(p, x)]

    def placed(self, p: ArrayLike, x: ArrayLike, kept: Iterable[str] = ()) -> Array:
        """Return the nearest state that rolls, on the roller that is lowest there."""
        return self.part_at(p, x).placed(p, x, kept)

    def conserved(self, p: Array, x: Array) -> list[str]:  # noqa: ARG002
        """Return nothing: each roller that takes over loses energy."""
        return []

    @cached_property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WC``: axes of what carries the lowest roller, at its contact."""
        low, X = ca.SX(ca.inf), ca.SX(4, 4)
        for height, part in zip(self._heights, self.parts.values(), strict=True):
            X = ca.if_else(height < low, part.contact_frame(*self._at_x), X)
            low = ca.fmin(height, low)
        return ca.Function('contact_frame', self._at_x, [ca.densify(X)])

    @property
    def _at_x(self) -> list[ca.SX]:
        return [self.symbols.x, self.symbols.p]

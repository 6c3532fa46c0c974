"""Machines on rings of barrel rollers, whose contact passes from one roller to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import copy
from dataclasses import replace
from functools import cached_property, partial
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import (
    Jump,
    Mode,
    MotionState,
    number_entry,
    Outcome,
    Transition,
)
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism.link import Motion
from rolling_dynamics.mechanism.loops import chosen, Contact, ContactRows
from rolling_dynamics.mechanism.machine import Machine
from rolling_dynamics.mechanism.shapes import Barrel
from rolling_dynamics.mechanism.system import MachineSystem
from rolling_dynamics.mechanism.transitions import HybridMachine

WHOLE = 1e-9  # rad: tolerance for gaps or overlaps of the rollers along the rim
LATE = 1e-7  # rad beyond the end of a roller before the contact moves, so that it does not return


def on_rollers(machine: Machine) -> MachineSystem:
    """
    Return the system of a machine on rings of rollers.

    For one ring of a machine that only rolls it has a mode for each roller, else a parameter.
    """
    slips = any(c.mu_kinetic is not None for c in machine.contacts)
    return Rings(machine) if slips or len(rings_of(machine)) > 1 else HandOver(machine)


def rings_of(machine: Machine) -> dict[str, list[Contact]]:
    """Return the contacts of each ring of Barrels, in the order of their positions, by wheel."""
    out: dict[str, list[Contact]] = {}
    for c in machine.contacts:
        if isinstance(c.shape, Barrel):
            out.setdefault(machine.bodies[c.body].parent, []).append(c)
    for wheel, ring in out.items():
        covered = 2 * sum(c.shape.reach for c in ring if isinstance(c.shape, Barrel))
        if abs(covered - 2 * math.pi) > WHOLE:
            raise ParameterError(
                f'{machine.name}: the rollers cover {covered:.9g} rad of the rim of {wheel!r}, '
                f'not 2 pi: {"gaps are left" if covered < 2 * math.pi else "two touch at once"}'
            )
    return out


def ends_of(contact: Contact, bodies: Mapping[str, Motion], rows: ContactRows) -> dict[str, ca.SX]:
    """Return guards by name: positive while a Barrel touches between its ends."""
    barrel = contact.shape
    assert isinstance(barrel, Barrel)  # noqa: S101  as rings are made
    axis, end = contact.moves_as(bodies).R @ barrel.axis, math.sin(barrel.reach + LATE)
    sine = -ca.dot(axis, rows.R_WP[:, 2]) / math.sin(barrel.angle)  # of the turn from its middle
    return {'ahead': end - sine, 'behind': end + sine}


class HandOver(MachineSystem):
    """
    A machine with a ring of rollers, of which one at a time is in contact.

    Each roller has a mode, which is named after it. When the wheel has turned to the end of a
    roller, the contact moves to the next one. An impact stops its slip at once, as if friction
    could do so; the event ``hand_over`` gives the energy lost.

    Attributes
    ----------
    whole
        The given machine.
    parts
        The machine on each roller.

    """

    def __init__(self, machine: Machine) -> None:
        """Take a machine whose contacts of Barrels are a ring, in the order of their positions."""
        self.whole = machine
        ((_, self._ring),) = rings_of(machine).items()
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
    def modes(self) -> Mapping[str, Mode]:
        """Rolling on each roller."""
        out, names = {}, list(self.parts)
        nexts = {name: self._next(name) for name in names}
        for k, (name, part) in enumerate(self.parts.items()):
            mode = part.modes['rolling']
            ends = ends_of(self._ring[k], self.machine.motions, part.closures[-1])
            follows = {'ahead': names[k - 1], 'behind': names[(k + 1) % len(names)]}
            out[name] = replace(
                mode,
                guards={**mode.guards, **self.functions(ends)},
                resets={**mode.resets, **{n: nexts[to] for n, to in follows.items()}},
                projection=part.projection,
            )
        return out

    def _next(self, to: str) -> Jump:
        """Return the change to the next roller, with the impact that makes it roll."""
        x, lost = self.parts[to].held()
        function = ca.Function('next', list(self.symbols), [ca.densify(x), 0, lost])
        text = f'{to.removeprefix("rolling_")} takes over and loses {{:.6g}} J'
        return Jump(function=function, outcomes=(Outcome(to, 'hand_over', text),))

    # roller of a state

    @cached_property
    def _heights(self) -> list[ca.SX]:
        """Height of the middle of each roller along the normal of the surface under it [m]."""
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
        """Return the nearest rolling state, on the roller that is lowest there."""
        return self.part_at(p, x).placed(p, x, kept)

    def conserved(self, p: Array, x: Array) -> list[str]:  # noqa: ARG002
        """Return nothing: each change of roller loses energy."""
        return []

    @cached_property
    def contact_frame(self) -> ca.Function:
        """``(x, p) -> X_WC``: axes of the body under the lowest roller, at its contact."""
        low, X = ca.SX(ca.inf), ca.SX(4, 4)
        for height, part in zip(self._heights, self.parts.values(), strict=True):
            own = part.contact_frame(self.symbols.x, self.symbols.p)
            X = ca.if_else(height < low, own, X)
            low = ca.fmin(height, low)
        return self.of_state('contact_frame', X)


class Rings(HybridMachine):
    """
    A machine on rings of rollers; one roller of each ring is in contact at a time.

    Parameters ``roller_<wheel>`` are the indices of the rollers in contact. When a wheel has
    turned to the end of a roller, the contact moves to the next one. With a ``mu_kinetic`` the
    next one slips until friction has turned it; otherwise it rolls at once, by an impact, as for
    one ring.

    Attributes
    ----------
    wheels
        Names of the wheels, with the indices of their contacts.

    """

    every_contact_rolls = True

    def __init__(self, machine: Machine, apart: Sequence[int] = ()) -> None:
        """Take a machine whose contacts of Barrels are rings, in the order of their positions."""
        if not any(c.touching is not None for c in machine.contacts):
            machine = _with_one_contact_a_ring(machine)
        self.wheels = {c.body: i for i, c in enumerate(machine.contacts) if c.touching is not None}
        super().__init__(machine, apart)

    def _mode(self, part: MachineSystem) -> Mode:
        mode, ends = super()._mode(part), dict[str, ca.SX]()
        follows = dict[str, Transition]()
        for wheel, i in self.wheels.items():
            found = ends_of(self.machine.contacts[i], self.machine.motions, self.closures[i])
            ends |= {f'{name}_{wheel}': margin for name, margin in found.items()}
            steps = zip(found, (-1, 1), strict=True)
            follows |= {f'{name}_{wheel}': partial(self._next, wheel, k) for name, k in steps}
        guards = {**mode.guards, **self.functions(ends)}
        return replace(mode, guards=guards, resets={**mode.resets, **follows})

    def _next(self, wheel: str, step: int, s: MotionState, u: Array) -> MotionState:
        """Return the state on the next roller of a wheel."""
        i, p, at = self.wheels[wheel], s.p.copy(), self.parameters.slice(f'roller_{wheel}')
        ring = self.machine.contacts[i].ring
        number = (round(float(p[at][0])) + step) % len(ring)
        p[at], s = number, replace(s, p=p)
        takes = f'{ring[number]} takes over'
        if self.phase(s.mode, i) == 'separated':
            return s
        if i in self.able:
            mode = self._mode_of(s.x, p, self._away(s))
            return self.by_friction(replace(s, mode=mode).noted('hand_over', takes), u)
        x, lost = self._impacts[s.mode](s.x, u, s.t, p)
        held = replace(s, x=np.array(x).ravel())
        return held.noted('hand_over', f'{takes} and loses {float(lost):.6g} J')

    @cached_property
    def _impacts(self) -> dict[str, ca.Function]:
        """``(x, u, t, p) -> x, energy lost`` of impacts that make closed contacts roll."""
        at = list(self.symbols)
        every = ((name, part.held()) for name, part in self.parts.items())
        return {n: ca.Function('next', at, [ca.densify(x), lost]) for n, (x, lost) in every}

    def _lowest(self, p: ArrayLike, x: ArrayLike) -> Array:
        """Return parameters with the roller of each wheel whose middle is lowest."""
        out = np.array(p, dtype=float)
        found = self._heights(x, p)
        each = found if isinstance(found, tuple) else (found,)
        for wheel, heights in zip(self.wheels, each, strict=True):
            out[self.parameters.slice(f'roller_{wheel}')] = int(np.argmin(np.array(heights)))
        return out

    @cached_property
    def _heights(self) -> ca.Function:
        """``(x, p) -> heights`` (n) of the middles of the rollers of each wheel [m]."""
        out, links = [], self.machine.links
        for i in self.wheels.values():
            normal = self.closures[i].R_WP[:, 2]
            ring = self.machine.contacts[i].ring
            out.append(ca.vertcat(*(ca.dot(normal, links[name].p_WB) for name in ring)))
        return self.of_state('heights', *out)

    def begin(self, p: ArrayLike, x: ArrayLike, u: ArrayLike, t: float = 0.0) -> MotionState:
        """Return a state with its mode, on the lowest rollers."""
        return super().begin(self._lowest(p, x), x, u, t)

    def placed(self, p: ArrayLike, x: ArrayLike, kept: Iterable[str] = ()) -> Array:
        """Return the nearest rolling state, on the rollers that are lowest there."""
        return super().placed(self._lowest(p, x), x, kept)

    def check_state(self, p: ArrayLike, x: ArrayLike) -> None:
        """Reject a state that its contacts do not allow."""
        super().check_state(self._lowest(p, x), x)

    def conserved(self, p: Array, x: Array) -> list[str]:  # noqa: ARG002
        """Return nothing: each change of roller loses energy."""
        return []


def _with_one_contact_a_ring(machine: Machine) -> Machine:
    """Return a machine with one contact per ring, on a roller given by index."""
    rings, out = rings_of(machine), machine
    contacts = [c for c in machine.contacts if not isinstance(c.shape, Barrel)]
    for wheel, ring in rings.items():
        entry = number_entry(
            f'roller_{wheel}', '', f'number of the roller of {wheel} that touches'
        )
        out, number = out.with_parameter(entry, 0.0)
        barrels = [c.shape for c in ring if isinstance(c.shape, Barrel)]
        if len({(b.angle, b.reach) for b in barrels}) > 1:
            raise ParameterError(
                f'{machine.name}: the rollers of {wheel!r} differ; those of a machine with '
                'several rings, or a mu_kinetic, must be equal'
            )
        shape = replace(barrels[0], axis=chosen(number, [ca.SX(b.axis) for b in barrels]))
        names = tuple(c.body for c in ring)
        contacts.append(replace(ring[0], body=wheel, shape=shape, ring=names, touching=number))
    out.contacts = contacts
    return out

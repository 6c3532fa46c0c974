"""
Equations of motion of a tree of bodies, by Newton and Euler, along the tree and back.

A column of the mass matrix is the load of the joints if one speed has the rate 1: the composite
body beyond a joint reacts to its acceleration with a force and a torque, which are passed down to
the root (Featherstone, Rigid Body Dynamics Algorithms, 2008, section 6.2). A body with absolute
speeds does not turn with its parent, and passes no torque to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.mechanism.elimination import eliminate
from rolling_dynamics.mechanism.link import accelerations, Link, Moments, point_second, together


class Wrench(NamedTuple):
    """A torque about the pivot of a body [N m] and a force [N], in its axes, or their rates."""

    torque: ca.SX
    force: ca.SX


class Composite(NamedTuple):
    """Mass, first and second moment of a body and all bodies that it carries, about its pivot."""

    mass: ca.SX
    first: ca.SX
    second: ca.SX


class Law(NamedTuple):
    """Torque on a body by its contact: ``given`` + ``of_normal_force`` times the normal force."""

    link: int
    given: ca.SX
    of_normal_force: ca.SX


class Dynamics:
    """
    Equations of motion at one state, as expressions.

    Attributes
    ----------
    links
        The bodies, parents first.
    parents
        Index of each body's parent; -1 for the ground.
    speeds
        Index of the first speed of each body.
    size
        Number of speeds.
    laws
        Torques of contacts, such as rolling resistance.

    """

    def __init__(
        self,
        links: Sequence[Link],
        parents: Sequence[int],
        gravity_W: ca.SX,
        applied: Mapping[int, Wrench],
        laws: Sequence[Law],
    ) -> None:
        """
        Describe the machine.

        Parameters
        ----------
        links, parents
            See the attributes.
        gravity_W
            Gravity in W (3) [m/s^2].
        applied
            Wrenches on bodies, by index.
        laws
            See the attribute.

        """
        self.links, self.parents = tuple(links), tuple(parents)
        self._applied, self.laws = applied, tuple(laws)
        self.speeds: list[int] = []
        self.size = 0
        for link in links:
            self.speeds.append(self.size)
            self.size += link.turn.shape[1]
        self._rides = [link.rides for link in links]
        for b, above in reversed(list(enumerate(parents))):
            if above >= 0 and not self._rides[b]:
                self._rides[above] = False
        self._gravity: list[ca.SX] = []
        for link, above in zip(links, parents, strict=True):
            turns = above >= 0 and link.follows
            if link.falls:
                self._gravity.append(ca.SX(3, 1))
                continue
            g = link.C @ self._gravity[above] if turns else link.R_WF.T @ gravity_W
            self._gravity.append(g)

    def own(self, b: int) -> range:
        """Return the indices of the speeds of a body."""
        return range(self.speeds[b], self.speeds[b] + self.links[b].turn.shape[1])

    @cached_property
    def _moments(self) -> list[Moments]:
        """Each body with those that ride on it."""
        out = [link.moments for link in self.links]
        for b, link in reversed(list(enumerate(self.links))):
            if self._rides[b]:
                above = self.parents[b]
                out[above] = together(out[above], out[b], link.point)
        return out

    @cached_property
    def composites(self) -> list[Composite]:
        """Each body with all bodies that it carries."""
        out = [Composite(m.mass, m.first, m.second) for m in self._moments]
        for b in reversed(range(len(out))):
            link, above = self.links[b], self.parents[b]
            if above < 0 or self._rides[b]:
                continue
            mass, first, second = out[above]
            mass += out[b].mass
            first += out[b].mass * link.point
            second += point_second(out[b].mass, link.point)
            if link.follows:
                carried, r = link.C.T @ out[b].first, ca.skew(link.point)
                first += carried
                second += link.C.T @ out[b].second @ link.C
                mixed = r @ ca.skew(carried)
                second -= mixed + mixed.T
            out[above] = Composite(mass, first, second)
        return out

    @cached_property
    def _columns(self) -> tuple[ca.SX, list[dict[int, Wrench]]]:
        """Mass matrix, and the load of each joint per rate of each speed beyond it."""
        M = ca.SX(self.size, self.size)
        flows: list[dict[int, Wrench]] = [{} for _ in self.links]
        for b, link in enumerate(self.links):
            body = self.composites[b]
            for j, k in enumerate(self.own(b)):
                alpha, a = link.turn[:, j], link.move[:, j]
                force = body.mass * a + ca.cross(alpha, body.first)
                torque = body.second @ alpha + ca.cross(body.first, a)
                flow, c = Wrench(torque, force), b
                while c >= 0:
                    flows[c][k] = flow
                    for i, row in enumerate(self.own(c)):
                        if c == b and j < link.even:
                            M[row, k] = body.mass if i == j else 0
                        elif c != b or link.even <= i <= j:
                            M[row, k] = M[k, row] = self._power(c, i, flow)
                    flow, c = self._down(c, flow), self.parents[c]
        return M, flows

    def _power(self, b: int, i: int, flow: Wrench) -> ca.SX:
        link = self.links[b]
        return ca.dot(link.turn[:, i], flow.torque) + ca.dot(link.move[:, i], flow.force)

    def _down(self, b: int, flow: Wrench) -> Wrench:
        """Return the load of a joint on the parent."""
        link = self.links[b]
        force = link.C.T @ flow.force
        torque = ca.cross(link.point, force)
        return Wrench(torque + link.C.T @ flow.torque if link.follows else torque, force)

    @cached_property
    def _bias(self) -> list[Wrench]:
        """Load of each joint without gravity if all rates are zero."""
        zero = ca.SX(3, 1)
        out: list[Wrench] = []
        passed: list[Wrench] = []
        free = accelerations(self.links, self.parents, zero)
        for b, (link, (turn, move)) in enumerate(zip(self.links, free, strict=True)):
            m, w = self._moments[b], link.w
            force = m.mass * move + ca.cross(turn, m.first) + ca.cross(w, ca.cross(w, m.first))
            torque = m.second @ turn + m.gyroscopic(w) + ca.cross(m.first, move)
            pushed = self._applied.get(b, Wrench(zero, zero))
            out.append(Wrench(torque - pushed.torque, force - pushed.force))
            if self._rides[b]:  # the rest is in the moments of the parent
                coasting = link.move_bias
                torque, force = ca.cross(m.first, coasting), m.mass * coasting
            passed.append(Wrench(torque - pushed.torque, force - pushed.force))
        for b in reversed(range(len(out))):
            above = self.parents[b]
            if above >= 0:
                down = self._down(b, passed[b])
                for each in (out, passed):
                    torque, force = each[above]
                    each[above] = Wrench(torque + down.torque, force + down.force)
        return out

    @cached_property
    def _without_laws(self) -> ca.SX:
        rows = []
        for b, body in enumerate(self.composites):
            g, bias = self._gravity[b], self._bias[b]
            pull = Wrench(ca.cross(body.first, g) - bias.torque, body.mass * g - bias.force)
            rows += [self._power(b, i, pull) for i in range(len(self.own(b)))]
        return ca.vertcat(*rows)

    @cached_property
    def equations(self) -> tuple[ca.SX, ca.SX]:
        """Matrix (n, n) and right side (n) of the linear equations for the rates."""
        M, right = ca.SX(self._columns[0]), ca.SX(self._without_laws)
        for law in self.laws:
            link = self.links[law.link]
            fixed, per_rate = self._normal_force(law.link)
            for i, row in enumerate(self.own(law.link)):
                lever = ca.dot(link.turn[:, i], law.of_normal_force)
                right[row] += ca.dot(link.turn[:, i], law.given) + lever * fixed
                for k, fraction in per_rate.items():
                    M[row, k] -= lever * fraction
        return M, right

    def _normal_force(self, b: int) -> tuple[ca.SX, dict[int, ca.SX]]:
        """Return the normal force without rates, and per rate."""
        normal, pull = self.links[b].contact.normal, self.composites[b].mass * self._gravity[b]
        flows = self._columns[1][b]
        fixed = ca.dot(normal, self._bias[b].force - pull)
        return fixed, {k: ca.dot(normal, flow.force) for k, flow in flows.items()}

    @property
    def rates(self) -> ca.SX:
        """Rates of the speeds (n)."""
        return self.solution[0]

    @cached_property
    def solution(self) -> tuple[ca.SX, dict[int, ca.SX]]:
        """Rates, and the torque [N m] about its normal of each contact that resists spin."""
        matrix, right = self.equations
        held = [b for b, link in enumerate(self.links) if link.spin_rate is not None]
        N = ca.SX(self.size, len(held))
        for k, b in enumerate(held):
            N[list(self.own(b)), k] = self.links[b].turn.T @ self.links[b].contact.normal
        solved = eliminate(matrix, ca.horzcat(right, N), symmetric=not self.laws)
        rates, answer = solved[:, 0], solved[:, 1:]
        if not held:
            return rates, {}
        lacking = ca.vertcat(*(self.links[b].spin_rate for b in held)) - N.T @ rates
        torques = eliminate(N.T @ answer, lacking, symmetric=not self.laws)
        return rates + answer @ torques, dict(zip(held, ca.vertsplit(torques), strict=True))

    def carried(self, b: int, rates: ca.SX) -> Wrench:
        """
        Return the load of the joint of a body: torque and force on the body, in its axes.

        Parameters
        ----------
        b
            Index of the body.
        rates
            Rates of the speeds (n).

        """
        body, g, bias = self.composites[b], self._gravity[b], self._bias[b]
        force, torque = bias.force - body.mass * g, bias.torque - ca.cross(body.first, g)
        turn, move = self._carried_acceleration(b, rates)
        force += body.mass * move + ca.cross(turn, body.first)
        torque += body.second @ turn + ca.cross(body.first, move)
        for k, flow in self._columns[1][b].items():
            force += flow.force * rates[k]
            torque += flow.torque * rates[k]
        return Wrench(torque, force)

    def _carried_acceleration(self, b: int, rates: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the accelerations of a body by rates of speeds below its joint."""
        link, above = self.links[b], self.parents[b]
        if above < 0:
            return ca.SX(3, 1), ca.SX(3, 1)
        turn, move = self._carried_acceleration(above, rates)
        own = rates[list(self.own(above)), 0]
        turn = turn + self.links[above].turn @ own
        move = move + self.links[above].move @ own
        carried = link.C @ (move + ca.cross(turn, link.point))
        return (link.C @ turn if link.follows else ca.SX(3, 1)), carried

"""The stages of a horizon, linearised in the tangent space by one compiled call."""

from __future__ import annotations

from itertools import islice
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled_once, FastFunction, LOOPS
from rolling_dynamics.contract.capabilities import smooth_mode
from rolling_dynamics.contract.rolling_system import RollingSystem, Symbols
from rolling_dynamics.simulation.stepper import ramp_step

Index = NDArray[np.int_]
STEADY = 1.5  # rate of the fastest mode times the duration of a block
DERIVATION = 'stages 4'  # changes with how they follow from the dynamics


class Stages(NamedTuple):
    """
    Linearised stages; d is a change of the state at a node, e one of the control.

    Attributes
    ----------
    A, B, defect
        d_(k+1) = A d_k + B (e_k, e_(k+1)) + defect, shapes (k, n, n), (k, n, 2 m) and (k, n).
    turn, error
        The cost of the node is |turn d + error|^2, shapes (k, n, n) and (k, n).
    C, D, margins
        Limits at the node, C d + D e + margins, shapes (k, c, n), (k, c, m) and (k, c).

    """

    A: Array
    B: Array
    defect: Array
    turn: Array
    error: Array
    C: Array
    D: Array
    margins: Array


class StageFunction:
    """
    Linearisation of stages in parallel. Not thread-safe.

    Attributes
    ----------
    clock, states, after, wanted, controls, after_controls
        Inputs, a row for each stage: start and duration [s], state here and at the next node,
        state of the reference, control here and at the next node. Controls are linear in between.
    roots
        Roots of the weights of deviations from the reference, shape (k, n, n).
    p
        Parameters of the system.
    stages
        The results, written in place.

    """

    def __init__(
        self,
        system: RollingSystem,
        moving: Index,
        active: Index,
        limits: tuple[ca.Function, ...],
        count: int,
        blocks: int = 1,
    ) -> None:
        """
        Write out and compile the stages.

        Parameters
        ----------
        system
            The system.
        moving
            Tangent numbers that count; the others stay unchanged.
        active
            Indices of the controls that may change.
        limits
            Limited functions ``(x, u, t, p)``.
        count
            Number of stages.
        blocks
            Number of parts of each stage, integrated one after another: see :func:`blocks_of`.

        """
        content = ''.join(
            g.serialize()
            for g in (
                smooth_mode(system).dynamics,
                system.retract,
                system.difference,
                *limits,
            )
        )
        (function,) = compiled_once(
            f'{DERIVATION} {moving.tolist()} {active.tolist()} {count} {blocks} {content}',
            ('stages',),
            lambda: (_written_out(system, moving, active, limits, count, blocks),),
            LOOPS,
            awaited=True,
        )
        self._fast = FastFunction(function)
        given = (a.reshape(count, -1) for a in self._fast.inputs[:-1])
        self.states, self.after, self.wanted, self.controls, self.after_controls = islice(given, 5)
        self.clock, roots = given
        self.p = self._fast.inputs[-1]
        n, m = len(moving), len(active)
        c = sum(limit.size1_out(0) for limit in limits)
        self.roots = _matrices(roots, n, n)
        out = np.split(
            self._fast.output.reshape(count, -1),
            np.cumsum([n * n, 2 * n * m, n, n * n, n, c * n, c * m]),
            axis=1,
        )
        shapes = ((n, n), (n, 2 * m), None, (n, n), None, (c, n), (c, m), None)
        self.stages = Stages(
            *(v if s is None else _matrices(v, *s) for v, s in zip(out, shapes, strict=True))
        )

    def evaluate(self) -> Stages:
        """Return the stages for the present inputs."""
        self._fast.call()
        return self.stages


def _matrices(columns: Array, rows: int, width: int) -> Array:
    """Return a view of matrices that lie there column by column."""
    return columns.reshape(len(columns), width, rows).transpose(0, 2, 1)


def _written_out(
    system: RollingSystem,
    moving: Index,
    active: Index,
    limits: tuple[ca.Function, ...],
    count: int,
    blocks: int,
) -> ca.Function:
    """
    Return ``(x, x_next, reference, u, u_next, (t, h), root, p) -> numbers`` for all stages.

    A block ends where two Runge-Kutta steps of order 4 do; its derivatives come from one of
    order 2, which take a third of the time and change no solution, only the way there.
    """
    n, m, k = len(moving), system.control.size, len(active)
    rates, retract, difference, margins = _parts(system, moving, active, limits)
    x, x_next, reference = (
        ca.MX.sym(name, system.state.size) for name in ('x', 'x_next', 'reference')
    )
    u, u_next, clock = ca.MX.sym('u', m), ca.MX.sym('u_next', m), ca.MX.sym('clock', 2)
    p, root = ca.MX.sym('p', system.parameters.size), ca.MX.sym('root', n * n)
    t, h = clock[0], clock[1]
    h /= blocks
    moved, half = retract(x), ramp_step(system)
    S, end = ca.horzcat(moved, ca.MX(system.state.size, 2 * k)), x

    def slope(at: ca.MX, S: ca.MX, fraction: float) -> tuple[ca.MX, ca.MX]:
        """Return rate and rate of the derivatives, at a fraction of the stage."""
        rate, fx, fu = rates(
            at, (1 - fraction) * u + fraction * u_next, t + fraction * blocks * h, p
        )
        driven = ca.horzcat(ca.MX(system.state.size, n), (1 - fraction) * fu, fraction * fu)
        return rate, fx @ S + driven

    for block in range(blocks):
        shares = [(block + part) / blocks for part in (0.0, 0.5, 1.0)]
        here, middle, there = ((1 - s) * u + s * u_next for s in shares)
        since = t + block * h
        rate, S1 = slope(end, S, shares[0])
        S = S + h * slope(end + h / 2 * rate, S + h / 2 * S1, shares[1])[1]
        end = half(end, here, middle, since, h / 2, p)
        end = half(end, middle, there, since + h / 2, h / 2, p)
    defect, by_end = difference(end, x_next)
    error, by_start = difference(x, reference)
    value, C, D = margins(x, u, t, p)
    costs = ca.reshape(root, n, n) @ ca.horzcat(by_start @ moved, error)
    parts = (by_end @ S, defect, costs, C @ moved, D, value)
    numbers = ca.vertcat(*(ca.vec(ca.densify(part)) for part in parts))
    given = [x, x_next, reference, u, u_next, clock, root, p]
    return side_by_side('stages', ca.Function('stage', given, [numbers]).expand(), count)


def blocks_of(system: RollingSystem, p: Array, x: Array, u: Array, step: float) -> int:
    """
    Return into how many blocks a stage has to be divided, by the fastest mode about a state.

    Parameters
    ----------
    system, p
        The system and its parameters.
    x, u
        State and control about which it is linearised.
    step
        Duration of a stage [s].

    """
    at = ca.SX.sym('x', system.state.size)
    rate = smooth_mode(system).dynamics(at, u, 0.0, p)
    J = np.array(ca.Function('J', [at], [ca.densify(ca.jacobian(rate, at))])(x))
    fastest = np.abs(np.linalg.eigvals(J)).max() if np.isfinite(J).all() else 0.0
    return max(math.ceil(fastest * step / STEADY), 1)


def side_by_side(name: str, function: ca.Function, count: int) -> ca.Function:
    """Return a function for so many arguments at once, of which the last one is shared."""
    last = function.n_in() - 1
    given = [ca.MX.sym(f'a{i}', function.size1_in(i), count) for i in range(last)]
    given.append(ca.MX.sym('shared', function.size1_in(last)))
    return ca.Function(name, given, [function.map('each', 'serial', count, [last], [])(*given)])


def _parts(
    system: RollingSystem, moving: Index, active: Index, limits: tuple[ca.Function, ...]
) -> tuple[ca.Function, ca.Function, ca.Function, ca.Function]:
    """Return rates, retraction, difference and limits with their derivatives."""
    x, u, t, p = Symbols.of(system.state, system.control, system.parameters)
    d, y = ca.SX.sym('d', system.tangent.size), ca.SX.sym('y', system.state.size)
    rate = ca.densify(smooth_mode(system).dynamics(x, u, t, p))
    values = [ca.densify(limit(x, u, t, p)) for limit in limits]
    margin = ca.vertcat(*values) if values else ca.SX(0, 1)
    apart = system.difference(x, y)[moving.tolist()]
    moved = ca.jacobian(system.retract(x, d), d)[:, moving.tolist()]
    columns = active.tolist()
    return (
        ca.Function(
            'rates', [x, u, t, p], [rate, ca.jacobian(rate, x), ca.jacobian(rate, u)[:, columns]]
        ),
        ca.Function('moved', [x], [ca.substitute(moved, d, ca.DM.zeros(d.numel()))]),
        ca.Function('apart', [x, y], [ca.densify(apart), ca.jacobian(apart, x)]),
        ca.Function(
            'margins',
            [x, u, t, p],
            [margin, ca.jacobian(margin, x), ca.jacobian(margin, u)[:, columns]],
        ),
    )

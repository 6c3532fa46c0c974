"""The stages of a horizon, linearised in the tangent space by one compiled call."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_controller.linearization import ramp_step
from rolling_dynamics.compiled import compiled_once, FastFunction, LOOPS
from rolling_dynamics.contract.capabilities import envelope
from rolling_dynamics.contract.rolling_system import RollingSystem

Array = NDArray[np.float64]
Index = NDArray[np.int_]
DERIVATION = 'stages 2'  # changes with how they follow from the dynamics


class Stages(NamedTuple):
    """
    Linearised stages; d is a change of the state at a node, e one of the control.

    Attributes
    ----------
    A, B, B_next
        d_(k+1) = A d_k + B e_k + B_next e_(k+1) + defect, shapes (k, n, n) and (k, n, m).
    defect
        Where a stage ends, as seen from the next node, shape (k, n).
    error, turn
        The node as seen from its reference, shape (k, n), and the derivative by d, (k, n, n).
    margins, C, D
        Functions of the envelope at the node, shape (k, c), their derivatives by d and e.

    """

    A: Array
    B: Array
    B_next: Array
    defect: Array
    error: Array
    turn: Array
    margins: Array
    C: Array
    D: Array


class StageFunction:
    """Linearises stages side by side. Not for use from two threads at once."""

    def __init__(
        self,
        system: RollingSystem,
        moving: Index,
        active: Index,
        limits: tuple[str, ...],
        count: int,
    ) -> None:
        """
        Write out and compile the stages.

        Parameters
        ----------
        system
            The system.
        moving
            Which tangent numbers count; the others stay as they are.
        active
            Where the controls that may change stand in the control.
        limits
            Names of the functions of the envelope.
        count
            Number of stages.

        """
        self._sizes = len(moving), len(active), len(limits)
        known = envelope(system)
        content = ''.join(
            g.serialize()
            for g in (
                next(iter(system.modes.values())).dynamics,
                system.retract,
                system.difference,
                *(known[name] for name in limits),
            )
        )
        (function,) = compiled_once(
            f'{DERIVATION} {moving.tolist()} {active.tolist()} {limits} {count} {content}',
            ('stages',),
            lambda: (_written_out(system, moving, active, limits, count),),
            LOOPS,
            awaited=True,
        )
        self._fast = FastFunction(function)
        self._inputs = [a.reshape(count, -1) for a in self._fast.inputs[:-1]]

    def along(
        self, p: Array, clock: Array, states: Array, controls: Array, wanted: Array
    ) -> Stages:
        """
        Return the stages.

        Parameters
        ----------
        p
            Parameters of the system.
        clock
            Start and duration of each stage [s], shape (k, 2).
        states, controls
            At the nodes, shapes (k + 1, n) and (k + 1, m); controls are straight in between.
        wanted
            States of the reference at the first k nodes.

        """
        x, x_next, reference, u, u_next, times = self._inputs
        x[:], x_next[:], reference[:] = states[:-1], states[1:], wanted
        u[:], u_next[:], times[:] = controls[:-1], controls[1:], clock
        self._fast.inputs[-1][:] = p
        n, m, c = self._sizes
        widths = np.cumsum([n * n, n * m, n * m, n, n, n * n, c, c * n])
        out = np.split(self._fast.evaluate().reshape(len(x), -1), widths, axis=1)
        shapes = ((n, n), (n, m), (n, m), None, None, (n, n), None, (c, n), (c, m))
        return Stages(
            *(v if s is None else _matrices(v, *s) for v, s in zip(out, shapes, strict=True))
        )

    def renew(self) -> None:
        """Go over to machine code if it is there by now."""
        self._fast.renew()


def _matrices(columns: Array, rows: int, width: int) -> Array:
    """Return matrices that lie there column by column."""
    return columns.reshape(len(columns), width, rows).transpose(0, 2, 1)


def _written_out(
    system: RollingSystem, moving: Index, active: Index, limits: tuple[str, ...], count: int
) -> ca.Function:
    """
    Return ``(x, x_next, reference, u, u_next, (t, h), p) -> numbers`` for all stages at once.

    A stage ends where two Runge-Kutta steps of order 4 do; its derivatives are those of one of
    order 2, which take a third of the time and change no solution, only the way there.
    """
    n, m, k = len(moving), system.control.size, len(active)
    rates, retract, difference, margins = _parts(system, moving, active, limits)
    x, x_next, reference = (
        ca.MX.sym(name, system.state.size) for name in ('x', 'x_next', 'reference')
    )
    u, u_next, clock = ca.MX.sym('u', m), ca.MX.sym('u_next', m), ca.MX.sym('clock', 2)
    p = ca.MX.sym('p', system.parameters.size)
    t, h = clock[0], clock[1]
    middle = (u + u_next) / 2
    moved = retract(x)
    S = ca.horzcat(moved, ca.MX(system.state.size, 2 * k))
    k1, fx, fu = rates(x, u, t, p)
    S1 = fx @ S + ca.horzcat(ca.MX(system.state.size, n), fu, 0 * fu)
    _, fx, fu = rates(x + h / 2 * k1, middle, t + h / 2, p)
    S2 = fx @ (S + h / 2 * S1) + ca.horzcat(ca.MX(system.state.size, n), fu / 2, fu / 2)
    half = ramp_step(system)
    end = half(half(x, u, middle, t, h / 2, p), middle, u_next, t + h / 2, h / 2, p)
    defect, by_end = difference(end, x_next)
    error, by_start = difference(x, reference)
    value, C, D = margins(x, u, t, p)
    parts = (by_end @ (S + h * S2), defect, error, by_start @ moved, value, C @ moved, D)
    numbers = ca.vertcat(*(ca.vec(ca.densify(part)) for part in parts))
    stage = ca.Function('stage', [x, x_next, reference, u, u_next, clock, p], [numbers])
    return ca.Function('stages', *_mapped(stage.expand('stage'), count))


def _mapped(stage: ca.Function, count: int) -> tuple[list[ca.MX], list[ca.MX]]:
    """Return arguments and results of a stage for so many at once, the last argument shared."""
    given = [ca.MX.sym(f'a{i}', stage.size1_in(i), count) for i in range(stage.n_in() - 1)]
    shared = ca.MX.sym('p', stage.size1_in(stage.n_in() - 1))
    each = stage.map('each', 'serial', count, [stage.n_in() - 1], [])
    return [*given, shared], [each(*given, shared)]


def _parts(
    system: RollingSystem, moving: Index, active: Index, limits: tuple[str, ...]
) -> tuple[ca.Function, ca.Function, ca.Function, ca.Function]:
    """Return rates, retraction, difference and envelope with their derivatives."""
    x, y = ca.SX.sym('x', system.state.size), ca.SX.sym('y', system.state.size)
    u, t = ca.SX.sym('u', system.control.size), ca.SX.sym('t')
    p, d = ca.SX.sym('p', system.parameters.size), ca.SX.sym('d', system.tangent.size)
    rate = ca.densify(next(iter(system.modes.values())).dynamics(x, u, t, p))
    known = envelope(system)
    values = [ca.densify(known[name](x, u, t, p)) for name in limits]
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

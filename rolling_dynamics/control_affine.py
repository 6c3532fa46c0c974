"""Control-affine form of a kinematic system: x-dot = f(x) + sum of u_i g_i(x)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError


@dataclass(frozen=True, eq=False, kw_only=True)
class AffineFields:
    """
    A control-affine system and what is held constant in it.

    Attributes
    ----------
    x
        Symbols of the state.
    held
        Symbols that are constant along a motion: parameters, then inputs that do not enter
        linearly.
    held_names
        Their names.
    drift
        f(x), None if it vanishes identically.
    fields
        Input name -> g(x).
    layout
        Layout of x, by which random states are drawn.
    dimension
        Dimension of the state space.

    """

    x: ca.SX
    held: ca.SX
    held_names: tuple[str, ...]
    drift: ca.SX | None
    fields: Mapping[str, ca.SX]
    layout: Layout
    dimension: int

    def function(self, expression: ca.SX) -> ca.Function:
        """Return ``(x, held) -> expression``."""
        return ca.Function('value', [self.x, self.held], [ca.densify(expression)])

    def random_state(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return a random state, each number within +-1.2, quaternions of norm 1."""
        x = rng.uniform(-1.2, 1.2, self.layout.size)
        for entry in self.layout.entries:
            if entry.has_unit_norm:
                x[self.layout.slice(entry.name)] /= np.linalg.norm(
                    x[self.layout.slice(entry.name)]
                )
        return x

    def without(self, *names: str) -> AffineFields:
        """Return the system without some of its inputs."""
        for name in names:
            if name not in self.fields:
                raise ParameterError(f'no input {name!r}; there are: {", ".join(self.fields)}')
        kept = {n: g for n, g in self.fields.items() if n not in names}
        return replace(self, fields=kept)


def affine_fields(system: RollingSystem) -> AffineFields:
    """
    Return the vector fields of a kinematic system.

    Inputs that do not enter linearly beside the earlier ones, such as angles, are held.

    Parameters
    ----------
    system
        A system whose mode has no wrench.

    Raises
    ------
    ParameterError
        The system is dynamic: its brackets are those of another theory.

    """
    mode = next(iter(system.modes.values()))
    if mode.wrench is not None:
        raise ParameterError(
            f'{system.name}: is a dynamic system (it has a contact wrench); Lie brackets are '
            'computed for kinematic ones, such as spin_rolling_sphere'
        )
    x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    p = ca.SX.sym('p', system.parameters.size)
    xdot = mode.dynamics(x, u, 0, p)
    columns = ca.jacobian(xdot, u)
    affine: list[int] = []
    for j in range(u.numel()):
        trial = [*affine, j]
        if not ca.depends_on(columns[:, trial], u[trial]):
            affine = trial
    rest = [j for j in range(u.numel()) if j not in affine]
    zero = ca.SX.zeros(len(affine), 1)
    drift = ca.substitute(xdot, u[affine], zero)
    names = system.control.names
    return AffineFields(
        x=x,
        held=ca.vertcat(p, u[rest]),
        held_names=(*system.parameters.names, *(names[j] for j in rest)),
        drift=None if ca.simplify(drift).nnz() == 0 or _vanishes(drift, x, p, u[rest]) else drift,
        fields={names[j]: columns[:, j] for j in affine},
        layout=system.state,
        dimension=system.tangent.size,
    )


def _vanishes(drift: ca.SX, x: ca.SX, p: ca.SX, rest: ca.SX) -> bool:
    f, rng = ca.Function('f', [x, p, rest], [drift]), np.random.default_rng(0)
    values = [
        np.abs(np.array(f(*(rng.uniform(0.3, 1.2, s.numel()) for s in (x, p, rest))))).max()
        for _ in range(5)
    ]
    return bool(max(values) < 1e-14)

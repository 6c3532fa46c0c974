"""Impulses: the state of a machine just after it is struck."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import offers, RigidBodies
from rolling_dynamics.contract.instruments import MotionExpressions
from rolling_dynamics.contract.rolling_system import RollingSystem, tangent_steps
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation.guards import in_mode, projection

FREE = 0.5  # singular values of a projection are 0, or at least 1 for its range


class Impulse:
    """
    An impulse at the centre of mass of a body, while contacts of the first mode hold.

    Velocities of bodies follow from poses and dynamics; they are linear in the velocities of the
    state. A velocity whose rate depends on no parameter, such as that of a hand, is not changed by
    forces. Where constraints couple velocities, their impulses do no work on the admissible
    motions.

    Attributes
    ----------
    body, mass
        Name and mass [kg] of the body that is struck.

    """

    def __init__(self, system: RollingSystem, p: ArrayLike, body: str = '') -> None:
        """
        Derive the velocities of the bodies; the heaviest one is struck by default.

        Raises
        ------
        ParameterError
            The system knows no masses, or no such body.

        """
        known, given = offers(system, RigidBodies), np.asarray(p, dtype=float)
        masses = {} if known is None else known.rigid_bodies(given)
        if not masses:
            raise ParameterError(f'{system.name} cannot be struck: it names no body with a mass')
        self.body = body or max(masses, key=lambda name: masses[name].mass)
        if self.body not in masses:
            raise ParameterError(f'no body {body!r} with a mass; there are {", ".join(masses)}')
        self.mass, self._system, self._p = masses[self.body].mass, system, given
        mode = next(iter(system.modes))
        self._kept, at = projection(in_mode(system, mode)), MotionExpressions.of(system, mode)
        x, u, t, p_ = at.symbols
        centres = [
            (X := at.body(n))[:3, 3] + X[:3, :3] @ ca.DM(b.centre) for n, b in masses.items()
        ]
        turns = [at.body(name)[:3, :3] for name in masses]
        spins = [ca.inv_skew(R.T @ ca.reshape(at.derivative(ca.vec(R)), 3, 3)) for R in turns]
        velocities = ca.vertcat(*map(at.derivative, centres), *spins)
        places = ca.vertcat(*centres, *map(ca.vec, turns))
        step = tangent_steps(system, x)
        held, slope = (ca.jacobian(part, x) @ step for part in (places, velocities))
        forced = ca.jacobian(at.rate, p_)
        self._moved = [
            k for k in range(step.shape[1])
            if not held[:, k].nnz() and slope[:, k].nnz()
            and forced[[int(row) for row in step[:, k].sparsity().row()], :].nnz()
        ]  # fmt: skip
        slope = ca.substitute(slope[:, self._moved], ca.vertcat(u, t), 0)
        self._slope = ca.Function('body_velocities', [x, p_], [ca.densify(slope)])
        weights = [b.mass * np.eye(3) for b in masses.values()] + [
            b.inertia for b in masses.values()
        ]
        self._weight = np.array(ca.diagcat(*map(ca.DM, weights)))
        self._row = 3 * list(masses).index(self.body)

    def after(self, x: ArrayLike, impulse: ArrayLike) -> Array:
        """
        Return the state after an impulse.

        Parameters
        ----------
        x
            State before, shape (state.size,), in its units.
        impulse
            In W, shape (3,) [N s].

        """
        free = self._free(x)
        J = np.array(self._slope(x, self._p)) @ free
        d = np.zeros(self._system.tangent.size)
        struck = J[self._row : self._row + 3].T @ np.asarray(impulse, dtype=float)
        d[self._moved] = free @ np.linalg.solve(J.T @ self._weight @ J, struck)
        return np.array(self._system.retract(x, d)).ravel()

    def _free(self, x: ArrayLike) -> Array:
        """Return a basis of the velocity changes that constraints allow, in columns."""
        system, unit = self._system, np.eye(self._system.tangent.size)
        before = self._kept(x, self._p)
        kept = [
            np.array(system.difference(self._kept(system.retract(x, unit[k]), self._p), before))
            for k in self._moved
        ]  # linear in velocities: the differences are exact
        ways, size, _ = np.linalg.svd(np.hstack(kept)[self._moved])
        return ways[:, size > FREE]

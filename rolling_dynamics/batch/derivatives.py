"""Derivatives of the steps of many trajectories at once, by vectorised machine code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
import ctypes
from functools import partial
from importlib import import_module
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.batch.kernels import c_text, kernel_source
from rolling_dynamics.batch.trajectories import Equations, equations
from rolling_dynamics.batch.vector_source import vector_source, vectors
from rolling_dynamics.compiled import compiled_source
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import check_names, check_positive, ParameterError
from rolling_dynamics.extras import need

LEAST = 64  # trajectories for which a thread pays off


class Adjoint(NamedTuple):
    """
    A row for each trajectory.

    Attributes
    ----------
    x, u, p, t
        Derivatives of the product of adjoint and final state with respect to state, control,
        parameters and time at the start; shapes (size, n), (size, m), (size, q), (size,).

    """

    x: Array
    u: Array
    p: Array
    t: Array


class StepRows(NamedTuple):
    """
    Machine code of a step and its adjoint, for trajectories stored in rows.

    Attributes
    ----------
    file
        Shared library.
    sizes
        Sizes of state, control and parameters.
    steps, h
        Number of Runge-Kutta steps in one step, and their length [s].

    """

    file: str
    sizes: tuple[int, int, int]
    steps: int
    h: float

    @classmethod
    def of(
        cls,
        system: RollingSystem,
        dt: float,
        max_step: float = 1e-3,
        mode: str | None = None,
        also: str = '',
    ) -> StepRows:
        """
        Compile a step of ``dt`` in a mode, the first if None; ``also`` is C that is appended.

        Raises
        ------
        ParameterError
            A value is out of range, there is no such mode, or no C compiler.

        """
        check_positive('dt', dt, 's')
        check_positive('max_step', max_step, 's')
        check_names([] if mode is None else [mode], list(system.modes), 'mode: none')
        these = equations(system, mode or next(iter(system.modes)))
        source = '\n'.join([*_source(these), also])
        file = compiled_source('gradient', source, vectors().target('double'))
        if file is None:
            raise ParameterError(
                'derivatives of batches need machine code: a C compiler that works, and no '
                'ROLLING_COMPILE=never'
            )
        steps = math.ceil(dt / max_step * (1 - 1e-12))
        sizes = (system.state.size, system.control.size, system.parameters.size)
        return cls(str(file), sizes, steps, dt / steps)


class DifferentiableStep:
    """
    A classical Runge-Kutta step of many trajectories at once, and its derivatives.

    It is the step of :class:`BatchSimulator` in one mode; guards are not monitored. Derivatives
    are with respect to the components of the state, not to its tangent space. They include the
    projection onto the constraints.
    """

    def __init__(
        self,
        system: RollingSystem,
        dt: float,
        *,
        max_step: float = 1e-3,
        mode: str | None = None,
        threads: int | None = None,
    ) -> None:
        """
        Compile the step, unless the system has been compiled before.

        Parameters
        ----------
        system
            Any rolling system.
        dt
            Time [s] for which the control is held.
        max_step
            Longest internal step [s]; ``dt`` is divided evenly.
        mode
            Mode of motion; the first if None.
        threads
            Number of threads; None for one per processor.

        Raises
        ------
        ParameterError
            An argument is out of range, or there is no C compiler.

        """
        self._rows = StepRows.of(system, dt, max_step, mode)
        self._library = ctypes.CDLL(self._rows.file)
        self._pool = ThreadPoolExecutor(threads or len(os.sched_getaffinity(0)))

    def step(self, x: ArrayLike, u: ArrayLike, p: ArrayLike, t: ArrayLike = 0.0) -> Array:
        """
        Return states after the step.

        Parameters
        ----------
        x
            States, shape (size, n).
        u, p
            Controls and parameters, shapes (size, m) and (size, q), or one for all.
        t
            Times at the start [s], shape (size,), or one for all.

        Returns
        -------
        NDArray
            Shape (size, n).

        Raises
        ------
        ParameterError
            The shape does not match.

        """
        given = self._given(x, u, p, t)
        end = np.empty_like(given[0])
        self._everywhere('step_rows', (*given, end))
        return end

    def vjp(
        self,
        x: ArrayLike,
        u: ArrayLike,
        p: ArrayLike,
        adjoint: ArrayLike,
        t: ArrayLike = 0.0,
    ) -> Adjoint:
        """
        Return the products of adjoints with the Jacobians of the step.

        Parameters
        ----------
        x, u, p, t
            As of :meth:`step`.
        adjoint
            Weight of each component of the final state, shape (size, n), or one for all.

        Raises
        ------
        ParameterError
            The shape does not match.

        """
        given = self._given(x, u, p, t)
        weights = self._filled('adjoint', adjoint, given[0].shape)
        out = [np.empty_like(a) for a in given]
        self._everywhere('vjp_rows', (*given, weights, *out))
        return Adjoint(x=out[0], u=out[1], p=out[3], t=out[2])

    def linearise(
        self, x: ArrayLike, u: ArrayLike, p: ArrayLike, t: ArrayLike = 0.0
    ) -> tuple[Array, Array]:
        """
        Return the Jacobians of the step with respect to state and control.

        Parameters
        ----------
        x, u, p, t
            As of :meth:`step`.

        Returns
        -------
        tuple
            A, shape (size, n, n), and B, shape (size, n, m).

        """
        given = self._given(x, u, p, t)
        size, n = given[0].shape
        states, controls, times, parameters = (np.repeat(a, n, axis=0) for a in given)
        unit = np.tile(np.eye(n), (size, 1))
        rows = self.vjp(states, controls, parameters, unit, times)
        return rows.x.reshape(size, n, n), rows.u.reshape(size, n, -1)

    def _given(self, x: ArrayLike, u: ArrayLike, p: ArrayLike, t: ArrayLike) -> list[Array]:
        n, m, q = self._rows.sizes
        size = len(np.atleast_2d(np.asarray(x, dtype=float)))
        rows = {'x': (x, (size, n)), 'u': (u, (size, m)), 't': (t, (size,)), 'p': (p, (size, q))}
        return [self._filled(name, *row) for name, row in rows.items()]

    def _filled(self, name: str, given: ArrayLike, shape: tuple[int, ...]) -> Array:
        array = np.asarray(given, dtype=float)
        if array.shape not in (shape, shape[1:]):
            raise ParameterError(f'{name} takes shape {shape[1:]} or {shape}, got {array.shape}')
        return np.ascontiguousarray(np.broadcast_to(array, shape))

    def _everywhere(self, name: str, arrays: tuple[Array, ...]) -> None:
        """Call a function of the library on slices of all arrays, in threads."""
        function, size = getattr(self._library, name), len(arrays[0])

        def work(a: int) -> int:
            parts = [array[a : a + LEAST] for array in arrays]
            pointers = [ctypes.c_void_p(part.ctypes.data) for part in parts]
            rows = self._rows
            return int(
                function(
                    ctypes.c_long(len(parts[0])),
                    ctypes.c_long(rows.steps),
                    ctypes.c_double(rows.h),
                    *pointers,
                )
            )

        failed = list(self._pool.map(work, range(0, size, LEAST)))
        if name == 'vjp_rows' and any(failed):
            raise MemoryError('derivatives: no memory for the states of the steps')


def _source(these: Equations) -> Iterator[str]:
    """Yield the C of a mode's step and its adjoint."""
    yield '#include <stdlib.h>'
    yield kernel_source(these, 'double', 'RK4')
    for function in (these.dynamics, these.project):
        yield from vector_source(_adjoint(function))
    yield c_text('derivatives.c')


def _adjoint(function: ca.Function) -> ca.Function:
    """Return ``(inputs, weights of the output) -> derivatives``, one vector for all inputs."""
    given = function.sx_in()
    weights = ca.SX.sym('weights', function.numel_out(0))
    gradient = ca.jtimes(function(*given), ca.vertcat(*given), weights, True)
    out = ca.cse(ca.densify(gradient))
    return ca.Function(f'{function.name()}_back', [*given, weights], [out])


Step = Callable[..., Any]
Shapes = tuple[tuple[int, ...], ...]


def jax_step(
    system: RollingSystem, dt: float, *, max_step: float = 1e-3, mode: str | None = None
) -> Step:
    """
    Return a classical Runge-Kutta step as a JAX function, with its derivatives.

    Parameters
    ----------
    system
        Any rolling system.
    dt
        Time [s] for which the control is held.
    max_step
        Longest internal step [s]; ``dt`` is divided evenly.
    mode
        Mode of motion; the first if None. Guards are not monitored.

    Returns
    -------
    callable
        ``step(x, u, p, t=0.0)`` of one trajectory, for arrays of shapes (n,), (m,), (q,) and ().
        It returns the final state, shape (n,), and supports ``jax.jit``, ``jax.vmap`` and
        ``jax.grad``. Derivatives are those of :class:`DifferentiableStep`, in reverse mode only.

    Raises
    ------
    ParameterError
        JAX is missing or set to single precision, there is no C compiler, or an argument is out of
        range. The step raises it for a shape that does not match.

    """
    need('jax_step', 'jax')
    jax: Any = import_module('jax')
    if not jax.config.jax_enable_x64:
        raise ParameterError(
            "jax_step needs double precision: jax.config.update('jax_enable_x64', True) before "
            'arrays are made'
        )
    header = Path(jax.ffi.include_dir()) / 'xla' / 'ffi' / 'api' / 'c_api.h'
    also = f'/* JAX {jax.__version__} */\n#include "{header}"\n{c_text("xla.c")}'
    rows = StepRows.of(system, dt, max_step, mode, also)
    n, m, q = rows.sizes
    shapes: Shapes = ((n,), (m,), (), (q,))
    return _function(jax, *_registered(jax, rows, shapes), shapes)


def _registered(jax: Any, rows: StepRows, shapes: Shapes) -> tuple[Step, Step]:  # noqa: ANN401
    """Return the calls of ``(x, u, t, p)`` and of ``(x, u, t, p, weights)``."""
    library, name = ctypes.CDLL(rows.file), Path(rows.file).stem
    each = tuple(jax.ShapeDtypeStruct(shape, np.float64) for shape in shapes)
    numbers = {'h': np.float64(rows.h), 'steps': np.int64(rows.steps)}

    def registered(kind: str, out: Any) -> Step:  # noqa: ANN401  (shapes of JAX)
        target = f'{name}_{kind}'
        capsule = jax.ffi.pycapsule(getattr(library, f'xla_{kind}'))
        jax.ffi.register_ffi_target(target, capsule, platform='cpu')
        return partial(jax.ffi.ffi_call(target, out, vmap_method='broadcast_all'), **numbers)

    return registered('step', each[0]), registered('vjp', each)


def _function(jax: Any, forward: Step, backward: Step, shapes: Shapes) -> Step:  # noqa: ANN401
    """Return the step with its derivatives."""
    differentiable = jax.custom_vjp(forward)
    differentiable.defvjp(
        lambda *given: (forward(*given), given),
        lambda given, weights: tuple(backward(*given, weights)),
    )

    def step(x: Any, u: Any, p: Any, t: Any = 0.0) -> Any:  # noqa: ANN401  (arrays of JAX)
        given = [jax.numpy.asarray(a, dtype=float) for a in (x, u, t, p)]
        for name, array, shape in zip('xutp', given, shapes, strict=True):
            if array.shape != shape:
                raise ParameterError(f'{name} takes shape {shape}, got {array.shape}')
        return differentiable(*given)

    return step

"""A step of any system as a function of JAX."""

from __future__ import annotations

from collections.abc import Callable
import ctypes
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from rolling_dynamics.batch.derivatives import StepRows
from rolling_dynamics.batch.kernels import c_text
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.extras import need

Step = Callable[..., Any]
Shapes = tuple[tuple[int, ...], ...]


def jax_step(
    system: RollingSystem, dt: float, *, max_step: float = 1e-3, mode: str | None = None
) -> Step:
    """
    Return a step of classical Runge-Kutta as a function of JAX, with its derivatives.

    Parameters
    ----------
    system
        Any rolling system.
    dt
        Time [s] for which the control is held.
    max_step
        Longest internal step [s]; ``dt`` is divided evenly.
    mode
        Mode of motion; the first if None. Guards are not watched.

    Returns
    -------
    callable
        ``step(x, u, p, t=0.0)`` of one motion, arrays of shapes (n,), (m,), (q,) and (), which
        returns the state at its end, shape (n,). ``jax.jit``, ``jax.vmap`` and ``jax.grad`` take
        it; derivatives are those of :class:`DifferentiableStep`, in reverse only.

    Raises
    ------
    ParameterError
        JAX is missing or set to single precision, there is no C compiler, an argument is out of
        range; from the step, that a shape is another one.

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

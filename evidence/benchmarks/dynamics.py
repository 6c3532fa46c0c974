"""One evaluation of the equations of motion from Python."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
import timeit

from evidence.benchmarks.row import Row
import numpy as np
from rolling_dynamics.compiled import compiled, compiles, FastFunction
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere, Surface

CALLS, REPEATS = 20_000, 7
BODIES: dict[str, Surface] = {
    'ball on a plate': Sphere(0.1),
    'ellipsoid on a plate': Ellipsoid(0.12, 0.1, 0.08),
}


def rows() -> Iterator[Row]:
    """Yield the figures."""
    for name, surface in BODIES.items():
        system = ContactSystem(surface, Plane())
        f = FastFunction(compiled(system.mode.dynamics)[0])
        p = system.pack_parameters(mass=0.1, inertia=4e-4)
        rng = np.random.default_rng(0)
        x = rng.normal(size=system.state.size)
        u = rng.normal(size=system.control.size)
        for array, value in zip(f.inputs, (x, u, np.zeros(1), p), strict=True):
            array[:] = value
        best = min(timeit.repeat(f.evaluate, number=CALLS, repeat=REPEATS)) / CALLS
        plain_call = partial(system.mode.dynamics, x, u, 0.0, p)
        plain = min(timeit.repeat(plain_call, number=500, repeat=3)) / 500
        yield Row(
            name=f'one evaluation of the dynamics, {name}',
            value=1e6 * best if compiles() else None,
            unit='us',
            goal='at most 1',
            reference=f'the same through a plain CasADi call: {1e6 * plain:.3g} us'
            + ('' if compiles() else '; needs a C compiler'),
        )

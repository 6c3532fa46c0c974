"""What the equations of each machine from parts cost: operations, compilation, a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
import tempfile
import time
import timeit

import casadi as ca
from evidence.benchmarks.mjcf import mjcf
from evidence.benchmarks.row import Row
from rolling_dynamics.compiled import compiled, compiles, FastFunction
from rolling_dynamics.configuration import examples
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario, Scenario

CALLS, REPEATS = 5_000, 5
FREE = (ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST)


def operations(function: ca.Function) -> int:
    """Return the number of operations, what is computed twice counted once."""
    inputs = [ca.SX.sym(f'i{k}', function.sparsity_in(k)) for k in range(function.n_in())]
    once = ca.Function('f', inputs, [ca.cse(function(*inputs))])
    return sum(once.instruction_id(k) not in FREE for k in range(once.n_instructions()))


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Let compiled code be made, in a folder that is removed afterwards."""
    before = os.environ.get('ROLLING_CACHE_DIR')
    with tempfile.TemporaryDirectory() as folder:
        os.environ['ROLLING_CACHE_DIR'] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ['ROLLING_CACHE_DIR']
            else:
                os.environ['ROLLING_CACHE_DIR'] = before


def rows() -> Iterator[Row]:
    """Yield the figures of every machine that comes as a scenario."""
    for name in examples():
        scenario = load_scenario(name)
        if scenario.raw['system'] != 'machine':
            continue
        dynamics = next(iter(scenario.system.modes.values())).dynamics
        yield Row(f'operations of {name}', operations(dynamics), 'operations')
        if not compiles():
            continue
        with _empty_cache():
            start = time.perf_counter()
            (fast,) = compiled(dynamics)
            seconds = time.perf_counter() - start
        yield Row(f'compilation of {name}', seconds, 's', goal='at most 20')
        f = FastFunction(fast)
        u = scenario.control(0.0, scenario.x0)
        for array, value in zip(f.inputs, (scenario.x0, u, 0.0, scenario.p), strict=True):
            array[:] = value
        best = min(timeit.repeat(f.evaluate, number=CALLS, repeat=REPEATS)) / CALLS
        yield Row(f'one evaluation of {name}', 1e6 * best, 'us', reference=_beside(scenario))


def _beside(scenario: Scenario) -> str:
    """Return what one evaluation of the same machine costs in MuJoCo, if it is installed."""
    try:
        import mujoco  # noqa: PLC0415  (optional)
    except ImportError:
        return ''
    try:
        model = mujoco.MjModel.from_xml_string(mjcf(scenario))
    except ParameterError as e:
        return str(e)
    data = mujoco.MjData(model)
    spent = timeit.repeat(lambda: mujoco.mj_forward(model, data), number=CALLS, repeat=REPEATS)
    return f'MuJoCo, {data.ncon} contacts: {1e6 * min(spent) / CALLS:.3g} us'

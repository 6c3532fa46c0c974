"""Machine code for CasADi functions: compiled behind, never waited for, checked before loaded."""

from rolling_dynamics.compiled.fast_function import FastFunction
from rolling_dynamics.compiled.library import forget_failures
from rolling_dynamics.compiled.policy import (
    BEHIND,
    cache_folder,
    compiler,
    compiles,
    LOOPS,
    Target,
    USUAL,
    when,
)
from rolling_dynamics.compiled.store import (
    compiled,
    compiled_once,
    compiled_source,
    newest,
    pending,
    renew,
    settle,
    wait,
)

__all__ = [
    'BEHIND',
    'LOOPS',
    'USUAL',
    'FastFunction',
    'Target',
    'cache_folder',
    'compiled',
    'compiled_once',
    'compiled_source',
    'compiler',
    'compiles',
    'forget_failures',
    'newest',
    'pending',
    'renew',
    'settle',
    'wait',
    'when',
]

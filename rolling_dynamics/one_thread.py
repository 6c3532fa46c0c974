"""Linear algebra in one thread: for small matrices, more threads would only wait."""

from __future__ import annotations

from collections.abc import MutableMapping
import os

NAMES = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')


def one_thread(environment: MutableMapping[str, str] = os.environ) -> None:
    """
    Limit linear algebra to one thread, unless the user has set a number.

    Waiting threads cost a quarter of the processor time of a plan. It has an effect before NumPy
    is imported, or in the environment of another process.
    """
    for name in NAMES:
        environment.setdefault(name, '1')

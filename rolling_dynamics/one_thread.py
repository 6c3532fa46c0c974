"""Linear algebra in one thread: the matrices are so small that more threads would only wait."""

from __future__ import annotations

from collections.abc import MutableMapping
import os

NAMES = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS')


def one_thread(environment: MutableMapping[str, str] = os.environ) -> None:
    """
    Have a program's linear algebra use one thread, unless its user has said how many.

    Waiting threads cost a quarter of the processor's time of a plan. It works before NumPy is
    imported, or in the environment of another process.
    """
    for name in NAMES:
        environment.setdefault(name, '1')

"""
Fingerprint of the machine on which results are computed.

The same versions on the same type of processor repeat a computation bit by bit. Elsewhere the C
library and the linear algebra below NumPy round differently, and results agree to
:data:`PORTABLE`.
"""

from __future__ import annotations

from functools import cache
import hashlib
import json
import math
from pathlib import Path
import platform

import numpy as np
from rolling_dynamics.errors import quoted

PORTABLE = 1e-9  # largest difference between two types of machine, relative to values above 1
_CPUINFO = Path('/proc/cpuinfo')
_ARITHMETIC = ('asimd', 'avx', 'fma', 'sse2', 'sse4', 'sve')  # prefixes of features


@cache
def processor_features() -> frozenset[str]:
    """Return the processor features that Linux reports; empty if it reports none."""
    try:
        with _CPUINFO.open() as lines:  # one processor is enough, a server has hundreds
            found = next((line for line in lines if line.startswith(('flags', 'Features'))), '')
    except OSError:
        return frozenset()
    return frozenset(found.partition(':')[2].split())


@cache
def fingerprint() -> str:
    """
    Return all that determines the last bits of results, as JSON: name and value of each.

    Features and versions are not enough: settings of the C library, of NumPy and of OpenBLAS
    choose between functions. So a digest of the bits of some results is included.
    """
    import casadi as ca  # noqa: PLC0415  (heavy, and not every node needs them)
    import scipy  # noqa: PLC0415

    features = sorted(f for f in processor_features() if f.startswith(_ARITHMETIC))
    return json.dumps(
        {
            'processor': ' '.join((platform.machine(), *features)),
            'Python': '.'.join(platform.python_version_tuple()[:2]),
            'NumPy': np.__version__,
            'SciPy': scipy.__version__,
            'CasADi': ca.__version__,
            'libm': ' '.join(platform.libc_ver()),
            'rounding': _rounding(),
        }
    )


def _rounding() -> str:
    """Return a digest of results of the C library, of NumPy's loops and of linear algebra."""
    x = np.linspace(-7.0, 7.0, 257)
    parts = [f(x) for f in (np.sin, np.exp, np.tanh)]
    parts += [np.array([f(v) for v in x]) for f in (math.sin, math.cos, math.exp, math.atan)]
    for size in (3, 8, 22, 60):
        A = np.sin(np.arange(size**2) ** 1.5).reshape(size, size)
        parts += [A @ A, A @ A[0], np.linalg.solve(A, A[0])]
    return hashlib.sha256(b''.join(part.tobytes() for part in parts)).hexdigest()[:12]


def other_machine(recorded: str) -> str:
    """
    Return why results with another fingerprint may differ in their last bits.

    Parameters
    ----------
    recorded
        A fingerprint, or the empty string if there is none.

    Returns
    -------
    str
        Empty if they must be equal.

    """
    if not recorded:
        return 'the recording has no fingerprint of the machine'
    here = json.loads(fingerprint())
    try:
        there = {str(name): str(value) for name, value in json.loads(recorded).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return f'the fingerprint of the machine is damaged: {quoted(recorded)}'
    return '; '.join(
        f'{quoted(name)} was {quoted(there.get(name, "not given"))}, here {here.get(name)}'
        for name in here | there
        if there.get(name) != here.get(name)
    )

"""Policy of compilation: whether functions are compiled, the compiler, and the cache folder."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
from typing import NamedTuple

from rolling_dynamics.errors import ParameterError

NOW, BEHIND, NEVER = 'now', 'behind', 'never'


class Target(NamedTuple):
    """
    Target of machine code.

    Attributes
    ----------
    level
        Level of optimisation of the compiler.
    real
        Number type in C.
    options
        Further options of the compiler, separated by spaces, such as for some processors.

    """

    level: str = '-O2'
    real: str = 'double'
    options: str = ''

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the compiler's options; without contraction, so that all evaluators agree."""
        return (
            '-shared',
            '-fPIC',
            '-fno-math-errno',
            '-ffp-contract=off',
            self.level,
            f'-Dcasadi_real={self.real}',
            *self.options.split(),
        )


USUAL, LOOPS = Target(), Target('-O3')  # LOOPS: for functions that loop over vectors


def when() -> str:
    """
    Return when functions are compiled, from the environment variable ROLLING_COMPILE.

    Returns
    -------
    str
        ``behind`` (default): in another process, while CasADi's virtual machine evaluates them;
        ``now``: before they are evaluated; ``never``: not at all.

    Raises
    ------
    ParameterError
        The variable has another value.

    """
    chosen = os.environ.get('ROLLING_COMPILE') or BEHIND
    if chosen not in (NOW, BEHIND, NEVER):
        raise ParameterError(
            f'ROLLING_COMPILE is {chosen!r}; it may be {NOW}, {BEHIND} or {NEVER}'
        )
    return chosen


def compiler() -> str | None:
    """Return the C compiler: $CC, else the first of cc, gcc, clang; None if there is none."""
    for name in (os.environ.get('CC'), 'cc', 'gcc', 'clang'):
        found = shutil.which(name) if name else None
        if found:
            return found
    return None


def compiles() -> bool:
    """Return whether there is a compiler, and functions are compiled at all."""
    return when() != NEVER and compiler() is not None


def cache_folder() -> Path:
    """Return the folder of compiled code: $ROLLING_CACHE_DIR, else below the user's cache."""
    given = os.environ.get('ROLLING_CACHE_DIR')
    if given:
        return Path(given)
    return Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'rolling_robotics'

"""Libraries that only some commands need, and the extra of this package that installs each."""

from __future__ import annotations

from importlib import util

from rolling_dynamics.errors import ParameterError

EXTRAS = {
    'daqp': 'predictive',
    'gymnasium': 'learning',
    'jax': 'jax',
    'pyarrow': 'sweep',
    'rosbags': 'record',
    'shtab': 'completion',
    'trimesh': 'mesh',
    'viser': 'viewer',
    'ziglang': 'page',
}


def need(user: str, *modules: str) -> None:
    """
    Check that libraries are installed, before starting work that needs them.

    Parameters
    ----------
    user
        Command or function that needs them, for the message.
    modules
        Names in ``EXTRAS``.

    Raises
    ------
    ParameterError
        One is missing; the message gives the command that installs it.

    """
    missing = [name for name in modules if util.find_spec(name) is None]
    if missing:
        extras = ','.join(dict.fromkeys(EXTRAS[name] for name in missing))
        raise ParameterError(
            f'{user}: needs {" and ".join(missing)}; install it with '
            f"`pip install 'rolling_robotics[{extras}]'`"
        )

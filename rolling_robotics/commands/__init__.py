"""The subcommands of ``rolling`` in families, a module each, imported when it is asked for."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from importlib import import_module

FAMILIES = {
    'examples': 'listings',
    'simulate': 'motions',
    'sweep': 'sweep',
    'plan': 'motions',
    'execute': 'running',
    'plot': 'pictures',
    'animate': 'pictures',
    'check': 'checks',
    'schema': 'listings',
    'check-system': 'checks',
    'compile': 'motions',
    'demo': 'running',
    'view': 'pictures',
    'page': 'export',
    'record': 'running',
    'replay': 'running',
    'reproduce': 'reproduce',
    'export': 'export',
    'identify': 'parameters',
    'controllability': 'checks',
    'calibrate': 'parameters',
    'completion': 'listings',
}  # by command, in the order of the help


Add = Callable[..., None]  # what declares an argument, see :func:`rolling_robotics.cli.option`


def command(name: str) -> tuple[Callable[[Add], None], Callable[[Namespace], int]]:
    """
    Return what declares the options of a subcommand, and what carries it out.

    The docstring of the latter is what ``--help`` shows: a line for the list of commands, a
    description, and examples that can be copied. It returns the exit status.
    """
    family, own = import_module(f'{__name__}.{FAMILIES[name]}'), name.replace('-', '_')
    return getattr(family, f'declare_{own}'), getattr(family, f'run_{own}')

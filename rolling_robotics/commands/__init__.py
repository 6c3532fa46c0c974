"""The subcommands of ``rolling``, one module each, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

NAMES = (
    'examples',
    'simulate',
    'sweep',
    'plan',
    'execute',
    'plot',
    'animate',
    'check',
    'schema',
    'check-system',
    'compile',
    'demo',
    'view',
    'page',
    'record',
    'replay',
    'reproduce',
    'export',
    'identify',
    'controllability',
    'calibrate',
    'completion',
)  # in the order of the help


def command(name: str) -> Any:  # noqa: ANN401  a module
    """
    Return the module of a subcommand.

    Its docstring is what ``--help`` shows: a line for the list of commands, a description, and
    examples that can be copied. ``add_arguments(parser)`` declares the options, ``run(args)``
    carries it out and returns the exit status.
    """
    return import_module(f'{__name__}.{name.replace("-", "_")}')

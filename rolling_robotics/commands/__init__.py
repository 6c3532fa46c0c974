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

    Its ``HELP`` is one line for the list, ``DESCRIPTION`` a paragraph, and ``EXAMPLE`` commands
    that can be copied; ``add_arguments(parser)`` declares the options, ``run(args)`` does it and
    returns the exit status.
    """
    return import_module(f'{__name__}.{name.replace("-", "_")}')

"""The subcommands of ``rolling``, one module each, imported when it is asked for."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import cast, Protocol


class Command(Protocol):
    """
    What a module of a subcommand holds.

    Attributes
    ----------
    HELP, DESCRIPTION, EXAMPLE
        One line for the list, a paragraph, and commands that can be copied.

    """

    HELP: str
    DESCRIPTION: str
    EXAMPLE: str

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""

    def run(self, args: Namespace) -> int:
        """Do it and return the exit status."""
        ...


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
)


class _Commands(Mapping[str, Command]):
    """The commands by name, in the order of the help."""

    def __getitem__(self, name: str) -> Command:
        if name not in NAMES:
            raise KeyError(name)
        return cast('Command', import_module(f'{__name__}.{name.replace("-", "_")}'))

    def __contains__(self, name: object) -> bool:
        return name in NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


COMMANDS = _Commands()

"""The subcommands of ``rolling``, one module each; importing them is cheap."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Protocol

from rolling_robotics.commands import (
    animate,
    calibrate,
    check,
    check_system,
    compile,  # noqa: A004  named as its command
    completion,
    controllability,
    demo,
    examples,
    execute,
    plan,
    plot,
    record,
    replay,
    reproduce,
    schema,
    simulate,
    sweep,
    view,
)


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


COMMANDS: dict[str, Command] = {
    'examples': examples,
    'simulate': simulate,
    'sweep': sweep,
    'plan': plan,
    'execute': execute,
    'plot': plot,
    'animate': animate,
    'check': check,
    'schema': schema,
    'check-system': check_system,
    'compile': compile,
    'demo': demo,
    'view': view,
    'record': record,
    'replay': replay,
    'reproduce': reproduce,
    'controllability': controllability,
    'calibrate': calibrate,
    'completion': completion,
}

"""
The command ``rolling``.

Exit status: 0 done, 1 a goal or a limit of the contact was not met, 2 bad input, 3 a fault of the
program, 4 a demonstration that proves nothing, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
import errno
from functools import partial
import io
import os
import signal
import sys
from textwrap import dedent
from typing import Any, NoReturn

from rolling_dynamics.errors import (
    CancelledError,
    described,
    origin,
    PlanningError,
    RollingError,
    SimulationError,
    suggestion,
)
from rolling_dynamics.one_thread import one_thread
from rolling_node_kit.signals import quiet_end
from rolling_robotics.commands import command, FAMILIES
from rolling_robotics.console import say, version

OK, NOT_MET, BAD_INPUT, FAULT, INTERRUPTED = 0, 1, 2, 3, 130
FULL = errno.ENOSPC, errno.EDQUOT, errno.EFBIG  # a disk, a quota, the size of a file
STATUS = {  # of errors, the special ones first
    PlanningError: NOT_MET,
    SimulationError: NOT_MET,
    RollingError: BAD_INPUT,
}
DESCRIPTION = """\
Simulate, plan, run and view bodies that roll: objects on a moving hand, balls and disks with
masses inside, a sphere with a pendulum, a sphere that rolls and spins, ball balancers, labyrinths,
and machines from parts.

A scenario file describes bodies, start and motion; docs/scenario.md has the format. Examples come
with the suite and are found by name; `rolling examples` lists them."""
EPILOG = """\
start here:
  rolling simulate spinning_plate --out plate.json
  rolling animate plate.json --out plate.gif

`rolling COMMAND --help` shows the options of a command and an example.
exit status: 0 done, 1 goal or limit not met, 2 bad input, 3 fault of the program or a plug-in"""


class _Parser(argparse.ArgumentParser):
    """Parser whose errors are one line, with a suggestion."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        if 'invalid choice' in message and 'COMMAND' in message:
            given = message.partition('invalid choice: ')[2].partition(' ')[0].strip('\'"')
            message = f'no command {given!r}{suggestion(given, list(FAMILIES))}'
        say(f'{message}; see {self.prog} --help')
        raise SystemExit(BAD_INPUT)


class _HelpFormatter(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Texts without reflow, with defaults; the longest name of a command fits its column."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        # argparse counts the names of commands without their indentation
        self._action_max_length = 4 + max(map(len, FAMILIES))

    def _get_help_string(self, action: argparse.Action) -> str | None:
        empty = action.default is None or action.default is False or action.default in ('', [])
        if empty or 'default' in (action.help or ''):
            return action.help
        return super()._get_help_string(action)


def build_parser(names: Iterable[str] = FAMILIES) -> argparse.ArgumentParser:
    """Return the parser of all commands, or of those that are named."""
    raw = _HelpFormatter
    parser = _Parser(prog='rolling', description=DESCRIPTION, epilog=EPILOG, formatter_class=raw)
    parser.add_argument('--version', action='store_true', help='show the version and end')
    commands = parser.add_subparsers(dest='command', metavar='COMMAND', title='commands')
    for name in names:
        declare, run = command(name)
        first, _, text = dedent(run.__doc__ or '').strip().partition('\n\n')
        description, head, example = text.partition('example:\n')
        sub = commands.add_parser(
            name,
            help=f'{first[:1].lower()}{first[1:-1]}',
            description=description.strip(),
            epilog=f'{head}{example}',
            formatter_class=raw,
        )
        declare(partial(option, sub))
    return parser


def option(
    parser: argparse.ArgumentParser,
    name: str,
    form: str | tuple[str, ...] | None,
    text: str,
    read: Callable[[str], object] = str,
    **more: Any,  # noqa: ANN401  (as argparse takes them)
) -> None:
    """Declare an argument by its name, the form of its value if it has one, help, and type."""
    value: dict[str, Any] = {} if form is None else {'metavar': form, 'type': read}
    parser.add_argument(name, help=text, **value, **more)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    one_thread()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors='backslashreplace')  # of letters that a terminal lacks
    os.environ.setdefault('PYDANTIC_DISABLE_PLUGINS', '__all__')  # a scan of all packages, 40 ms
    given = sys.argv[1:] if arguments is None else arguments
    known = given[:1] if given and given[0] in FAMILIES else FAMILIES
    parser = build_parser(known)  # of one command, the others are not even imported
    args = parser.parse_args(arguments)
    if args.version:
        print(f'rolling {version()}')
        return OK
    if args.command is None:
        parser.print_help()
        return BAD_INPUT
    try:
        return _run(args)
    except BrokenPipeError:  # the reader of our output went away
        _discard_output()
        return OK
    except (Exception, KeyboardInterrupt) as e:  # noqa: BLE001
        if not _is_stop(e):
            return _failed(e)
        if arguments is None:  # as a process of its own
            quiet_end(signal.SIGINT)
        say('stopped by Ctrl-C; nothing was written')
        return INTERRUPTED


def _discard_output() -> None:
    """Discard the rest of the output."""
    with open(os.devnull, 'w') as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _is_stop(error: BaseException) -> bool:
    """Return whether it is Ctrl-C, or an error that a library raised for it."""
    return isinstance(error, (KeyboardInterrupt, CancelledError)) or (
        isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt)
    )


def _run(args: argparse.Namespace) -> int:
    """Run a command; report whether machine code is being compiled in the background."""
    status = command(args.command)[1](args)
    print(end='', flush=True)  # while what goes wrong with it can be reported
    compiled = sys.modules.get('rolling_dynamics.compiled')
    names = dict.fromkeys(compiled.pending()) if compiled else {}
    if names:
        say(
            f'compiling in the background, so that the next run is faster: {", ".join(names)} '
            '(ROLLING_COMPILE=never turns it off)'
        )
    return status


def _failed(error: BaseException) -> int:
    """Report an error, with a traceback only on request; return the status."""
    for kind, status in STATUS.items():
        if isinstance(error, kind):
            say(str(error) or kind.__name__)
            return status
    if isinstance(error, OSError) and error.errno in FULL:
        say(f'cannot be written: {error.strerror}')
        _discard_output()
        return BAD_INPUT
    if os.environ.get('ROLLING_TRACEBACK'):
        raise error
    more = 'with the output of the same command after `export ROLLING_TRACEBACK=1`'
    if origin(error):
        say(f'{described(error)}; please report it to the author of that plug-in, {more}')
    else:
        say(f'fault of the program: {described(error)}; please report it {more}')
    return FAULT


if __name__ == '__main__':
    raise SystemExit(main())

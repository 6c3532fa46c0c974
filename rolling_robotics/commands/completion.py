"""
Print a shell completion script.

Print a script that has the shell complete commands, options and files after TAB. It is written
once from the commands' own parser; completing starts no program. Needs shtab:
`pip install 'rolling_robotics[completion]'`.

example:
  rolling completion bash > ~/.local/share/bash-completion/completions/rolling
  rolling completion zsh > ~/.zfunc/_rolling
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from rolling_dynamics.extras import need

SHELLS = ('bash', 'zsh', 'tcsh')


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('shell', metavar='SHELL', choices=SHELLS, help=', '.join(SHELLS))


def run(args: Namespace) -> int:
    """Print the script."""
    need('completion', 'shtab')
    from rolling_robotics.cli import build_parser
    import shtab

    parser = build_parser()
    for command in parser._subparsers._group_actions[0].choices.values():  # type: ignore[union-attr]  # noqa: SLF001
        for action in command._actions:  # noqa: SLF001
            metavar = str(action.metavar)
            if metavar.endswith(('.json', '.yaml', 'SCENARIO')) or action.dest == 'out':
                action.complete = shtab.FILE
    print(shtab.complete(parser, shell=args.shell))
    return 0

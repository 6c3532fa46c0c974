"""`rolling completion`: have the shell complete commands and options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

HELP = 'print a shell completion script'
DESCRIPTION = """\
Print a script that has the shell complete commands, options and files after TAB. It is written
once from the commands' own parser; completing starts no program. Needs shtab:
`pip install 'rolling_robotics[completion]'`."""
EXAMPLE = """\
  rolling completion bash > ~/.local/share/bash-completion/completions/rolling
  rolling completion zsh > ~/.zfunc/_rolling"""
SHELLS = ('bash', 'zsh', 'tcsh')


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('shell', metavar='SHELL', choices=SHELLS, help=', '.join(SHELLS))


def run(args: Namespace) -> int:
    """Print the script."""
    from rolling_dynamics.extras import need  # noqa: PLC0415  (--help stays fast)

    need('completion', 'shtab')
    from rolling_robotics.cli import build_parser  # noqa: PLC0415
    import shtab  # noqa: PLC0415

    parser = build_parser()
    for command in parser._subparsers._group_actions[0].choices.values():  # type: ignore[union-attr]  # noqa: SLF001
        for action in command._actions:  # noqa: SLF001
            metavar = str(action.metavar)
            if metavar.endswith(('.json', '.yaml', 'SCENARIO')) or action.dest == 'out':
                action.complete = shtab.FILE
    print(shtab.complete(parser, shell=args.shell))
    return 0

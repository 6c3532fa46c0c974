"""Example scenarios, the schema of scenario files, and completion of the command."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from rolling_dynamics.errors import ParameterError
from rolling_dynamics.extras import need
from rolling_robotics.commands import Add


def declare_examples(add: Add) -> None:
    """Declare the options."""
    text = 'copy the files into a folder (default: examples)'
    add('names', 'NAME', 'only these examples', nargs='*')
    add('--copy', 'FOLDER', text, Path, nargs='?', const=Path('examples'))


def run_examples(args: Namespace) -> int:
    """
    List the example scenarios, or copy them to change them.

    List the scenarios that come with the suite, each with a line of description. Every command
    that takes a SCENARIO takes one of these names. --copy writes their files into a folder, where
    they can be changed; if a file exists and differs, nothing is written.

    example:
      rolling examples
      rolling examples spinning_plate --copy my_scenarios
    """
    from rolling_dynamics.configuration import examples, hint

    found = examples()
    if not found:
        raise ParameterError(
            'the examples are not installed; install the suite again, or run in its source tree'
        )
    for name in args.names:
        if name not in found:
            raise ParameterError(f'no example {name!r}{hint(name)}')
    chosen = {name: found[name] for name in args.names} or found
    if args.copy is not None:
        _copy(list(chosen.values()), args.copy)
        print(f'{len(chosen)} examples copied to {args.copy}')
        return 0
    width = max(map(len, chosen))
    for name, path in chosen.items():
        print(f'{name:<{width}}  {_description(path)}')
    return 0


def _description(path: Path) -> str:
    from rolling_dynamics.scenario.document import read_document

    return str(read_document(path).get('description', ''))


def _copy(files: list[Path], folder: Path) -> None:
    """Copy files; raise ParameterError, before anything is written, where one is in the way."""
    texts = {folder / path.name: path.read_bytes() for path in files}
    try:
        for path, text in texts.items():
            if path.exists() and path.read_bytes() != text:
                raise ParameterError(
                    f'--copy: {str(path)!r} is there already and differs; name another folder'
                )
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_bytes(text)
    except OSError as error:
        raise ParameterError(f'--copy: {error.filename}: {error.strerror}') from None


def declare_schema(_: Add) -> None:
    """Declare no options."""


def run_schema(_: Namespace) -> int:
    """
    Print the JSON Schema of scenario files, for completion in an editor.

    Print the JSON Schema of the scenario files of all systems that are installed. An editor
    completes names, shows descriptions and units, and marks errors. For the YAML language server
    (VS Code, Neovim, Emacs and others) start a file with
      # yaml-language-server: $schema=scenario.schema.json
    A number may be a formula; `rolling check` reports whether a formula is valid.

    example:
      rolling schema > scenario.schema.json
    """
    import json

    from rolling_robotics.scenario_schema import scenario_schema

    print(json.dumps(scenario_schema(), indent=2))
    return 0


SHELLS = ('bash', 'zsh', 'tcsh')


def declare_completion(add: Add) -> None:
    """Declare the options."""
    add('shell', 'SHELL', ', '.join(SHELLS), choices=SHELLS)


def run_completion(args: Namespace) -> int:
    """
    Print a shell completion script.

    Print a script that has the shell complete commands, options and files after TAB. It is written
    once from the commands' own parser; completing starts no program. Needs shtab:
    `pip install 'rolling_robotics[completion]'`.

    example:
      rolling completion bash > ~/.local/share/bash-completion/completions/rolling
      rolling completion zsh > ~/.zfunc/_rolling
    """
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

"""
List the example scenarios, or copy them to change them.

List the scenarios that come with the suite, each with a line of what it shows. Every command that
takes a SCENARIO takes one of these names. --copy writes their files into a folder, where they can
be changed; a file that is there already and differs is not overwritten, and nothing is written.

example:
  rolling examples
  rolling examples spinning_plate --copy my_scenarios
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_dynamics.errors import ParameterError


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('names', metavar='NAME', nargs='*', help='only these examples')
    parser.add_argument(
        '--copy',
        metavar='FOLDER',
        type=Path,
        nargs='?',
        const=Path('examples'),
        help='copy the files into a folder (default: examples)',
    )


def run(args: Namespace) -> int:
    """List or copy."""
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

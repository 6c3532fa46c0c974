"""
Break modules by one small change at a time, and find the changes that no test notices.

Modules and tests are listed in ``[tool.mutation]`` in pyproject.toml, the changes are mutmut's:
one import of a module holds them all. Tests are imported once. Each change is tried in a fork of
that process, by the tests that reach its function, up to the first one that fails: first those
that noticed most changes of it. What became of each is kept in build/mutation.json, from which
tools/mutation_table.py writes the table; changes that were not noticed are printed.

    .venv/bin/python tools/mutate.py [MODULE[:FUNCTION] ...] [--tests FILE ...] [--sample N]
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
import difflib
import gc
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
import json
import os
from pathlib import Path
import random
import resource
import select
import signal
import sys
import time
from types import CodeType

from mutation_table import digest, RESULTS, ROOT, SETTINGS
from mutmut.mutation import trampoline
from mutmut.mutation.file_mutation import mutate_file_contents, MutatedFile
import pytest

MUTATED: dict[str, MutatedFile] = {}  # by name of the module
ARGUMENTS = ['-q', '-s', '-m', 'not slow', '-p', 'no:cacheprovider', '--basetemp=build/mutation']


class MutatedModules(SourceFileLoader):
    """Finds and loads the modules with all their mutants."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, _target: object = None
    ) -> ModuleSpec | None:
        """Return where a module is, for those that are to be mutated; None for others."""
        spec = PathFinder.find_spec(name, path) if name in MUTATED else None
        if spec is not None and spec.origin is not None:
            spec.loader = MutatedModules(name, spec.origin)
        return spec

    def get_code(self, fullname: str) -> CodeType:
        """Return the compiled module."""
        code: CodeType = compile(MUTATED[fullname].code, self.path, 'exec')
        return code


class Trials:
    """A plug-in of pytest that tries mutants, in place of the loop over tests."""

    def __init__(self, mutants: Iterable[str]) -> None:
        self.mutants, self.noticed = list(mutants), dict[str, bool]()
        self._reached, self._shared = set[str](), defaultdict[Path, set[str]](set)

    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Count what fixtures reach for all tests of a file."""
        self._shared[item.path] |= self._reached

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant by the tests that reach its function."""
        gc.freeze()  # so that forks write to few pages
        reach, took = self._unbroken(session)
        kills: dict[str, Counter[int]] = defaultdict(Counter)
        begin = time.monotonic()
        for number, name in enumerate(self.mutants, 1):
            function = name.partition('__mutmut_')[0]
            tests = sorted(reach.get(function, ()), key=lambda k: (-kills[function][k], took[k]))
            seconds = sum(took[k] for k in tests)
            by = self._first_to_fail(session, name, tests, seconds) if tests else None
            self.noticed[name] = by is not None
            kills[function].update([by] if by in tests else [])
            rate = number / (time.monotonic() - begin)
            print(
                f'\r{number} of {len(self.mutants)}, {rate:.2f} a second', end='', file=sys.stderr
            )
            if by is None:
                print(f'\n{name}\n{change(name)}', flush=True)
        return True

    def _unbroken(self, session: pytest.Session) -> tuple[dict[str, list[int]], list[float]]:
        """Return which tests reach a function, by name, and the CPU time of each test [s]."""
        read, write = os.pipe()
        if os.fork() == 0:
            trampoline.set_mutant_under_test('stats')
            vars(trampoline)['record_trampoline_hit'] = lambda name, **_: self._reached.add(name)
            reach, took, begin = (
                defaultdict[str, set[int]](set),
                list[float](),
                time.process_time(),
            )
            for item in run(session, range(len(session.items))):
                for function in self._reached:
                    reach[function].add(len(took))
                self._reached.clear()
                took.append(time.process_time() - begin)
                begin += took[-1]
                if session.testsfailed:
                    os.write(2, f'without a change {item.nodeid} fails\n'.encode())
                    os._exit(1)
            for k, item in enumerate(session.items):
                for function in self._shared[item.path]:
                    reach[function].add(k)
            with os.fdopen(write, 'w') as file:
                json.dump([{name: sorted(tests) for name, tests in reach.items()}, took], file)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as file:
            found: tuple[dict[str, list[int]], list[float]] = json.load(file)
        return found

    @staticmethod
    def _first_to_fail(
        session: pytest.Session, name: str, tests: list[int], seconds: float
    ) -> int | None:
        """Return the test that notices a mutant, -1 if it ends or stops the process, or None."""
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (round(3 + 2 * seconds),) * 2)
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (1, 2):
                os.dup2(null, stream)
            trampoline.set_mutant_under_test(name)
            for k, _ in enumerate(run(session, tests)):
                if session.testsfailed:
                    os._exit(1 + min(k, 250))
            os._exit(0)
        ended, _, _ = select.select([os.pidfd_open(pid)], [], [], 30 + 20 * seconds)
        if not ended:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        return None if code == 0 else tests[code - 1] if 0 < code <= len(tests) else -1


def run(session: pytest.Session, tests: Sequence[int]) -> Iterator[pytest.Item]:
    """Run tests, and yield each after it has run."""
    items = [session.items[k] for k in tests]
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        yield item


def name_of(path: str) -> str:
    """Return the name of the module at a path, which a function may follow."""
    return path.partition(':')[0].removesuffix('.py').replace('/', '.')


def change(name: str) -> str:
    """Return what a mutant changes, in lines that are taken out and put in."""
    module, _, function = name.rpartition('.')
    lines, spans = MUTATED[module].code.splitlines(), MUTATED[module].line_span_by_function_name
    name = function.partition('__mutmut_')[0]
    both = ((suffix, spans[name + suffix]) for suffix in ('__mutmut_orig', function[len(name) :]))
    old, new = (
        [line.replace(suffix, '').strip() for line in lines[s.start - 1 : s.end]]
        for suffix, s in both
    )
    return '\n'.join([*difflib.unified_diff(old, new, n=0, lineterm='')][3:])


def main() -> None:
    """Try the mutants of the named modules, or of all."""
    parser = argparse.ArgumentParser(description='Find the changes that no test notices.')
    parser.add_argument('modules', nargs='*', default=SETTINGS['modules'], metavar='MODULE')
    parser.add_argument('--tests', nargs='+', default=SETTINGS['tests'], metavar='FILE')
    parser.add_argument('--sample', type=int, help='how many mutants of a module, by a seed')
    given = parser.parse_args()
    chosen, of = dict[str, list[str]](), dict[str, int]()
    for path in given.modules:
        file, _, function = path.partition(':')
        module = name_of(path)
        MUTATED[module] = mutate_file_contents(file, (ROOT / file).read_text(encoding='utf-8'))
        begin = f'x_{function}__mutmut_' if function else 'x'
        names = [f'{module}.{n}' for n in MUTATED[module].mutant_names if n.startswith(begin)]
        of[path] = len(names)
        if given.sample and given.sample < len(names):
            names = random.Random(0).sample(names, given.sample)  # noqa: S311
        chosen[path] = names
    sys.meta_path.insert(0, MutatedModules)
    os.environ |= {'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1', 'OMP_NUM_THREADS': '1'}
    trials = Trials(name for names in chosen.values() for name in names)
    pytest.main([*ARGUMENTS, '-p', 'pytest_timeout', *given.tests], plugins=[trials])
    results = json.loads(RESULTS.read_text(encoding='utf-8')) if RESULTS.exists() else {}
    for path, names in chosen.items():
        noticed = {name: trials.noticed[name] for name in names}
        results[path] = {'of': of[path], 'noticed': noticed, 'code': digest(path)}
    RESULTS.write_text(json.dumps(results, indent=1), encoding='utf-8')


if __name__ == '__main__':
    main()

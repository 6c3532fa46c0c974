"""The names at the package roots: all there, typed, shown at work, and free until asked for."""

import doctest
from importlib import import_module
from pathlib import Path
import re
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ['rolling_dynamics', 'rolling_planner', 'rolling_controller', 'rolling_robotics']
NAMES = [(p, n) for p in PACKAGES for n in import_module(p).__all__]


@pytest.mark.parametrize(('package', 'name'), NAMES)
def test_name_is_there_and_has_a_docstring(package, name):
    found = getattr(import_module(package), name)
    assert found.__name__ == name
    assert found.__doc__
    assert name in dir(import_module(package))


@pytest.mark.parametrize('package', PACKAGES)
def test_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match='attribute no_such_name'):
        _ = import_module(package).no_such_name


@pytest.mark.parametrize('package', PACKAGES)
def test_import_is_free(package):
    heavy = '{"numpy", "casadi", "scipy", "matplotlib", "yaml", "rclpy", "viser"}'
    code = f'import {package}, sys; assert not {heavy} & set(sys.modules)'
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, check=False)
    assert done.returncode == 0


REFERENCE = re.findall(
    r'^   (rolling_[\w.]+)$', (ROOT / 'docs' / 'api.md').read_text(encoding='utf-8'), re.MULTILINE
)
LONG = {'rolling_controller.region_of_attraction'}  # compiles a batch


@pytest.mark.parametrize(
    'name',
    [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in REFERENCE],
)
def test_each_name_of_the_reference_is_shown_at_work(name, tmp_path, monkeypatch):
    """In five lines, besides what it imports, which are run."""
    monkeypatch.chdir(tmp_path)
    module, _, attribute = name.rpartition('.')
    found = getattr(import_module(module), attribute)
    test = doctest.DocTestParser().get_doctest(found.__doc__, {attribute: found}, name, None, 0)
    lines = [e for e in test.examples if not re.match('(from|import) ', e.source)]
    assert 1 <= len(lines) <= 5
    said = []
    doctest.DocTestRunner().run(test, out=said.append)
    assert not said, ''.join(said)


def test_each_name_has_a_page_in_the_reference():
    packages = [*PACKAGES, 'rolling_dynamics.contract']
    names = {f'{p}.{name}' for p in packages for name in import_module(p).__all__}
    offered = 'rolling_dynamics.contract.capabilities'
    names |= {
        f'{offered}.{name}'
        for name, value in vars(import_module(offered)).items()
        if isinstance(value, type) and value.__module__ == offered
    }
    assert set(REFERENCE) == names


def test_names_of_the_contract_are_those_that_type_checkers_see():
    contract = import_module('rolling_dynamics.contract')
    for name in contract.__all__:
        assert getattr(contract, name).__doc__

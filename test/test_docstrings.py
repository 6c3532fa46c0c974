"""What takes or returns arrays says their shape and unit, for every public name of a package."""

from importlib import import_module
import inspect
from pathlib import Path
import re

import numpy as np
from numpy.typing import NDArray
import pytest
from rolling_dynamics.contract import capabilities

ROOT = Path(__file__).resolve().parents[1]
TOPS = ('rolling_controller', 'rolling_dynamics', 'rolling_planner', 'rolling_robotics')
PACKAGES = [
    '.'.join(path.parent.relative_to(ROOT).parts)
    for top in TOPS
    for path in sorted((ROOT / top).rglob('__init__.py'))
    if '__all__' in path.read_text(encoding='utf-8')
    if not {'nodes', 'plugins'} & set(path.parts)
]
ARRAY = re.compile(r'\b(Array|ArrayLike|NDArray|ndarray)\b')
# Vectors whose numbers and units the layouts of the system state, and the words for them.
VECTORS = {'p', 'u', 'u_rate', 'x', 'x_goal', 'x_start', 'xs'}
LAID_OUT = r'\b([Ss]tates?|[Cc]ontrols?|[Pp]arameters?|[pux])\b'
SHAPE = re.compile(
    rf'{LAID_OUT}|\bshapes?\b|\b[Mm]atri(x|ces)\b|\(\w+(, \w+)*,?\)|[Qq]uaternion|\bvectors?\b'
    r'|\b(\d+|two|three|four|six) (numbers|values|coordinates)|in its shape|in their units'
)
UNIT = re.compile(
    rf'{LAID_OUT}|\[[^\]]+\]|\bunits?\b|[Qq]uaternion|kg m\^2|\b[Ww]hich\b|\b[Mm]ode\b'
    r'|\b[Rr]atio|\b[Ss]hare|\b[Ii]ndex|\b[Ww]hether\b|``inputs``'
)
# A method of a capability means what the protocol says of it.
CAPABILITIES = {
    name
    for protocol in vars(capabilities).values()
    if getattr(protocol, '_is_protocol', False)
    for name in capabilities.members(protocol)
}


def functions(public):
    """Yield name, function and docstring of a function, or of the public methods of a class."""
    if inspect.isfunction(public):
        yield public.__name__, public, inspect.getdoc(public) or ''
        return
    is_protocol = getattr(public, '_is_protocol', False)
    for name, member in list(vars(public).items()):
        function = getattr(member, 'fget', None) or getattr(member, 'func', None) or member
        function = getattr(function, '__func__', function)
        if not inspect.isfunction(function) or (name.startswith('_') and name != '__init__'):
            continue
        if name in CAPABILITIES and not is_protocol:
            continue
        text = inspect.getdoc(function) or ''
        if name == '__init__':  # what it takes stands in the class
            text = f'{inspect.getdoc(public) or ""} {text}'
        yield f'{public.__name__}.{name}', function, text


def unsaid(public):
    """Return the functions whose arrays have no shape or no unit."""
    found = []
    for name, function, text in functions(public):
        arrays = {n for n, kind in function.__annotations__.items() if ARRAY.search(str(kind))}
        if not arrays - VECTORS or re.search(r'\b[Ss]ee the capability\b', text):
            continue
        if not (SHAPE.search(text) and UNIT.search(text)):
            found.append(name)
    return found


@pytest.mark.parametrize('package', PACKAGES)
def test_public_functions_say_shape_and_unit_of_their_arrays(package):
    module = import_module(package)
    public = [getattr(module, name) for name in module.__all__]
    known = [o for o in public if inspect.isclass(o) or inspect.isfunction(o)]
    assert [name for o in known for name in unsaid(o)] == []


def distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances of points."""
    return np.linalg.norm(a - b, axis=1)


def test_what_is_unsaid_is_found(monkeypatch):
    assert unsaid(distance) == ['distance']
    monkeypatch.setattr(distance, '__doc__', 'Return distances of points, shape (k, 3).')
    assert unsaid(distance) == ['distance']
    monkeypatch.setattr(distance, '__doc__', 'Return distances [m] of points, shape (k, 3).')
    assert unsaid(distance) == []

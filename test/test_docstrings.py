"""What takes or returns arrays says their shape and unit: every public function, read as text."""

import ast
from pathlib import Path
import re

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOPS = (
    'rolling_controller',
    'rolling_dynamics',
    'rolling_hw_interface',
    'rolling_planner',
    'rolling_robotics',
)
ARRAY = re.compile(r'\b(Array|ArrayLike|NDArray|ndarray)\b')
# Vectors whose numbers and units the layouts of the system state, and the words for them.
VECTORS = {'p', 'u', 'u_rate', 'x', 'x_goal', 'x_start', 'xs'}
LAID_OUT = r'\b([Ss]tates?|[Cc]ontrols?|[Pp]arameters?|[pux])\b'
SHAPE = re.compile(
    rf'{LAID_OUT}|\b[Ss]hapes?\b|\b[Mm]atri(x|ces)\b|\(\w+(, \w+)*,?\)|[Qq]uaternion|\bvectors?\b'
    r'|\b(\d+|two|three|four|six) (numbers|values|coordinates|components)|in its shape'
    r'|in their units'
)
UNIT = re.compile(
    rf'{LAID_OUT}|\[[^\]]+\]|\bunits?\b|[Qq]uaternion|kg m\^2|\b[Ww]hich\b|\b[Mm]ode\b'
    r'|\b[Rr]atio|\b[Ff]ractions?|\b[Ii]ndex|\b[Ww]hether\b|\bTrue\b|``inputs``'
)
SEE = re.compile(r'\b[Ss]ee (the capability\b|:(class|func|meth):)')
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def methods_of_protocols(path):
    """Return the names of what the protocols of a module declare."""
    classes = [n for n in ast.parse(path.read_text(encoding='utf-8')).body if is_protocol(n)]
    return {m.name for c in classes for m in c.body if isinstance(m, FUNCTIONS)}


def is_protocol(node):
    """Return whether a statement declares a protocol."""
    return isinstance(node, ast.ClassDef) and 'Protocol' in map(ast.unparse, node.bases)


# A method of a capability means what the protocol says of it.
CAPABILITIES = methods_of_protocols(ROOT / 'rolling_dynamics/contract/capabilities.py')


def functions(tree):
    """Yield name, function and docstring of the public functions and methods of a module."""
    for node in tree.body:
        if getattr(node, 'name', '_').startswith('_'):
            continue
        if isinstance(node, FUNCTIONS):
            yield node.name, node, ast.get_docstring(node) or ''
        for member in node.body if isinstance(node, ast.ClassDef) else ():
            if not isinstance(member, FUNCTIONS) or re.match('_(?!_init__)', member.name):
                continue
            if member.name in CAPABILITIES and not is_protocol(node):
                continue
            if 'overload' in map(ast.unparse, member.decorator_list):
                continue
            text = ast.get_docstring(member) or ''
            if member.name == '__init__':  # what it takes stands in the class
                text = f'{ast.get_docstring(node) or ""} {text}'
            yield f'{node.name}.{member.name}', member, text


def unsaid(source):
    """Return the functions of a module whose arrays have no shape or no unit."""
    found = []
    for name, function, text in functions(ast.parse(source)):
        given = {a.arg: a.annotation for a in ast.walk(function.args) if isinstance(a, ast.arg)}
        kinds = {n: ast.unparse(k) for n, k in (given | {'': function.returns}).items() if k}
        arrays = {n for n, kind in kinds.items() if ARRAY.search(kind)}
        if not arrays - VECTORS or SEE.search(text):
            continue
        if not (SHAPE.search(text) and UNIT.search(text)):
            found.append(name)
    return found


@pytest.mark.parametrize('top', TOPS)
def test_public_functions_say_shape_and_unit_of_their_arrays(top):
    paths = [p for p in sorted((ROOT / top).rglob('*.py')) if 'nodes' not in p.parts]
    found = {str(p.relative_to(ROOT)): unsaid(p.read_text(encoding='utf-8')) for p in paths}
    assert {path: names for path, names in found.items() if names} == {}


DISTANCE = '''
def distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances{} of points{}."""
    return np.linalg.norm(a - b, axis=1)
'''


def test_what_is_unsaid_is_found():
    assert unsaid(DISTANCE.format('', '')) == ['distance']
    assert unsaid(DISTANCE.format('', ', shape (k, 3)')) == ['distance']
    assert unsaid(DISTANCE.format(' [m]', ', shape (k, 3)')) == []

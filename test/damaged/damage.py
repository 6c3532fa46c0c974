"""Files that are damaged by Hypothesis, and what is asked of whoever reads them."""

import copy
import json

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from rolling_dynamics.errors import RollingError

WRONG = [
    None,
    True,
    -1,
    0,
    1e29,
    -1e29,
    1e308,
    10**400,
    float('nan'),
    float('inf'),
    '',
    '\x1b[31m' * 50,
    '/dev/zero',
    [],
    {},
    [[]],
    [None],
    [[1, 2], [3]],
    {'values': 'x'},
]
NEVER_LARGER = 1500  # characters of an error


def often(count):
    """Return settings of a test on so many damaged files, the same ones each time."""
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@st.composite
def damaged_bytes(draw, data):
    """Draw damages of a file: cut, bits turned, stretches lost, doubled, zeroed, huge lengths."""
    out = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(out) - 1, 0)))
        size = draw(st.sampled_from([1, 2, 8, 64, 1000, 10_000]))
        kind = draw(st.sampled_from(['cut', 'bit', 'lose', 'double', 'zero', 'length', 'noise']))
        if kind == 'cut':
            del out[at:]
        elif kind == 'bit' and out:
            out[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == 'lose':
            del out[at : at + size]
        elif kind == 'double':
            out[at:at] = out[at : at + size]
        elif kind == 'zero':
            out[at : at + size] = bytes(len(out[at : at + size]))
        elif kind == 'length':
            huge = draw(st.sampled_from([2**64 - 1, 2**63 - 1, 2**40, 2**32 - 1, 2**31, 10**6]))
            out[at : at + 8] = huge.to_bytes(8, 'little')
        else:
            out[at : at + 16] = draw(st.binary(min_size=16, max_size=16))
    return bytes(out)


def places(document, path=()):
    """Yield the paths of all entries, of lists the first, middle and last."""
    if path:
        yield path
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*path, key))
    elif isinstance(document, list) and document:
        for k in sorted({0, len(document) // 2, len(document) - 1}):
            yield from places(document[k], (*path, k))


@st.composite
def damaged_document(draw, document):
    """Draw the text of a JSON document of which entries are lost, of other kinds, or nested."""
    out = copy.deepcopy(document)
    known = list(places(document))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(known))
        parent = out
        try:
            for step in path[:-1]:
                parent = parent[step]
            value = parent[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # lost already
        if not isinstance(parent, dict | list):
            continue  # a text now, whose letters are not entries
        kind = draw(st.sampled_from(['lose', 'wrong', 'wrong', 'wrong', 'scale', 'nest']))
        if kind == 'lose':
            del parent[path[-1]]
        elif kind == 'wrong':
            parent[path[-1]] = copy.deepcopy(draw(st.sampled_from(WRONG)))
        elif kind == 'scale' and isinstance(value, int | float) and abs(value) < 1e300:
            parent[path[-1]] = value * draw(st.sampled_from([-1, 0, 1e-3, 1e3, 1e12]))
        elif kind == 'nest':
            for _ in range(draw(st.sampled_from([1, 2, 200]))):
                parent[path[-1]] = [parent[path[-1]]]
    return json.dumps(out).encode()


def told_or_read(read):
    """Return what is read, or the error: one line that is fit to be printed; nothing else."""
    try:
        return read(), None
    except RollingError as error:
        text = str(error)
        assert text.isprintable(), text
        assert 0 < len(text) < NEVER_LARGER, text[:300]
        return None, text

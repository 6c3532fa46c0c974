"""
Find words that a reader of this field would stop at, in comments, texts, pages and names.

    .venv/bin/python tools/words.py

Text between backticks does not count, nor do local names and the names that docstrings describe.
`make lint` runs it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
import io
from pathlib import Path
import re
import subprocess
import sys
import tokenize

ROOT = Path(__file__).resolve().parents[1]
INSTEAD = {
    r'(?<!there )\b(is|are) no (?!longer|more|less|such|other|way|one\b|need)[a-z]': 'is not a',
    r'\b(told|tells?|telling)\b': 'report, return, say, given',
    r'\bshares? (of|by which)\b': 'fraction',
    r'\banew\b': 'again',
    r'\b(is|are) off by\b(?! default)': 'is wrong by, error',
    r'\bbegun\b': 'started',
    r'^r?"""\s*(what|whether|how|where|which|when|why)\b': 'the noun or verb that a user searches',
    r'\b(turns|times|steps|frames|samples|messages|ticks|images) a second\b': 'per second',
    r'\bwork(s|ed)? out\b|\bin one go\b': 'compute, at once',
    r'\bgo(es)? over to\b': 'change to, switch to',
}
# What is mended, and what comments and docstrings there do not have.
LATER = r'rolling_dynamics/(scenario|ball_balancer|.*from_contact)'  # texts of the schema
MENDED = re.compile(rf'(?!{LATER})rolling_')
THERE = {
    r'\brefus(e|es|ed|al)\b': 'reject',
    r'\bbeside\b': 'next to, compared with, in addition to',
    r'\bjudg(e|es|ed|ing)\b': 'check, evaluate',
    r'(?<!\.)\bbeg(in|ins|an|inning)\b|\b(go|goes|going) on\b': 'start, continue',
    r'\bgreatest\b|\bleast (?!squares\b)[a-z]+ (of|in|for|at)\b': 'maximum, minimum',
    r'\bstands? (for|in|on|below|still)\b|\bsays?\b': 'the verb that is meant',
    r'\bhow much\b|\bwhat (it|they|is|are|was|were|has|have|a|an|the)\b': 'the noun',
    r'\bseen\b|\broom\b|\b(?<!in )places? (of|in|on|at|where)\b': 'measured, margin, position',
}
NAMES = re.compile(r'(?:^|_)(told|begun|anew|void|seen|shares?|lanes?)(?:_|$)')
KEYS = {'share', 'kinetic_share', 'slip_share', 'feedback_share'}  # of files and parameters
TERMS = {'lanes', 'share_folders'}  # of vector registers; of installed packages
PAGES = {'docs/faults.md', 'docs/mutation.md', 'docs/lab_notes.md'}  # written by measurements
LEFT_OUT = (
    'test/',
    'tools/words.py',
    'tools/fault_page.py',
    'rolling_robotics/trials/fault_table',
)
CODE = re.compile(r'```.*?```|``[^`]*``|`[^`\n]*`|^ +\w+(, \w+)*$', re.DOTALL | re.MULTILINE)
C = re.compile(r'\bREAL\b|\bvoid \w+\(|;\n|^#')  # in a text: it is C
Line = tuple[int, str]


def prose_of(text: str) -> Iterator[Line]:
    """Yield line and text of each comment and string of a Python file that holds words."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        words = ' ' in token.string and not C.search(token.string.strip('# '))
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and words):
            fields = re.sub(r'\{[^{}]*\}', lambda m: '\n' * m[0].count('\n'), token.string)
            yield token.start[0], fields if 'f' in token.string[:2].lower() else token.string


def names_in(tree: ast.AST) -> Iterator[Line]:
    """Yield line and name of each class, function, parameter, attribute and field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, re.sub('(?<=.)(?=[A-Z])', '_', node.name).lower()
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        if isinstance(node, ast.ClassDef):
            fields = [n for n in node.body if isinstance(n, ast.AnnAssign)]
            yield from ((n.lineno, n.target.id) for n in fields if isinstance(n.target, ast.Name))


def house_words(name: str, text: str) -> Iterator[str]:
    """Yield a line for each of the words in a file, with what to write instead."""
    python = name.endswith('.py')
    for line, given in names_in(ast.parse(text)) if python else ():
        if NAMES.search(given) and given not in KEYS | TERMS:
            yield f'{name}:{line}: {given}; write the word of the field'
    parts = prose_of(text) if python else [(1, text)]
    for line, part in parts:
        plain = CODE.sub(lambda m: '\n' * m[0].count('\n'), part)
        plain = re.sub(r'\n[ ]+', '\n', plain)  # one character between two words
        mended = MENDED.match(name) and part.startswith(('#', '"""', 'r"""'))
        for pattern, instead in (INSTEAD | THERE if mended else INSTEAD).items():
            for found in re.finditer(pattern.replace(' ', r'\s'), plain, re.IGNORECASE):
                at = line + plain.count('\n', 0, found.start())
                yield f'{name}:{at}: {" ".join(found[0].split())!r}; write {instead}'


def main() -> int:
    """Print what was found; return 1 if there is anything."""
    listed = ['git', '-C', str(ROOT), 'ls-files', '*.py', 'docs/*.md', 'README.md']
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
    names = [n for n in names if n not in PAGES and not n.startswith(LEFT_OUT)]
    found = [line for n in names for line in house_words(n, (ROOT / n).read_text('utf-8'))]
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())

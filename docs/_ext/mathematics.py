"""
Mathematics that reads without a script or a network, and links to the lines that implement it.

Formulas become MathML, which browsers draw by themselves. The role ``{source}`path.py::name` ``
links to the definition of a name, on a page with the file as it is.
"""

from __future__ import annotations

import ast
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert

ROOT = Path(__file__).resolve().parents[2]


def inline(translator, node):
    """Write a formula within a line."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def display(translator, node):
    """Write a formula of its own, with its number where it has one."""
    attributes = {'CLASS': 'math notranslate nohighlight'}
    translator.body.append(translator.starttag(node, 'div', **attributes))
    if node['number']:
        translator.body.append(f'<span class="eqno">({node["number"]})')
        translator.add_permalink_ref(node, 'Link to this equation')
        translator.body.append('</span>')
    translator.body.append(convert(node.astext(), display='block') + '</div>')
    raise nodes.SkipNode


def line_of(path, name):
    """Return the line in which a file defines a function, class or method, such as ``A.b``."""
    body = ast.parse((ROOT / path).read_text(encoding='utf-8')).body
    for part in name.split('.'):
        node = next((n for n in body if getattr(n, 'name', None) == part), None)
        if node is None:
            raise ValueError(f'{path} defines no {name!r}')
        body = node.body
    return node.lineno


def source(role, raw, text, line, inliner, options=None, content=None):
    """Return a link to a definition, or the fault of a role that names none."""
    env = inliner.document.settings.env
    path, _, name = text.partition('::')
    try:
        anchor = f'#L-{line_of(path, name)}' if name else ''
        if not (ROOT / path).is_file():
            raise ValueError(f'there is no file {path}')
    except (OSError, ValueError) as fault:
        message = inliner.reporter.error(f'source: {fault}', line=line)
        return [inliner.problematic(raw, raw, message)], [message]
    vars(env).setdefault('linked_sources', {}).setdefault(env.docname, set()).add(path)
    up = '../' * env.docname.count('/')
    link = nodes.reference('', '', refuri=f'{up}source/{path}.html{anchor}', internal=True)
    link += nodes.literal(text=f'{Path(path).name}: {name}' if name else Path(path).name)
    return [link], []


def pages(app):
    """Yield the pages of the files that are linked, with an anchor at each line."""
    for path in sorted(set().union(*getattr(app.env, 'linked_sources', {}).values())):
        code = (ROOT / path).read_text(encoding='utf-8')
        text = app.builder.highlighter.highlight_block(code, 'python', lineanchors='L')
        yield f'source/{path}', {'title': path, 'body': f'<h1>{path}</h1>{text}'}, 'page.html'


def forget(_, env, docname):
    """Forget what a page linked that is read again."""
    getattr(env, 'linked_sources', {}).pop(docname, None)


def setup(app):
    """Set up the extension."""
    app.add_html_math_renderer('mathml', (inline, None), (display, None))
    app.add_role('source', source)
    app.connect('env-purge-doc', forget)
    app.connect('html-collect-pages', pages)
    return {'parallel_read_safe': False, 'parallel_write_safe': True}

"""Settings of Sphinx for these pages: `make docs`. Warnings are errors."""

from pathlib import Path
import re
import sys
from xml.etree import ElementTree as ET

from docutils import nodes
import numpy.typing
from sphinx.util.inspect import TypeAliasForwardRef

sys.path.insert(0, str(Path(__file__).parent / '_ext'))

# Pages name the alias of NumPy, not the union that it stands for.
numpy.typing.ArrayLike = type('ArrayLike', (), {'__module__': 'numpy.typing'})
TypeAliasForwardRef.__repr__ = lambda alias: alias.name

project = 'Rolling robotics'
project_copyright = 'Rolling Robotics maintainers, Apache-2.0'
release = ET.parse(Path(__file__).parents[1] / 'package.xml').findtext('version')  # noqa: S314
extensions = [
    'mathematics',
    'myst_parser',
    'notebooks',
    'sphinx.ext.autodoc',
    'sphinx.ext.autosummary',
    'sphinx.ext.napoleon',
    'sphinx.ext.viewcode',
    'sphinx_copybutton',
    'sphinxcontrib.bibtex',
]
source_suffix = {'.md': 'markdown', '.rst': 'restructuredtext'}
root_doc = 'index'
html_theme = 'furo'
html_title = f'{project} {release}'
html_math_renderer = 'mathml'
html_static_path = ['_static']
html_css_files = ['mathematics.css']
html_logo = html_favicon = '_static/logo.svg'
# Pages that simulate: `make docs` writes them; without, the gallery has empty frames.
html_extra_path = [str(p) for p in [Path(__file__).parents[1] / 'build' / 'gallery'] if p.is_dir()]
templates_path = ['_templates']
exclude_patterns = ['_build', '_ext']

myst_enable_extensions = ['attrs_inline', 'dollarmath']
myst_heading_anchors = 3
myst_html_meta = {
    'property=og:image': '_static/preview.png',
    'description': 'Exact dynamics, planning and control of things that roll',
}
bibtex_bibfiles = ['references.bib']

autodoc_default_options = {'members': True, 'show-inheritance': True}
autodoc_member_order = 'bysource'
autodoc_typehints = 'description'
autodoc_typehints_description_target = 'documented'
autodoc_type_aliases = {name: name for name in ('Array', 'ArrayLike', 'ControlLike')}
autodoc_mock_imports = ['rclpy']
suppress_warnings = ['ref.python']  # a type that two classes name alike
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_preprocess_types = False

TOGETHER = re.compile(r'^(\w+(?:, \w+)+)\n((?: +.*\n|\n(?= ))+)', re.MULTILINE)


def separate(app, what, name, obj, options, lines):
    """Give each of several attributes that are described together, as ``a, b``, its own entry."""
    lines[:] = TOGETHER.sub(
        lambda m: ''.join(f'{each}\n{m[2]}' for each in m[1].split(', ')), '\n'.join(lines) + '\n'
    ).splitlines()
    if what == 'property':
        lines.insert(0, '\\')  # else napoleon takes what stands before a colon for its type


def skip_alias(app, what, name, obj, skip, options):
    """Leave out the field of a named tuple, which its class describes."""
    return True if str(getattr(obj, '__doc__', '')).startswith('Alias for field') else None


PARTS = re.compile(r'(?<=[A-Za-z][_/.:])(?=\w)|(?<=[a-z]{2})(?=[A-Z])|(?<=\w{24})(?=\w)')


def breakable(app, doctree, docname):
    """Let long names in tables break between their parts, and mark tables with long rows."""
    for table in doctree.findall(nodes.table):
        wide = table.next_node(nodes.tgroup)['cols'] > 3
        if wide and table.astext().split()[:1] in (['parameter'], ['equation']):
            table['classes'].append('rows')
        for text in [t for t in table.findall(nodes.Text) if not isinstance(t.parent, nodes.math)]:
            first, *others = PARTS.split(text)
            breaks = [
                p for o in others for p in (nodes.raw('', '<wbr>', format='html'), nodes.Text(o))
            ]
            text.parent.replace(text, [nodes.Text(first), *breaks])


def setup(app):
    """Set up what changes docstrings before napoleon reads them, and tables."""
    app.connect('autodoc-process-docstring', separate, priority=400)
    app.connect('autodoc-skip-member', skip_alias)
    app.connect('doctree-resolved', breakable)

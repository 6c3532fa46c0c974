"""How the pages are built: `make docs`. Warnings are errors."""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).parent / '_ext'))

project = 'Rolling robotics'
extensions = [
    'mathematics',
    'myst_parser',
    'sphinx.ext.autodoc',
    'sphinx.ext.napoleon',
    'sphinx.ext.viewcode',
    'sphinxcontrib.bibtex',
]
source_suffix = {'.md': 'markdown'}
root_doc = 'index'
html_theme = 'furo'
html_title = project
html_math_renderer = 'mathml'
html_static_path = ['_static']
html_css_files = ['mathematics.css']
exclude_patterns = ['_build', '_ext', 'notebooks']

myst_enable_extensions = ['dollarmath']
myst_heading_anchors = 3
bibtex_bibfiles = ['references.bib']

autodoc_default_options = {'members': True, 'show-inheritance': True}
autodoc_member_order = 'bysource'
autodoc_typehints = 'description'
autodoc_typehints_description_target = 'documented'
autodoc_type_aliases = {name: name for name in ('ArrayLike', 'ControlLike')}
autodoc_mock_imports = ['rclpy']
suppress_warnings = ['ref.python']  # a type that two classes name alike
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_preprocess_types = False

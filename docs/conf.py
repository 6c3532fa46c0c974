"""How the pages are built: `make docs`. Warnings are errors."""

project = 'Rolling robotics'
extensions = ['myst_parser']
source_suffix = {'.md': 'markdown'}
root_doc = 'index'
html_theme = 'alabaster'
html_theme_options = {'page_width': '1060px', 'sidebar_width': '230px'}
myst_heading_anchors = 3
exclude_patterns = ['_build']

"""Pages are up to date and load nothing from elsewhere; notebooks run from top to bottom."""

from collections import Counter
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
import json
import os
from pathlib import Path
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from rolling_dynamics.plugin import plugins
from rolling_dynamics.scenario import load_scenario

ROOT = Path(__file__).resolve().parents[1]
SVG = '{http://www.w3.org/2000/svg}'
LOADED = re.compile(r"""(?:\bfrom\s*|\bimport\s*\(?\s*|url\(\s*|href=|src=)["']?([^"')\s;]+)""")
NOTEBOOKS = sorted((ROOT / 'docs' / 'notebooks').glob('*.ipynb'))


def tool(name):
    """Return the module of a tool."""
    spec = spec_from_file_location(name, ROOT / 'tools' / f'{name}.py')
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_diagrams_of_the_experiments_are_up_to_date():
    diagrams = tool('diagrams')
    again = 'run .venv/bin/python tools/diagrams.py'
    assert diagrams.PAGE.read_text() == diagrams.page(), again
    for name, experiment in diagrams.EXPERIMENTS.items():
        assert diagrams.picture(name).read_text() == diagrams.diagram(experiment), again


def test_diagram_shows_each_topic_between_two_nodes_once():
    diagrams = tool('diagrams')
    for experiment in diagrams.EXPERIMENTS.values():
        drawn = ET.fromstring(diagrams.diagram(experiment))  # noqa: S314  made here
        texts = Counter(text.text for text in drawn.iter(f'{SVG}text'))
        wanted = Counter(entry.name for entry in experiment.every_node)
        for topics in diagrams.topics_between(experiment).values():
            wanted.update(topics)
        assert texts == wanted


class Loads(HTMLParser):
    """Addresses that a page loads when it is opened."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        links = {'a': (), 'link': ('href',)}.get(tag, ('src', 'srcset', 'data', 'poster'))
        if tag == 'link' and values.get('rel') in ('canonical', 'next', 'prev', 'search'):
            return
        self.found += [values[name] for name in links if values.get(name)]


def foreign(folder):
    """Return (page, address) of all that built pages load from elsewhere."""
    out = []
    for path in sorted(folder.rglob('*')):
        if path.suffix == '.html':
            page = Loads()
            text = path.read_text()
            page.feed(text)
            scripts = re.findall(
                r'<(?:script|style)[^>]*>(.*?)</(?:script|style)>', text, re.DOTALL
            )
            found = page.found + [a for script in scripts for a in LOADED.findall(script)]
        elif path.suffix in ('.css', '.svg'):
            found = LOADED.findall(path.read_text())
        else:
            continue
        out += [(path.name, a) for a in found if re.match(r'(https?:)?//', a)]
    return out


def test_what_loads_from_elsewhere_is_found(tmp_path):
    (tmp_path / 'a.html').write_text(
        '<a href="https://a.invalid/">a</a><script src="https://b.invalid/b.js"></script>'
        '<img src="_images/c.png"><script type="module">import d from "https://d.invalid/d";'
        '</script><link rel="stylesheet" href="//e.invalid/e.css">'
    )
    (tmp_path / 'f.css').write_text('@import "https://f.invalid/f.css"; b {url(data:image/png)}')
    assert {re.sub('.*//(.).*', r'\1', a) for _, a in foreign(tmp_path)} == {*'bdef'}


@pytest.mark.slow  # builds every page
def test_pages_are_built_without_a_warning_and_load_nothing_from_elsewhere(tmp_path):
    pytest.importorskip('furo', reason='make docs installs what builds the pages')
    nowhere = dict.fromkeys(('http_proxy', 'https_proxy'), 'http://127.0.0.1:9')
    command = [sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', '-b', 'html']
    subprocess.run([*command, ROOT / 'docs', tmp_path], check=True, env=os.environ | nowhere)
    assert (tmp_path / 'experiments.html').read_text().count('_images/nodes_') == 12
    assert foreign(tmp_path) == []
    notebook = (tmp_path / 'notebooks' / 'from_mujoco.html').read_text()
    assert 'the radius differs by' in notebook
    assert 'src="data:image/png;base64,' in notebook
    text = (tmp_path / 'contact.html').read_text()
    assert text.count('<math') > 20
    assert 'source/rolling_dynamics/contact/equations.py.html#L-' in text
    pages = [page.read_text() for page in (tmp_path / 'api').glob('*.html')]
    assert not any('_SupportsArray' in page for page in pages)  # but ArrayLike


def test_pages_name_files_that_are_there():
    """But for what a reader writes on the way, and history."""
    known = {path.name for path in ROOT.rglob('*.py') if '.venv' not in path.parts}
    known |= {'make_egg.py', 'follow.py', 'verdict.py'}
    for page in {*(ROOT / 'docs').rglob('*.md')} - {ROOT / 'docs' / 'lab_notes.md'}:
        named = re.findall(r'`[\w/]*?(\w+\.py)`', page.read_text())
        assert {*named} <= known, page.name


def test_gallery_has_a_page_of_every_shipped_system():
    gallery = tool('gallery')
    systems = {
        load_scenario(name).system.name for name, _ in gallery.embedded() if name != 'ballbot'
    }
    assert systems == {name for name, plugin in plugins().items() if plugin.example}


def test_there_are_notebooks():
    assert {path.stem for path in NOTEBOOKS} == {'from_drake', 'from_mujoco'}


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_of_a_notebook_run_in_their_order(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {'__name__': 'notebook'}
    for cell in json.loads(path.read_text())['cells']:
        assert not cell.get('outputs'), 'clear the outputs'
        if cell['cell_type'] == 'code':
            exec(compile(''.join(cell['source']), path.name, 'exec'), names)  # noqa: S102

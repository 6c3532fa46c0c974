"""Every node has a page, and its table of parameters is what the node declares."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = spec_from_file_location('node_pages', ROOT / 'tools' / 'node_pages.py')
node_pages = module_from_spec(SPEC)
SPEC.loader.exec_module(node_pages)
NODES = node_pages.nodes()


def test_every_node_has_a_page_and_every_page_a_node():
    pages = {path.stem for path in (ROOT / 'docs' / 'nodes').iterdir()}
    assert pages == {*NODES, 'controller', 'simulator'}  # executables of many machines


@pytest.mark.parametrize('name', NODES)
def test_table_of_parameters_is_up_to_date(name):
    text = node_pages.page_of(name).read_text()
    wanted = node_pages.with_table(text, node_pages.table_of(NODES[name]))
    assert text == wanted, 'run .venv/bin/python tools/node_pages.py'


def test_a_page_without_a_place_for_the_table_is_refused():
    with pytest.raises(ValueError, match='once each'):
        node_pages.with_table('# a page', '')

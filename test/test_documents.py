"""Pages that are written by tools are up to date, and the notebooks run from top to bottom."""

from importlib.util import module_from_spec, spec_from_file_location
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / 'docs' / 'notebooks').glob('*.ipynb'))


def test_diagrams_of_the_experiments_are_up_to_date():
    spec = spec_from_file_location('diagrams', ROOT / 'tools' / 'diagrams.py')
    diagrams = module_from_spec(spec)
    spec.loader.exec_module(diagrams)
    assert diagrams.PAGE.read_text() == diagrams.page(), 'run .venv/bin/python tools/diagrams.py'


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

"""The printed numbers of the paper come out, and the figures are drawn."""

import json

import pytest
from rolling_robotics.cli import main
from rolling_robotics.reproduce import ivanova_pivovarova


def test_every_printed_number_comes_out_to_its_digits():
    rows = ivanova_pivovarova.rows()
    assert {r['printed'] for r in rows} >= {0.38, 2.56, 0.83, 0.6, 0.5}
    for row in rows:
        digits = len(f'{row["printed"]:g}'.partition('.')[2])
        if row['name'].startswith('amplitudes'):
            assert row['computed'] >= row['printed']
        else:
            assert round(row['computed'], digits) == row['printed'], row


def test_command_writes_table_and_says_what_was_inferred(tmp_path, capsys):
    out = tmp_path / 'numbers.json'
    assert main(['reproduce', 'ivanova-pivovarova', '--json', str(out)]) == 0
    rows = json.loads(out.read_text())['rows']
    assert set(rows[0]) == {'name', 'printed', 'computed', 'unit'}
    assert 'M = 0.1 m' in capsys.readouterr().out
    assert main(['reproduce', 'nobody']) == 2


@pytest.mark.slow
def test_figures_are_drawn(tmp_path):
    files = ivanova_pivovarova.figures(tmp_path)
    assert len(files) == 6
    assert all(f.stat().st_size > 10_000 for f in files)

"""The numbers of the paper beside the computed ones."""

from evidence.papers import putkaradze_rogers as paper
import numpy as np
import pytest

PLACES = {0.2951: 4, 0.19: 2, 2.0369: 4, 0.7044: 4}


@pytest.mark.slow
def test_printed_numbers():
    """Every number that can be reproduced agrees to the digits that are printed."""
    rows = {r.name: r.to_dict() for r in paper.rows()}
    reproduced = [r for r in rows.values() if r['printed'] in PLACES]
    assert len(reproduced) == 4
    for row in reproduced:
        assert round(row['computed'], PLACES[row['printed']]) == row['printed'], row
    for body, least in (('disk', 4.4), ('ball', 3.5)):
        assert rows[f'{body}: least normal force (printed: above)']['computed'] > least
        pairs = rows[f'{body}: pairs of materials that hold']
        assert pairs['computed'] == pairs['printed']


@pytest.mark.slow
def test_detachment_is_what_is_stated():
    """3.6095 s, not 3.7358; friction is not zero there; slip comes first."""
    rows = {r.name: r.to_dict() for r in paper.rows()}
    time = rows['modified ball: normal force vanishes']['computed']
    assert time == pytest.approx(3.6095, abs=1e-4)
    _, N, f, _ = paper.forces(paper.detaching_run(), 11)
    assert abs(N[-1]) < 1e-6
    assert np.linalg.norm(f[-1]) == pytest.approx(5.046, abs=1e-2)
    assert paper.slip_time(1.0) == pytest.approx(3.5520, abs=1e-4)


@pytest.mark.slow
def test_figures(tmp_path):
    names = [f.name for f in paper.figures(tmp_path)]
    assert len(names) == 5
    assert all((tmp_path / n).stat().st_size > 20_000 for n in names)

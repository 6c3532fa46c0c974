"""A library that is missing is named before work begins, with the extra that installs it."""

import sys

import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.extras import EXTRAS, need


@pytest.fixture
def without(monkeypatch):
    """Return a function that hides a library."""
    return lambda library: monkeypatch.setitem(sys.modules, library, None)


@pytest.mark.parametrize('library', EXTRAS)
def test_message_names_library_and_extra(without, library):
    without(library)
    with pytest.raises(ParameterError) as caught:
        need('the command', library)
    told = str(caught.value)
    assert told.startswith(f'the command: needs {library};')
    assert f"pip install 'rolling_robotics[{EXTRAS[library]}]'" in told


def test_labyrinth_is_refused_before_it_is_planned(without, monkeypatch, tmp_path, capsys):
    from rolling_controller.ball_balancer import labyrinth_planner
    from rolling_robotics.cli import main

    without('daqp')
    monkeypatch.setattr(labyrinth_planner, 'plan_labyrinth', lambda _: pytest.fail('it was'))
    assert main(['plan', 'labyrinth', '--out', str(tmp_path / 'plan.json')]) == 2
    assert 'rolling_robotics[predictive]' in capsys.readouterr().err

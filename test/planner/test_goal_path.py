"""The way of a plan goal that docs/architecture.md lists is the one that it goes."""

from pathlib import Path
import re
import traceback

import pytest
from rolling_planner.planners.job import planning_model, work
from rolling_planner.planners.planner import DEFAULTS
from rolling_planner.refinement import attempt

ROOT = Path(__file__).parents[2]
MOST = 15  # files between the action server and the solver, there and back


class SolverReachedError(Exception):
    """Where the way ends."""


def listed():
    text = (ROOT / 'docs' / 'architecture.md').read_text()
    begin = text.index('A goal of the action `plan_rolling` passes')
    table = text[text.index('| where | files |', begin) :].split('\n\n')[0]
    return re.findall(r'`(\w+/[\w/]+\.py)`', table)


def test_the_list_is_short_and_of_files():
    assert len(listed()) == len(set(listed())) <= MOST
    assert all((ROOT / path).is_file() for path in listed())


def test_a_job_reaches_the_solver_through_no_other_file(monkeypatch):
    calls = []

    def solve(*_args, **_options):
        calls.extend(traceback.extract_stack())
        raise SolverReachedError

    monkeypatch.setattr(attempt, 'solve', solve)
    model = planning_model('ball_on_plate_hard')
    problem = model.planner.problem(model.scenario)
    job = {
        'kind': 'plan',
        'scenario_file': 'ball_on_plate_hard',
        'start': problem.x_start,
        'goal': problem.goal,
        'horizon': problem.horizon,
        'method': '',
        'start_controls': {},
        'options': {name: getattr(problem, name) for name in DEFAULTS if name != 'sample_rate'},
    }
    with pytest.raises(SolverReachedError):
        work(job, lambda _: True)
    paths = [Path(call.filename) for call in calls]
    inside = [p.relative_to(ROOT) for p in paths if p.is_relative_to(ROOT / 'rolling_planner')]
    assert [str(p) for p in dict.fromkeys(inside)] == [
        path
        for path in listed()
        if '/planners/' in path or path.startswith('rolling_planner/refinement')
    ]

"""The soak sees a goal that hangs, an answer without reason, and memory that grows."""

import io
import json
from types import SimpleNamespace

from evidence.benchmarks.soak import Answer, DISTURBANCES, growth, PATIENCE, run, Soak, verdict
import numpy as np
import pytest
from rolling_robotics.nodes.client import LateAnswerError

TIMES = np.linspace(0.0, 7200.0, 50)


class Client:
    """Answers each goal with the same code, or never."""

    def __init__(self, code):
        self.code = code

    def answer(self, _asked, _patience):
        if not self.code:
            raise LateAnswerError('no answer to a goal within 300 s')
        plan = SimpleNamespace(header=SimpleNamespace(stamp=None))
        return Answer(code=self.code, text='', seconds=1.0, result=SimpleNamespace(plan=plan))


def a_soak(code='NONE', kind='plan', what='nothing', sizes=TIMES * 0.0):
    log = io.StringIO()
    made = Soak(None, lambda: Client(code), 1, log)
    made._answered(kind, what, None)
    made.sizes = {'planner, MB': list(zip(TIMES, sizes, strict=True))}
    made._begin -= TIMES[-1]
    return made, json.loads(log.getvalue())


def failed(soak, **statuses):
    return [text for holds, text in verdict(soak, statuses) if not holds]


def test_all_is_well():
    made, row = a_soak()
    assert failed(made, planner=0) == []
    assert (row['goal'], row['disturbance'], row['answer']) == ('plan', 'nothing', 'NONE')


@pytest.mark.parametrize(
    ('given', 'words'),
    [
        ({'code': ''}, '0 of 1 goals answered'),
        ({'code': 'INTERNAL'}, '1 answers that the disturbance does not explain'),
        ({'code': 'NONE', 'what': 'senseless'}, '1 answers that'),
        ({'code': 'STALE_STATE', 'kind': 'execute', 'what': 'cancel'}, '1 answers that'),
        ({'sizes': 100.0 + TIMES / 3600.0 * 6.0}, 'planner, MB: 100.0 at the begin'),
    ],
)
def test_what_is_not_well_is_told(given, words):
    made, _ = a_soak(**given)
    assert words in failed(made)[0]


def test_node_that_ended_badly_is_told():
    made, _ = a_soak()
    assert failed(made, planner=0, controller=-9) == ['controller ended with status -9']


def test_growth_is_that_of_an_hour_after_the_begin():
    settling = np.where(TIMES < 1000.0, TIMES, 1000.0)
    assert growth(list(zip(TIMES, settling, strict=True))) == pytest.approx(0.0, abs=1e-9)
    rising = list(zip(TIMES, 100.0 + TIMES / 1800.0, strict=True))
    assert growth(rising) == pytest.approx(2.0)


def test_every_disturbance_is_brought_about_and_mended():
    made, _ = a_soak()
    names = {name for kind in DISTURBANCES.values() for name in kind}
    alone = {'nothing', 'newer goal', 'senseless', 'inactive'}  # part of how a goal is sent
    assert set(made._disturb) == names - alone
    lasting = {'plant killed', 'plant stopped', 'deactivate', 'inactive'}
    assert set(made._mend) == lasting


def test_a_plant_that_begins_anew_is_spoken_to_by_a_client_that_knows_no_other():
    made, tries = a_soak()[0], []

    def new_client():
        def reset(*_):
            tries.append('reset')
            if len(tries) < 5:
                raise LateAnswerError('no answer of simulator/reset within 30 s')

        tries.append('client')
        return SimpleNamespace(reset=reset)

    plant = SimpleNamespace(wait=lambda: tries.append('gone'))
    made.bringup = SimpleNamespace(processes={'simulator': plant}, start_node=tries.append)
    made._new_client = new_client
    made._mend['plant killed']('execute')
    assert tries == ['gone', 'simulator', *['client', 'reset'] * 2]


@pytest.mark.slow
def test_half_a_minute_of_it(tmp_path, capfd):
    log = io.StringIO()
    assert run(30.0, 3, log, tmp_path), capfd.readouterr().out
    rows = [json.loads(line) for line in log.getvalue().splitlines()]
    goals = [row for row in rows if 'goal' in row]
    assert goals[0]['goal'] == 'plan'
    assert max(row['seconds'] for row in goals) < PATIENCE
    assert {'planner, MB', 'controller, threads'} <= set(rows[-1]['sizes'])

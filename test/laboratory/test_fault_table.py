"""Every injected fault: told, borne or at rest in the stated time, and nothing else moves."""

import pytest
from rolling_robotics.trials.fault_table import FAULTS, inject_fault

STATED = 0.5  # s: vision timeout 0.3, command timeout 0.02, time to stop 0.15


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.name.replace(' ', '-'))
def test_fault_leads_to_what_is_stated(fault):
    row = inject_fault(fault)
    assert row.speed_before > 0.1, 'the hand did not swing'
    assert fault.told in row.reaction, row
    assert row.object_kept, row
    assert row.speed_after < fault.faster * row.speed_before, row
    if fault.stops:
        assert row.rest < STATED, row
        assert row.drift < 1e-3, row
    else:
        assert row.way > 0.01, row


def test_without_a_fault_nothing_is_told():
    row = inject_fault(FAULTS[0])
    assert row.name == 'nothing'
    assert row.reaction == ''
    assert row.rest > 0.5

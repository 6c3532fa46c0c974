"""Every injected fault: reported, borne or at rest in the stated time, and nothing else moves."""

import math

import pytest
from rolling_robotics.trials.fault_table import FAULTS, inject_fault

STATED = 0.5  # s: vision timeout 0.3, command timeout 0.02, time to stop 0.15
KINDS = ('encoder of joint 1 lost', 'encoder of joint 2 frozen')
KINDS += ('motor of joint 3 stuck', 'motor of joint 1 without torque')
FAST = {KINDS[0], 'controller killed'}


def case(fault):
    """One fault of each part is tried; the others, at each joint, by the slow tests."""
    marks = [] if fault.name in FAST else [pytest.mark.slow]
    return pytest.param(fault, id=fault.name.replace(' ', '-'), marks=marks)


def test_each_kind_of_fault_is_tried():
    names = {fault.name for fault in FAULTS}
    assert names.issuperset(KINDS)
    assert sum('of joint' in name for name in names) == 3 * len(KINDS)


@pytest.mark.parametrize('fault', [case(fault) for fault in FAULTS[1:]])
def test_fault_leads_to_what_is_stated(fault, fault_row):
    told = fault_row(f'the hand swings with the object; {fault.name}')
    row = inject_fault(fault)
    assert row.speed_before > 0.1, 'the hand did not swing'
    assert fault.report in row.reaction, row
    assert row.object_kept, row
    assert row.speed_after < fault.faster * row.speed_before, row
    if fault.stops:
        assert row.rest < STATED, row
        assert row.drift < 1e-3, row
        told(f'reported: {row.reaction}; the hand rests', row.rest)
    else:
        assert row.way > 0.01, row
        told('the work goes on', math.nan)


def test_without_a_fault_nothing_is_told():
    row = inject_fault(FAULTS[0])
    assert row.name == 'nothing'
    assert row.reaction == ''
    assert row.object_kept
    assert row.way > 0.01
    assert row.rest > 0.5

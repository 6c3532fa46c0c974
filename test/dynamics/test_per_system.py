"""What is kept for a system is kept in it: it is freed with the system, and no copy takes it."""

import copy
import gc
import weakref

from rolling_dynamics.ball_balancer.rig_file import emulated_rig, rig_file
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.scenario import load_scenario


@once_per_system
def named(system, name):
    return [system, name]


def test_a_simulated_system_that_nobody_holds_is_freed():
    plant = emulated_rig(rig_file(load_scenario('ball_balancer')), seed=1)
    plant.advance(0.02)
    gone = weakref.ref(plant.system)
    del plant
    gc.collect()
    assert gone() is None


def test_results_are_made_once_for_each_system_and_each_argument():
    system, _ = rig_file(load_scenario('ball_balancer')).system_and_parameters()
    assert named(system, 'a') is named(system, 'a')
    assert named(system, 'b') == [system, 'b']
    assert named(copy.copy(system), 'a')[0] is not system

"""What is kept for a system is kept in it: it is freed with the system, and no copy takes it."""

import copy
import gc
import weakref

import numpy as np
import pytest
from rolling_dynamics import simulate
from rolling_dynamics.per_system import once_per_system
from rolling_dynamics.scenario import load_scenario, scenario


@once_per_system
def named(system, name):
    return [system, name]


@pytest.mark.parametrize('name', ['hamster_ball', 'bicycle', 'spinning_plate'])
def test_a_simulated_system_that_nobody_holds_is_freed(name):
    own = scenario.load_plain(load_scenario(name).raw, 'own')
    simulate(own.system, own.p, own.x0, np.zeros(own.system.control.size), duration=0.02)
    assert named(own.system, 'a')[0] is own.system
    gone = weakref.ref(own.system)
    del own
    gc.collect()
    assert gone() is None


def test_results_are_made_once_for_each_system_and_each_argument():
    system = load_scenario('pendulum_start').system
    assert named(system, 'a') is named(system, 'a')
    assert named(system, 'b') == [system, 'b']
    assert named(copy.copy(system), 'a')[0] is not system

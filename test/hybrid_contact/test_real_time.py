"""A plant in real time has at hand what a landing needs, before the object moves."""

import subprocess
import sys

PLANT = """
import sys
from rolling_dynamics.hybrid_contact.emulated_object import EmulatedObject
from rolling_dynamics.hybrid_contact.from_contact_system import planar_hybrid_of
from rolling_dynamics.scenario_model import load_model

model = load_model('laboratory_flip_up.yaml')
before = 'scipy.integrate' in sys.modules
bodies = model.system, model.params
EmulatedObject(*bodies, model.start, hybrid=planar_hybrid_of(*bodies))
print(before, 'scipy.integrate' in sys.modules)  # of which an impact that slips is solved
"""


def test_what_takes_a_second_is_loaded_before_it_is_needed():
    done = subprocess.run(
        [sys.executable, '-c', PLANT], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == ['False', 'True']

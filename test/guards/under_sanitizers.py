"""
Run some of the generated C: `ROLLING_COMPILE=now CC=... python under_sanitizers.py PART`.

Exported laws are compiled with the same checks in test/ball_balancer/test_export.py.
"""

import ctypes
import sys

import numpy as np
from rolling_controller import TimeVaryingLqr
from rolling_controller.predictive.law import Horizon, PredictiveLaw
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.compiled import compiled_source
from rolling_dynamics.compiled.policy import USUAL
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate, Stepper
from rolling_planner import Plan

BEYOND = 'double beyond(double *x, long n) { return x[n]; }'
SHIFTED = 'double beyond(double *x, long n) { return x[0] + (1 << (int)n); }'
STEPS = 5


def steps(scenario):
    """Simulate by adaptive steps, and step with events; both evaluate dynamics and guards."""
    system, p, x0 = scenario.system, scenario.p, scenario.x0
    control = scenario.control.simplest
    simulate(system, p, x0, control, 0.05, events=scenario.events, mode=scenario.mode)
    stepper, x = Stepper(system, p, 1e-3, mode=scenario.mode), x0
    for _ in range(STEPS):
        x = stepper.step(x, np.zeros(system.control.size), 1e-3)


def batches(scenario):
    """Step lanes in vectors, more than one vector and not a multiple of it."""
    system, size = scenario.system, 19
    for method in ('RK4', 'DOP853'):
        batch = BatchSimulator(system, size, 1e-3, method=method, threads=2)
        batch.reset(states=scenario.x0, parameters=scenario.p)
        batch.rollout(np.zeros((STEPS, system.control.size)), STEPS)


def laws(scenario):
    """Evaluate a regulator and a predictive law along a plan at rest."""
    system, p, x0 = scenario.system, scenario.p, scenario.x0
    times = np.linspace(0.0, 0.5, 26)
    controls = np.zeros((times.size, system.control.size))
    states = np.tile(x0, (times.size, 1))
    plan = Plan.of(system, times=times, states=states, controls=controls)
    limits = {'control_limits': 5.0, 'active_controls': system.control.names}
    regulator = TimeVaryingLqr(system, p, plan, **limits)
    predictive = PredictiveLaw(system, p, plan, horizon=Horizon(period=0.02), **limits)
    rng = np.random.default_rng(1)
    for k in range(STEPS):
        x = x0 + 1e-3 * rng.normal(size=x0.size)
        regulator.step(None, x, 0.02 * k)
        predictive.step(None, x, 0.02 * k)


def broken(source):
    """Run C that is wrong, which has to end this process."""
    library = ctypes.CDLL(str(compiled_source('broken', source, USUAL)))
    values = np.zeros(64)
    address = ctypes.c_void_p(values.ctypes.data)
    library.beyond.restype = ctypes.c_double
    library.beyond(address, ctypes.c_long(64))


if __name__ == '__main__':
    part, name = sys.argv[1:]
    if part == 'broken':
        broken({'address': BEYOND, 'shift': SHIFTED}[name])
    else:
        {'steps': steps, 'batches': batches, 'laws': laws}[part](load_scenario(name))

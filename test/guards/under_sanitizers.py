"""
Run some of the generated C: `ROLLING_COMPILE=now CC=... python under_sanitizers.py PART`.

Exported laws are compiled with the same checks in test/ball_balancer/test_export.py.
"""

from contextlib import suppress
import ctypes
from dataclasses import replace
import sys

import numpy as np
from rolling_controller import Hold, run_batch, TimeVaryingLqr
from rolling_controller.measured_state import sensor_source, SensorFilter
from rolling_controller.motion_watch import HandBound, MotionWatch, Predictor
from rolling_controller.predictive.law import Horizon, PredictiveLaw
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.batch.derivatives import DifferentiableStep
from rolling_dynamics.compiled import compiled_source
from rolling_dynamics.compiled.policy import USUAL
from rolling_dynamics.errors import PlanningError
from rolling_dynamics.identification.log import Log
from rolling_dynamics.identification.shooting import Shooting, windows_of
from rolling_dynamics.robots.view import Observer, robot_view
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate, Stepper
from rolling_dynamics.simulation.emulation import Emulation
from rolling_planner import Plan, plan_rolling
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.trials.chain import HardwareInterface, Imperfections
from rolling_robotics.trials.run import build

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
    given = [
        np.tile(v, (size, 1)) for v in (scenario.x0, np.zeros(system.control.size), scenario.p)
    ]
    DifferentiableStep(system, 5e-3, threads=2).vjp(*given, np.ones(given[0].shape))


def emulations(scenario):
    """Hold motions in a batch, in vectors, whose sensors measure and whose actuators are late."""
    system, p, starts = scenario.system, scenario.p, np.tile(scenario.x0, (19, 1))
    law = Hold(system, p, scenario.x0, control_limits=scenario.control_limits)
    instruments = {'sensors': scenario.sensors, 'actuators': scenario.actuators}
    run_batch(system, p, starts, law, 0.02, rate=500.0, **instruments)


def filters(scenario):
    """Estimate the state by sensors in closed loop, reopen it, and judge it by the watch."""
    system, p, x0, sensors = scenario.system, scenario.p, scenario.x0, scenario.sensors
    state = SensorFilter(
        system, p, sensors, x0, sources={s.name: sensor_source(s) for s in sensors}
    )
    watch = MotionWatch(
        system,
        Predictor(system, p, delay=0.0, horizon=0.02),
        corrections=state.corrections(0.01),
    )
    plant = Emulation(system, p, sensors, scenario.actuators, seed=1)
    plant.restart(x0, np.zeros(system.control.size))
    belief, view = state.start(), robot_view(system, p)
    seen = Observer(view, p, next(iter(system.modes)))
    for k in range(1, 20 * STEPS):
        for m in plant.advance(k * 2e-3):
            off = 0.3 * (k > 10 * STEPS)  # an error that reopens the estimate
            belief, x = state.step(belief, state.given(m) + off, m.stamp)
        watch.judge(round(k * 2e6), x)
        u = np.zeros(system.control.size)
        seen.joints(seen.look(x, u, 0.0), u, 0.0)
        plant.send(seen.safe_control(x, 0.0, 0.1), k * 2e-3)


def hands(scenario):
    """Run the laboratory: arm, motors and bridge, camera and estimator, bound of a hand."""
    experiment = build(scenario)
    system, p = experiment.laboratory.model()
    chain = HardwareInterface(
        experiment.laboratory, experiment.start, Imperfections(warm_up=0.05), 1, experiment.arm
    )
    watch = MotionWatch(system, Predictor(system, p, delay=0.0, horizon=0.0))
    bound = HandBound(system.state, 0.1, np.array([experiment.start] * 2))
    for k in range(-50, 10 * STEPS):
        chain.machine.emulation.held, seen = k < 0, chain.sense()
        if k >= 0 and seen is not None:
            watch.judge(k * 1_000_000, seen.x, covariances=seen.covariances)
            bound.problem(k * 1e-3, seen.x, experiment.start, np.zeros(3))
        chain.act(np.zeros(3))


def plans(scenario):
    """Plan: a first guess, a few iterations of the transcription, and what judges it between."""
    problem = read_problem(scenario)
    with suppress(PlanningError):  # the time is over: machine code with checks is slow
        plan_rolling(replace(problem, time_budget=20.0))


def fits(scenario):
    """Shoot through windows of a log, with derivatives."""
    motion = simulate(scenario.system, scenario.p, scenario.x0, scenario.control.simplest, 0.5)
    names = list(scenario.system.state.names)
    rows = np.arange(len(motion.times))
    log = Log(times=motion.times, lines=rows, names=names, measured=motion.states, controls=None)
    fitted, mode = np.array([0]), next(iter(scenario.system.modes))
    shooting = Shooting(scenario.system, mode, scenario.p, fitted, names, log=log)
    for window in windows_of(log, 0.2, 1):
        shooting.shot(window, window.measured[0], scenario.p[fitted])


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


PARTS = {
    'steps': steps,
    'batches': batches,
    'emulations': emulations,
    'filters': filters,
    'plans': plans,
    'fits': fits,
    'laws': laws,
}

if __name__ == '__main__':
    part, name = sys.argv[1:]
    if part == 'broken':
        broken({'address': BEYOND, 'shift': SHIFTED}[name])
    elif part == 'hands':
        hands(name)
    else:
        PARTS[part](load_scenario(name))
